// SPDX-License-Identifier: MIT
#include "fake_module.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <ctime>

#include "fake_percpu.hpp"
#include "helpers.hpp"

namespace metagroup::test {
namespace {

FakeModule* installed = nullptr;

constexpr std::size_t ring_offset = std::size_t{1} << 30U;

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

bool is_device(int fd) {
    struct stat device {};
    struct stat file {};
    return stat(FakeModule::path().c_str(), &device) == 0 && fstat(fd, &file) == 0 &&
           S_ISCHR(file.st_mode) && file.st_rdev == device.st_rdev;
}

}  // namespace
}  // namespace metagroup::test

// The linker sends the library's calls here (--wrap).
// The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
int __real_ioctl(int fd, unsigned long request, ...);
ssize_t __real_read(int fd, void* buffer, std::size_t size);
void* __real_mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_read(int fd, void* buffer, std::size_t size);
void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset);

int __wrap_ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    using metagroup::test::installed;
    if (installed != nullptr && metagroup::test::is_device(fd)) {
        return installed->control(request, argument);
    }
    using metagroup::test::FakePercpu;
    if (FakePercpu::installed() != nullptr && FakePercpu::installed()->owns(fd))
        return FakePercpu::installed()->control(fd, request, argument);
    return __real_ioctl(fd, request, argument);
}

ssize_t __wrap_read(int fd, void* buffer, std::size_t size) {
    using metagroup::test::installed;
    if (installed != nullptr && metagroup::test::is_device(fd)) {
        return installed->read(buffer, size);
    }
    using metagroup::test::FakePercpu;
    if (FakePercpu::installed() != nullptr && FakePercpu::installed()->owns(fd))
        return FakePercpu::installed()->read(fd, static_cast<std::byte*>(buffer), size);
    return __real_read(fd, buffer, size);
}

