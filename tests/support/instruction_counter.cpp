// SPDX-License-Identifier: MIT
#include "support/instruction_counter.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace metagroup::test {
namespace {

// Stops before and after what is counted. A failure ends the process by another status.
[[noreturn]] void be_traced(const std::function<void()>& work) {
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
std::optional<std::uint64_t> step_through(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
    for (std::uint64_t steps = 0;; ++steps) {
        if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return std::nullopt;
        if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
        if (WSTOPSIG(status) == SIGSTOP) return steps;
    }
}

}  // namespace

std::optional<std::uint64_t> count_instructions(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child < 0) return std::nullopt;
    if (child == 0) be_traced(work);
    const auto steps = step_through(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return steps;
}

}  // namespace metagroup::test
