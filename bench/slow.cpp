// SPDX-License-Identifier: MIT
// usage: slow COMMAND [ARG...]
//
// Runs COMMAND in slow motion, in a guest of bench/slowmo/run, with METAGROUP_SLOW_MOTION set to
// the instructions per second of each CPU. The exit status is that of COMMAND, or 75 if the host
// did not run all virtual CPUs in time, which makes the times invalid.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <metagroup/cpu_list.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "slow_motion.hpp"

int main(int argc, char** argv) try {
    constexpr int late_host = 75;  // EX_TEMPFAIL
    constexpr double tolerance = 0.05;
    if (argc < 2) throw std::invalid_argument("usage: slow COMMAND [ARG...]");
    auto slow_motion = bench::SlowMotion::find(nullptr);
    if (!slow_motion) throw std::runtime_error("this is not a guest of bench/slowmo/run");
    ::setenv("METAGROUP_SLOW_MOTION", std::to_string(slow_motion->rate()).c_str(), 1);

    const metagroup::CpuList cpus = metagroup::CpuList::online();
    slow_motion->start();
    const bench::Lateness lateness(*slow_motion, cpus);
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, argv[1], nullptr, nullptr, argv + 1, ::environ))
        throw std::system_error(error, std::generic_category(), argv[1]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const double late = lateness.fraction();
    slow_motion->stop();
    if (status != 0) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (late <= tolerance) return 0;
    std::fprintf(stderr,
                 "slow: the host was too busy: virtual CPUs were out of order for %.0f %% of the "
                 "time. The times above are invalid; try again.\n",
                 late * 100);
    return late_host;
} catch (const std::exception& error) {
    std::fprintf(stderr, "slow: %s\n", error.what());
    return 1;
}
