// SPDX-License-Identifier: GPL-2.0
/* The counters of all CPUs with one read(), by /dev/perf_metagroup. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/zalloc.h>
#include <internal/xyarray.h>
#include "../../../include/uapi/linux/perf_metagroup.h"
#include "debug.h"
#include "drm_pmu.h"
#include "evlist.h"
#include "evsel.h"
#include "hwmon_pmu.h"
#include "metagroup.h"
#include "tool_pmu.h"

/* A leader on one CPU. A snapshot has members in the order in which they were attached. */
struct member {
	struct evsel *leader;
	int cpu_map_idx;
};

struct metagroup {
	int fd;
	struct member *members;
	size_t nr_members;
	char *snapshot;
	size_t size;
};

static bool is_perf_group(struct evsel *evsel)
{
	return evsel->supported && evsel->core.fd && evsel__is_group_leader(evsel) &&
	       !evsel__is_bpf(evsel) && !evsel__is_tool(evsel) && !evsel__is_hwmon(evsel) &&
	       !evsel__is_drm(evsel) && !evsel__is_retire_lat(evsel);
}

static int metagroup__attach(struct metagroup *mg, struct evsel *leader, int cpu_map_idx)
{
	int fd = *(int *)xyarray__entry(leader->core.fd, cpu_map_idx, 0);
	struct perf_metagroup_attach attach = {
		.size = sizeof(attach),
		.fds = (uintptr_t)&fd,
		.count = 1,
	};
	struct member *members;

	if (fd < 0)
		return 0;
	members = reallocarray(mg->members, mg->nr_members + 1, sizeof(*members));
	if (!members)
		return -1;
	mg->members = members;
	members[mg->nr_members++] = (struct member){ leader, cpu_map_idx };
	return ioctl(mg->fd, PERF_METAGROUP_IOC_ATTACH, &attach);
}

static int metagroup__open(struct metagroup *mg, struct evlist *evlist)
{
	struct perf_metagroup_format format = {
		.size = sizeof(format),
		.format = PERF_METAGROUP_FORMAT_FRAMED,
	};
	struct perf_metagroup_info info = { .size = sizeof(info) };
	struct evsel *evsel;
	unsigned int idx;

	mg->fd = open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC);
	if (mg->fd < 0)
		return -1;
	evlist__for_each_entry(evlist, evsel) {
		if (!is_perf_group(evsel))
			continue;
		perf_cpu_map__for_each_idx(idx, evsel->core.cpus) {
			if (metagroup__attach(mg, evsel, idx))
				return -1;
		}
	}
	if (ioctl(mg->fd, PERF_METAGROUP_IOC_SET_FORMAT, &format) ||
	    ioctl(mg->fd, PERF_METAGROUP_IOC_INFO, &info))
		return -1;
	mg->size = info.framed_size;
	mg->snapshot = malloc(mg->size);
	return mg->snapshot ? 0 : -1;
}

struct metagroup *metagroup__new(struct evlist *evlist)
{
	struct metagroup *mg = zalloc(sizeof(*mg));

	if (!mg || metagroup__open(mg, evlist)) {
		pr_err("cannot read by %s: %m\n", PERF_METAGROUP_DEVICE);
		metagroup__delete(mg);
		return NULL;
	}
	return mg;
}

void metagroup__delete(struct metagroup *mg)
{
	if (!mg)
		return;
	if (mg->fd >= 0)
		close(mg->fd);
	free(mg->members);
	free(mg->snapshot);
	free(mg);
}

/* Members without a payload are left to their own read(), which has the error. */
int metagroup__read(struct metagroup *mg)
{
	struct perf_metagroup_snapshot *header = (void *)mg->snapshot;
	struct perf_metagroup_record *record;
	size_t i;
	int err;

	if (read(mg->fd, mg->snapshot, mg->size) < 0)
		return -errno;

	record = (void *)header + header->size;
	for (i = 0; i < mg->nr_members; i++) {
		struct member *member = &mg->members[i];

		if (record->size) {
			err = evsel__process_payload(member->leader, member->cpu_map_idx,
						     (void *)record + record->header, record->size);
			if (err)
				return err;
		}
		record = (void *)record + record->frame;
	}
	return 0;
}
