// SPDX-License-Identifier: MIT
#include "common/replay.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "common/command_line.hpp"

namespace tool {
namespace {

using metagroup::Recording;

Recording opened(const std::string& file) {
    Recording recording(file);
    if (!recording.finished())
        fmt::print(stderr, "metagroup: {} is incomplete: reading all its complete records\n", file);
    return recording;
}

std::optional<std::uint64_t> count_of(const std::optional<std::chrono::nanoseconds>& time) {
    if (!time) return std::nullopt;
    return static_cast<std::uint64_t>(time->count());
}

// The remarks are complete only after the whole file was read.
Extent extent_of(Recording& recording, const Replay::Options& options) {
    const auto print_remarks = [&] {
        for (const std::string& remark : recording.remarks())
            fmt::print(stderr, "metagroup: {}: {}\n", options.file, remark);
    };
    try {
        Extent extent = find_extent(recording, count_of(options.since).value_or(0),
                                    count_of(options.until).value_or(UINT64_MAX));
        print_remarks();
        return extent;
    } catch (...) {
        print_remarks();
        throw;
    }
}

// The topology in the recording, or that of this machine if it has none.
Aggregation rows_of(const Recording& recording, AggrMode mode, const metagroup::CpuList& cpus) {
    if (recording.topology().empty()) return {mode, cpus};
    return {mode, cpus, recording.topology()};
}

}  // namespace

void keep_recording(const std::string& recording, const std::string& output) {
    std::error_code none;  // a file that does not exist is another one
    if (std::filesystem::equivalent(recording == "-" ? "/dev/stdin" : recording, output, none))
        throw std::invalid_argument(
            fmt::format("{} is the recording: write to another file", output));
}

void Replay::Options::add_option(CLI::App& app) {
    for (const CLI::Option* other : app.get_options())
        excludes(other);
    const auto is_alone = [this](const std::string&) -> std::string {
        for (const CLI::Option* other : others)
            if (other->count() > 0)
                return other->get_name() + " cannot be used with it: the recording determines this";
        return "";
    };
    app.add_option("--replay", file, "show the counts of a recording")
        ->check(not_empty())
        ->check(CLI::Validator(is_alone, ""))
        ->type_name("FILE");
}

Replay::Replay(const Options& options, AggrMode mode,
               std::optional<std::chrono::nanoseconds> interval)
    : recording_(opened(options.file)),
      file_(options.file),
      in_intervals_(interval.has_value()),
      extent_(extent_of(recording_, options)),
      rows_(rows_of(recording_, mode, extent_.cpus)),
      analysis_(recording_, extent_, rows_, count_of(interval)) {
    if (analysis_.columns().empty())
        throw std::runtime_error("recording \"" + file_ + "\" has only timers, no events");
}

void Replay::print_counts(const CountOutput& format, Output& output) {
    const auto counts = format.make_report(
        output, {rows_, analysis_.columns(), analysis_.metrics(), file_, "", "", ""});
    analysis_.run(
        [&](double end, const Counts& of_interval) { counts->interval(end, of_interval); });
    if (in_intervals_) return;
    Mean seconds;
    seconds.add(analysis_.seconds());
    counts->whole(seconds, analysis_.whole());
}

}  // namespace tool
