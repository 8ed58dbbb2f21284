// SPDX-License-Identifier: MIT
#include "meta.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

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
    return sweep(sweep_of(cpu_words(cpus)));
}

Bytes Meta::sweep_copy(const std::vector<int>& cpus) const {
    Bytes bytes = room();
    const long got = sweep(sweep_of(cpu_words(cpus), bytes));
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

std::string fdinfo(const Meta& meta) {
    std::ifstream file("/proc/self/fdinfo/" + std::to_string(meta.fd()));
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t fdinfo(const Meta& meta, const std::string& name) {
    std::istringstream text(fdinfo(meta));
    for (std::string word; text >> word;) {
        std::uint64_t value = 0;
        if (word == name + ":" && text >> value) return value;
    }
    throw std::runtime_error("no " + name + " in fdinfo");
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

perf_metagroup_sweep sweep_of(std::span<const __u64> cpus, std::span<unsigned char> buffer) {
    perf_metagroup_sweep arg{};
    arg.cpus = reinterpret_cast<std::uintptr_t>(cpus.data());
    arg.nr_words = static_cast<unsigned>(cpus.size());
    arg.buffer = reinterpret_cast<std::uintptr_t>(buffer.data());
    arg.buffer_size = buffer.size();
    return arg;
}

Framed take_apart(const Bytes& bytes, bool swept) {
    Framed framed;
    demand(bytes.size() >= sizeof(framed.head), "no room for the snapshot header");
    std::memcpy(&framed.head, bytes.data(), sizeof(framed.head));

    const perf_metagroup_snapshot& head = framed.head;
    demand(head.size >= sizeof(head) && head.size % 64 == 0, "snapshot.size");
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
        frame.header.assign(payload - record.header, payload);
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

Mapping::Mapping(const Meta& meta, std::size_t size, int flags)
    : size_(size ? size : meta.info().map_size) {
    void* const at = ::mmap(nullptr, size_, PROT_READ, flags, meta.fd(), 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    bytes_ = static_cast<unsigned char*>(at);
    size_ = (size_ + 4095) / 4096 * 4096;
}

Mapping::Mapping(Mapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
}

void Mapping::unmap() {
    if (bytes_) ::munmap(std::exchange(bytes_, nullptr), size_);
}

const perf_metagroup_map& Mapping::head() const {
    return *reinterpret_cast<const perf_metagroup_map*>(bytes_);
}

unsigned Mapping::version() const {
    return __atomic_load_n(&head().version, __ATOMIC_ACQUIRE);
}

bool Mapping::moved() const {
    return __atomic_load_n(&head().flags, __ATOMIC_RELAXED) & PERF_METAGROUP_MAP_MOVED;
}

std::optional<Bytes> Mapping::copy() const {
    Bytes copy;
    for (;;) {
        const unsigned before = version();
        const std::size_t offset = head().offset[before % 2];
        perf_metagroup_snapshot now{};
        if (offset + sizeof(now) <= size_) std::memcpy(&now, bytes_ + offset, sizeof(now));
        const bool fits = now.bytes > 0 && now.bytes <= size_ - offset;
        if (fits) copy.assign(bytes_ + offset, bytes_ + offset + now.bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&head().version, __ATOMIC_RELAXED) != before) continue;
        if (!fits) return {};
        return copy;
    }
}

Framed Mapping::framed() const {
    const auto now = copy();
    if (!now) throw std::runtime_error("the snapshot is larger than was mapped");
    return take_apart(*now, false);
}

long try_to_map(int fd, std::size_t size, int protection, int flags, off_t offset) {
    void* const at = ::mmap(nullptr, size, protection, flags, fd, offset);
    if (at == MAP_FAILED) return -errno;
    ::munmap(at, size);
    return 0;
}

void SnapshotCheck::check(const Framed& framed) {
    const auto demand = [&](bool condition, const std::string& what) {
        if (!condition)
            throw std::runtime_error("sweep " + std::to_string(framed.head.sequence) + ": " + what);
    };
    demand(framed.head.sequence >= sequence_, "the sequence went back");
    sequence_ = framed.head.sequence;
    const Frame* before = nullptr;
    for (const Frame& frame : framed.frames) {
        const auto& record = frame.record;
        const std::string member = "member " + std::to_string(record.member) + ", status " +
                                   std::to_string(record.status) + ": ";
        demand(!before || record.member > before->record.member, member + "numbers do not rise");
        before = &frame;
        idle_ += record.status == PERF_METAGROUP_IDLE;
        if (frame.payload.empty()) continue;

        // The number of events, the times, a count of each event.
        const auto payload = words(frame.payload);
        demand(payload.size() >= 4 && payload.size() == 3 + payload[0],
               member + "a payload is not as long as it says");
        Last& last = last_[record.member];
        const Last now{record.time, payload[1], payload[2], payload[3]};
        demand(now.running <= now.enabled, member + "more time running than enabled");
        demand(now.time >= last.time, member + "the time of the record went back");
        demand(now.enabled >= last.enabled, member + "the time enabled went back");
        demand(now.running >= last.running, member + "the time running went back");
        demand(now.count >= last.count, member + "the count went back");
        last = now;
    }
}

}  // namespace metagroup::test
