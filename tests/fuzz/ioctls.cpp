// SPDX-License-Identifier: MIT
// The ioctls of a handle.
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>

#include <bit>

#include "calls.hpp"

namespace fuzz {

Target any_member(const Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    const auto anything = static_cast<std::uint32_t>(random.next());
    const auto small = static_cast<std::uint32_t>(random.below(100));
    const auto& known = random.pick(fuzzer.members);
    if (known.handle >= 0 && random.one_in(2))
        return {{known.handle, Access::read_write}, known.number};
    return {handle, random.one_in(4) ? anything : small};
}

Outcome call(Fuzzer& fuzzer, Call kind, Handle handle, unsigned long command,
             const Placed& placed) {
    Outcome outcome{.call = kind, .must = placed.must};
    outcome.arguments = {static_cast<std::uint64_t>(handle.number), command, placed.address,
                         placed.size};
    const long got = ::ioctl(handle.number, command, placed.address);
    outcome.result = got < 0 ? -errno : got;
    if (!handle.callable()) outcome.must = {EBADF};
    if (placed.guarded && !fuzzer.arena.guard_intact(placed.guarded))
        outcome.broken = "bytes after the structure were written";
    return outcome;
}

void set_reserved(std::uint32_t& reserved, Random& random, Errnos& must) {
    if (!random.one_in(20)) return;
    reserved = 1U << random.below(32);
    must |= {EINVAL};
}

namespace {

constexpr unsigned kMaxWords = 1024;    // of SWEEP
constexpr unsigned kMaxMembers = 8192;  // of ATTACH

Outcome info(Fuzzer& fuzzer, Random& random) {
    const perf_metagroup_info value{};
    const Placed placed = place_struct(fuzzer, random, value, PERF_METAGROUP_INFO_SIZE_VER1, true);
    Outcome outcome = call(fuzzer, Call::info, any_handle(random), PERF_METAGROUP_IOC_INFO, placed);
    if (outcome.result == 0) {
        const auto got = fetch<perf_metagroup_info>(placed);
        if (got.abi != PERF_METAGROUP_ABI || got.members > got.max_members ||
            got.format > PERF_METAGROUP_FORMAT_FRAMED)
            outcome.broken = "INFO is inconsistent";
    }
    return outcome;
}

Outcome attach(Fuzzer& fuzzer, Random& random) {
    static constexpr unsigned kOddCounts[] = {0, kMaxMembers + 1, 0x40000000, 0xFFFFFFFF};
    Errnos must;
    perf_metagroup_attach value{};
    value.count = 1 + random.below(random.one_in(8) ? 40 : 3);
    std::vector<int> fds(value.count);
    for (int& fd : fds)
        fd = any_descriptor(random);
    // In the middle of the arena: the structure may be at either end.
    unsigned char* const at = fuzzer.arena.at_end(Arena::kSize / 2);
    std::memcpy(at, fds.data(), fds.size() * sizeof(int));
    value.fds = reinterpret_cast<std::uintptr_t>(at);
    if (random.one_in(30)) {
        value.count = random.pick(kOddCounts);
        must |= value.count ? Errnos{E2BIG} : Errnos{EINVAL};
    }
    if (random.one_in(30)) {
        value.fds = Arena::invalid(random);
        must |= {EFAULT};
    }
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_ATTACH_SIZE_VER1, true);
    const Handle handle = any_handle(random);
    Outcome outcome = call(fuzzer, Call::attach, handle, PERF_METAGROUP_IOC_ATTACH, placed);
    outcome.must |= must;
    if (outcome.result == 0 && handle.access == Access::read_write)
        random.pick(fuzzer.members) = {handle.number, fetch<perf_metagroup_attach>(placed).first};

    // The reason, if the arguments are right.
    static constexpr int kErrors[] = {0, EBADF, EINVAL, EINVAL, EINVAL, EBUSY};
    if (outcome.must.empty() && outcome.result != -EBADF) {
        const auto got = fetch<perf_metagroup_attach>(placed);
        if (got.reason > PERF_METAGROUP_REASON_BUSY)
            outcome.broken = "an unknown reason";
        else if (got.reason && (outcome.result != -kErrors[got.reason] || got.failed >= got.count))
            outcome.broken = "the reason is not that of the error";
        else if (!got.reason &&
                 (got.failed != got.count || outcome.result == -EINVAL || outcome.result == -EBUSY))
            outcome.broken = "no reason is given";
    }
    return outcome;
}

Outcome detach(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_detach value{};
    const Target target = any_member(fuzzer, random);
    value.member = target.member;
    set_reserved(value.reserved, random, must);
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_DETACH_SIZE_VER1, false);
    Outcome outcome = call(fuzzer, Call::detach, target.handle, PERF_METAGROUP_IOC_DETACH, placed);
    outcome.must |= must;
    return outcome;
}

