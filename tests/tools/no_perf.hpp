// SPDX-License-Identifier: MIT
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

#include "program.hpp"

// Runs a program while a filter of system calls refuses perf_event_open(2), as in containers. A
// filter is its thread's and what that starts, so this process goes on without.
inline Outcome run_without_perf(const std::string& command) {
    Outcome outcome{};
    std::thread([&] {
        std::array<sock_filter, 4> code{{
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        }};
        const sock_fprog program{.len = code.size(), .filter = code.data()};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        outcome = run_program(command);
    }).join();
    return outcome;
}
