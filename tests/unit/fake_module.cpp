// SPDX-License-Identifier: MIT
#include "fake_module.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <ctime>

namespace metagroup::test {
namespace {

FakeModule* installed = nullptr;

constexpr std::size_t max_payload = 256;

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

int fail(int error) {
    errno = error;
    return -1;
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
    return __real_ioctl(fd, request, argument);
}

ssize_t __wrap_read(int fd, void* buffer, std::size_t size) {
    using metagroup::test::installed;
    if (installed != nullptr && metagroup::test::is_device(fd)) {
        return installed->read(buffer, size);
    }
    return __real_read(fd, buffer, size);
}

void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
    using metagroup::test::installed;
    if (installed != nullptr && metagroup::test::is_device(fd)) return installed->map(size);
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
    return sizeof(perf_metagroup_record) + max_payload + headroom;
}

int FakeModule::control(unsigned long request, void* argument) {
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
        default:
            return fail(ENOTTY);
    }
}

int FakeModule::for_all(unsigned long request) {
    for (const Member& member : members_) {
        if (__real_ioctl(member.leader.get(), request, PERF_IOC_FLAG_GROUP) != 0) return -1;
    }
    return 0;
}

int FakeModule::info(perf_metagroup_info& info) {
    if (info.size != sizeof(info)) return fail(EINVAL);
    info.abi = abi;
    info.format = format;
    info.features = PERF_METAGROUP_FEATURE_FRAMED;
    info.max_members = max_members;
    info.members = static_cast<__u32>(members_.size());
    info.framed_size = snapshot_size();
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
        // the tests look at, and below the usual limit of 1024.
        members_.push_back(
            {detail::UniqueFd(fcntl(fds[i], F_DUPFD_CLOEXEC, 500)), attach.first + i});
    }
    return 0;
}

int FakeModule::member(perf_metagroup_member& member) {
    if (member.member < first_number || member.member - first_number >= members_.size()) {
        return fail(ENOENT);
    }
    constexpr __u32 events = 2;
    member.cpu = 3;
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

perf_metagroup_snapshot& FakeModule::mapped_header() const {
    return *reinterpret_cast<perf_metagroup_snapshot*>(mapped_.data());
}

// A copy is of all CPUs, whichever were asked for.
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
    if (mapped_.size() < snapshot_size()) {
        mapped_header().flags |= PERF_METAGROUP_SNAPSHOT_MOVED;
        return 0;
    }
    return read(mapped_.data(), mapped_.size()) < 0 ? -1 : 0;
}

void* FakeModule::map(std::size_t size) {
    if (map_errno != 0) {
        errno = map_errno;
        return MAP_FAILED;
    }
    void* const memory =
        __real_mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mapped_ = {static_cast<std::byte*>(memory), size};
    read(memory, size);
    return memory;
}

long FakeModule::read(void* buffer, std::size_t size) {
    ++reads;
    if (interrupt_reads > 0) {
        --interrupt_reads;
        return fail(EINTR);
    }
    const std::size_t need = snapshot_size();
    if (size < need) return fail(ENOSPC);
    perf_metagroup_snapshot header{};
    header.size = sizeof(header);
    header.sequence = ++sequence_;
    header.count = static_cast<__u32>(members_.size());
    header.stride = static_cast<__u32>(stride());
    header.begin = now_ns();
    auto* frame = static_cast<std::byte*>(buffer) + sizeof(header);
    for (const Member& member : members_) {
        perf_metagroup_record record{};
        record.header = sizeof(record);
        record.member = member.number;
        const ssize_t got = __real_read(member.leader.get(), frame + sizeof(record), max_payload);
        record.size = got > 0 ? static_cast<__u32>(got) : 0;
        record.status = got > 0 ? PERF_METAGROUP_OK : PERF_METAGROUP_ERROR;
        record.read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        record.time = now_ns();
        std::memcpy(frame, &record, sizeof(record));
        frame += stride();
    }
    header.end = now_ns();
    std::memcpy(buffer, &header, sizeof(header));
    return static_cast<long>(need);
}

}  // namespace metagroup::test
