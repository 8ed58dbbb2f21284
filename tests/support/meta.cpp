// SPDX-License-Identifier: MIT
#include "meta.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace metagroup::test {
namespace {

long result(long returned) {
    return returned < 0 ? -errno : returned;
}

void demand(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

Bytes cut(Bytes bytes, long got, const char* what) {
    if (got < 0) throw std::system_error(static_cast<int>(-got), std::generic_category(), what);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

}  // namespace

Meta::Meta() : fd_(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), PERF_METAGROUP_DEVICE);
}

void Meta::must(long result) {
    demand(result == 0, "ATTACH failed");
}

long Meta::ioctl(unsigned long command, void* arg) const {
    return result(::ioctl(fd(), command, arg));
}

long Meta::attach(std::span<const int> fds, perf_metagroup_attach* out) const {
    perf_metagroup_attach arg{};
    arg.size = sizeof(arg);
    arg.fds = reinterpret_cast<std::uintptr_t>(fds.data());
    arg.count = static_cast<unsigned>(fds.size());
    const long returned = ioctl(PERF_METAGROUP_IOC_ATTACH, &arg);
    if (out) *out = arg;
    return returned;
}

long Meta::attach(const EventGroup& group, perf_metagroup_attach* out) const {
    const int fd = group.leader();
    return attach(std::span(&fd, 1), out);
}

long Meta::attach(const std::vector<EventGroup>& groups) const {
    std::vector<int> fds;
    for (const EventGroup& group : groups)
        fds.push_back(group.leader());
    return attach(fds);
}

long Meta::detach(unsigned member) const {
    perf_metagroup_detach arg{};
    arg.size = sizeof(arg);
    arg.member = member;
    return ioctl(PERF_METAGROUP_IOC_DETACH, &arg);
}

long Meta::set_format(unsigned format) const {
    perf_metagroup_format arg{};
    arg.size = sizeof(arg);
    arg.format = format;
    return ioctl(PERF_METAGROUP_IOC_SET_FORMAT, &arg);
}

long Meta::member(perf_metagroup_member& arg) const {
    arg.size = sizeof(arg);
    return ioctl(PERF_METAGROUP_IOC_GET_MEMBER, &arg);
}

perf_metagroup_member Meta::member(unsigned number) const {
    perf_metagroup_member arg{};
    arg.member = number;
    demand(member(arg) == 0, "GET_MEMBER failed");
    return arg;
}

perf_metagroup_info Meta::info() const {
    perf_metagroup_info arg{};
    arg.size = sizeof(arg);
    demand(ioctl(PERF_METAGROUP_IOC_INFO, &arg) == 0, "INFO failed");
    return arg;
}

long Meta::control(unsigned long command) const {
    return ioctl(command, nullptr);
}

long Meta::set_mode(unsigned long mode) const {
    perf_metagroup_mode arg{};
    arg.size = sizeof(arg);
    arg.mode = static_cast<__u32>(mode);
    return ioctl(PERF_METAGROUP_IOC_SET_MODE, &arg);
}

long Meta::sweep() const {
    return ioctl(PERF_METAGROUP_IOC_SWEEP, nullptr);
}

long Meta::sweep(perf_metagroup_sweep arg) const {
    arg.size = sizeof(arg);
    return ioctl(PERF_METAGROUP_IOC_SWEEP, &arg);
}

long Meta::sweep_on(const std::vector<int>& cpus) const {
    const auto words = cpu_words(cpus);
    perf_metagroup_sweep arg{};
    arg.cpus = reinterpret_cast<std::uintptr_t>(words.data());
    arg.nr_words = static_cast<unsigned>(words.size());
    return sweep(arg);
}

Bytes Meta::sweep_copy(const std::vector<int>& cpus) const {
    const auto words = cpu_words(cpus);
    Bytes bytes = room();
    perf_metagroup_sweep arg{};
    arg.cpus = reinterpret_cast<std::uintptr_t>(words.data());
    arg.nr_words = static_cast<unsigned>(words.size());
    arg.buffer = reinterpret_cast<std::uintptr_t>(bytes.data());
    arg.buffer_size = bytes.size();
    const long got = sweep(arg);
    return cut(std::move(bytes), got, "SWEEP of a meta-group");
}

long Meta::read(void* buffer, std::size_t size) const {
    return result(::read(fd(), buffer, size));
}

Bytes Meta::read() const {
    Bytes bytes = room();
    const long got = read(bytes.data(), bytes.size());
    return cut(std::move(bytes), got, "read of a meta-group");
}

Bytes Meta::room() const {
    const perf_metagroup_info now = info();
    return Bytes(std::max(now.raw_size, now.framed_size) + 64 * 1024);
}

OpenDevice::OpenDevice() {
    demand(::chmod(PERF_METAGROUP_DEVICE, 0666) == 0, "chmod of the device failed");
}

OpenDevice::~OpenDevice() {
    ::chmod(PERF_METAGROUP_DEVICE, 0600);
}

std::vector<__u64> cpu_words(const std::vector<int>& cpus) {
    std::vector<__u64> words(1);
    for (const int cpu : cpus) {
        const auto word = static_cast<std::size_t>(cpu / 64);
        words.resize(std::max(words.size(), word + 1));
        words[word] |= __u64{1} << cpu % 64;
    }
    return words;
}

Framed take_apart(const Bytes& bytes, bool swept) {
    Framed framed;
    demand(bytes.size() >= sizeof(framed.head), "no room for the snapshot header");
    std::memcpy(&framed.head, bytes.data(), sizeof(framed.head));

    const perf_metagroup_snapshot& head = framed.head;
    demand(head.size >= sizeof(head), "snapshot.size");
    demand(head.flags == 0, "snapshot.flags");
    for (const __u64 word : head.reserved)
        demand(word == 0, "snapshot.reserved");
    demand(head.begin <= head.end, "the sweep ends before it begins");
    demand(bytes.size() == head.bytes, "length of the read");

    std::size_t offset = head.size;
    for (unsigned i = 0; i < head.count; ++i) {
        Frame frame;
        demand(offset + sizeof(frame.record) <= bytes.size(), "a frame begins within the read");
        std::memcpy(&frame.record, bytes.data() + offset, sizeof(frame.record));
        const perf_metagroup_record& record = frame.record;
        demand(record.frame % 64 == 0 && offset + record.frame <= bytes.size(), "record.frame");
        demand(head.stride == 0 || record.frame == head.stride, "snapshot.stride");
        demand(record.header >= sizeof(record), "record.header");
        demand(record.header + record.size <= record.frame, "record.size");
        demand(record.time <= head.end, "a record is of after the end of its sweep");
        demand(record.time >= head.begin || record.status == PERF_METAGROUP_IDLE || !swept,
               "a record is of before the beginning of its sweep");
        const unsigned char* const payload = bytes.data() + offset + record.header;
        frame.payload.assign(payload, payload + record.size);
        framed.frames.push_back(std::move(frame));
        offset += record.frame;
    }
    demand(offset == bytes.size(), "the last frame ends with the read");
    return framed;
}

Framed read_framed(const Meta& meta) {
    demand(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0, "SET_FORMAT");
    return take_apart(meta.read());
}

Bytes Framed::payloads() const {
    Bytes all;
    for (const Frame& frame : frames)
        all.insert(all.end(), frame.payload.begin(), frame.payload.end());
    return all;
}

}  // namespace metagroup::test
