// SPDX-License-Identifier: MIT
// Counts instructions.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>

namespace metagroup::test {

// Stops before and after what is counted. A failure ends the process by another status.
[[noreturn]] inline void be_traced(const std::function<void()>& work) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    try {
        work();
        ::raise(SIGSTOP);
        work();
        ::raise(SIGSTOP);
    } catch (...) {
        ::_exit(2);
    }
    ::_exit(0);
}

// Until the second stop.
inline std::optional<std::uint64_t> step_through(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
    for (std::uint64_t steps = 0;; ++steps) {
        if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return std::nullopt;
        if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
        if (WSTOPSIG(status) == SIGSTOP) return steps;
    }
}

// User instructions of `work`, which runs in a child process, once to warm up and once step by
// step (ptrace(2)): the same number each time, on any machine. Nothing if processes may not be
// traced, or if this code is not optimized, or instrumented.
inline std::optional<std::uint64_t> count_instructions(const std::function<void()>& work) {
#if !defined(METAGROUP_OPTIMIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return std::nullopt;
#endif
    const pid_t child = ::fork();
    if (child < 0) return std::nullopt;
    if (child == 0) be_traced(work);
    const auto steps = step_through(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return steps;
}

}  // namespace metagroup::test
