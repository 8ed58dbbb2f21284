// SPDX-License-Identifier: MIT
// Prints context switches and page faults of every CPU using only system calls and
// <linux/perf_metagroup.h>, without the library. Requires the module.
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char* what) {
    fprintf(stderr, "ioctls: %s: %s\n", what, strerror(errno));
    exit(1);
}

// Opens one event on one CPU; leader is -1 for the first event of a group.
static int open_event(unsigned long long config, int cpu, int leader) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = config,
        .read_format = PERF_FORMAT_GROUP,
    };

    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

// Opens a group on every online CPU. The siblings' descriptors must stay open.
static unsigned open_groups(int* leaders, unsigned cpus) {
    unsigned count = 0;

    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
        int leader = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, (int)cpu, -1);

        if (leader < 0 && errno == ENODEV)  // offline
            continue;
        if (leader < 0 || open_event(PERF_COUNT_SW_PAGE_FAULTS, (int)cpu, leader) < 0)
            die("perf_event_open (without CAP_PERFMON it needs kernel.perf_event_paranoid <= 0)");
        leaders[count++] = leader;
    }
    return count;
}

static void attach(int metagroup, const int* leaders, unsigned count) {
    struct perf_metagroup_attach attach = {
        .size = sizeof(attach),
        .fds = (unsigned long)leaders,
        .count = count,
    };

    if (ioctl(metagroup, PERF_METAGROUP_IOC_ATTACH, &attach) != 0) {
        fprintf(stderr, "ioctls: descriptor %u of %u, reason %u\n", attach.failed, count,
                attach.reason);
        die("PERF_METAGROUP_IOC_ATTACH");
    }
    for (unsigned i = 0; i < count; ++i)
        close(leaders[i]);  // the meta-group keeps them open
}

// Walks the frames using the sizes in the snapshot, which newer modules may increase.
static void print(const unsigned char* bytes) {
    struct perf_metagroup_snapshot snapshot;

    memcpy(&snapshot, bytes, sizeof(snapshot));
    const unsigned char* frame = bytes + snapshot.size;
    struct perf_metagroup_record record;
    for (unsigned i = 0; i < snapshot.count; ++i, frame += record.frame) {
        unsigned long long payload[3];  // PERF_FORMAT_GROUP: nr, then the counts

        memcpy(&record, frame, sizeof(record));
        if (record.size != sizeof(payload)) {
            printf("CPU %u: status %u\n", record.cpu, record.status);
            continue;
        }
        memcpy(payload, frame + record.header, sizeof(payload));
        printf("CPU %u: %llu context switches, %llu page faults\n", record.cpu, payload[1],
               payload[2]);
    }
    printf("read in %llu ns\n", (unsigned long long)(snapshot.end - snapshot.begin));
}

int main(void) {
    struct perf_metagroup_format format = {
        .size = sizeof(format),
        .format = PERF_METAGROUP_FORMAT_FRAMED,
    };
    struct perf_metagroup_info info = {.size = sizeof(info)};
    const unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    int* leaders = calloc(cpus, sizeof(*leaders));
    unsigned char* buffer;
    int metagroup;

    if (!leaders) die("calloc");
    metagroup = open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC);
    if (metagroup < 0 && errno == ENOENT)
        die(PERF_METAGROUP_DEVICE ", which comes with the module (modprobe perf_metagroup)");
    if (metagroup < 0) die(PERF_METAGROUP_DEVICE);
    attach(metagroup, leaders, open_groups(leaders, cpus));
    if (ioctl(metagroup, PERF_METAGROUP_IOC_SET_FORMAT, &format) != 0)
        die("PERF_METAGROUP_IOC_SET_FORMAT");
    if (ioctl(metagroup, PERF_METAGROUP_IOC_INFO, &info) != 0) die("PERF_METAGROUP_IOC_INFO");

    buffer = malloc(info.framed_size);
    if (!buffer) die("malloc");
    sleep(1);
    if (read(metagroup, buffer, info.framed_size) < 0)  // one sweep of all CPUs
        die("read");
    print(buffer);
    free(buffer);
    free(leaders);
    return 0;
}
