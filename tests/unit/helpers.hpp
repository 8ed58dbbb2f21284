// SPDX-License-Identifier: MIT
// For most unit tests: Catch2, errors, software events and stopped groups.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace metagroup::test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

// Of rings that hold about 50 samples.
inline Stream::Options small_rings(std::chrono::nanoseconds period) {
    return {.period = period, .ring_size = 4096, .watermark = 1024};
}

// The Error that an action throws, to check its parts.
template <typename Action>
Error error_from(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    FAIL("no error");
    throw;
}

inline int first_cpu() {
    return CpuList::online().cpus().front();
}

// Skips a test where the machine does not let us count software events for whole CPUs.
inline void need_software_events() {
    try {
        EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    } catch (const Error& error) {
        if (error.cause() != Cause::no_perf_permission) throw;
        SKIP(error.what());
    }
}

// Event groups as CPU hotplug leaves them: their clocks stand still, and they have no siblings.

// A clock that has stood still for so long was stopped.
constexpr std::chrono::milliseconds kLongStop{150};

// The descriptors of all perf events of this process, ascending.
inline std::vector<int> perf_descriptors() {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed;  // the directory's own
        if (std::filesystem::read_symlink(entry, closed) == "anon_inode:[perf_event]")
            found.push_back(std::stoi(entry.path().filename()));
    }
    std::ranges::sort(found);
    return found;
}

inline void stop_clocks() {
    for (const int event : perf_descriptors())
        REQUIRE(ioctl(event, PERF_EVENT_IOC_DISABLE, 0) == 0);
}

// The descriptor stays open, so that its owner can close it.
inline void remove_event(int event) {
    const detail::UniqueFd other(open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(dup2(other.get(), event) == event);
}

}  // namespace metagroup::test
