// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "cpus.hpp"

namespace metagroup::test {

namespace {

template <typename T>
T value_at(const Bytes& bytes, std::size_t offset) {
    T value;
    if (offset + sizeof(value) > bytes.size()) throw std::runtime_error("a record is too short");
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

}  // namespace

MappedRing::MappedRing(const Meta& meta, const perf_metagroup_stream& stream, int cpu)
    : data_(stream.map_stride - kRingPage) {
    void* const at = ::mmap(
        nullptr, stream.map_stride, PROT_READ | PROT_WRITE, MAP_SHARED, meta.fd(),
        static_cast<off_t>(stream.map_offset + static_cast<unsigned>(cpu) * stream.map_stride));
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of a ring");
    memory_ = at;
}

MappedRing::~MappedRing() {
    if (memory_) ::munmap(memory_, kRingPage + data_);
}

MappedRing::MappedRing(MappedRing&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), data_(other.data_) {}

Bytes MappedRing::copy(std::uint64_t from, std::size_t size) const {
    const unsigned char* const data = static_cast<unsigned char*>(memory_) + kRingPage;
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = data[(from + i) % data_];
    return bytes;
}

RingRecord MappedRing::record_at(std::uint64_t index, perf_event_header& header) const {
    const Bytes start = copy(index, sizeof(header));
    std::memcpy(&header, start.data(), sizeof(header));
    if (header.size < sizeof(header) || header.size % 8 || header.misc)
        throw std::runtime_error("not a header of a record");
    const Bytes bytes = copy(index, header.size);

    RingRecord record;
    std::size_t at = sizeof(header);
    const auto next = [&] {
        const auto word = value_at<std::uint64_t>(bytes, at);
        at += sizeof(word);
        return word;
    };
    if (header.type == PERF_RECORD_SAMPLE) {
        record.id = next();
        record.time = next();
        record.cpu = static_cast<int>(next());
        record.payload.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
    } else if (header.type == PERF_RECORD_LOST_SAMPLES) {
        record.lost = next();
        record.time = next();
        record.cpu = static_cast<int>(next());
        record.id = next();
        if (!record.lost || at != bytes.size())
            throw std::runtime_error("not a record of lost samples");
    } else {
        throw std::runtime_error("unknown type of record");
    }
    return record;
}

std::vector<RingRecord> MappedRing::drain() {
    std::vector<RingRecord> records;
    const std::uint64_t end = head();
    std::uint64_t tail = page().data_tail;
    while (tail != end) {
        perf_event_header header{};
        records.push_back(record_at(tail, header));
        tail += header.size;
        if (end - tail > data_) throw std::runtime_error("a record exceeds data_head");
    }
    __atomic_store_n(&page().data_tail, tail, __ATOMIC_RELEASE);
    return records;
}

std::vector<RingRecord> MappedRing::newest_first() const {
    std::vector<RingRecord> records;
    const std::uint64_t begin = head();
    for (std::uint64_t at = begin; at != 0 && at - begin < data_;) {
        perf_event_header header{};
        std::memcpy(&header, copy(at, sizeof(header)).data(), sizeof(header));
        if (at - begin + header.size > data_) break;
        records.push_back(record_at(at, header));
        at += header.size;
    }
    return records;
}

perf_metagroup_stream stream_of(std::chrono::nanoseconds period, std::size_t ring_size,
                                unsigned flags) {
    perf_metagroup_stream arg{};
    arg.size = sizeof(arg);
    arg.flags = flags;
    arg.period = static_cast<std::uint64_t>(period.count());
    arg.ring_size = ring_size;
    return arg;
}

long start_stream(const Meta& meta, perf_metagroup_stream& arg) {
    return meta.ioctl(PERF_METAGROUP_IOC_STREAM, &arg);
}

long stop_stream(const Meta& meta, std::uint64_t* lost) {
    perf_metagroup_stream arg{};
    arg.size = sizeof(arg);
    const long result = meta.ioctl(PERF_METAGROUP_IOC_STREAM, &arg);
    if (lost) *lost = arg.lost;
    return result;
}

RunningStream::RunningStream(const Meta& meta, std::chrono::nanoseconds period,
                             std::size_t ring_size, unsigned flags)
    : meta_(&meta), arg_(stream_of(period, ring_size, flags)) {
    const long result = start_stream(meta, arg_);
    if (result)
        throw std::system_error(static_cast<int>(-result), std::generic_category(), "STREAM");
    for (const int cpu : online_cpus())
        if (try_to_map_ring(meta, arg_, cpu) == 0) map(cpu);
}

void RunningStream::map(int cpu) {
    rings_.try_emplace(cpu, *meta_, arg_, cpu);
}

std::map<int, std::vector<RingRecord>> RunningStream::drain() {
    std::map<int, std::vector<RingRecord>> all;
    for (auto& [cpu, ring] : rings_)
        all[cpu] = ring.drain();
    return all;
}

std::map<int, std::vector<RingRecord>> RunningStream::run(std::chrono::nanoseconds time) {
    std::map<int, std::vector<RingRecord>> all;
    const auto end = std::chrono::steady_clock::now() + time;
    do {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        for (auto& [cpu, records] : drain())
            all[cpu].insert(all[cpu].end(), records.begin(), records.end());
    } while (std::chrono::steady_clock::now() < end);
    return all;
}

std::uint64_t RunningStream::stop() {
    std::uint64_t lost = 0;
    const long result = stop_stream(*meta_, &lost);
    if (result)
        throw std::system_error(static_cast<int>(-result), std::generic_category(), "STREAM");
    return lost;
}

long try_to_map_ring(const Meta& meta, const perf_metagroup_stream& arg, int cpu, std::size_t size,
                     int flags) {
    const std::size_t bytes = size ? size : arg.map_stride;
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, meta.fd(),
               static_cast<off_t>(arg.map_offset + static_cast<unsigned>(cpu) * arg.map_stride));
    if (at == MAP_FAILED) return -errno;
    ::munmap(at, bytes);
    return 0;
}

std::uint64_t next_deadline(const RingRecord& record, std::uint64_t next, std::uint64_t period) {
    if (record.is_sample()) {
        if (record.time / period * period != next)
            throw std::runtime_error("member " + std::to_string(record.id) + ": the sample of " +
                                     std::to_string(record.time) +
                                     " ns is not of the next deadline, " + std::to_string(next) +
                                     " ns");
        return next + period;
    }
    next += record.lost * period;
    if (record.time < next - period)
        throw std::runtime_error("a deadline was lost before its time");
    return next;
}

std::uint64_t check_deadlines(const std::vector<RingRecord>& records, std::uint64_t id,
                              std::uint64_t first, std::uint64_t period) {
    std::uint64_t next = first;
    for (const RingRecord& record : records)
        if (record.id == id) next = next_deadline(record, next, period);
    return (next - first) / period;
}

}  // namespace metagroup::test
