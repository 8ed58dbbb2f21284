// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <metagroup/device.hpp>

#include "format.hpp"
#include "ioctl.hpp"
#include "missing_module.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

using detail::address;
using detail::Call;
using detail::device_ioctl;
using detail::sized;

void check(int result, Call call, std::string_view verb, std::string_view object) {
    if (result == 0) return;
    const int error = errno;
    detail::throw_error(call, error, detail::format("cannot {} {}", verb, object));
}

void check(int result, std::string_view verb, std::string_view object = "the meta-group") {
    check(result, Call::use_device, verb, object);
}

void check_member(int result, std::string_view verb, std::uint32_t member) {
    if (result != 0) check(result, Call::use_member, verb, "member " + std::to_string(member));
}

}  // namespace

Device Device::open(const std::string& path) {
    detail::UniqueFd fd = detail::open_file(path, O_RDWR);
    auto info = sized<perf_metagroup_info>();
    if (fd && device_ioctl(fd, PERF_METAGROUP_IOC_INFO, &info) == 0) return Device(std::move(fd));
    const int error = errno;
    const std::string failed = detail::format("cannot open {}", path);
    const bool missing = error == ENOENT || error == ENXIO || error == ENODEV;
    if (missing && path == PERF_METAGROUP_DEVICE) {
        const detail::Diagnosis why = detail::missing_module();
        throw Error(why.cause, error, {failed, why.reason, why.remedy});
    }
    detail::throw_error(Call::open_device, error, failed, {.path = path});
}

Device::Device(int fd) : Device(detail::UniqueFd(fd)) {}

Device::Device(detail::UniqueFd fd) : fd_(std::move(fd)) {
    const perf_metagroup_info now = info();
    if (now.abi != PERF_METAGROUP_ABI || (now.features & PERF_METAGROUP_FEATURE_FRAMED) == 0)
        throw Error(
            Cause::wrong_module, EPROTO,
            {"cannot use the loaded module perf_metagroup",
             detail::format(
                 "it has ABI {}, features {:#x}, but this library needs ABI {}, features {:#x}",
                 now.abi, now.features, PERF_METAGROUP_ABI, PERF_METAGROUP_FEATURE_FRAMED),
             "install matching versions, and reload the module"});
}

perf_metagroup_info Device::info() const {
    auto info = sized<perf_metagroup_info>();
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_INFO, &info), "read the state of");
    return info;
}

std::uint32_t Device::attach(std::span<const int> leader_fds) {
    auto attach = sized<perf_metagroup_attach>();
    attach.fds = address(leader_fds.data());
    attach.count = static_cast<__u32>(leader_fds.size());
    attach.failed = attach.count;
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_ATTACH, &attach) == 0) return attach.first;
    const int error = errno;
    if (attach.failed >= attach.count)
        detail::throw_error(Call::attach, error,
                            detail::format("cannot attach {} leaders", attach.count));
    detail::throw_error(Call::attach, error,
                        detail::format("cannot attach descriptor {} (number {} of {})",
                                       leader_fds[attach.failed], attach.failed + 1, attach.count),
                        {.reason = attach.reason});
}

void Device::detach(std::uint32_t member) {
    auto detach = sized<perf_metagroup_detach>();
    detach.member = member;
    check_member(device_ioctl(fd_, PERF_METAGROUP_IOC_DETACH, &detach), "detach", member);
}

void Device::enable() {
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_ENABLE, 0UL), "enable");
}

void Device::disable() {
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_DISABLE, 0UL), "disable");
}

void Device::reset() {
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_RESET, 0UL), "reset");
}

void Device::set_format(Format format) {
    auto argument = sized<perf_metagroup_format>();
    argument.format = static_cast<__u32>(format);
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_SET_FORMAT, &argument), "set the read format of");
}

