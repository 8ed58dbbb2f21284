// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/perf_metagroup.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <stdexcept>

#include "calls.hpp"
#include "support/cpus.hpp"
#include "support/perf.hpp"

namespace fuzz {
namespace {

using namespace metagroup::test;

struct Range {
    int first, count;
    int pick(Random& random) const {
        return first + static_cast<int>(random.below(static_cast<std::size_t>(count)));
    }
};

// Far above the numbers that the kernel assigns.
constexpr Range kReadWrite{400, 12}, kReadOnly{420, 3}, kWriteOnly{430, 3}, kPath{440, 1};
constexpr Range kPerf{500, 64};
constexpr int kClosed = 700;
enum Other { pipe_in = 600, pipe_out, file, directory, path, epoll, event, others };

const std::vector<int>& cpus() {
    static const auto all = online_cpus();
    return all;
}

// Moves a new descriptor to a number of its kind, which is closed first.
long put(int fd, int number) {
    if (fd < 0) return -errno;
    const long got = ::dup3(fd, number, O_CLOEXEC);
    const int error = errno;
    ::close(fd);
    return got < 0 ? -error : 0;
}

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) >= 0;
}

int flags_of(Access access) {
    switch (access) {
        case Access::read_only:
            return O_RDONLY;
        case Access::write_only:
            return O_WRONLY;
        case Access::path:
            return O_PATH;
        default:
            return O_RDWR;
    }
}

perf_event_attr any_event(Random& random) {
    static constexpr std::uint64_t kConfigs[] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
                                                 PERF_COUNT_SW_CONTEXT_SWITCHES,
                                                 PERF_COUNT_SW_DUMMY};
    const std::uint64_t format = random.below(kReadFormats);
    if (random.one_in(4))
        if (const auto attr = random.one_in(2) ? testpmu_event(format) : testpmu_core_event(format))
            return *attr;
    return software_event(random.pick(kConfigs), format);
}

}  // namespace

Handle any_handle(Random& random) {
    switch (random.below(16)) {
        case 0:
            return {kReadOnly.pick(random), Access::read_only};
        case 1:
            return {kWriteOnly.pick(random), Access::write_only};
        case 2:
            return {kPath.pick(random), Access::path};
        default:
            return {kReadWrite.pick(random), Access::read_write};
    }
}

int any_descriptor(Random& random) {
    static constexpr int kOdd[] = {-1, INT_MIN, INT_MAX, 100'000, kClosed, 0, AT_FDCWD};
    switch (random.below(40)) {
        case 0:
            return random.pick(kOdd);
        case 1:
            return any_handle(random).number;
        case 2:
            return Range{pipe_in, others - pipe_in}.pick(random);
        default:
            return kPerf.pick(random);
    }
}

void open_other_files() {
    int ends[2];
    const bool opened = ::pipe2(ends, O_NONBLOCK) == 0 && put(ends[0], pipe_in) == 0 &&
                        put(ends[1], pipe_out) == 0 && put(::memfd_create("file", 0), file) == 0 &&
                        put(::open("/", O_RDONLY | O_DIRECTORY), directory) == 0 &&
                        put(::open("/", O_PATH), path) == 0 &&
                        put(::epoll_create1(0), epoll) == 0 && put(::eventfd(0, 0), event) == 0;
    if (!opened) throw std::runtime_error("cannot open descriptors of other kinds");
}

int other_pipe() {
    return pipe_out;
}

int other_file() {
    return file;
}

int other_epoll() {
    return epoll;
}

namespace {

Outcome open_handle(Fuzzer&, Random& random) {
    static constexpr int kMore[] = {0,       0,      0,       O_NONBLOCK, O_APPEND,
                                    O_TRUNC, O_SYNC, O_CREAT, O_DIRECT};
    const Handle handle = any_handle(random);
    const int more = handle.callable() ? random.pick(kMore) : 0;
    const int flags = flags_of(handle.access) | more | O_CLOEXEC;
    const bool replace = random.one_in(16);
    Outcome outcome{.call = Call::open};
    outcome.arguments = {static_cast<std::uint64_t>(handle.number),
                         static_cast<std::uint64_t>(flags)};
    if (!replace && is_open(handle.number)) return outcome;
    outcome.result = put(::open(PERF_METAGROUP_DEVICE, flags, 0600), handle.number);
    if (more == O_DIRECT) outcome.must = {EINVAL};
    return outcome;
}

Outcome close_handle(Fuzzer&, Random& random) {
    const int number = any_handle(random).number;
    return {.call = Call::close,
            .arguments = {static_cast<std::uint64_t>(number)},
            .result = ::close(number) ? -errno : 0};
}

// The same handle twice, until one of them is closed or replaced.
Outcome dup_handle(Fuzzer&, Random& random) {
    const int from = kReadWrite.pick(random), to = kReadWrite.pick(random);
    Outcome outcome{.call = Call::dup};
    outcome.arguments = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)};
    outcome.result = ::dup3(from, to, O_CLOEXEC) < 0 ? -errno : 0;
    if (from == to) outcome.must = {EINVAL};
    return outcome;
}

// Mostly leaders that can be attached. Results of perf itself are not judged.
Outcome open_perf(Fuzzer&, Random& random) {
    auto attr = any_event(random);
    attr.disabled = random.one_in(4);
    attr.pinned = random.one_in(8);
    const int cpu = random.pick(cpus());
    const int number = kPerf.pick(random);
    const unsigned kind = random.below(8);
    const bool replace = random.one_in(8);
    Outcome outcome{.call = Call::open_perf};
    outcome.arguments = {static_cast<std::uint64_t>(number), kind};
    if (!replace && is_open(number)) return outcome;
    int fd = -1;
    if (kind == 0)
        fd = open_event(attr, 0, -1, -1);  // of this task
    else if (kind == 1)
        fd = open_event(attr, 0, cpu, -1);
    else if (kind <= 3)
        fd = open_event(attr, -1, cpu, kPerf.pick(random));  // a sibling
    else
        fd = open_event(attr, -1, cpu, -1);
    outcome.result = put(fd, number);
    return outcome;
}

Outcome close_perf(Fuzzer&, Random& random) {
    const int number = kPerf.pick(random);
    return {.call = Call::close_perf,
            .arguments = {static_cast<std::uint64_t>(number)},
            .result = ::close(number) ? -errno : 0};
}

Outcome control_perf(Fuzzer&, Random& random) {
    static constexpr unsigned long kCommands[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
                                                  PERF_EVENT_IOC_RESET};
    const int number = kPerf.pick(random);
    const unsigned long command = random.pick(kCommands);
    const int flags = random.one_in(2) ? PERF_IOC_FLAG_GROUP : 0;
    return {.call = Call::control_perf,
            .arguments = {static_cast<std::uint64_t>(number), command},
            .result = ::ioctl(number, command, flags) ? -errno : 0};
}

}  // namespace

std::span<const Generator> descriptor_generators() {
    static constexpr Generator all[] = {
        {10, open_handle}, {2, close_handle}, {1, dup_handle},
        {12, open_perf},   {2, close_perf},   {2, control_perf},
    };
    return all;
}

}  // namespace fuzz
