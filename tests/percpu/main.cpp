// SPDX-License-Identifier: MIT
// Events on all CPUs (PERF_FORMAT_PERCPU, see upstream/): opens them with right and wrong
// attributes, reads, enables, disables, resets and closes them on several threads, while a process
// takes CPUs offline and unregisters a PMU. For guests. What read() returns is checked.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace {

using metagroup::test::Random;

constexpr std::uint64_t format_percpu = 1U << 5;
constexpr std::size_t most_groups = 8;
constexpr std::array sources = {"software", "tracepoint", "msr", "metagroup_test",
                                "metagroup_core"};

struct Source {
    std::uint32_t type;
    std::vector<std::uint64_t> configs;
};

std::optional<std::uint64_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    return file >> number ? std::optional(number) : std::nullopt;
}

std::vector<Source> find_sources() {
    std::vector<Source> found;
    for (const std::string name : sources) {
        const auto type = number_in("/sys/bus/event_source/devices/" + name + "/type");
        if (!type) continue;
        Source source{static_cast<std::uint32_t>(*type), {0, 1, 2, 9}};
        if (name == "tracepoint") {
            source.configs.clear();
            for (const char* event : {"sched/sched_switch", "sched/sched_waking"})
                if (const auto id =
                        number_in("/sys/kernel/tracing/events/" + std::string(event) + "/id"))
                    source.configs.push_back(*id);
            if (source.configs.empty()) continue;
        }
        found.push_back(source);
    }
    return found;
}

// A group has a fixed place, which threads take turns to use and share while they read.
struct Group {
    std::array<std::atomic<int>, 5> fds{-1, -1, -1, -1, -1};
};

struct Statistics {
    std::atomic<std::uint64_t> opened{0}, refused{0}, read{0}, errors{0}, closed{0};
};

std::atomic<bool> stop{false};
std::atomic<bool> failed{false};
std::array<Group, most_groups> groups;
Statistics statistics;

void complain(const std::string& what) {
    std::fprintf(stderr, "percpu: %s\n", what.c_str());
    failed = true;
    stop = true;
}

bool one_of(int error, std::initializer_list<int> expected) {
    return std::ranges::find(expected, error) != expected.end();
}

// The records that read() returns have ascending CPUs, and fill it exactly.
void check_records(const std::vector<std::uint64_t>& words, std::size_t bytes) {
    const std::uint64_t nr = words[0], size = words[1];
    if (bytes < 16 || size < 24 || size % 8 != 0 || nr == 0 || nr != (bytes - 16) / size ||
        (bytes - 16) % size != 0)
        return complain("a read of " + std::to_string(bytes) + " bytes has " + std::to_string(nr) +
                        " records of " + std::to_string(size));
    std::int64_t last = -1;
    for (std::uint64_t i = 0; i < nr; ++i) {
        const std::uint64_t head = words[2 + i * size / 8];
        const auto cpu = static_cast<std::int64_t>(head & UINT32_MAX);
        const auto error = static_cast<std::int32_t>(head >> 32);
        if (cpu <= last)
            return complain("CPU " + std::to_string(cpu) + " after " + std::to_string(last));
        last = cpu;
        // EIO and EINVAL: metagroup_test on demand.
        if (!one_of(-error, {0, EBUSY, ECHILD, ENODEV, EIO, EINVAL}))
            return complain("error " + std::to_string(error) + " of CPU " + std::to_string(cpu));
        statistics.errors += error != 0;
    }
}

void read_event(Random& random, int fd) {
    // Threads close descriptors that others use: they are then closed, or those of other events.
    std::vector<std::uint64_t> words(random.one_in(20) ? 1 + random.below(64) : 8192);
    const ssize_t got = ::read(fd, words.data(), words.size() * 8);
    if (got > 0) {
        ++statistics.read;
        check_records(words, static_cast<std::size_t>(got));
    } else if (got == 0) {
        complain("a read returned nothing");
    } else if (!one_of(errno, {EBADF, ENOSPC, ENODEV, EINTR})) {
        complain("read: " + std::string(strerror(errno)));
    }
}

