// SPDX-License-Identifier: MIT
#include "conditions.hpp"

namespace bench {

void Conditions::let_count(measure::CpuGroups* groups) {
    if (counting_ == groups) return;
    if (counting_ != nullptr) counting_->disable();
    if (groups != nullptr) groups->enable();
    counting_ = groups;
}

// Slow motion begins before the targets spin, and ends when they sleep again: where the host has
// few CPUs, spinning at full speed would keep them from one another.
void Conditions::turn(Rival& rival, Load load, const std::function<void()>& body) {
    let_count(rival.groups());
    load_ = load;
    try {
        rival.prepare();
        if (slow_motion_) slow_motion_->start();
        targets_.set(load);
        rival.wait();
        rival.sweep();
        body();
    } catch (...) {
        end(rival);
        throw;
    }
    end(rival);
}

void Conditions::at_full_speed(const std::function<void()>& body) {
    const bool hurry = slow_motion_ && load_ == Load::idle;
    if (hurry) slow_motion_->stop();
    body();
    if (hurry) slow_motion_->start();
}

void Conditions::end(Rival& rival) {
    targets_.set(Load::idle);
    if (slow_motion_) slow_motion_->stop();
    rival.finish();
}

}  // namespace bench
