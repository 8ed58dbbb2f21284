// SPDX-License-Identifier: MIT
// A 32-bit program on a 64-bit kernel: same structures, same bytes.
// Exits 0 if all is well, else it says what is not.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"

static_assert(sizeof(void *) == 4, "built with -m32");

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define CPUS 2

static int open_leader(int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

    CHECK(fd >= 0);
    return fd;
}

static const struct perf_metagroup_snapshot *last_snapshot(const struct perf_metagroup_map *map)
{
    return (const void *)((const char *)map + map->offset[map->version % 2]);
}

/* A set on CPU 1, under a name. */
static void check_names(int meta)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
    };
    uint64_t word = 1 << 1;
    struct perf_metagroup_open_set set = {.size = sizeof(set),
                                          .events = (uintptr_t)&attr,
                                          .nr_events = 1,
                                          .stride = sizeof(attr),
                                          .cpus = (uintptr_t)&word,
                                          .nr_words = 1,
                                          .read_format = PERF_FORMAT_GROUP};
    struct perf_metagroup_events events = {.size = sizeof(events),
                                           .nr_events = 1,
                                           .events = (uintptr_t)&attr,
                                           .stride = sizeof(attr)};
    struct perf_metagroup_publish publish = {
        .size = sizeof(publish), .name = "abi32", .mode = 0400, .gid = PERF_METAGROUP_NO_GID};
    struct perf_metagroup_name name = {.size = sizeof(name), .name = "abi32"};

    CHECK(ioctl(meta, PERF_METAGROUP_IOC_OPEN_SET, &set) == 0);
    events.member = set.first;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_SET_EVENTS, &events) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_PUBLISH, &publish) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_JOIN, &name) == 0);
    CHECK(name.first == set.first + 1 && name.count == 1);
    memset(&attr, 0, sizeof(attr));
    events.member = name.first;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_GET_EVENTS, &events) == 0);
    CHECK(attr.config == PERF_COUNT_SW_CPU_CLOCK);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_UNPUBLISH, &name) == 0);
}

int main(void)
{
    struct perf_metagroup_info info = {.size = sizeof(info)};
    struct perf_metagroup_attach attach = {.size = sizeof(attach)};
    struct perf_metagroup_format framed = {.size = sizeof(framed),
                                           .format = PERF_METAGROUP_FORMAT_FRAMED};
    struct perf_metagroup_member member = {.size = sizeof(member)};
    struct perf_metagroup_detach detach = {.size = sizeof(detach)};
    struct perf_metagroup_sweep sweep = {.size = sizeof(sweep)};
    struct perf_metagroup_mode mode = {.size = sizeof(mode)};
    struct perf_metagroup_stream stream = {.size = sizeof(stream),
                                           .period = 1000000,
                                           .ring_size = 4096};
    const struct perf_event_mmap_page *ring;
    struct perf_metagroup_snapshot *head;
    const struct perf_metagroup_snapshot *mapped;
    const struct perf_metagroup_map *map;
    uint64_t words[2] = {1 << 1, 0};
    struct perf_metagroup_record *record;
    uint64_t own[4], id;
    unsigned char buffer[4096];
    int fds[CPUS], meta, cpu;
    ssize_t got;

    meta = open(PERF_METAGROUP_DEVICE, O_RDWR);
    CHECK(meta >= 0);
    for (cpu = 0; cpu < CPUS; cpu++)
        fds[cpu] = open_leader(cpu);
    attach.fds = (uintptr_t)fds;
    attach.count = CPUS;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_ATTACH, &attach) == 0);
    CHECK(attach.first == 0 && attach.failed == CPUS);

    CHECK(ioctl(meta, PERF_METAGROUP_IOC_INFO, &info) == 0);
    CHECK(info.abi == PERF_METAGROUP_ABI && info.members == CPUS);
    CHECK(info.raw_size == CPUS * sizeof(own));

    CHECK(ioctl(meta, PERF_METAGROUP_IOC_DISABLE, 0) == 0);
    got = read(meta, buffer, sizeof(buffer));
    CHECK(got == (ssize_t)info.raw_size);
    for (cpu = 0; cpu < CPUS; cpu++) {
        CHECK(read(fds[cpu], own, sizeof(own)) == sizeof(own));
        CHECK(memcmp(own, buffer + (size_t)cpu * sizeof(own), sizeof(own)) == 0);
    }

    CHECK(ioctl(meta, PERF_METAGROUP_IOC_SET_FORMAT, &framed) == 0);
    got = read(meta, buffer, sizeof(buffer));
    head = (struct perf_metagroup_snapshot *)buffer;
    CHECK(got == (ssize_t)head->bytes && head->count == CPUS);
    record = (struct perf_metagroup_record *)(buffer + head->size + head->stride);
    CHECK(record->cpu == 1 && record->member == 1 && record->size == sizeof(own));
    CHECK(memcmp((unsigned char *)record + record->header, own, sizeof(own)) == 0);

    map = mmap(NULL, info.map_size, PROT_READ, MAP_SHARED, meta, 0);
    CHECK(map != MAP_FAILED);
    sweep.cpus = (uintptr_t)words;
    sweep.nr_words = 2;
    sweep.buffer = (uintptr_t)buffer;
    sweep.buffer_size = sizeof(buffer);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_SWEEP, &sweep) == (int)(head->size + head->stride));
    record = (struct perf_metagroup_record *)(buffer + head->size);
    CHECK(head->count == 1 && record->cpu == 1 && record->size == sizeof(own));
    CHECK(memcmp((unsigned char *)record + record->header, own, sizeof(own)) == 0);
    mapped = last_snapshot(map);
    CHECK(mapped->count == CPUS && mapped->sequence == head->sequence);
    record = (struct perf_metagroup_record *)((char *)mapped + mapped->size + mapped->stride);
    CHECK(memcmp((unsigned char *)record + record->header, own, sizeof(own)) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_SWEEP, 0) == 0);
    mapped = last_snapshot(map);
    CHECK(mapped->sequence == head->sequence + 1);

    mode.mode = PERF_METAGROUP_MODE_QUIET;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_SET_MODE, &mode) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_INFO, &info) == 0);
    CHECK(info.mode == PERF_METAGROUP_MODE_QUIET);

    CHECK(ioctl(meta, PERF_METAGROUP_IOC_STREAM, &stream) == 0);
    CHECK(stream.map_offset == PERF_METAGROUP_RINGS && stream.map_stride == 2 * 4096);
    ring = mmap(NULL, stream.map_stride, PROT_READ | PROT_WRITE, MAP_SHARED, meta,
                  (off_t)(stream.map_offset + stream.map_stride));
    CHECK(ring != MAP_FAILED);
    CHECK(ring->data_offset == 4096 && ring->data_size == 4096);
    stream.period = stream.ring_size = 0;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_STREAM, &stream) == 0);

    member.member = 1;
    member.ids = (uintptr_t)&id;
    member.max_ids = 1;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_GET_MEMBER, &member) == 0);
    CHECK(member.events == 1 && id == own[3]);

    detach.member = 1;
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_DETACH, &detach) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_ENABLE, 0) == 0);
    CHECK(ioctl(meta, PERF_METAGROUP_IOC_RESET, 0) == 0);
    check_names(meta);
    CHECK(ioctl(meta, _IO(0xBD, 200), 0) == -1 && errno == ENOTTY);
    printf("32-bit callers see the same layout\n");
    return 0;
}
