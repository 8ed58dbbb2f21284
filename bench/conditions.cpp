// SPDX-License-Identifier: MIT
#include "conditions.hpp"

namespace bench {

void Conditions::enable_only(measure::CpuGroups* groups) {
    if (enabled_ == groups) return;
    if (enabled_ != nullptr) enabled_->disable();
    if (groups != nullptr) groups->enable();
    enabled_ = groups;
}

// Slow motion begins before the targets spin and ends after they sleep: on a host with few CPUs,
// targets that spin at full speed would delay each other.
void Conditions::turn(Method& method, Load load, const std::function<void()>& body) {
    enable_only(method.groups());
    load_ = load;
    try {
        method.prepare();
        if (slow_motion_) slow_motion_->start();
        targets_.set(load);
        method.wait();
        method.sweep();
        body();
    } catch (...) {
        end(method);
        throw;
    }
    end(method);
}

void Conditions::at_full_speed(const std::function<void()>& body) {
    const bool fast = slow_motion_ && load_ == Load::idle;
    if (fast) slow_motion_->stop();
    body();
    if (fast) slow_motion_->start();
}

void Conditions::end(Method& method) {
    targets_.set(Load::idle);
    if (slow_motion_) slow_motion_->stop();
    method.finish();
}

}  // namespace bench
