// SPDX-License-Identifier: MIT
// Interruptible system calls, and the small files in sysfs, procfs, tracefs and cgroupfs.
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

/// Call after a system call that a signal has interrupted: throws if the caller's Interruption
/// does.
void interrupted();

/// Like interrupted(), at intervals: for loops that may take long.
void interruption_point();

/// The result of a system call, restarted while signals interrupt it.
template <typename SystemCall>
auto uninterrupted(const SystemCall& call) {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) return result;
        interrupted();
    }
}

/// Increases in each child process of fork(2).
unsigned forks() noexcept;

/// CLOCK_MONOTONIC.
std::uint64_t monotonic_ns() noexcept;

/// Where the kernel describes itself. Tests use their own tree.
struct SystemPaths {
    std::string pmus = "/sys/bus/event_source/devices";
    std::string cpus = "/sys/devices/system/cpu";
    std::string sets = "/sys/class/perf_metagroup";
    std::vector<std::string> tracefs = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
};

/// True if `name` can be a file directly in a directory: not a path, not hidden, and without a NUL,
/// where system calls would truncate it.
bool is_file_name(std::string_view name);

/// open(2). No file has a name with a NUL, where open(2) would truncate it: -1 with ENOENT.
UniqueFd open_file(const std::string& path, int flags, unsigned mode = 0) noexcept;

/// The contents of a file without trailing blanks; no value if it does not exist. Throws the Error
/// of `call` if it exists and cannot be read.
std::optional<std::string> read_file(const std::string& path, Call call = Call::any);

/// True if a seccomp filter is in force, as in containers.
bool has_seccomp_filter(const std::string& proc = "/proc/self");

/// True if the process has this capability in its effective set; false if that is unknown.
bool has_capability(unsigned number, const std::string& proc = "/proc/self");

/// True if the process is not in the initial user namespace: perf events ignore its capabilities.
bool in_user_namespace(const std::string& proc = "/proc/self");

/// The names in a directory, sorted, without those that start with a dot; none if it cannot be
/// read.
std::vector<std::string> list_directory(const std::string& path);

/// CpuList::parse(), online() and possible() with a system that tests can replace.
CpuList parse_cpu_list(std::string_view text, const SystemPaths& paths);
CpuList online_cpus(const SystemPaths& paths);
CpuList possible_cpus(const SystemPaths& paths);

/// The root of the cgroups that can be counted: that of the perf_event controller if version 1 has
/// it, otherwise that of version 2. `mounts` is a table like /proc/self/mounts. Throws Error if
/// there is none.
std::string cgroup_root(const std::string& mounts = "/proc/self/mounts");

/// Opens the cgroup `name`: its path below `root`, with or without `root` in front. Throws Error
/// naming it and the remedy.
UniqueFd open_cgroup(const std::string& name, const std::string& root = cgroup_root());

}  // namespace metagroup::detail