Outcome set_format(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_format value{};
    value.format = random.below(2);
    if (random.one_in(20)) {
        value.format = 2 + static_cast<std::uint32_t>(random.below(0xFFFFFFFE));
        must |= {EINVAL};
    }
    set_reserved(value.reserved, random, must);
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_FORMAT_SIZE_VER1, false);
    Outcome outcome =
        call(fuzzer, Call::set_format, any_handle(random), PERF_METAGROUP_IOC_SET_FORMAT, placed);
    outcome.must |= must;
    return outcome;
}

Outcome get_member(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_member value{};
    const Target target = any_member(fuzzer, random);
    value.member = target.member;
    value.max_ids = random.one_in(2) ? 0 : random.below(random.one_in(4) ? 100'000 : 8);
    value.ids = reinterpret_cast<std::uintptr_t>(fuzzer.arena.at_end(Arena::kSize / 2));
    if (value.max_ids && random.one_in(10)) {
        value.ids = Arena::invalid(random);
        if (value.ids) must |= {EFAULT};  // 0: no ids
    }
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_MEMBER_SIZE_VER1, true);
    Outcome outcome =
        call(fuzzer, Call::get_member, target.handle, PERF_METAGROUP_IOC_GET_MEMBER, placed);
    outcome.must |= must;
    if (outcome.result == 0) {
        const auto got = fetch<perf_metagroup_member>(placed);
        if (!got.events || got.payload < 8 || got.status > PERF_METAGROUP_REVOKED)
            outcome.broken = "GET_MEMBER is inconsistent";
    }
    return outcome;
}

Outcome set_mode(Fuzzer& fuzzer, Random& random) {
    constexpr std::uint32_t kModes = PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED;
    Errnos must;
    perf_metagroup_mode value{};
    value.mode = random.below(kModes + 1);
    if (random.one_in(20)) {
        value.mode |= (kModes + 1) << random.below(30);
        must |= {EINVAL};
    }
    set_reserved(value.reserved, random, must);
    const Placed placed = place_struct(fuzzer, random, value, PERF_METAGROUP_MODE_SIZE_VER1, false);
    Outcome outcome =
        call(fuzzer, Call::set_mode, any_handle(random), PERF_METAGROUP_IOC_SET_MODE, placed);
    outcome.must |= must;
    return outcome;
}

Outcome sweep(Fuzzer& fuzzer, Random& random) {
    Errnos must, may;
    const Handle handle = any_handle(random);
    perf_metagroup_sweep value{};
    unsigned char* const words = fuzzer.arena.at_end(Arena::kSize / 2);
    if (random.one_in(2)) {
        value.nr_words = random.one_in(8) ? 1 + random.below(kMaxWords) : 1;
        value.cpus = reinterpret_cast<std::uintptr_t>(words);
        for (unsigned i = 0; i < value.nr_words * sizeof(std::uint64_t); ++i)
            words[i] = static_cast<unsigned char>(random.next());
    }
    if (random.one_in(2)) {
        value.buffer_size = 1 + random.below(random.one_in(4) ? 100 : 65536);
        value.buffer = reinterpret_cast<std::uintptr_t>(words + kMaxWords * sizeof(std::uint64_t));
        if (!handle.readable()) must |= {EBADF};
    }
    switch (random.below(60)) {
        case 0:
            value.nr_words = kMaxWords + 1 + random.below(0x80000000);
            break;
        case 1:
            value.nr_words = value.nr_words ? 0 : 1;
            break;
        case 2:
            value.buffer_size = value.buffer_size ? 0 : 1;
            break;
        case 3:
            if (value.nr_words) value.cpus = Arena::invalid(random);
            if (value.cpus && value.nr_words) must |= {EFAULT};
            break;
        case 4:
            if (value.buffer_size) value.buffer = Arena::invalid(random);
            if (value.buffer) may |= {EFAULT};
            break;
        default:
            break;
    }
    set_reserved(value.reserved, random, must);
    if (value.nr_words > kMaxWords || !value.cpus != !value.nr_words ||
        !value.buffer != !value.buffer_size)
        must |= {EINVAL};
    Placed placed = place_struct(fuzzer, random, value, PERF_METAGROUP_SWEEP_SIZE_VER1, false);
    if (!placed.address) {  // all CPUs, no copy
        placed.must = {};
        must = may = {};
    }
    Outcome outcome = call(fuzzer, Call::sweep, handle, PERF_METAGROUP_IOC_SWEEP, placed);
    outcome.must |= must;
    outcome.may |= may;
    if (outcome.result > 0 && static_cast<std::uint64_t>(outcome.result) > value.buffer_size)
        outcome.broken = "more was copied than there is room for";
    return outcome;
}

