// SPDX-License-Identifier: MIT
#include <exception>
#include <metagroup/interruption.hpp>
#include <utility>

#include "system.hpp"

namespace metagroup {
namespace {

thread_local Interruption::Check current = nullptr;

}  // namespace

Interruption::Interruption(Check check) noexcept : before_(std::exchange(current, check)) {}

Interruption::~Interruption() {
    current = before_;
}

namespace detail {

void interrupted() {
    // Not in a destructor during stack unwinding.
    if (current != nullptr && std::uncaught_exceptions() == 0) current();
}

void interruption_point() {
    constexpr std::uint64_t pause_ns = 20'000'000;
    thread_local std::uint64_t next = 0;
    if (current == nullptr) return;
    const std::uint64_t now = monotonic_ns();
    if (now < next) return;
    next = now + pause_ns;
    interrupted();
}

}  // namespace detail
}  // namespace metagroup