perf_event_attr choose_attr(Random& random, const std::vector<Source>& all) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    const Source& source = random.pick(all);
    attr.type = source.type;
    attr.config = random.pick(source.configs);
    attr.read_format = format_percpu | (random.next() & 31U);
    attr.disabled = random.one_in(2);
    attr.pinned = random.one_in(8);
    attr.exclude_kernel = random.one_in(8);
    return attr;
}

// Sets one attribute that such an event may not have. \return false if it may have it.
bool spoil(Random& random, perf_event_attr& attr, long& pid, long& cpu, unsigned long& flags) {
    switch (random.below(13)) {
        case 0:
            attr.inherit = 1;
            return true;
        case 1:
            attr.inherit_stat = 1;
            return true;
        case 2:
            attr.sample_period = 1 + random.below(1'000'000);
            return true;
        case 3:
            attr.freq = 1, attr.sample_freq = 1 + random.below(1000);
            return true;
        case 4:
            attr.aux_output = 1;
            return true;
        case 5:
            attr.inherit = 1, attr.inherit_thread = 1;
            return true;
        case 6:
            attr.sigtrap = 1;
            return true;
        case 7:
            pid = 0;
            return true;
        case 8:
            cpu = random.below(4);
            return true;
        case 9:
            flags |= PERF_FLAG_PID_CGROUP;
            return true;
        case 10:
            flags |= PERF_FLAG_FD_OUTPUT;
            return true;
        case 11:
            attr.read_format |= std::uint64_t{1} << (6 + random.below(58));
            return true;
        // Anything at all; most of it is refused, and the rest must do no harm.
        default: {
            auto* bytes = reinterpret_cast<unsigned char*>(&attr);
            for (int i = 0; i < 3; ++i)
                bytes[8 + random.below(sizeof(attr) - 8)] ^=
                    static_cast<unsigned char>(1U << random.below(8));
            return false;
        }
    }
}

int open_event(const perf_event_attr& attr, long pid, long cpu, int leader, unsigned long flags) {
    const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, leader, flags);
    fd >= 0 ? ++statistics.opened : ++statistics.refused;
    return static_cast<int>(fd);
}

// With wrong attributes. Those events do not stay.
void fuzz(Random& random, const std::vector<Source>& all) {
    perf_event_attr attr = choose_attr(random, all);
    const perf_event_attr right = attr;
    long pid = -1, cpu = -1;
    unsigned long flags = PERF_FLAG_FD_CLOEXEC;
    const bool wrong = spoil(random, attr, pid, cpu, flags);
    const int leader = random.one_in(2) ? random.pick(random.pick(groups).fds).load() : -1;
    const int fd = open_event(attr, pid, cpu, leader, flags);
    if (fd < 0) {
        if (one_of(errno, {EFAULT, ENOMEM, EDEADLK, EIO}))
            complain("open: " + std::string(strerror(errno)));
        return;
    }
    const bool percpu = (attr.read_format & format_percpu) != 0;
    if (wrong || (percpu && attr.sample_period != 0))
        complain("an event was opened that must be refused: read_format " +
                 std::to_string(attr.read_format));
    if (percpu && attr.read_format == right.read_format) {
        read_event(random, fd);
        if (::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
            complain("it was mapped");
        if (::ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0) complain("it was refreshed");
        if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1) == 0) complain("it had its output set");
        if (::ioctl(fd, PERF_EVENT_IOC_PERIOD, &attr) == 0) complain("it had its period set");
    }
    ::close(fd);
}

