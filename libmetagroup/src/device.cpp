// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <utility>

#include "error.hpp"
#include "formatted.hpp"
#include "open_error.hpp"

namespace metagroup {
namespace {

template <typename Argument>
Argument sized() {
    Argument argument{};
    argument.size = sizeof(argument);
    return argument;
}

// The ABI carries addresses as 64-bit numbers, so that 32-bit callers need no translation.
template <typename Pointer>
__u64 address(Pointer* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

void check(int result, const char* what) {
    if (result != 0) detail::throw_errno(errno, detail::formatted("cannot {}", what));
}

}  // namespace

Device Device::open(const std::string& path) {
    detail::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) throw Error(errno, detail::explain_device(errno, path));
    auto info = sized<perf_metagroup_info>();
    if (::ioctl(fd.get(), PERF_METAGROUP_IOC_INFO, &info) != 0) {
        throw Error(errno, detail::explain_device(errno, path));
    }
    return Device(std::move(fd));
}

Device::Device(detail::UniqueFd fd) : fd_(std::move(fd)) {
    const perf_metagroup_info now = info();
    if (now.abi != PERF_METAGROUP_ABI || (now.features & PERF_METAGROUP_FEATURE_FRAMED) == 0) {
        throw Error(EPROTO,
                    {"cannot use the loaded module perf_metagroup",
                     detail::formatted(
                         "it speaks ABI {}, features {:#x}, and this library needs ABI {}, "
                         "features {:#x}",
                         now.abi, now.features, PERF_METAGROUP_ABI, PERF_METAGROUP_FEATURE_FRAMED),
                     "install matching ones, and load the module again"});
    }
}

perf_metagroup_info Device::info() const {
    auto info = sized<perf_metagroup_info>();
    check(::ioctl(fd_.get(), PERF_METAGROUP_IOC_INFO, &info), "ask the meta-group for its state");
    return info;
}

std::uint32_t Device::attach(std::span<const int> leader_fds) {
    auto attach = sized<perf_metagroup_attach>();
    attach.fds = address(leader_fds.data());
    attach.count = static_cast<__u32>(leader_fds.size());
    attach.failed = attach.count;
    if (::ioctl(fd_.get(), PERF_METAGROUP_IOC_ATTACH, &attach) != 0) {
        detail::throw_errno(errno, detail::explain_attach(errno, attach, leader_fds.data()));
    }
    return attach.first;
}

void Device::detach(std::uint32_t member) {
    auto detach = sized<perf_metagroup_detach>();
    detach.member = member;
    if (::ioctl(fd_.get(), PERF_METAGROUP_IOC_DETACH, &detach) != 0) {
        detail::throw_errno(errno, detail::formatted("cannot detach member {}", member));
    }
}

void Device::enable() {
    check(::ioctl(fd_.get(), PERF_METAGROUP_IOC_ENABLE, 0), "enable the meta-group");
}

void Device::disable() {
    check(::ioctl(fd_.get(), PERF_METAGROUP_IOC_DISABLE, 0), "disable the meta-group");
}

void Device::reset() {
    check(::ioctl(fd_.get(), PERF_METAGROUP_IOC_RESET, 0), "reset the meta-group");
}

void Device::set_format(Format format) {
    auto argument = sized<perf_metagroup_format>();
    argument.format = static_cast<__u32>(format);
    check(::ioctl(fd_.get(), PERF_METAGROUP_IOC_SET_FORMAT, &argument), "set the read format");
}

void Device::set_mode(Mode mode) {
    auto argument = sized<perf_metagroup_mode>();
    if (mode.quiet) argument.mode |= PERF_METAGROUP_MODE_QUIET;
    if (mode.spare_isolated) argument.mode |= PERF_METAGROUP_MODE_SPARE_ISOLATED;
    if (::ioctl(fd_.get(), PERF_METAGROUP_IOC_SET_MODE, &argument) != 0) {
        detail::throw_errno(errno, errno == EUSERS
                                       ? "too many quiet meta-groups: close one, or do without"
                                       : "cannot set the mode of the meta-group");
    }
}

MemberInfo Device::member(std::uint32_t member) const {
    MemberInfo info;
    info.member = member;
    for (;;) {
        auto argument = sized<perf_metagroup_member>();
        argument.member = member;
        argument.max_ids = static_cast<__u32>(info.ids.size());
        argument.ids = info.ids.empty() ? 0 : address(info.ids.data());
        if (::ioctl(fd_.get(), PERF_METAGROUP_IOC_GET_MEMBER, &argument) != 0) {
            detail::throw_errno(errno, detail::formatted("cannot ask for member {}", member));
        }
        // The group may grow between two calls: ask again until all identifiers have room.
        const bool complete = argument.events <= info.ids.size();
        info.ids.resize(argument.events);
        if (!complete) continue;
        info.cpu = static_cast<int>(argument.cpu);
        info.status = Status{argument.status};
        info.read_format = argument.read_format;
        info.payload = argument.payload;
        return info;
    }
}

std::size_t Device::read(std::span<std::byte> buffer) {
    for (;;) {
        const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) detail::throw_errno(errno, "cannot read the meta-group");
    }
}

// Reads by `call` until it is neither interrupted nor short of room.
template <typename Call>
void Device::read_whole(Snapshot& snapshot, const Call& call) {
    std::span<std::byte> buffer = snapshot.prepare(sizeof(perf_metagroup_snapshot));
    for (;;) {
        const ssize_t got = call(buffer);
        if (got >= 0) return snapshot.commit(static_cast<std::size_t>(got));
        if (errno == ENOSPC) {
            // Nothing is lost: counts are cumulative. A group may grow again meanwhile.
            buffer = snapshot.prepare(static_cast<std::size_t>(info().framed_size));
        } else if (errno != EINTR) {
            detail::throw_errno(errno, "cannot read the meta-group");
        }
    }
}

void Device::read(Snapshot& snapshot) {
    read_whole(snapshot, [this](std::span<std::byte> buffer) {
        return ::read(fd_.get(), buffer.data(), buffer.size());
    });
}

void Device::read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) {
    auto argument = sized<perf_metagroup_sweep>();
    argument.cpus = cpu_mask.empty() ? 0 : address(cpu_mask.data());
    argument.nr_words = static_cast<__u32>(cpu_mask.size());
    read_whole(snapshot, [this, &argument](std::span<std::byte> buffer) -> ssize_t {
        argument.buffer = address(buffer.data());
        argument.buffer_size = buffer.size();
        return ::ioctl(fd_.get(), PERF_METAGROUP_IOC_SWEEP, &argument);
    });
}

void Device::sweep() {
    while (::ioctl(fd_.get(), PERF_METAGROUP_IOC_SWEEP, 0) != 0) {
        if (errno != EINTR) detail::throw_errno(errno, "cannot sweep the meta-group");
    }
}

}  // namespace metagroup
