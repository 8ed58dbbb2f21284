// SPDX-License-Identifier: MIT
// The ring reader of libbpf, unchanged, on the rings of a stream. libbpf reads only rings of perf
// events that it has opened itself, so its system calls are answered here.
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <map>
#include <memory>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <vector>

#include "support/cpus.hpp"

namespace test = metagroup::test;

namespace {

// While libbpf opens its events: the stream that it gets instead.
struct Redirection {
    int device = -1;
    perf_metagroup_stream stream{};
    std::map<int, int> cpus{};  // by descriptor
};
Redirection* redirection = nullptr;

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" long syscall(long number, ...) noexcept {
    std::va_list list;
    va_start(list, number);
    long arguments[6];
    for (long& argument : arguments)
        argument = va_arg(list, long);
    va_end(list);
    if (redirection != nullptr && number == SYS_perf_event_open) {
        const int fd = ::fcntl(redirection->device, F_DUPFD_CLOEXEC, 0);
        redirection->cpus[fd] = static_cast<int>(arguments[2]);
        return fd;
    }
    if (redirection != nullptr && number == SYS_bpf) {
        if (arguments[0] != BPF_OBJ_GET_INFO_BY_FD) return 0;
        const auto* const attr = reinterpret_cast<const bpf_attr*>(arguments[1]);
        auto* const info = reinterpret_cast<bpf_map_info*>(attr->info.info);
        info->type = BPF_MAP_TYPE_PERF_EVENT_ARRAY;
        info->max_entries = 4096;
        return 0;
    }
    static const auto real = next<long (*)(long, ...)>("syscall");
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
    std::va_list list;
    va_start(list, request);
    void* const argument = va_arg(list, void*);
    va_end(list);
    if (redirection != nullptr && request == PERF_EVENT_IOC_ENABLE) return 0;
    static const auto real = next<int (*)(int, unsigned long, ...)>("ioctl");
    return real(fd, request, argument);
}

extern "C" void* mmap64(void* address, std::size_t size, int protection, int flags, int fd,
                        off64_t offset) noexcept {
    if (redirection != nullptr) {
        const auto cpu = static_cast<std::uint64_t>(redirection->cpus.at(fd));
        offset = static_cast<off64_t>(redirection->stream.map_offset +
                                      cpu * redirection->stream.map_stride);
    }
    static const auto real = next<decltype(&::mmap64)>("mmap64");
    return real(address, size, protection, flags, fd, offset);
}

namespace {

// The records that libbpf found in the ring of a CPU.
struct Found {
    std::uint64_t samples = 0, lost = 0, others = 0;  // lost: between samples
    std::uint64_t lost_last = 0;                      // after the last sample
    std::uint64_t first = 0, last = 0;                // times
    bool ordered = true;
    std::vector<std::byte> payload;  // of the last sample
};

bpf_perf_event_ret add(void* context, int cpu, perf_event_header* record) {
    Found& found = (*static_cast<std::map<int, Found>*>(context))[cpu];
    const auto* const bytes = reinterpret_cast<const std::byte*>(record);
    std::uint64_t words[4];  // the header, and the three that follow
    std::memcpy(words, bytes, sizeof(words));
    if (record->type == PERF_RECORD_LOST_SAMPLES) {
        found.lost_last += words[1];
    } else if (record->type == PERF_RECORD_SAMPLE) {
        if (found.samples++ == 0)
            found.first = words[2];
        else
            found.lost += found.lost_last;
        found.lost_last = 0;
        found.ordered = found.ordered && words[2] > found.last;
        found.last = words[2];
        found.payload.assign(bytes + sizeof(words), bytes + record->size);
    } else {
        ++found.others;
    }
    return LIBBPF_PERF_EVENT_CONT;
}

}  // namespace

TEST_CASE("libbpf reads the rings of a stream like those of perf events") {
    constexpr std::uint64_t period = 1'000'000;
    constexpr std::size_t pages = 4;
    metagroup::Device device = metagroup::Device::open();
    std::vector<int> cpus = test::online_cpus();
    std::vector<metagroup::EventGroup> groups;
    std::vector<int> leaders;
    const auto spec = metagroup::parse_events("{cpu-clock,context-switches,page-faults}").front();
    for (const int cpu : cpus) {
        groups.push_back(metagroup::EventGroup::open(spec, cpu));
        leaders.push_back(groups.back().leader_fd());
    }
    device.attach(leaders);
    device.enable();
    perf_metagroup_stream wanted{};
    wanted.period = period;
    wanted.ring_size = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    wanted.watermark = wanted.ring_size / 4;

    std::map<int, Found> found;
    Redirection here{.device = device.fd(), .stream = device.start_stream(wanted)};
    perf_buffer_raw_opts options{};
    options.sz = sizeof(options);
    options.cpu_cnt = static_cast<int>(cpus.size());
    options.cpus = cpus.data();
    options.map_keys = cpus.data();
    perf_event_attr attr{};
    redirection = &here;
    const std::unique_ptr<perf_buffer, decltype(&::perf_buffer__free)> buffer(
        ::perf_buffer__new_raw(0, pages, &attr, add, &found, &options), ::perf_buffer__free);
    redirection = nullptr;
    REQUIRE(buffer);

    // Until every ring was filled several times.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto enough = [&] {
        return std::ranges::all_of(cpus, [&](int cpu) {
            return found[cpu].samples * found[cpu].payload.size() > 3 * wanted.ring_size;
        });
    };
    while (!enough() && std::chrono::steady_clock::now() < end)
        REQUIRE(::perf_buffer__poll(buffer.get(), 100) >= 0);
    device.disable();
    ::usleep(50'000);
    REQUIRE(::perf_buffer__consume(buffer.get()) >= 0);
    device.stop_stream();
    REQUIRE(::perf_buffer__consume(buffer.get()) >= 0);

    REQUIRE(enough());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        const Found& ring = found[cpus[i]];
        CAPTURE(cpus[i], ring.samples, ring.lost);
        CHECK(ring.ordered);
        CHECK(ring.others == 0);
        CHECK(ring.samples + ring.lost == ring.last / period - ring.first / period + 1);
        std::vector<std::byte> now(groups[i].payload_size());
        REQUIRE(groups[i].read(now) == now.size());
        CHECK(std::ranges::equal(ring.payload, now));
    }
}
