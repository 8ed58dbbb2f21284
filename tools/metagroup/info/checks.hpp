// SPDX-License-Identifier: MIT
// Checks of what works on this machine: each is tried.
#pragma once

#include <metagroup/metagroup.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "info/facts.hpp"

namespace tool {

struct Check {
    std::string what;
    bool works = true;
    std::string why{};     // it fails
    std::string remedy{};  // empty if none is known
};

class Checks {
  public:
    // `filtered`: seccomp may refuse system calls.
    Checks(const std::string& device, bool filtered);

    const std::vector<Check>& all() const { return all_; }
    // True if the default events can be counted on all CPUs.
    bool counting_works() const { return counting_works_; }
    // The backends that work, the one that `auto` takes, and the reason.
    Json backends() const;

  private:
    template <typename Action>
    bool check(const std::string& what, const Action& action);
    void check_backends(metagroup::MetaGroup::Options options);
    void check_module(const std::string& device);

    bool filtered_;
    std::vector<Check> all_;
    std::vector<std::string> available_;
    std::string automatic_;
    std::string reason_;
    bool counting_works_ = false;
};

}  // namespace tool
