// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cstddef>
#include <metagroup/detail/unique_fd.hpp>
#include <sstream>
#include <thread>

Outcome run_program(const std::string& command, Who who) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const metagroup::detail::UniqueFd from(ends[0]);
    metagroup::detail::UniqueFd to(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        if (who == Who::nobody && (::setgroups(0, nullptr) || ::setgid(nobody) || ::setuid(nobody)))
            ::_exit(126);
        ::dup2(to.get(), STDOUT_FILENO);
        ::dup2(to.get(), STDERR_FILENO);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    to.reset();
    Outcome outcome{};
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(from.get(), buffer.data(), buffer.size())) > 0;)
        outcome.text.append(buffer.data(), static_cast<std::size_t>(got));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

Outcome run_without_perf(const std::string& command) {
    // The filter applies to this thread and to the processes that it starts.
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

std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : split(text, '\n'))
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}