void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
    using metagroup::test::installed;
    if (installed != nullptr && metagroup::test::is_device(fd))
        return installed->map(size, static_cast<std::size_t>(offset), protection, flags);
    return __real_mmap(at, size, protection, flags, fd, offset);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace metagroup::test {

FakeModule::FakeModule() {
    installed = this;
}
FakeModule::~FakeModule() {
    installed = nullptr;
}

std::size_t FakeModule::stride() const {
    return sizeof(perf_metagroup_set_record) + max_payload + headroom;
}

int FakeModule::control(unsigned long request, void* argument) {
    if (interrupt_calls > 0) {
        --interrupt_calls;
        return fail(EINTR);
    }
    switch (request) {
        case PERF_METAGROUP_IOC_INFO:
            return info(*static_cast<perf_metagroup_info*>(argument));
        case PERF_METAGROUP_IOC_ATTACH:
            return attach(*static_cast<perf_metagroup_attach*>(argument));
        case PERF_METAGROUP_IOC_DETACH: {
            const auto number = static_cast<perf_metagroup_detach*>(argument)->member;
            return std::erase_if(members_, [&](const Member& m) { return m.number == number; }) == 1
                       ? 0
                       : fail(ENOENT);
        }
        case PERF_METAGROUP_IOC_SET_FORMAT:
            format = static_cast<perf_metagroup_format*>(argument)->format;
            return 0;
        case PERF_METAGROUP_IOC_GET_MEMBER:
            return member(*static_cast<perf_metagroup_member*>(argument));
        case PERF_METAGROUP_IOC_ENABLE:
            ++enabled;
            return for_all(PERF_EVENT_IOC_ENABLE);
        case PERF_METAGROUP_IOC_DISABLE:
            ++disabled;
            return for_all(PERF_EVENT_IOC_DISABLE);
        case PERF_METAGROUP_IOC_RESET:
            ++resets;
            return for_all(PERF_EVENT_IOC_RESET);
        case PERF_METAGROUP_IOC_SWEEP:
            return sweep(static_cast<perf_metagroup_sweep*>(argument));
        case PERF_METAGROUP_IOC_SET_MODE:
            if (mode_errno != 0) return fail(mode_errno);
            mode = static_cast<perf_metagroup_mode*>(argument)->mode;
            return 0;
        case PERF_METAGROUP_IOC_STREAM:
            return start_or_stop(*static_cast<perf_metagroup_stream*>(argument));
        default:
            return control_sets(request, argument);
    }
}

int FakeModule::for_all(unsigned long request) {
    for (const Member& member : members_) {
        for (const detail::UniqueFd& event : member.events)
            if (__real_ioctl(event.get(), request, 0) != 0) return -1;
        if (!member.events.empty()) continue;
        if (__real_ioctl(member.leader.get(), request, PERF_IOC_FLAG_GROUP) != 0) return -1;
    }
    return 0;
}

int FakeModule::info(perf_metagroup_info& info) {
    if (info.size != sizeof(info)) return fail(EINVAL);
    info.abi = abi;
    info.format = format;
    info.features = PERF_METAGROUP_FEATURE_FRAMED;
    if (sets) info.features |= PERF_METAGROUP_FEATURE_SET;
    info.max_members = max_members;
    info.members = static_cast<__u32>(members_.size());
    info.framed_size = snapshot_size();
    info.map_size = map_size();
    headroom += grow_after_info;
    grow_after_info = 0;
    return 0;
}

int FakeModule::attach(perf_metagroup_attach& attach) {
    const auto call = static_cast<int>(batches.size());
    batches.push_back(attach.count);
    if (call == refuse_attach) {
        attach.failed = attach_reason == 0 ? attach.count : 0;
        attach.reason = attach_reason;
        return fail(attach_errno);
    }
    if (members_.size() + attach.count > max_members) return fail(E2BIG);
    // The ABI carries addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* fds = reinterpret_cast<const int*>(static_cast<std::uintptr_t>(attach.fds));
    attach.first = first_number + static_cast<__u32>(members_.size());
    for (__u32 i = 0; i < attach.count; ++i) {
        attached_fds.push_back(fds[i]);
        // The module holds the file, not the descriptor: another one, out of the way of those that
        // the tests use, and below the usual limit of 1024.
        members_.push_back(
            {detail::UniqueFd(fcntl(fds[i], F_DUPFD_CLOEXEC, 500)), attach.first + i, -1, {}});
    }
    return 0;
}

int FakeModule::member(perf_metagroup_member& member) {
    if (member.member < first_number || member.member - first_number >= members_.size()) {
        return fail(ENOENT);
    }
    constexpr __u32 events = 2;
    const int cpu = members_[member.member - first_number].cpu;
    member.cpu = static_cast<__u32>(cpu < 0 ? member_cpu : cpu);
    member.status = PERF_METAGROUP_INACTIVE;
    member.events = events;
    member.read_format = 0xb;
    member.payload = 40;
    // The ABI carries addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* ids = reinterpret_cast<__u64*>(static_cast<std::uintptr_t>(member.ids));
    for (__u32 i = 0; i < events && i < member.max_ids; ++i)
        ids[i] = 100 + i;
    return 0;
}

std::size_t FakeModule::snapshot_size() const {
    return sizeof(perf_metagroup_snapshot) + members_.size() * stride();
}

std::size_t FakeModule::map_size() const {
    return sizeof(perf_metagroup_map) + 2 * snapshot_size();
}

perf_metagroup_map& FakeModule::map_head() const {
    return *reinterpret_cast<perf_metagroup_map*>(mapped_.data());
}

// A sweep into the copy that is not published, and then it is.
int FakeModule::sweep_mapped() {
    perf_metagroup_map& head = map_head();
    const std::size_t offset = head.offset[(head.version + 1) % 2];
    if (read(mapped_.data() + offset, snapshot_size()) < 0) return -1;
    __atomic_store_n(&head.version, head.version + 1, __ATOMIC_RELEASE);
    return 0;
}

// The CPUs are recorded, but all are read.
int FakeModule::sweep(const perf_metagroup_sweep* sweep) {
    if (sweep != nullptr && sweep->buffer != 0) {
        // The ABI carries addresses as numbers. NOLINTBEGIN(performance-no-int-to-ptr)
        const auto* words =
            reinterpret_cast<const __u64*>(static_cast<std::uintptr_t>(sweep->cpus));
        swept_cpus.assign(words, words + sweep->nr_words);
        return static_cast<int>(
            read(reinterpret_cast<void*>(static_cast<std::uintptr_t>(sweep->buffer)),
                 sweep->buffer_size));
        // NOLINTEND(performance-no-int-to-ptr)
    }
    if (mapped_.size() < map_size()) {
        map_head().flags |= PERF_METAGROUP_MAP_MOVED;
        return 0;
    }
    return sweep_mapped();
}

int FakeModule::start_or_stop(perf_metagroup_stream& argument) {
    if (stream_errno != 0) return fail(stream_errno);
    if (argument.size != sizeof(argument)) return fail(EINVAL);
    if (argument.period == 0) {
        argument.lost = stream_lost;
        streaming = false;
        return 0;
    }
    if (streaming) return fail(EBUSY);
    streaming = true;
    argument.first = argument.period;
    argument.map_offset = ring_offset;
    argument.map_stride = 2 * argument.ring_size;
    stream = argument;
    return 0;
}

void* FakeModule::map_ring(std::size_t size, std::size_t offset, int protection, int flags) {
    const auto cpu = static_cast<int>((offset - ring_offset) / stream.map_stride);
    const auto fd = ring_fds.find(cpu);
    if (fd == ring_fds.end()) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return __real_mmap(nullptr, size, protection, flags, fd->second, 0);
}

void* FakeModule::map(std::size_t size, std::size_t offset, int protection, int flags) {
    if (offset != 0) return map_ring(size, offset, protection, flags);
    if (map_errno != 0) {
        errno = map_errno;
        return MAP_FAILED;
    }
    void* const memory =
        __real_mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mapped_ = {static_cast<std::byte*>(memory), size};
    map_head().size = sizeof(perf_metagroup_map);
    map_head().offset[0] = sizeof(perf_metagroup_map);
    map_head().offset[1] = sizeof(perf_metagroup_map) + snapshot_size();
    sweep_mapped();
    return memory;
}

long FakeModule::read(void* buffer, std::size_t size) {
    ++reads;
    if (interrupt_reads > 0) {
        --interrupt_reads;
        return fail(EINTR);
    }
    if (fail_reads > 0) {
        --fail_reads;
        return fail(EIO);
    }
    const std::size_t need = snapshot_size();
    if (size < need) return fail(ENOSPC);
    perf_metagroup_snapshot header{};
    header.size = sizeof(header);
    header.sequence = ++sequence_;
    header.count = static_cast<__u32>(members_.size());
    header.stride = static_cast<__u32>(stride());
    header.bytes = need;
    header.layout = 1;
    header.begin = now_ns();
    if (on_sweep) on_sweep(header);
    auto* frame = static_cast<std::byte*>(buffer) + sizeof(header);
    for (const Member& member : members_) {
        perf_metagroup_record record{};
        record.frame = static_cast<__u32>(stride());
        const bool of_set = !member.events.empty();
        record.header = of_set ? sizeof(perf_metagroup_set_record) : sizeof(record);
        record.member = member.number;
        std::byte* const payload = frame + record.header;
        const ssize_t got = of_set ? static_cast<ssize_t>(read_set(member, payload))
                                   : __real_read(member.leader.get(), payload, max_payload);
        record.size = got > 0 ? static_cast<__u32>(got) : 0;
        record.status = got > 0 ? PERF_METAGROUP_OK : PERF_METAGROUP_ERROR;
        record.read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        record.time = now_ns();
        if (on_record)
            on_record(static_cast<std::size_t>(&member - members_.data()), record, payload);
        std::memcpy(frame, &record, sizeof(record));
        if (of_set) std::memcpy(frame + sizeof(record), &generation, sizeof(generation));
        frame += stride();
    }
    if (!on_sweep) header.end = now_ns();
    std::memcpy(buffer, &header, sizeof(header));
    return static_cast<long>(need);
}

Device device_with_member() {
    need_software_events();
    Device device = Device::open(FakeModule::path());
    const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    device.attach(std::array{group.leader_fd()});
    return device;
}

}  // namespace metagroup::test
