// SPDX-License-Identifier: MIT
// The layout of all structures of <linux/perf_metagroup.h>: for C and C++, 32 and 64 bits.
#pragma once

#include <linux/perf_metagroup.h>

#ifdef __cplusplus
#include <cstddef>
#else
#include <assert.h>
#include <stddef.h>
#endif

// The size of a type, then all its fields, each with its offset.
#define METAGROUP_LAYOUT(type, bytes, ...)                                                   \
    static_assert(sizeof(struct perf_metagroup_##type) == (bytes), "perf_metagroup_" #type); \
    METAGROUP_SCAN(METAGROUP_FIELDS(type, __VA_ARGS__))
#define METAGROUP_FIELDS(type, field, at, ...)                           \
    static_assert(offsetof(struct perf_metagroup_##type, field) == (at), \
                  "perf_metagroup_" #type "." #field);                   \
    __VA_OPT__(METAGROUP_MORE METAGROUP_PARENTHESES(type, __VA_ARGS__))
// A macro does not expand within itself, but again in each further scan of the result.
#define METAGROUP_MORE() METAGROUP_FIELDS
#define METAGROUP_PARENTHESES ()
#define METAGROUP_SCAN(...) \
    METAGROUP_SCAN4(METAGROUP_SCAN4(METAGROUP_SCAN4(METAGROUP_SCAN4(__VA_ARGS__))))
#define METAGROUP_SCAN4(...) \
    METAGROUP_SCAN1(METAGROUP_SCAN1(METAGROUP_SCAN1(METAGROUP_SCAN1(__VA_ARGS__))))
#define METAGROUP_SCAN1(...) __VA_ARGS__

METAGROUP_LAYOUT(snapshot, 64, size, 0, flags, 4, sequence, 8, begin, 16, end, 24, count, 32,
                 layout, 36, bytes, 40, stride, 48, reserved, 52)
METAGROUP_LAYOUT(record, 32, frame, 0, header, 4, status, 6, member, 8, cpu, 12, time, 16,
                 read_format, 24, size, 28)
METAGROUP_LAYOUT(map, 64, size, 0, flags, 4, version, 8, reserved, 12, offset, 16, reserved2, 32)
METAGROUP_LAYOUT(info, 80, size, 0, flags, 4, abi, 8, format, 12, features, 16, max_members, 24,
                 max_per_cpu, 28, max_snapshot, 32, members, 40, cpus, 44, raw_size, 48,
                 framed_size, 56, map_size, 64, mode, 72, max_events_per_cpu, 76)
METAGROUP_LAYOUT(attach, 32, size, 0, flags, 4, fds, 8, count, 16, first, 20, failed, 24, reason,
                 28)
METAGROUP_LAYOUT(detach, 16, size, 0, flags, 4, member, 8, reserved, 12)
METAGROUP_LAYOUT(format, 16, size, 0, flags, 4, format, 8, reserved, 12)
METAGROUP_LAYOUT(set_record, 40, record, 0, generation, 32, reserved, 36)
METAGROUP_LAYOUT(member, 72, size, 0, flags, 4, member, 8, cpu, 12, status, 16, events, 20,
                 read_format, 24, payload, 32, max_ids, 36, ids, 40, generation, 48, error, 52, failed, 56,
                 reason, 60, users, 64, reserved, 68)
METAGROUP_LAYOUT(sweep, 40, size, 0, flags, 4, cpus, 8, nr_words, 16, reserved, 20, buffer, 24,
                 buffer_size, 32)
METAGROUP_LAYOUT(mode, 16, size, 0, flags, 4, mode, 8, reserved, 12)
METAGROUP_LAYOUT(open_set, 64, size, 0, flags, 4, events, 8, nr_events, 16, stride, 20, cpus, 24,
                 nr_words, 32, first, 36, read_format, 40, count, 48, failed, 52, failed_cpu, 56,
                 reason, 60)
METAGROUP_LAYOUT(control, 56, size, 0, flags, 4, op, 8, nr_words, 12, cpus, 16, begin, 24, end, 32,
                 skew, 40, members, 48, reserved, 52)
METAGROUP_LAYOUT(events, 40, size, 0, flags, 4, member, 8, nr_events, 12, events, 16, stride, 24,
                 failed, 28, reason, 32, reserved, 36)
METAGROUP_LAYOUT(publish, 80, size, 0, flags, 4, name, 8, mode, 72, gid, 76)
METAGROUP_LAYOUT(name, 80, size, 0, flags, 4, name, 8, first, 72, count, 76)
METAGROUP_LAYOUT(stream, 64, size, 0, flags, 4, period, 8, ring_size, 16, watermark, 24, first, 32,
                 map_offset, 40, map_stride, 48, lost, 56)