Outcome stream(Fuzzer& fuzzer, Random& random) {
    static constexpr std::uint64_t kOddPeriods[] = {1, PERF_METAGROUP_MIN_PERIOD - 1,
                                                    PERF_METAGROUP_MAX_PERIOD + 1, UINT64_MAX};
    static constexpr std::uint64_t kOddRings[] = {
        0, 1, 2048, 4097, 12288, 2 * PERF_METAGROUP_MAX_RING, std::uint64_t{1} << 63};
    Errnos must;
    perf_metagroup_stream value{};
    if (random.one_in(2)) {
        value.period = 1'000'000 + random.below(10'000'000);
        value.ring_size = 4096U << random.below(4);
        value.watermark = random.below(static_cast<unsigned>(value.ring_size));
        value.flags = random.below(2);
        if (random.one_in(40)) value.period = random.pick(kOddPeriods);
        if (random.one_in(40)) value.ring_size = random.pick(kOddRings);
        if (random.one_in(40)) value.watermark = PERF_METAGROUP_MAX_RING + random.next() / 2;
        if (random.one_in(40)) value.flags = 2U << random.below(31);
        if (value.period < PERF_METAGROUP_MIN_PERIOD || value.period > PERF_METAGROUP_MAX_PERIOD ||
            value.flags > 1 || !std::has_single_bit(value.ring_size) || value.ring_size < 4096 ||
            value.ring_size > PERF_METAGROUP_MAX_RING || value.watermark > value.ring_size)
            must |= {EINVAL};
    } else if (random.one_in(20)) {  // a stop has a period of 0, and nothing else
        value.ring_size = 4096;
        must |= {EINVAL};
    }
    std::vector<unsigned char> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    const Placed placed =
        place(fuzzer, random, std::move(bytes), PERF_METAGROUP_STREAM_SIZE_VER1, true);
    Outcome outcome =
        call(fuzzer, Call::stream, any_handle(random), PERF_METAGROUP_IOC_STREAM, placed);
    outcome.must |= must;
    return outcome;
}

Outcome control(Fuzzer&, Random& random) {
    static constexpr struct {
        Call call;
        unsigned long command;
    } kControls[] = {{Call::enable, PERF_METAGROUP_IOC_ENABLE},
                     {Call::disable, PERF_METAGROUP_IOC_DISABLE},
                     {Call::reset, PERF_METAGROUP_IOC_RESET}};
    const auto& chosen = random.pick(kControls);
    const Handle handle = any_handle(random);
    const std::uint64_t argument = random.one_in(10) ? random.next() : 0;
    Outcome outcome{.call = chosen.call};
    outcome.arguments = {static_cast<std::uint64_t>(handle.number), chosen.command, argument};
    outcome.result = ::ioctl(handle.number, chosen.command, argument) < 0 ? -errno : 0;
    if (argument) outcome.must = {EINVAL};
    if (!handle.callable()) outcome.must = {EBADF};
    return outcome;
}

// Unknown commands; known numbers with another size, direction or type.
Outcome no_ioctl(Fuzzer& fuzzer, Random& random) {
    constexpr unsigned kCommands = 18;
    const unsigned number = random.below(kCommands);
    const unsigned long commands[] = {
        _IO(0xBD, kCommands + random.below(256 - kCommands)), _IO(0xBC, number), _IO(0xBE, number),
        _IOC(_IOC_READ, 0xBD, number, 64), _IOC(_IOC_WRITE, 0xBD, number, 16)};
    const Handle handle = any_handle(random);
    const unsigned long command = random.pick(commands);
    const auto argument = reinterpret_cast<std::uintptr_t>(fuzzer.arena.at_end(4096));
    Outcome outcome{.call = Call::no_ioctl, .must = {ENOTTY}};
    outcome.arguments = {static_cast<std::uint64_t>(handle.number), command, argument};
    outcome.result = ::ioctl(handle.number, command, argument) < 0 ? -errno : 0;
    if (!handle.callable()) outcome.must = {EBADF};
    return outcome;
}

}  // namespace

std::span<const Generator> ioctl_generators() {
    static constexpr Generator all[] = {
        {6, info},     {14, attach}, {8, detach},  {5, set_format}, {8, get_member},
        {1, set_mode}, {14, sweep},  {6, control}, {4, no_ioctl},   {6, stream},
    };
    return all;
}

}  // namespace fuzz
