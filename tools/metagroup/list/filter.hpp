// SPDX-License-Identifier: MIT
// The events that list shows: by pattern, and by what this machine can count.
#pragma once

#include <metagroup/known_events.hpp>
#include <set>
#include <span>
#include <string>

namespace tool {

// Case does not matter.
class Pattern {
  public:
    // Part of a text; with `*`, `?` and `[]` the whole text. hw and sw are the PMUs hardware and
    // software, as in perf list.
    explicit Pattern(std::string text);

    // True if it fits the event's name, PMU or description.
    bool matches(const metagroup::KnownEvent& event) const;

  private:
    bool fits(const std::string& text) const;

    std::string glob_;
    std::string pmu_;
};

// Tells by opening them which events can be counted. Virtual machines often lack the counters of
// the CPU that they show.
class Countable {
  public:
    // Opens some events of each PMU of libpfm4; the result holds for all events of the PMU.
    explicit Countable(std::span<const metagroup::KnownEvent> events);

    bool operator()(const metagroup::KnownEvent& event) const;

  private:
    std::set<std::string> pfm_pmus_;
};

}  // namespace tool
