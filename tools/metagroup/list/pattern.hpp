// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/known_events.hpp>
#include <string>

namespace tool {

// What somebody looks for among events; case does not matter.
class Pattern {
  public:
    // Part of a name, or one for all of it with `*`, `?` and `[]`.
    explicit Pattern(std::string text);

    // Whether it fits the event's name, PMU or description.
    bool matches(const metagroup::KnownEvent& event) const;

  private:
    bool fits(const std::string& text) const;

    std::string glob_;
    std::string pmu_;  // asked for by the short name that perf list has for it
};

}  // namespace tool
