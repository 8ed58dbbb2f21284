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

#define METAGROUP_AT(type, field, bytes)                                            \
    static_assert(offsetof(struct perf_metagroup_##type, field) == (bytes),         \
                  "offset of perf_metagroup_" #type "." #field)
#define METAGROUP_SIZE(type, bytes)                                                 \
    static_assert(sizeof(struct perf_metagroup_##type) == (bytes),                  \
                  "size of perf_metagroup_" #type)

METAGROUP_AT(snapshot, size, 0);
METAGROUP_AT(snapshot, flags, 4);
METAGROUP_AT(snapshot, sequence, 8);
METAGROUP_AT(snapshot, begin, 16);
METAGROUP_AT(snapshot, end, 24);
METAGROUP_AT(snapshot, count, 32);
METAGROUP_AT(snapshot, layout, 36);
METAGROUP_AT(snapshot, bytes, 40);
METAGROUP_AT(snapshot, stride, 48);
METAGROUP_AT(snapshot, reserved, 52);
METAGROUP_SIZE(snapshot, 64);

METAGROUP_AT(record, frame, 0);
METAGROUP_AT(record, header, 4);
METAGROUP_AT(record, status, 6);
METAGROUP_AT(record, member, 8);
METAGROUP_AT(record, cpu, 12);
METAGROUP_AT(record, time, 16);
METAGROUP_AT(record, read_format, 24);
METAGROUP_AT(record, size, 28);
METAGROUP_SIZE(record, 32);

METAGROUP_AT(map, size, 0);
METAGROUP_AT(map, flags, 4);
METAGROUP_AT(map, version, 8);
METAGROUP_AT(map, reserved, 12);
METAGROUP_AT(map, offset, 16);
METAGROUP_AT(map, reserved2, 32);
METAGROUP_SIZE(map, 64);

METAGROUP_AT(info, size, 0);
METAGROUP_AT(info, flags, 4);
METAGROUP_AT(info, abi, 8);
METAGROUP_AT(info, format, 12);
METAGROUP_AT(info, features, 16);
METAGROUP_AT(info, max_members, 24);
METAGROUP_AT(info, max_per_cpu, 28);
METAGROUP_AT(info, max_snapshot, 32);
METAGROUP_AT(info, members, 40);
METAGROUP_AT(info, cpus, 44);
METAGROUP_AT(info, raw_size, 48);
METAGROUP_AT(info, framed_size, 56);
METAGROUP_AT(info, map_size, 64);
METAGROUP_AT(info, mode, 72);
METAGROUP_AT(info, max_events_per_cpu, 76);
METAGROUP_SIZE(info, 80);

METAGROUP_AT(attach, size, 0);
METAGROUP_AT(attach, flags, 4);
METAGROUP_AT(attach, fds, 8);
METAGROUP_AT(attach, count, 16);
METAGROUP_AT(attach, first, 20);
METAGROUP_AT(attach, failed, 24);
METAGROUP_AT(attach, reason, 28);
METAGROUP_SIZE(attach, 32);

METAGROUP_AT(detach, size, 0);
METAGROUP_AT(detach, flags, 4);
METAGROUP_AT(detach, member, 8);
METAGROUP_AT(detach, reserved, 12);
METAGROUP_SIZE(detach, 16);

METAGROUP_AT(format, size, 0);
METAGROUP_AT(format, flags, 4);
METAGROUP_AT(format, format, 8);
METAGROUP_AT(format, reserved, 12);
METAGROUP_SIZE(format, 16);

METAGROUP_AT(member, size, 0);
METAGROUP_AT(member, flags, 4);
METAGROUP_AT(member, member, 8);
METAGROUP_AT(member, cpu, 12);
METAGROUP_AT(member, status, 16);
METAGROUP_AT(member, events, 20);
METAGROUP_AT(member, read_format, 24);
METAGROUP_AT(member, payload, 32);
METAGROUP_AT(member, max_ids, 36);
METAGROUP_AT(member, ids, 40);
METAGROUP_SIZE(member, 48);

METAGROUP_AT(sweep, size, 0);
METAGROUP_AT(sweep, flags, 4);
METAGROUP_AT(sweep, cpus, 8);
METAGROUP_AT(sweep, nr_words, 16);
METAGROUP_AT(sweep, reserved, 20);
METAGROUP_AT(sweep, buffer, 24);
METAGROUP_AT(sweep, buffer_size, 32);
METAGROUP_SIZE(sweep, 40);

METAGROUP_AT(mode, size, 0);
METAGROUP_AT(mode, flags, 4);
METAGROUP_AT(mode, mode, 8);
METAGROUP_AT(mode, reserved, 12);
METAGROUP_SIZE(mode, 16);

METAGROUP_AT(stream, size, 0);
METAGROUP_AT(stream, flags, 4);
METAGROUP_AT(stream, period, 8);
METAGROUP_AT(stream, ring_size, 16);
METAGROUP_AT(stream, watermark, 24);
METAGROUP_AT(stream, first, 32);
METAGROUP_AT(stream, map_offset, 40);
METAGROUP_AT(stream, map_stride, 48);
METAGROUP_AT(stream, lost, 56);
METAGROUP_SIZE(stream, 64);
