// SPDX-License-Identifier: MIT
// What works on this machine, by trying it.
#pragma once

#include <metagroup/metagroup.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "info/system.hpp"

namespace tool {

struct Trial {
    std::string what;
    bool works = true;
    std::string why{};     // it fails
    std::string remedy{};  // empty if none is known
};

class Trials {
  public:
    // `filtered`: seccomp may refuse system calls.
    Trials(const std::string& device, bool filtered);

    const std::vector<Trial>& all() const { return all_; }
    // Whether the default events can be counted on all CPUs.
    bool counting_works() const { return counting_works_; }
    // The backends that can be used, which is taken if nobody says, and why.
    Json backends() const;

  private:
    // `remedy` is for failures that do not bring their own.
    template <typename Action>
    bool attempt(const std::string& what, const std::string& remedy, const Action& action);
    void try_backends(metagroup::MetaGroup::Options options);
    void try_module(const std::string& device);

    bool filtered_;
    std::vector<Trial> all_;
    std::vector<std::string> available_;
    std::string automatic_;
    std::string reason_;
    bool counting_works_ = false;
};

}  // namespace tool
