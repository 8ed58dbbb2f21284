// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user's side of a stream, through the file of the handle: rings, readiness and
 * statistics.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/poll.h>

#include "compat/mm.h"
#include "core/pages.h"
#include "stream/stream.h"

/**
 * mg_stream_mmap - map the ring of a CPU
 * @stream:	the stream, running or not; or NULL
 * @vma:	the mapping
 *
 * Context: Process context. mmap_lock is held, inside which mg_group.mutex must
 * not be taken. Takes rings_lock.
 * Return: 0, -EACCES, -EINVAL or -ENODEV.
 */
int mg_stream_mmap(struct mg_stream *stream, struct vm_area_struct *vma)
{
	unsigned long offset = vma->vm_pgoff - (PERF_METAGROUP_RINGS >> PAGE_SHIFT);
	struct mg_pages *pages = NULL;
	unsigned long cpu, stride;

	if (!stream || !(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	/* A shared mapping of a file that is not open for writing has only VM_MAYSHARE. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EACCES;

	spin_lock(&stream->rings_lock);
	stride = 1 + (stream->ring_size >> PAGE_SHIFT);
	cpu = offset / stride;
	if (cpu < nr_cpu_ids)
		pages = stream->cpus.on_cpu[array_index_nospec(cpu, nr_cpu_ids)].ring.pages;
	if (pages)
		mg_pages_get(pages);
	spin_unlock(&stream->rings_lock);

	if (offset % stride) {
		if (pages)
			mg_pages_put(pages);
		return -EINVAL;
	}
	if (!pages)
		return -ENODEV;
	vm_flags_mod(vma, VM_DONTCOPY, 0);
	return mg_pages_mmap(pages, vma);
}

/* Return true if a ring has reached the watermark, or has lost deadlines before it did. */
static bool mg_stream_is_ready(struct mg_stream *stream)
{
	bool ready = false;
	unsigned int cpu;
	u64 used;

	spin_lock(&stream->rings_lock);
	for (cpu = 0; cpu < nr_cpu_ids && !stream->overwrite && !ready; cpu++) {
		const struct mg_stream_cpu *this = &stream->cpus.on_cpu[cpu];

		if (!this->ring.pages)
			continue;
		used = READ_ONCE(this->ring.head) - mg_ring_tail(&this->ring);
		ready = used >= stream->cpus.watermark || (used && READ_ONCE(this->lost));
	}
	spin_unlock(&stream->rings_lock);
	return ready;
}

/**
 * mg_stream_poll - check whether a ring can be read
 * @stream:	the stream, running or not
 *
 * The caller is already on mg_stream.wait.
 *
 * Context: Process context. Takes rings_lock.
 * Return: EPOLL*
 */
__poll_t mg_stream_poll(struct mg_stream *stream)
{
	__poll_t events = READ_ONCE(stream->cpus.running) ? 0 : EPOLLHUP;

	/* A full barrier; pairs with the smp_mb() of mg_stream_sample(). */
	xchg(&stream->cpus.woken, 0);
	if (mg_stream_is_ready(stream))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

/**
 * mg_stream_stats - sum up the statistics of all CPUs
 * @stream:	the stream
 * @stats:	result
 *
 * Context: mg_group.mutex is held.
 */
void mg_stream_stats(const struct mg_stream *stream, struct mg_stream_stats *stats)
{
	unsigned int cpu;

	*stats = (struct mg_stream_stats){ };
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		const struct mg_stream_cpu *this = &stream->cpus.on_cpu[cpu];

		stats->deadlines += READ_ONCE(this->deadlines);
		stats->lost += READ_ONCE(this->all_lost);
		stats->throttled += READ_ONCE(this->throttled);
		stats->idle_stops += READ_ONCE(this->idle_stops);
	}
}
