// SPDX-License-Identifier: MIT
#include "fake_module.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
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
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_read(int fd, void* buffer, std::size_t size);

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
    info.framed_size = sizeof(perf_metagroup_snapshot) + members_.size() * stride();
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

long FakeModule::read(void* buffer, std::size_t size) {
    ++reads;
    if (interrupt_reads > 0) {
        --interrupt_reads;
        return fail(EINTR);
    }
    const std::size_t need = sizeof(perf_metagroup_snapshot) + members_.size() * stride();
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
