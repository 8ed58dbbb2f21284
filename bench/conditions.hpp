// SPDX-License-Identifier: MIT
// Under which each way has its turn.
#pragma once

#include <functional>
#include <metagroup/cpu_list.hpp>
#include <optional>

#include "rivals/rival.hpp"
#include "slow_motion.hpp"
#include "targets.hpp"

namespace bench {

class Conditions {
  public:
    explicit Conditions(const metagroup::CpuList& cpus)
        : slow_motion_(SlowMotion::find(toil)), targets_(cpus) {}

    // Gives the rival its turn: its groups count, those of others do not, for counting has a price
    // for everyone; the targets are idle or busy; a first sweep is done. Between turns CPUs sleep
    // and run at full speed, so that what is set up and taken down there takes little time.
    void turn(Rival& rival, Load load, const std::function<void()>& body);

    // During a turn: what is none of it, and need not take long. It does where the targets spin.
    void at_full_speed(const std::function<void()>& body);

    // Null if this is not a guest in slow motion.
    const SlowMotion* slow_motion() const { return slow_motion_ ? &*slow_motion_ : nullptr; }

  private:
    void let_count(measure::CpuGroups* groups);
    void end(Rival& rival);

    std::optional<SlowMotion> slow_motion_;
    Targets targets_;
    Load load_ = Load::idle;
    measure::CpuGroups* counting_ = nullptr;
};

}  // namespace bench
