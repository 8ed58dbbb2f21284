// SPDX-License-Identifier: MIT
// The features of a perf.data file that describe the machine.
#pragma once

#include <cstdint>
#include <map>
#include <metagroup/recording_writer.hpp>
#include <metagroup/topology.hpp>
#include <utility>
#include <vector>

#include "perf_data.hpp"

namespace metagroup::detail::perf_data {

using Features = std::map<Feature, Bytes>;

// CLOCK_REALTIME and CLOCK_MONOTONIC, read at the same time.
struct ClockPair {
    std::uint64_t realtime;
    std::uint64_t monotonic;
};
ClockPair clocks_now();

// Facts that cannot be found are omitted. `at_begin` is the topology at the start of the recording.
void describe_machine(Features& features, const std::vector<CpuPlace>& at_begin);
void describe_recording(Features& features, const RecordingWriter::Options& options,
                        const ClockPair& begin,
                        const std::pair<std::uint64_t, std::uint64_t>& times);

}  // namespace metagroup::detail::perf_data
