// SPDX-License-Identifier: MIT
#include "gate.hpp"

namespace stress {

Gate::Visitor::Visitor(Gate& gate) : gate_(gate) {
    std::unique_lock lock(gate_.mutex_);
    gate_.changed_.wait(lock, [&] { return !gate_.closed_; });
    ++gate_.visitors_;
}

Gate::Visitor::~Visitor() {
    const std::scoped_lock lock(gate_.mutex_);
    --gate_.visitors_;
    gate_.changed_.notify_all();
}

void Gate::Visitor::pass() {
    std::unique_lock lock(gate_.mutex_);
    if (!gate_.closed_) return;
    ++gate_.waiting_;
    gate_.changed_.notify_all();
    gate_.changed_.wait(lock, [&] { return !gate_.closed_; });
    --gate_.waiting_;
    gate_.changed_.notify_all();
}

void Gate::close() {
    std::unique_lock lock(mutex_);
    // Those of the last time may not have left yet.
    changed_.wait(lock, [&] { return waiting_ == 0; });
    closed_ = true;
    changed_.wait(lock, [&] { return waiting_ == visitors_; });
}

void Gate::open() {
    const std::scoped_lock lock(mutex_);
    closed_ = false;
    changed_.notify_all();
}

}  // namespace stress
