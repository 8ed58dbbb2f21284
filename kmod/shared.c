// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel events that are shared: one for all sets that count the same on the same
 * CPU. Each member has a baseline of its own, so it sees nothing of the others.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "perf_kernel.h"
#include "shared.h"

/**
 * struct mg_shared - a kernel event and how many use it
 * @event:	the event; constant
 * @attr:	what it counts, as a whole, see mg_attr_for_counting(); constant
 * @cpu:	the CPU that it was opened for; constant
 * @users:	number of its users; mg_shared_mutex
 * @by_attr:	entry in the table by @attr and @cpu; mg_shared_mutex
 * @by_event:	entry in the table by @event; mg_shared_mutex
 */
struct mg_shared {
	struct perf_event *event;
	struct perf_event_attr attr;
	int cpu;
	u32 users;
	struct hlist_node by_attr;
	struct hlist_node by_event;
};

static DEFINE_MUTEX(mg_shared_mutex);
static DEFINE_HASHTABLE(mg_shared_by_attr, 10);
static DEFINE_HASHTABLE(mg_shared_by_event, 10);

static u32 mg_shared_key(const struct perf_event_attr *attr, int cpu)
{
	return jhash(attr, sizeof(*attr), cpu);
}

/* An event that has left its CPU, or has no counter, is not given to new users. */
static struct mg_shared *mg_shared_find(const struct perf_event_attr *attr, int cpu)
{
	struct mg_shared *shared;

	hash_for_each_possible(mg_shared_by_attr, shared, by_attr, mg_shared_key(attr, cpu))
		if (shared->cpu == cpu && !memcmp(&shared->attr, attr, sizeof(*attr)) &&
		    mg_kernel_status_now(shared->event, cpu) == PERF_METAGROUP_OK)
			return shared;
	return NULL;
}

static struct mg_shared *mg_shared_of(const struct perf_event *event)
{
	struct mg_shared *shared;

	hash_for_each_possible(mg_shared_by_event, shared, by_event, (unsigned long)event)
		if (shared->event == event)
			return shared;
	return NULL;
}

static struct mg_shared *mg_shared_create(struct perf_event_attr *attr, int cpu, u32 *reason)
{
	struct mg_shared *shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);
	struct perf_event *event;

	if (!shared)
		return ERR_PTR(-ENOMEM);
	event = mg_kernel_open(attr, cpu, reason);
	if (IS_ERR(event)) {
		kfree(shared);
		return ERR_CAST(event);
	}
	shared->event = event;
	shared->attr = *attr;
	shared->cpu = cpu;
	hash_add(mg_shared_by_attr, &shared->by_attr, mg_shared_key(attr, cpu));
	hash_add(mg_shared_by_event, &shared->by_event, (unsigned long)event);
	return shared;
}

static struct perf_event *mg_shared_get(struct perf_event_attr *attr, int cpu, u32 *reason)
{
	struct mg_shared *shared;

	mutex_lock(&mg_shared_mutex);
	shared = mg_shared_find(attr, cpu);
	if (!shared)
		shared = mg_shared_create(attr, cpu, reason);
	if (!IS_ERR(shared))
		shared->users++;
	mutex_unlock(&mg_shared_mutex);
	return IS_ERR(shared) ? ERR_CAST(shared) : shared->event;
}

/* The event may be of mg_shared_get(), or a dummy. */
static void mg_shared_put(struct perf_event *event)
{
	struct mg_shared *shared;
	bool last;

	mutex_lock(&mg_shared_mutex);
	shared = mg_shared_of(event);
	last = !shared || !--shared->users;
	if (shared && last) {
		hash_del(&shared->by_attr);
		hash_del(&shared->by_event);
		kfree(shared);
	}
	mutex_unlock(&mg_shared_mutex);
	if (last)
		perf_event_release_kernel(event);
}

/**
 * mg_shared_open - open or share events on one CPU, all or none
 * @events:	result
 * @attrs:	what they count
 * @nr_events:	entries of @events and @attrs
 * @cpu:	the CPU
 * @failure:	set if an event is the cause of an error
 *
 * Context: Process context, may sleep. Takes mg_shared_mutex, and inside it
 * ctx->mutex and cpu_hotplug_lock.
 * Return: 0 or an error.
 */
int mg_shared_open(struct perf_event **events, struct perf_event_attr *attrs, u32 nr_events,
		   int cpu, struct mg_failure *failure)
{
	struct perf_event *event;
	int err = 0;
	u32 i;

	for (i = 0; i < nr_events; i++) {
		event = mg_shared_get(&attrs[i], cpu, &failure->reason);
		if (IS_ERR(event)) {
			err = PTR_ERR(event);
			failure->event = i;
			break;
		}
		events[i] = event;
	}
	if (!err)
		err = mg_kernel_verify(events, nr_events, cpu, failure);
	if (err) {
		failure->cpu = cpu;
		mg_shared_close(events, i);
	}
	return err;
}

/**
 * mg_shared_close - drop events, which are released with their last user
 * @events:	the events
 * @nr_events:	entries of @events
 *
 * Context: Process context, may sleep. Takes mg_shared_mutex, ctx->mutex and
 * cpu_hotplug_lock.
 */
void mg_shared_close(struct perf_event **events, u32 nr_events)
{
	while (nr_events)
		mg_shared_put(events[--nr_events]);
}

/**
 * mg_shared_users - how many use an event
 * @events:	the events
 * @nr_events:	entries of @events
 *
 * Context: Process context, may sleep. Takes mg_shared_mutex.
 * Return: the number for the event that has most.
 */
u32 mg_shared_users(struct perf_event **events, u32 nr_events)
{
	const struct mg_shared *shared;
	u32 users = 0;

	mutex_lock(&mg_shared_mutex);
	while (nr_events) {
		shared = mg_shared_of(events[--nr_events]);
		if (shared)
			users = max(users, shared->users);
	}
	mutex_unlock(&mg_shared_mutex);
	return users;
}
