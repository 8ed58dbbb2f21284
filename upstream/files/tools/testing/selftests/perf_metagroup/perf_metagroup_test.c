// SPDX-License-Identifier: GPL-2.0-only
/*
 * Perf meta-groups: what read() of a meta-group returns is compared with what
 * read() of its members returns. The events are counted in software, so that no
 * PMU is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define MAX_CPUS	4096
#define READ_FORMAT	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | \
			 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* nr, time enabled, time running, {count, id} of two events */
struct payload {
	uint64_t nr, enabled, running;
	struct {
		uint64_t value, id;
	} events[2];
};

static int open_event(uint64_t config, pid_t pid, int cpu, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = READ_FORMAT,
	};

	return syscall(__NR_perf_event_open, &attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

FIXTURE(metagroup)
{
	int mg;
	int leaders[MAX_CPUS];
	int siblings[MAX_CPUS];
	unsigned int count;
	struct payload *payloads;
};

static int attach(int mg, const int *fds, unsigned int count, unsigned int *reason)
{
	struct perf_metagroup_attach arg = {
		.size = sizeof(arg),
		.fds = (uintptr_t)fds,
		.count = count,
	};
	int ret = ioctl(mg, PERF_METAGROUP_IOC_ATTACH, &arg);

	*reason = arg.reason;
	return ret;
}

static bool has_feature(int mg, uint64_t feature)
{
	struct perf_metagroup_info info = { .size = sizeof(info) };

	return !ioctl(mg, PERF_METAGROUP_IOC_INFO, &info) && info.features & feature;
}

FIXTURE_SETUP(metagroup)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned int reason;
	int cpu, fd;

	self->mg = open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC);
	if (self->mg < 0)
		SKIP(return, "no %s: %s", PERF_METAGROUP_DEVICE, strerror(errno));
	self->count = 0;
	for (cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++) {
		fd = open_event(PERF_COUNT_SW_CPU_CLOCK, -1, cpu, -1);
		if (fd < 0 && errno == ENODEV)	/* offline */
			continue;
		ASSERT_LE(0, fd);
		self->leaders[self->count] = fd;
		fd = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, -1, cpu, fd);
		ASSERT_LE(0, fd);
		self->siblings[self->count++] = fd;
	}
	self->payloads = calloc(self->count + 1, sizeof(*self->payloads));
	ASSERT_NE(NULL, self->payloads);
	ASSERT_EQ(0, attach(self->mg, self->leaders, self->count, &reason));
}

FIXTURE_TEARDOWN(metagroup)
{
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		close(self->siblings[i]);
		close(self->leaders[i]);
	}
	free(self->payloads);
	close(self->mg);
}

TEST_F(metagroup, stopped_counters_read_the_bytes_of_their_own_reads)
{
	struct payload own;
	unsigned int i;

	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_DISABLE, 0));
	ASSERT_EQ(self->count * sizeof(own),
		  read(self->mg, self->payloads, self->count * sizeof(own)));
	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(sizeof(own), read(self->leaders[i], &own, sizeof(own)));
		EXPECT_EQ(0, memcmp(&own, &self->payloads[i], sizeof(own)));
		EXPECT_LT(0, own.events[0].value);
	}
}

TEST_F(metagroup, running_counters_are_between_two_reads_of_their_own)
{
	struct payload before[MAX_CPUS], after;
	unsigned int i;

	for (i = 0; i < self->count; i++)
		ASSERT_EQ(sizeof(after), read(self->leaders[i], &before[i], sizeof(after)));
	ASSERT_EQ(self->count * sizeof(after),
		  read(self->mg, self->payloads, self->count * sizeof(after)));
	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(sizeof(after), read(self->leaders[i], &after, sizeof(after)));
		EXPECT_LE(before[i].events[0].value, self->payloads[i].events[0].value);
		EXPECT_LE(self->payloads[i].events[0].value, after.events[0].value);
		EXPECT_LE(before[i].enabled, self->payloads[i].enabled);
		EXPECT_LE(self->payloads[i].enabled, after.enabled);
		EXPECT_EQ(after.events[1].id, self->payloads[i].events[1].id);
	}
}

TEST_F(metagroup, framed_reads_have_a_record_for_each_member)
{
	struct perf_metagroup_format format = {
		.size = sizeof(format),
		.format = PERF_METAGROUP_FORMAT_FRAMED,
	};
	struct perf_metagroup_info info = { .size = sizeof(info) };
	const struct perf_metagroup_snapshot *snapshot;
	const struct perf_metagroup_record *record;
	unsigned int i;
	char *bytes;

	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_SET_FORMAT, &format));
	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_INFO, &info));
	EXPECT_EQ(self->count, info.members);
	bytes = calloc(1, info.framed_size);
	ASSERT_NE(NULL, bytes);
	ASSERT_EQ(info.framed_size, read(self->mg, bytes, info.framed_size));

	snapshot = (void *)bytes;
	ASSERT_EQ(self->count, snapshot->count);
	record = (void *)(bytes + snapshot->size);
	for (i = 0; i < snapshot->count; i++) {
		EXPECT_EQ(PERF_METAGROUP_OK, record->status);
		EXPECT_EQ(sizeof(struct payload), record->size);
		EXPECT_LE(snapshot->begin, record->time);
		EXPECT_LE(record->time, snapshot->end);
		record = (void *)record + record->frame;
	}
	free(bytes);
}

