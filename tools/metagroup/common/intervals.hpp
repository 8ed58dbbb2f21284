// SPDX-License-Identifier: MIT
// Short intervals: each CPU reads its own counters at their ends, and many are read at once.
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

// An option --method: auto, sweep or stream.
CLI::Option* add_method(CLI::App& app, std::string& method);

class StreamedIntervals {
  public:
    // Counts begin with `first`, a sweep. \return none if sweeps are to be used.
    // \throws std::invalid_argument or Error if `method` is stream and there can be none.
    static std::optional<StreamedIntervals> start(metagroup::MetaGroup& group,
                                                  const std::string& method,
                                                  std::chrono::nanoseconds interval,
                                                  const metagroup::Snapshot& first,
                                                  const std::shared_ptr<const CountLayout>& layout);

    // The time after which next() is worth it.
    std::chrono::nanoseconds batch() const { return batch_; }
    // The counts of the next interval, which ends at end(); nullptr if no more is complete. A CPU
    // that missed a deadline is waited for, but not for long.
    const Counts* next(Overhead& overhead);
    std::uint64_t end() const { return intervals_.taken_until(); }
    // \return deadlines lost that next() does not add to the overhead.
    std::uint64_t stop() { return stream_.stop(); }
    // After stop(): the last interval ends with a later sweep.
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
