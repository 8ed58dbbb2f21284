// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/known_events.hpp>
#include <set>
#include <span>
#include <string>

namespace tool {

// Which of the known events this machine counts: found out by opening them. Virtual machines often
// lack the counters of the CPU that they show.
class Countable {
  public:
    // Opens some events of each PMU that libpfm4 knows: what is true of them is true of all.
    explicit Countable(std::span<const metagroup::KnownEvent> events);

    bool operator()(const metagroup::KnownEvent& event) const;

  private:
    std::set<std::string> pfm_pmus_;
};

}  // namespace tool
