// SPDX-License-Identifier: MIT
// The ioctls of linux/perf_metagroup.h and their arguments.
#pragma once

#include <linux/types.h>
#include <sys/ioctl.h>

#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>

#include "system.hpp"

namespace metagroup::detail {

template <typename Argument>
Argument sized() {
    Argument argument{};
    argument.size = sizeof(argument);
    return argument;
}

/// The ABI passes addresses as 64-bit numbers, so that 32-bit callers need no translation.
template <typename Pointer>
__u64 address(Pointer* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

template <typename Argument>
int device_ioctl(const UniqueFd& fd, unsigned long request, Argument argument) {
    return uninterrupted([&] { return ::ioctl(fd.get(), request, argument); });
}

}  // namespace metagroup::detail
