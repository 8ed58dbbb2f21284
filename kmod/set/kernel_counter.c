// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of kernel events. Events are shared one by one, so a counter has one user.
 */
#include <linux/cred.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "set/cpu_work.h"
#include "set/kernel_counter.h"
#include "set/perf_kernel.h"
#include "set/shared.h"
#include "set/spec.h"

/**
 * mg_kernel_counter_create - create a counter whose kernel events are not open yet
 * @nr_events:	their number
 * @format:	read_format of the payload
 * @cpu:	their CPU
 * @ops:	operations of their members
 *
 * Context: Process context, may sleep.
 * Return: the counter, or NULL.
 */
struct mg_counter *mg_kernel_counter_create(u32 nr_events, u64 format, int cpu,
					    const struct mg_set_ops *ops)
{
	struct mg_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL_ACCOUNT);

	if (!counter)
		return NULL;
	counter->kernel = kcalloc(nr_events, sizeof(*counter->kernel), GFP_KERNEL_ACCOUNT);
	if (!counter->kernel) {
		kfree(counter);
		return NULL;
	}
	counter->ops = ops;
	counter->nr_kernel = nr_events;
	counter->cpu = cpu;
	mg_counter_init(counter, format);
	return counter;
}

/**
 * mg_kernel_counter_share - share kernel events, if all of them are open
 * @counter:	newly created
 * @attrs:	what the events count, see mg_attr_for_counting()
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex and ctx->lock.
 * Return: true, or false if the caller must call mg_kernel_counter_open().
 */
bool mg_kernel_counter_share(struct mg_counter *counter, const struct perf_event_attr *attrs)
{
	bool joined = mg_shared_join(counter->kernel, attrs, counter->nr_kernel, counter->cpu);

	if (joined)
		counter->leader = counter->kernel[0];
	return joined;
}

/**
 * mg_kernel_counter_open - open or share kernel events on their CPU, all or none
 * @counter:	newly created
 * @spec:	what the events count
 * @failure:	set if an event is the cause of an error
 *
 * perf, PMUs and security modules check the credentials of the task that described the
 * events, even if a worker or another user of a name opens them.
 *
 * Context: Process context, may sleep; fastest on the CPU of the events. Takes
 * mg_shared.mutex, ctx->mutex and cpu_hotplug_lock.
 * Return: 0 or an error.
 */
int mg_kernel_counter_open(struct mg_counter *counter, struct mg_spec *spec,
			   struct mg_failure *failure)
{
	const struct cred *own = override_creds(spec->cred);
	int err = mg_shared_open(counter->kernel, spec->attrs, counter->nr_kernel, counter->cpu,
				 failure);

	revert_creds(own);
	if (!err)
		counter->leader = counter->kernel[0];
	return err;
}

/**
 * mg_kernel_counter_leave_closed - do not open the events of an offline CPU
 * @counter:	newly created
 */
void mg_kernel_counter_leave_closed(struct mg_counter *counter)
{
	mg_kernel_leave_closed(counter->kernel, counter->nr_kernel);
	counter->leader = counter->kernel[0];
}

/* Drop the kernel events if all have other users. Return true if none is left to release. */
static bool mg_kernel_counter_leave(struct mg_counter *counter)
{
	if (mg_kernel_is_opened(counter) &&
	    !mg_shared_leave(counter->kernel, counter->nr_kernel, counter->cpu))
		return false;
	counter->leader = NULL;
	return true;
}

/**
 * mg_kernel_counter_free - drop kernel events, and free their counter
 * @counter:	opened or not
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex, ctx->mutex and
 * cpu_hotplug_lock.
 */
void mg_kernel_counter_free(struct mg_counter *counter)
{
	if (mg_kernel_is_opened(counter))
		mg_shared_close(counter->kernel, counter->nr_kernel, counter->cpu);
	kfree(counter->kernel);
	kfree(counter);
}

static void mg_kernel_counter_free_work(struct mg_cpu_work *work)
{
	mg_kernel_counter_free(work->item);
}

/**
 * mg_kernel_counters_free - free counters; each CPU releases its own kernel events
 * @work:	with @cpu, and a counter as @item; changed
 * @count:	entries of @work
 *
 * Context: Process context, may sleep. As mg_cpu_works_run().
 */
void mg_kernel_counters_free(struct mg_cpu_work *work, u32 count)
{
	struct mg_cpu_works works = { .func = mg_kernel_counter_free_work };
	u32 left = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		struct mg_counter *counter = work[i].item;

		if (mg_kernel_counter_leave(counter))
			mg_kernel_counter_free(counter);
		else
			work[left++] = work[i];
	}
	mg_cpu_works_run(&works, work, left, false);
}

/**
 * mg_kernel_counter_users - number of users of the events of a counter
 * @counter:	the counter, which has kernel events
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex.
 * Return: the largest number of users of one of its events.
 */
u32 mg_kernel_counter_users(const struct mg_counter *counter)
{
	return mg_shared_users(counter->kernel, counter->nr_kernel, counter->cpu);
}