TEST_F(metagroup, short_buffer_is_refused_and_nothing_is_lost)
{
	size_t size = self->count * sizeof(*self->payloads);

	EXPECT_EQ(-1, read(self->mg, self->payloads, size - 1));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(size, read(self->mg, self->payloads, size));
}

TEST_F(metagroup, group_is_in_one_metagroup_at_most)
{
	int other = open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC);
	unsigned int reason;

	ASSERT_LE(0, other);
	EXPECT_EQ(-1, attach(other, self->leaders, 1, &reason));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(PERF_METAGROUP_REASON_BUSY, reason);
	close(self->mg);
	self->mg = other;
	EXPECT_EQ(0, attach(other, self->leaders, self->count, &reason));
}

TEST_F(metagroup, only_leaders_of_a_cpu_are_attached)
{
	int task = open_event(PERF_COUNT_SW_CPU_CLOCK, 0, -1, -1);
	int null = open("/dev/null", O_RDWR);
	unsigned int reason;

	EXPECT_EQ(-1, attach(self->mg, self->siblings, 1, &reason));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(PERF_METAGROUP_REASON_SIBLING, reason);
	EXPECT_EQ(-1, attach(self->mg, &task, 1, &reason));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(PERF_METAGROUP_REASON_TASK, reason);
	EXPECT_EQ(-1, attach(self->mg, &null, 1, &reason));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(PERF_METAGROUP_REASON_NOT_PERF, reason);
	close(null);
	close(task);
}

TEST_F(metagroup, what_is_unknown_is_refused)
{
	struct perf_metagroup_format format = { .size = sizeof(format), .flags = 1 };

	EXPECT_EQ(-1, ioctl(self->mg, PERF_METAGROUP_IOC_SET_FORMAT, &format));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->mg, _IO(0xBD, 0xff), 0));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(metagroup, members_stay_when_their_descriptors_are_closed)
{
	size_t size = self->count * sizeof(*self->payloads);
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		close(self->leaders[i]);
		self->leaders[i] = open("/dev/null", O_RDONLY);
	}
	EXPECT_EQ(size, read(self->mg, self->payloads, size));
}

TEST_F(metagroup, each_deadline_of_a_stream_is_a_sample_or_lost)
{
	struct perf_metagroup_stream stream = {
		.size = sizeof(stream),
		.period = 1000000,
		.ring_size = 65536,
	};
	struct perf_metagroup_stream stop = { .size = sizeof(stop) };
	struct perf_event_mmap_page *page;
	struct perf_event_header *header;
	uint64_t at, lost = 0, samples = 0;
	int cpu = -1;

	if (!has_feature(self->mg, PERF_METAGROUP_FEATURE_STREAM))
		SKIP(return, "no streams");
	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_STREAM, &stream));
	usleep(100000);
	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_STREAM, &stop));
	do {	/* the first CPU may be offline */
		page = mmap(NULL, stream.map_stride, PROT_READ | PROT_WRITE, MAP_SHARED, self->mg,
			    stream.map_offset + ++cpu * stream.map_stride);
	} while (page == MAP_FAILED && cpu < MAX_CPUS);
	ASSERT_NE(MAP_FAILED, page);
	for (at = 0; at < page->data_head; at += header->size) {
		header = (void *)page + page->data_offset + at;
		if (header->type == PERF_RECORD_SAMPLE)
			samples++;
		else if (header->type == PERF_RECORD_LOST_SAMPLES)
			lost += *(uint64_t *)(header + 1);
		ASSERT_LT(0, header->size);
	}
	EXPECT_LE(90, samples + lost + stop.lost);
	munmap(page, stream.map_stride);
}

TEST_F(metagroup, set_has_a_member_on_each_cpu)
{
	struct perf_metagroup_open_set set = {
		.size = sizeof(set),
		.flags = PERF_METAGROUP_SET_TEMPLATES,
		.events = (uintptr_t)self->leaders,
		.nr_events = 1,
		.read_format = READ_FORMAT,
	};
	struct perf_metagroup_info info = { .size = sizeof(info) };

	if (!has_feature(self->mg, PERF_METAGROUP_FEATURE_SET))
		SKIP(return, "no sets");
	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_OPEN_SET, &set));
	EXPECT_EQ(self->count, set.count);
	ASSERT_EQ(0, ioctl(self->mg, PERF_METAGROUP_IOC_INFO, &info));
	EXPECT_EQ(2 * self->count, info.members);
}

#ifdef PERF_EVENT_IOC_METAGROUP
TEST_F(metagroup, ioctl_of_a_leader_opens_a_metagroup)
{
	size_t size = sizeof(*self->payloads);
	unsigned int reason;
	int mg;

	mg = ioctl(self->leaders[0], PERF_EVENT_IOC_METAGROUP, 0);
	if (mg < 0 && errno == ENOTTY)
		SKIP(return, "no PERF_EVENT_IOC_METAGROUP");
	ASSERT_LE(0, mg);
	EXPECT_EQ(-1, ioctl(self->siblings[0], PERF_EVENT_IOC_METAGROUP, 0));
	EXPECT_EQ(EINVAL, errno);
	close(self->mg);
	self->mg = mg;
	ASSERT_EQ(0, attach(mg, self->leaders, 1, &reason));
	EXPECT_EQ(size, read(mg, self->payloads, size));
	EXPECT_EQ(-1, pread(mg, self->payloads, size, 0));
	EXPECT_EQ(ESPIPE, errno);
}
#endif

TEST_HARNESS_MAIN
