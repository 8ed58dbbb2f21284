// SPDX-License-Identifier: MIT
// System calls that signals interrupt, and the small files of sysfs, procfs, tracefs and cgroupfs.
#pragma once

#include <cerrno>
#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.hpp"

namespace metagroup::detail {

/// After a system call that a signal has interrupted: throws if the caller's Interruption does.
void interrupted();

/// As interrupted(), now and then: for loops that may take long.
void interruption_point();

/// The result of a system call, repeated while signals interrupt it.
template <typename SystemCall>
auto uninterrupted(const SystemCall& call) {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) return result;
        interrupted();
    }
}

/// CLOCK_MONOTONIC.
std::uint64_t monotonic_ns() noexcept;

/// Where the kernel describes itself. Tests put a tree of their own here.
struct SystemPaths {
    std::string pmus = "/sys/bus/event_source/devices";
    std::string cpus = "/sys/devices/system/cpu";
    std::string sets = "/sys/class/perf_metagroup";
    std::vector<std::string> tracefs = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
};

/// True if `name` can be a file directly in a directory: no path, not hidden, and without a NUL, at
/// which system calls would cut it off.
bool is_file_name(std::string_view name);

/// The file without blanks at its end; nothing if it does not exist.
/// Throws the Error of `call` if it exists and cannot be read.
std::optional<std::string> read_file(const std::string& path, Call call = Call::any);

/// True if a filter of system calls (seccomp) is in force, as in containers.
bool has_seccomp_filter(const std::string& proc = "/proc/self");

/// True if the capability is in force; false if that is not known.
bool has_capability(unsigned number, const std::string& proc = "/proc/self");

/// True if the process is in another user namespace than the first: its capabilities are none for
/// the kernel's perf events.
bool in_user_namespace(const std::string& proc = "/proc/self");

/// The names in a directory, sorted, without those that begin with a dot; none if it cannot be
/// read.
std::vector<std::string> list_directory(const std::string& path);

/// CpuList::parse(), online() and possible() of a system that tests can choose.
CpuList parse_cpu_list(std::string_view text, const SystemPaths& paths);
CpuList online_cpus(const SystemPaths& paths);
CpuList possible_cpus(const SystemPaths& paths);

/// The directory below which the cgroups lie whose events can be counted: that of the controller
/// perf_event where version 1 has it, else that of version 2. `mounts` is a table as
/// /proc/self/mounts. Throws Error if there is none.
std::string cgroup_root(const std::string& mounts = "/proc/self/mounts");

/// Opens the cgroup `name`: its path below `root`, with or without `root` in front.
/// Throws Error that names it and the remedy.
UniqueFd open_cgroup(const std::string& name, const std::string& root = cgroup_root());

}  // namespace metagroup::detail
