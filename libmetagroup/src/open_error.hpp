// SPDX-License-Identifier: MIT
// Why perf_event_open(2) or the device refused, and what to do about it.
#pragma once

#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>

#include <cstddef>
#include <metagroup/error.hpp>
#include <optional>
#include <string>

namespace metagroup::detail {

/// The circumstances of a failed perf_event_open(2).
struct OpenFailure {
    int error = 0;                      ///< errno
    std::string event;                  ///< its name
    std::string group;                  ///< the group's text
    std::size_t index = 0;              ///< of the event in the group; 0 is the leader
    int cpu = -1;                       ///< where
    bool cgroup = false;                ///< for the tasks of a cgroup only
    bool filtered = false;              ///< the event has modifiers that exclude something
    std::optional<int> paranoid;        ///< kernel.perf_event_paranoid, if it can be read
    std::optional<std::string> online;  ///< the CPUs online, if known and `cpu` is not among them
    std::size_t fd_limit = 0;           ///< RLIMIT_NOFILE, soft
    std::size_t fd_max = 0;             ///< RLIMIT_NOFILE, hard
};

/// What is to be told about it: event, CPU, cause and remedy.
Error::Parts explain(const OpenFailure& failure);

/// What is to be told if the device cannot be opened.
Error::Parts explain_device(int error, const std::string& path);

/// What is to be told if ATTACH fails; `fds` is the array that was passed.
std::string explain_attach(int error, const perf_metagroup_attach& attach, const int* fds);

}  // namespace metagroup::detail
