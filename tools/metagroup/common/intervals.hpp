// SPDX-License-Identifier: MIT
// Short intervals: each CPU reads its own counters at their ends, and many are read at once.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <metagroup/metagroup.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/totals.hpp"

namespace tool {

// An option --method: auto, sweep or stream.
CLI::Option* add_method(CLI::App& app, std::string& method);

class StreamedIntervals {
  public:
    // Counts begin with `first`, a sweep. \return none if sweeps are to be used.
    // \throws std::invalid_argument or Error if `method` is stream and there can be none.
    static std::optional<StreamedIntervals> start(metagroup::MetaGroup& group,
                                                  const std::string& method,
                                                  std::chrono::nanoseconds interval,
                                                  const metagroup::Snapshot& first);

    // The time after which next() is worth it.
    std::chrono::nanoseconds batch() const { return batch_; }
    // The counts of the next interval, from the last reading of each member to a deadline, whose
    // time is returned. None if no more interval is complete. Allocates nothing once each member
    // has been read.
    std::optional<std::uint64_t> next(Totals& totals, Overhead& overhead);
    // The counts of the rest, up to a later sweep.
    void add_rest(const metagroup::Snapshot& snapshot, Totals& totals);
    // \return deadlines lost that next() does not add to the overhead.
    std::uint64_t stop() {
        unread_ = {};
        return stream_.stop();
    }

  private:
    // One member as it was read last. Without counts until it was read.
    struct Reading {
        std::uint64_t enabled = 0;
        std::uint64_t running = 0;
        std::vector<std::uint64_t> counts{};
    };

    StreamedIntervals(metagroup::Stream stream, const metagroup::Snapshot& first);

    template <typename Member>
    void add(std::size_t index, const Member& member, Totals* totals);

    metagroup::Stream stream_;
    std::chrono::nanoseconds batch_;
    std::span<const metagroup::Deadline> unread_;
    std::vector<Reading> last_;
};

}  // namespace tool
