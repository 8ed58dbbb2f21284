// SPDX-License-Identifier: MIT
// usage: sampler [SECONDS [RATE [EVENTS]]] Sweeps all CPUs RATE times a second (10000) and prints
// how late the sweeps were. With the module, a sweep copies nothing: counts are read where the
// kernel wrote them.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <metagroup/metagroup.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second + now.tv_nsec;
}

// An absolute time: a long iteration does not delay the next one.
void sleep_until(std::int64_t ns) {
    const timespec until{ns / second, ns % second};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

double own_cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_times(const char* what, std::vector<std::int64_t>& times) {
    std::sort(times.begin(), times.end());
    const auto at = [&](std::size_t percent) {
        return static_cast<double>(times[(times.size() - 1) * percent / 100]) / 1e3;
    };
    std::printf("%-12s %9.1f %9.1f %9.1f us\n", what, at(50), at(99), at(100));
}

// The sum of the first event's counts over all groups and CPUs.
std::uint64_t total(const metagroup::SnapshotView& snapshot) {
    std::uint64_t sum = 0;
    for (const auto member : snapshot)
        sum += member.raw(0).value_or(0);
    return sum;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const auto number = [&](std::size_t i, int otherwise) {
        const int value = i < arguments.size() ? std::stoi(arguments[i]) : otherwise;
        if (value <= 0) throw std::invalid_argument("SECONDS and RATE must be above 0");
        return value;
    };
    const int seconds = number(1, 5);
    const int rate = number(2, 10'000);

    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(arguments.size() > 3 ? arguments[3]
                                                                  : "{cpu-clock,context-switches}");
    auto group = metagroup::MetaGroup::open(options);
    ::prctl(PR_SET_TIMERSLACK, 1);  // the default delays wakeups by up to 50 us

    // The loop does not allocate.
    const auto turns = static_cast<std::size_t>(seconds) * static_cast<std::size_t>(rate);
    std::vector<std::int64_t> late;
    std::vector<std::int64_t> sweep;
    late.reserve(turns);
    sweep.reserve(turns);

    const std::uint64_t counted_before = total(group.sweep());
    std::uint64_t counted = counted_before;
    const double cpu = own_cpu_seconds();
    const std::int64_t start = now_ns();
    for (std::size_t turn = 0; turn < turns; ++turn) {
        const std::int64_t deadline = start + static_cast<std::int64_t>(turn + 1) * second / rate;
        sleep_until(deadline);
        const std::int64_t awake = now_ns();
        // A deadline is missed if the next one has passed as well. Missed sweeps are not made up
        // for: a burst of sweeps would measure only itself.
        if (awake >= deadline + second / rate) continue;
        counted = total(group.sweep());
        late.push_back(awake - deadline);
        sweep.push_back(now_ns() - awake);
    }
    const auto elapsed = static_cast<double>(now_ns() - start) / 1e9;

    std::printf("%zu sweeps of %zu groups in %.2f s, by %s; %zu missed\n", sweep.size(),
                group.members().size(), elapsed,
                std::string(metagroup::to_string(group.backend())).c_str(), turns - sweep.size());
    std::printf("%s: %llu\n", group.events(0)[0].name.c_str(),
                static_cast<unsigned long long>(counted - counted_before));
    std::printf("own CPU time: %.1f %% of one CPU\n", (own_cpu_seconds() - cpu) / elapsed * 100);
    if (!sweep.empty()) {
        std::printf("%-12s %9s %9s %9s\n", "", "median", "99 %", "longest");
        print_times("woken late", late);
        print_times("sweep", sweep);
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "sampler: %s\n", error.what());
    return 1;
}
