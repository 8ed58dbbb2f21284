// SPDX-License-Identifier: MIT
// Builds payloads and FRAMED reads by hand, byte for byte as linux/perf_metagroup.h describes them.
#pragma once

#include <linux/perf_metagroup.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/payload.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>
#include <span>
#include <vector>

namespace metagroup::test {

using Bytes = std::vector<std::byte>;

template <typename Object>
void append(Bytes& bytes, const Object& object) {
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof(object));
    std::memcpy(&bytes[end], &object, sizeof(object));
}

/// Of a group, with both times.
inline constexpr auto timed = static_cast<std::uint32_t>(
    ReadFormat::group | ReadFormat::total_time_enabled | ReadFormat::total_time_running);

struct Event {
    std::uint64_t value = 0;
    std::uint64_t id = 0;
    std::uint64_t lost = 0;
};

/// A payload as perf_event_open(2) lays it out.
inline Bytes payload(std::uint64_t format, const std::vector<Event>& events,
                     std::uint64_t enabled = 0, std::uint64_t running = 0) {
    Bytes bytes;
    const auto times = [&] {
        if ((format & ReadFormat::total_time_enabled) != 0) append(bytes, enabled);
        if ((format & ReadFormat::total_time_running) != 0) append(bytes, running);
    };
    const auto rest = [&](const Event& event) {
        if ((format & ReadFormat::id) != 0) append(bytes, event.id);
        if ((format & ReadFormat::lost) != 0) append(bytes, event.lost);
    };
    if ((format & ReadFormat::group) != 0) {
        append(bytes, std::uint64_t{events.size()});
        times();
        for (const Event& event : events) {
            append(bytes, event.value);
            rest(event);
        }
    } else {
        append(bytes, events.front().value);
        times();
        rest(events.front());
    }
    return bytes;
}

struct Frame {
    std::uint32_t member = 0;
    std::uint32_t cpu = 0;
    std::uint64_t time = 0;
    Bytes payload;
    std::uint32_t read_format = static_cast<std::uint32_t>(ReadFormat::group);
    std::uint32_t status = PERF_METAGROUP_OK;
    std::optional<std::uint32_t> generation{};  // of a set
};

inline std::size_t header_size(const Frame& frame, std::uint32_t extra) {
    return extra +
           (frame.generation ? sizeof(perf_metagroup_set_record) : sizeof(perf_metagroup_record));
}

inline std::size_t frame_size(const Frame& frame, std::uint32_t extra) {
    return (header_size(frame, extra) + frame.payload.size() + 63) / 64 * 64;
}

/// A FRAMED read. `extra` bytes are put into both headers, as a later kernel may. Frames are of one
/// size, or each only as large as it must be.
inline Bytes framed(const std::vector<Frame>& frames, std::uint64_t begin = 1000,
                    std::uint64_t end = 2000, std::uint32_t extra = 0, bool uniform = true) {
    std::size_t stride = 0;
    for (const Frame& frame : frames)
        stride = std::max(stride, frame_size(frame, extra));
    perf_metagroup_snapshot header{};
    header.size = static_cast<__u32>(sizeof(header) + extra);
    header.sequence = 7;
    header.begin = begin;
    header.end = end;
    header.count = static_cast<__u32>(frames.size());
    header.stride = static_cast<__u32>(uniform ? stride : 0);
    header.bytes = header.size;
    for (const Frame& frame : frames)
        header.bytes += uniform ? stride : frame_size(frame, extra);
    Bytes bytes;
    append(bytes, header);
    bytes.resize(header.size);
    for (const Frame& frame : frames) {
        const std::size_t start = bytes.size();
        perf_metagroup_record record{};
        record.frame = static_cast<__u32>(uniform ? stride : frame_size(frame, extra));
        record.header = static_cast<__u16>(header_size(frame, extra));
        record.member = frame.member;
        record.cpu = frame.cpu;
        record.status = static_cast<__u16>(frame.status);
        record.time = frame.time;
        record.read_format = frame.read_format;
        record.size = static_cast<__u32>(frame.payload.size());
        append(bytes, record);
        if (frame.generation) append(bytes, *frame.generation);
        bytes.resize(start + record.header);
        bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
        bytes.resize(start + record.frame, std::byte{0xA5});
    }
    return bytes;
}

inline Snapshot snapshot(const Bytes& bytes) {
    Snapshot result;
    const std::span<std::byte> buffer = result.prepare(bytes.size());
    std::copy(bytes.begin(), bytes.end(), buffer.begin());
    result.commit(bytes.size());
    return result;
}

}  // namespace metagroup::test