void Device::set_mode(Mode mode) {
    auto argument = sized<perf_metagroup_mode>();
    if (mode.quiet) argument.mode |= PERF_METAGROUP_MODE_QUIET;
    if (mode.skip_isolated) argument.mode |= PERF_METAGROUP_MODE_SKIP_ISOLATED;
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_SET_MODE, &argument), Call::set_mode,
          "set the mode of", "the meta-group");
}

MemberInfo Device::member(std::uint32_t member) const {
    MemberInfo info;
    info.member = member;
    for (;;) {
        auto argument = sized<perf_metagroup_member>();
        argument.member = member;
        argument.max_ids = static_cast<__u32>(info.ids.size());
        argument.ids = info.ids.empty() ? 0 : address(info.ids.data());
        check_member(device_ioctl(fd_, PERF_METAGROUP_IOC_GET_MEMBER, &argument), "describe",
                     member);
        // The group may grow between two calls: try again until all identifiers fit.
        const bool complete = argument.events <= info.ids.size();
        info.ids.resize(argument.events);
        if (!complete) continue;
        info.cpu = static_cast<int>(argument.cpu);
        info.status = Status{argument.status};
        info.read_format = argument.read_format;
        info.payload = argument.payload;
        info.generation = argument.generation;
        info.error = static_cast<int>(argument.error);
        info.failed = argument.failed;
        info.reason = argument.reason;
        info.users = argument.users;
        return info;
    }
}

std::size_t Device::read(std::span<std::byte> buffer) {
    const ssize_t got =
        detail::uninterrupted([&] { return ::read(fd_.get(), buffer.data(), buffer.size()); });
    if (got < 0)
        detail::throw_error(Call::read_device, errno, "cannot read the meta-group",
                            {.bytes = buffer.size()});
    return static_cast<std::size_t>(got);
}

// Repeats `call` until the buffer is large enough.
template <typename Read>
void Device::read_whole(Snapshot& snapshot, const Read& call) {
    std::span<std::byte> buffer = snapshot.prepare(sizeof(perf_metagroup_snapshot));
    for (;;) {
        const ssize_t got = detail::uninterrupted([&] { return call(buffer); });
        if (got >= 0) return snapshot.commit(static_cast<std::size_t>(got));
        if (errno != ENOSPC)
            detail::throw_error(Call::use_device, errno, "cannot read the meta-group");
        // Nothing is lost: counts are cumulative. A group may grow again meanwhile.
        buffer = snapshot.prepare(static_cast<std::size_t>(info().framed_size));
    }
}

void Device::read(Snapshot& snapshot) {
    read_whole(snapshot, [this](std::span<std::byte> buffer) {
        return ::read(fd_.get(), buffer.data(), buffer.size());
    });
}

void Device::read(Snapshot& snapshot, const CpuList& cpus) {
    const std::span<const std::uint64_t> mask = cpus.mask();
    auto argument = sized<perf_metagroup_sweep>();
    argument.cpus = address(mask.data());
    argument.nr_words = static_cast<__u32>(mask.size());
    read_whole(snapshot, [this, &argument](std::span<std::byte> buffer) -> ssize_t {
        argument.buffer = address(buffer.data());
        argument.buffer_size = buffer.size();
        return device_ioctl(fd_, PERF_METAGROUP_IOC_SWEEP, &argument);
    });
}

void Device::sweep() {
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_SWEEP, 0UL), "sweep");
}

perf_metagroup_stream Device::start_stream(const perf_metagroup_stream& stream) {
    perf_metagroup_stream started = stream;
    started.size = sizeof(started);
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_STREAM, &started) != 0)
        detail::throw_error(Call::start_stream, errno, "cannot start a stream",
                            {.bytes = static_cast<std::size_t>(stream.ring_size)});
    return started;
}

std::uint64_t Device::stop_stream() {
    auto stream = sized<perf_metagroup_stream>();
    check(device_ioctl(fd_, PERF_METAGROUP_IOC_STREAM, &stream), "stop the stream of");
    return stream.lost;
}

}  // namespace metagroup
