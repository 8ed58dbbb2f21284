// SPDX-License-Identifier: MIT
// A recording in place of counters.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <metagroup/recording.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/analysis.hpp"
#include "common/count_report.hpp"
#include "common/counts.hpp"

namespace tool {

// \throws std::invalid_argument if `output` is the recording, which it would destroy.
void keep_recording(const std::string& recording, const std::string& output);

class Replay {
  public:
    struct Options {
        // Adds --replay, which excludes all options that `app` has so far.
        void add_option(CLI::App& app);
        // Excludes this option as well.
        void excludes(const CLI::Option* other) { others.push_back(other); }

        std::string file;  // empty if none
        std::vector<const CLI::Option*> others{};
        std::optional<std::chrono::nanoseconds> since{};
        std::optional<std::chrono::nanoseconds> until{};
    };

    // Prints to stderr if the recording was not finished.
    // \throws as Recording and find_extent().
    Replay(const Options& options, AggrMode mode, std::optional<std::chrono::nanoseconds> interval);
    ~Replay() = default;
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    // The counts of intervals, or of the whole time.
    void print_counts(const CountOutput& format, Output& output);

    const Aggregation& rows() const { return rows_; }
    const Extent& extent() const { return extent_; }
    double seconds() const { return analysis_.seconds(); }
    metagroup::Recording& recording() { return recording_; }
    Analysis& analysis() { return analysis_; }

  private:
    metagroup::Recording recording_;
    std::string file_;
    bool in_intervals_;
    Extent extent_;
    Aggregation rows_;
    Analysis analysis_;
};

}  // namespace tool
