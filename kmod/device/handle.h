/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_HANDLE_H
#define MG_HANDLE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <asm/barrier.h>

struct cpumask;
struct file;
struct mg_attach;
struct mg_follow;
struct mg_group;
struct mg_limit;
struct mg_stream;

/**
 * struct mg_handle - one open file of the device
 * @group:	the meta-group; a reference, constant
 * @limit:	limits of the user who opened it, or NULL; a reference, constant
 * @stream:	the stream, or NULL before the first start; set once under
 *		mg_group.mutex
 * @follow:	reopens events of sets; NULL before the first set that needs it;
 *		mg_group.mutex
 * @wait:	readers in poll(2); not in @stream, because epoll(7) may start to wait
 *		before the first stream
 * @joins:	names that it has joined, see struct mg_join; mg_group.mutex
 * @file:	the file whose private_data this is; constant
 * @format:	PERF_METAGROUP_FORMAT_*; READ_ONCE() and WRITE_ONCE()
 *
 * A handle refers to a meta-group and does not own it.
 */
struct mg_handle {
	struct mg_group *group;
	struct mg_limit *limit;
	struct mg_stream *stream;
	struct mg_follow *follow;
	wait_queue_head_t wait;
	struct list_head joins;
	const struct file *file;
	u32 format;
};

/* The stream, without mg_group.mutex. */
static inline struct mg_stream *mg_handle_stream(const struct mg_handle *handle)
{
	/* Pairs with the smp_store_release() of mg_stream_set(). */
	return smp_load_acquire(&handle->stream);
}

struct mg_handle *mg_handle_create(const struct file *file);
void mg_handle_destroy(struct mg_handle *handle);
int mg_handle_reserve_rings(const struct mg_handle *handle, const struct mg_attach *attach);
int mg_handle_wait(const struct mg_handle *handle);
int mg_handle_wait_and_lock(const struct mg_handle *handle);
void mg_handle_sweep(const struct mg_handle *handle, const struct cpumask *req_mask);

#endif /* MG_HANDLE_H */
