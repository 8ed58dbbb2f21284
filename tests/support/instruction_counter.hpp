// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace metagroup::test {

/// User instructions of `work`, which runs in a child process, once to warm up and once step by
/// step (ptrace(2)): the same number each time, on any machine. Nothing if processes may not be
/// traced.
std::optional<std::uint64_t> count_instructions(const std::function<void()>& work);

}  // namespace metagroup::test
