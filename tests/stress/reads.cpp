// SPDX-License-Identifier: MIT
// All ways to read the counters and to query a meta-group, and streams.
#include <sys/epoll.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "operations.hpp"

namespace stress {
namespace {

// RAW fails if a member is being moved, or its PMU refuses.
bool may_fail(long got) {
    return got == -EAGAIN || got == -EIO;
}

// Checks the first `got` bytes of the worker's buffer, or the error -`got`.
bool check(Worker& worker, Slot& slot, long got, const char* call) {
    if (may_fail(got)) return false;
    demand(got >= 0, std::string(call) + ": " + std::to_string(got));
    worker.checker.check(slot, Bytes(worker.buffer.begin(), worker.buffer.begin() + got));
    return true;
}

// Also offline ones, and CPUs that do not exist.
std::vector<int> some_cpus(const World& world, Random& random) {
    std::vector<int> cpus;
    for (const int cpu : world.cpus)
        if (random.one_in(2)) cpus.push_back(cpu);
    if (random.one_in(4)) cpus.push_back(static_cast<int>(random.below(500)));
    return cpus;
}

bool read_all(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    worker.checker.begin();
    const long got = slot->meta.read(worker.buffer.data(), worker.buffer.size());
    return check(worker, *slot, got, "read");
}

bool sweep_some(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const long got = random.one_in(2) ? slot->meta.sweep()
                                      : slot->meta.sweep_on(some_cpus(worker.world, random));
    demand(got == 0, "SWEEP without a copy: " + std::to_string(got));
    return true;
}

bool copy_some(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const auto words = cpu_words(some_cpus(worker.world, random));
    worker.checker.begin();
    return check(worker, *slot, slot->meta.sweep(sweep_of(words, worker.buffer)),
                 "SWEEP with a copy");
}

bool read_mapped(Worker& worker, Random& random) {
    const unsigned index = random.below(World::kSlots);
    const bool again = random.one_in(20);
    auto& mapped = worker.mapped.at(index);
    if (!mapped || mapped->memory.moved() || again) {
        const auto slot = worker.world.slot(index);
        mapped.emplace(Worker::Mapped{slot, Mapping(slot->meta)});
    }
    worker.checker.begin_old();
    const auto copy = mapped->memory.copy();
    if (!copy || mapped->memory.moved()) {
        mapped.reset();
        return false;
    }
    worker.checker.check(*mapped->slot, *copy, true);
    return true;
}

bool read_own(Worker& worker, Random& random) {
    const auto group = worker.any_group(random);
    if (!group) return false;
    Bytes bytes;
    try {
        bytes = group->events.read();
    } catch (const std::system_error& error) {
        demand(error.code().value() == EIO, error.what());
        return false;
    }
    try {
        if (!bytes.empty()) worker.checker.check_own(group->events.read_format, bytes);
    } catch (const Violation& violation) {
        throw Violation(group->kind + ": " + violation.what());
    }
    return true;
}

bool get_member(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const auto all = slot->all();
    if (all.empty()) return false;
    const unsigned number = std::next(all.begin(), random.below(all.size()))->first;

    std::array<std::uint64_t, 500> ids{};
    perf_metagroup_member arg{};
    arg.member = number;
    arg.ids = reinterpret_cast<std::uintptr_t>(ids.data());
    arg.max_ids = static_cast<unsigned>(ids.size());
    const long got = slot->meta.member(arg);
    if (got == -ENOENT || got == -EAGAIN) return false;  // detached meanwhile, or being moved
    demand(got == 0, "GET_MEMBER: " + std::to_string(got));
    demand(arg.events >= 1 && arg.events < ids.size(), "GET_MEMBER: number of events");
    demand(arg.status <= PERF_METAGROUP_REVOKED, "GET_MEMBER: status");
    demand(slot->is(number, ids[0]), "GET_MEMBER: ids of another member");
    for (unsigned i = 1; i < arg.events; ++i)
        demand(worker.world.events.belongs(ids[i], ids[0]), "GET_MEMBER: an id of another group");
    return true;
}

bool get_info(Worker& worker, Random& random) {
    const auto info = worker.any_slot(random)->meta.info();
    demand(info.members <= info.max_members && info.cpus <= info.members, "INFO: members");
    demand(info.framed_size >= sizeof(perf_metagroup_snapshot), "INFO: framed_size");
    return true;
}

bool show_fdinfo(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    std::ifstream file("/proc/self/fdinfo/" + std::to_string(slot->meta.fd()));
    std::ostringstream text;
    text << file.rdbuf();
    demand(text.str().find("members:\t") != std::string::npos, "fdinfo lists no members");
    return true;
}

// Starts, drains or stops a stream.
bool stream(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const std::unique_lock lock(slot->streaming, std::try_to_lock);
    if (!lock) return false;
    if (!slot->stream) {
        const std::chrono::microseconds period(10 << random.below(10));
        const std::size_t size = kRingPage << random.below(6);
        const unsigned flags = random.one_in(4) ? PERF_METAGROUP_STREAM_OVERWRITE : 0;
        slot->streamed = true;
        try {
            slot->stream = std::make_shared<Stream>(worker.world, *slot, period, size, flags);
        } catch (const std::system_error& error) {
            demand(error.code().value() == ENOSPC, error.what());
            return false;
        }
        return true;
    }
    slot->stream->drain();
    if (random.one_in(20)) {
        slot->stream->stop();
        slot->stream->drain();
        slot->stream.reset();
    }
    return true;
}

// The handle is in an epoll(7) before it has a stream. Of the first CPU, which is always online.
bool poll_early(Worker& worker, Random& random) {
    const EventGroup group = open_group(worker.world.cpus.front(), kTimes, 1);
    const Meta meta(group);
    const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    demand(epoll && ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, meta.fd(), &event) == 0,
           "a handle is not added to epoll");
    perf_metagroup_stream arg =
        stream_of(std::chrono::microseconds(100 << random.below(4)), kRingPage);
    arg.watermark = 1;
    demand(start_stream(meta, arg) == 0, "START of a stream that epoll waits for");
    demand(::epoll_wait(epoll.get(), &event, 1, 30'000) == 1, "epoll does not see a stream");
    return true;
}

}  // namespace

std::span<const Operation> read_operations() {
    static constexpr Operation all[] = {
        {"read", 160, read_all},
        {"sweep", 32, sweep_some},
        {"sweep and copy", 64, copy_some},
        {"read mapped", 80, read_mapped},
        {"own read", 64, read_own},
        {"get member", 32, get_member},
        {"info", 16, get_info},
        {"fdinfo", 4, show_fdinfo},
        {"stream", 24, stream},
        {"poll early", 1, poll_early},
    };
    return all;
}

}  // namespace stress
