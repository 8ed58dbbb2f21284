// SPDX-License-Identifier: MIT
// Events of a system whose files say anything. The first lines of the input are files, the last is
// a list of events.
#include <array>
#include <string>

#include "event_rules.hpp"
#include "support/temp_tree.hpp"
#include "targets.hpp"

namespace metagroup::fuzz {
namespace {

constexpr std::array files = {
    "pmus/pmu/type",         "pmus/pmu/format/field",       "pmus/pmu/events/event",
    "pmus/pmu/cpumask",      "pmus/pmu/events/event.scale", "pmus/pmu/events/event.unit",
    "tracing/events/a/b/id",
};

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

}  // namespace

void system_files(Bytes input) {
    static test::TempTree tree;
    static const detail::SystemPaths paths{
        tree.path("pmus"), tree.path("cpus"), {tree.path("tracing")}};
    std::string_view text = as_text(input);
    for (const char* file : files)
        tree.file(file, take_line(text));
    read_events(text, paths);
}

}  // namespace metagroup::fuzz
