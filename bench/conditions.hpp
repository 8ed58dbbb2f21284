// SPDX-License-Identifier: MIT
// The state of the machine while a method has its turn.
#pragma once

#include <functional>
#include <metagroup/cpu_list.hpp>
#include <optional>

#include "methods/method.hpp"
#include "slow_motion.hpp"
#include "targets.hpp"

namespace bench {

class Conditions {
  public:
    explicit Conditions(const metagroup::CpuList& cpus)
        : slow_motion_(SlowMotion::find(spin)), targets_(cpus) {}

    // Runs `body` with only this method's groups enabled, since counting costs time on every CPU,
    // with the targets idle or busy, and after a first sweep. Between turns the targets are idle
    // and the guest runs at full speed, so setup takes little time.
    void turn(Method& method, Load load, const std::function<void()>& body);

    // During a turn: runs `body` at full speed if the targets are idle. Busy ones stay slow.
    void at_full_speed(const std::function<void()>& body);

    // Null if this is not a guest in slow motion.
    const SlowMotion* slow_motion() const { return slow_motion_ ? &*slow_motion_ : nullptr; }

  private:
    void enable_only(measure::CpuGroups* groups);
    void end(Method& method);

    std::optional<SlowMotion> slow_motion_;
    Targets targets_;
    Load load_ = Load::idle;
    measure::CpuGroups* enabled_ = nullptr;
};

}  // namespace bench
