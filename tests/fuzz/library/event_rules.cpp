// SPDX-License-Identifier: MIT
#include "event_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>
#include <string>

#include "event_parser.hpp"
#include "targets.hpp"

namespace metagroup::fuzz {
namespace {

std::string written(const std::vector<GroupSpec>& groups) {
    std::string text;
    for (const GroupSpec& group : groups) {
        if (!text.empty()) text += ',';
        text += to_string(group);
    }
    return text;
}

bool same_event(const EventSpec& a, const EventSpec& b) {
    return a.name == b.name && std::memcmp(&a.attr, &b.attr, sizeof(a.attr)) == 0 &&
           a.cpus == b.cpus && a.scale == b.scale && a.unit == b.unit;
}

bool same_group(const GroupSpec& a, const GroupSpec& b) {
    return a.modifiers == b.modifiers && std::ranges::equal(a.events, b.events, same_event);
}

void hold_rules(const GroupSpec& group) {
    demand(!group.events.empty(), "a group has an event");
    for (const EventSpec& event : group.events) {
        demand(!event.name.empty(), "an event has a name");
        demand(event.name.find('\0') == std::string::npos, "a name has no NUL");
        demand(event.attr.size == sizeof(event.attr), "an event has the size of its attribute");
        demand(!event.cpus || !event.cpus->empty(), "a PMU with a list of CPUs has a CPU");
        demand(std::isfinite(event.scale), "a scale is a number");
        const bool leader = &event == &group.events.front();
        demand(leader || (event.attr.pinned == 0 && event.attr.exclusive == 0),
               "only a leader is pinned or exclusive");
    }
}

// `event list "…", column N: …`
void hold_rules_of_error(std::string_view text, std::string_view message) {
    constexpr std::string_view kind = "event list \"";
    constexpr std::string_view column = "\", column ";
    std::string shown(text);
    std::ranges::replace(shown, '\0', '?');
    demand(message.starts_with(kind) && message.substr(kind.size()).starts_with(shown),
           "an error shows the text");
    const std::string_view rest = message.substr(kind.size() + text.size());
    demand(rest.starts_with(column), "an error names the place");
    std::size_t place = 0;
    std::from_chars(rest.data() + column.size(), rest.data() + rest.size(), place);
    demand(place >= 1 && place <= text.size() + 1, "the place is in the text");
}

}  // namespace

void read_events(std::string_view text, const detail::SystemPaths& paths) {
    try {
        const auto groups = detail::parse_events(text, paths);
        demand(!groups.empty(), "a list has a group");
        for (const GroupSpec& group : groups)
            hold_rules(group);
        const auto again = detail::parse_events(written(groups), paths);
        demand(std::ranges::equal(groups, again, same_group),
               "a list that was written reads the same");
    } catch (const Error& error) {
        demand(error.cause() != Cause::other, "an error has a cause");
        hold_rules_of_error(text, error.what());
    }
}

}  // namespace metagroup::fuzz