void change(Random& random, const std::vector<Source>& all) {
    Group& group = random.pick(groups);
    const std::size_t place = random.below(group.fds.size());
    if (random.one_in(2)) {
        const int fd = group.fds[place].exchange(-1);
        if (fd < 0) return;
        ::close(fd);
        ++statistics.closed;
        return;
    }
    if (group.fds[place] >= 0) return;
    perf_event_attr attr = choose_attr(random, all);
    if (place != 0) attr.pinned = 0;
    const int leader = place == 0 ? -1 : group.fds[0].load();
    const int fd = open_event(attr, -1, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return;
    int none = -1;
    if (!group.fds[place].compare_exchange_strong(none, fd)) ::close(fd);
}

void control(Random& random, int fd) {
    constexpr std::array requests = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_ENABLE,
                                     PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET};
    if (::ioctl(fd, random.pick(requests), random.one_in(2) ? PERF_IOC_FLAG_GROUP : 0) != 0 &&
        !one_of(errno, {EBADF, ENODEV}))
        complain("ioctl: " + std::string(strerror(errno)));
}

void work(std::uint64_t seed, std::uint64_t thread, const std::vector<Source>& all) {
    for (std::uint64_t step = 0; !stop; ++step) {
        Random random(seed, thread, step);
        const int fd = random.pick(random.pick(groups).fds);
        switch (random.below(8)) {
            case 0:
                fuzz(random, all);
                break;
            case 1:
            case 2:
                change(random, all);
                break;
            case 3:
                control(random, fd);
                break;
            default:
                if (fd >= 0) read_event(random, fd);
        }
    }
}

void put(const std::string& path, const char* text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    static_cast<void>(!::write(fd, text, std::strlen(text)));
    ::close(fd);
}

void restore() {
    for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_CONF); ++cpu)
        put("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online", "1");
    put("/sys/module/metagroup_testpmu/parameters/registered", "1");
}

// A process of its own: no thread reads its descriptors by mistake.
[[noreturn]] void disturb(std::uint64_t seed) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    Random random(seed);
    for (;;) {
        const std::string cpu = "/sys/devices/system/cpu/cpu" +
                                std::to_string(random.below(static_cast<std::size_t>(cpus))) +
                                "/online";
        put(cpu, "0");
        ::usleep(random.below(50'000));
        put(cpu, "1");
        if (random.one_in(4)) {
            const std::string pmu = "/sys/module/metagroup_testpmu/parameters/registered";
            put(pmu, "0");
            ::usleep(random.below(20'000));
            put(pmu, "1");
        }
        ::usleep(random.below(50'000));
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Stress events on all CPUs (PERF_FORMAT_PERCPU).");
    unsigned seconds = 30, threads = 4;
    std::uint64_t seed =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    bool quiet = false;
    app.add_option("--seconds", seconds, "duration")->capture_default_str();
    app.add_option("--threads", threads, "threads")->capture_default_str();
    app.add_option("--seed", seed, "seed of all choices");
    app.add_flag("--undisturbed", quiet, "leave CPUs and PMUs alone");
    CLI11_PARSE(app, argc, argv);

    const std::vector<Source> all = find_sources();
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.read_format = format_percpu;
    const int probe = static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, -1, -1, 0));
    if (probe < 0) {
        std::fprintf(stderr, "percpu: this kernel has no PERF_FORMAT_PERCPU: %s\n",
                     strerror(errno));
        return 1;
    }
    ::close(probe);
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const pid_t child = quiet ? -1 : ::fork();
    if (child == 0) disturb(seed);
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back([&, i] { work(seed, i, all); });
    for (unsigned tenth = 0; tenth < 10 * seconds && !stop; ++tenth)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
    for (std::thread& worker : workers)
        worker.join();
    if (child > 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        restore();
    }
    for (Group& group : groups)
        for (std::atomic<int>& fd : group.fds)
            if (fd >= 0) ::close(fd);
    std::printf("opened %llu, refused %llu, closed %llu, read %llu, records with an error %llu\n",
                static_cast<unsigned long long>(statistics.opened),
                static_cast<unsigned long long>(statistics.refused),
                static_cast<unsigned long long>(statistics.closed),
                static_cast<unsigned long long>(statistics.read),
                static_cast<unsigned long long>(statistics.errors));
    if (statistics.opened == 0 || statistics.refused == 0 || statistics.read == 0)
        complain("too little was done");
    return failed ? 1 : 0;
}
