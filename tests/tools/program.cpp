// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <sstream>

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
