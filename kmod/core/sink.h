/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SINK_H
#define MG_SINK_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "core/member.h"

/**
 * struct mg_sink - where a CPU writes the records of its members
 * @base:	memory that has a frame at offset mg_member.offset for each member
 * @copy:	index of that memory in mg_member.offset and mg_member.written
 *
 * The sink of a sweep is one copy of the snapshot, see mg_frames_sink().
 */
struct mg_sink {
	void *base;
	unsigned int copy;
};

/* The record of @member. */
static inline struct perf_metagroup_record *
mg_sink_record(const struct mg_sink *sink, const struct mg_member *member)
{
	return sink->base + member->offset[sink->copy];
}

/* The record of a member of a set. */
static inline struct perf_metagroup_set_record *
mg_sink_set_record(struct perf_metagroup_record *record)
{
	return container_of(record, struct perf_metagroup_set_record, record);
}

#endif /* MG_SINK_H */
