// SPDX-License-Identifier: MIT
// Short intervals: each CPU reads its own counters at the end of each, and many are fetched at
// once.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/metagroup.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/counts.hpp"
#include "common/totals.hpp"

namespace tool {

// Adds --method: auto, sweep or stream.
CLI::Option* add_method(CLI::App& app, std::string& method);

class StreamedIntervals {
  public:
    // Counts begin with the sweep `first`. \return no value if sweeps should be used. \throws
    // std::invalid_argument or Error if `method` is stream and that is not possible.
    static std::optional<StreamedIntervals> start(metagroup::MetaGroup& group,
                                                  const std::string& method,
                                                  std::chrono::nanoseconds interval,
                                                  const metagroup::Snapshot& first,
                                                  const std::shared_ptr<const CountLayout>& layout);

    // How long to wait after next() has returned nullptr.
    std::chrono::nanoseconds batch() const { return batch_; }
    // The counts of the next interval, which ends at end(); nullptr if no further interval is
    // complete. Waits for a CPU that missed a deadline, but not for long.
    const Counts* next(Overhead& overhead);
    std::uint64_t end() const { return intervals_.taken_until(); }
    // \return lost deadlines that next() does not add to the overhead.
    std::uint64_t stop() { return stream_.stop(); }
    // Call after stop(): ends the last interval with a later sweep.
    void finish(const metagroup::Snapshot& snapshot);

  private:
    StreamedIntervals(metagroup::Stream stream, const metagroup::Snapshot& first,
                      const std::shared_ptr<const CountLayout>& layout);
    void add(const metagroup::Deadline& deadline);

    metagroup::Stream stream_;
    std::chrono::nanoseconds batch_;
    std::span<const metagroup::Deadline> unread_;
    Accumulator accumulator_;
    Intervals intervals_;
    std::uint64_t newest_ = 0;  // ns, of a sample
    bool finished_ = false;
};

}  // namespace tool
