// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctl of streams.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_metagroup.h>
#include <asm/barrier.h>

#include "core/group.h"
#include "core/limit.h"
#include "device/copy.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "stream/stream.h"

static bool mg_stream_is_valid(const struct perf_metagroup_stream *arg)
{
	if (!arg->period)
		return !arg->flags && !arg->ring_size && !arg->watermark;
	return !(arg->flags & ~PERF_METAGROUP_STREAM_OVERWRITE) &&
	       arg->period >= PERF_METAGROUP_MIN_PERIOD &&
	       arg->period <= PERF_METAGROUP_MAX_PERIOD &&
	       is_power_of_2(arg->ring_size) && arg->ring_size >= PAGE_SIZE &&
	       arg->ring_size <= PERF_METAGROUP_MAX_RING &&
	       arg->watermark <= arg->ring_size;
}

static int mg_stream_set(struct mg_handle *handle, struct perf_metagroup_stream *arg)
{
	struct mg_stream *stream = handle->stream;

	if (!arg->period) {
		arg->lost = stream ? mg_stream_stop(stream) : 0;
		return 0;
	}
	if (!stream) {
		stream = mg_stream_create(handle->group, handle->limit, &handle->wait);
		if (IS_ERR(stream))
			return PTR_ERR(stream);
		/* Pairs with the smp_load_acquire() of mg_handle_stream(). */
		smp_store_release(&handle->stream, stream);
	}
	arg->lost = 0;
	return mg_stream_start(stream, arg);
}

/**
 * mg_ioctl_stream - STREAM
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_stream
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_stream(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_stream arg;
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_STREAM_SIZE_VER1, uarg);
	if (err)
		return err;
	if (!mg_stream_is_valid(&arg))
		return -EINVAL;

	/* Starting it interrupts all CPUs, which mg_stream_start() charges. */
	err = arg.period ? mg_handle_wait_and_lock(handle) : mg_group_lock(handle->group);
	if (err)
		return err;
	err = mg_stream_set(handle, &arg);
	if (arg.period)
		mg_limit_settle(handle->limit, 0);
	if (!err)
		err = mg_copy_out(uarg, &arg, sizeof(arg));
	if (err == -EFAULT && arg.period)
		mg_stream_stop(handle->stream);
	mg_group_unlock(handle->group);
	return err;
}
