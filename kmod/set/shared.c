// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared kernel events: one for all sets that count the same on the same CPU. Each
 * member has its own baseline, so it is not affected by other members.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "set/perf_kernel.h"
#include "set/shared.h"

/**
 * struct mg_shared_event - a kernel event and the number of its users
 * @event:	the event; constant
 * @attr:	what it counts, compared as a whole, see mg_attr_for_counting(); constant
 * @key:	key of @attr; constant
 * @users:	number of its users; mg_shared.mutex
 * @by_attr:	entry in the table by @attr; mg_shared.mutex
 * @by_event:	entry in the table by @event; mg_shared.mutex
 */
struct mg_shared_event {
	struct perf_event *event;
	struct perf_event_attr attr;
	u32 key;
	u32 users;
	struct hlist_node by_attr;
	struct hlist_node by_event;
};

/**
 * struct mg_shared - the kernel events of one CPU
 * @mutex:	protects all fields; at most one of these is held at a time
 * @by_attr:	the events by what they count
 * @by_event:	the same events by their address
 */
struct mg_shared {
	struct mutex mutex;	/* for all fields */
	DECLARE_HASHTABLE(by_attr, 8);
	DECLARE_HASHTABLE(by_event, 8);
};

static DEFINE_PER_CPU(struct mg_shared, mg_shared);

static u32 mg_shared_seed;	/* constant */

/* A user can choose attrs, but cannot predict their keys. */
static u32 mg_shared_key(const struct perf_event_attr *attr)
{
	return jhash(attr, sizeof(*attr), mg_shared_seed);
}

/* An event that has left its CPU, or has no counter, gets no new users. */
static struct mg_shared_event *mg_shared_find(struct mg_shared *shared,
					      const struct perf_event_attr *attr, int cpu)
{
	struct mg_shared_event *entry;
	u32 key = mg_shared_key(attr);

	hash_for_each_possible(shared->by_attr, entry, by_attr, key)
		if (entry->key == key && !memcmp(&entry->attr, attr, sizeof(*attr)) &&
		    mg_kernel_counts(entry->event, cpu))
			return entry;
	return NULL;
}

static struct mg_shared_event *mg_shared_of(struct mg_shared *shared,
					    const struct perf_event *event)
{
	struct mg_shared_event *entry;

	hash_for_each_possible(shared->by_event, entry, by_event, (unsigned long)event)
		if (entry->event == event)
			return entry;
	return NULL;
}

/* Not charged to the first user, which it may outlive. perf does not charge events either. */
static struct mg_shared_event *mg_shared_create(struct mg_shared *shared,
						struct perf_event_attr *attr, int cpu,
						u32 *reason)
{
	struct mg_shared_event *entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	struct perf_event *event;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	event = mg_kernel_open(attr, cpu, reason);
	if (IS_ERR(event)) {
		kfree(entry);
		return ERR_CAST(event);
	}
	entry->event = event;
	entry->attr = *attr;
	entry->key = mg_shared_key(attr);
	hash_add(shared->by_attr, &entry->by_attr, entry->key);
	hash_add(shared->by_event, &entry->by_event, (unsigned long)event);
	return entry;
}

static struct perf_event *mg_shared_get(struct mg_shared *shared, struct perf_event_attr *attr,
					int cpu, u32 *reason)
{
	struct mg_shared_event *entry = mg_shared_find(shared, attr, cpu);

	if (!entry)
		entry = mg_shared_create(shared, attr, cpu, reason);
	if (IS_ERR(entry))
		return ERR_CAST(entry);
	entry->users++;
	return entry->event;
}

static void mg_shared_put(struct mg_shared *shared, struct perf_event *event)
{
	struct mg_shared_event *entry = mg_shared_of(shared, event);

	if (--entry->users)
		return;
	hash_del(&entry->by_attr);
	hash_del(&entry->by_event);
	kfree(entry);
	perf_event_release_kernel(event);
}

static void mg_shared_put_all(struct mg_shared *shared, struct perf_event **events,
			      u32 nr_events)
{
	while (nr_events)
		mg_shared_put(shared, events[--nr_events]);
}

/**
 * mg_shared_join - share events that are open on one CPU, all or none
 * @events:	result
 * @attrs:	what they count
 * @nr_events:	entries of @events and @attrs
 * @cpu:	the CPU
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex and ctx->lock.
 * Return: true, or false if one is not open.
 */
bool mg_shared_join(struct perf_event **events, const struct perf_event_attr *attrs,
		    u32 nr_events, int cpu)
{
	struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);
	struct mg_shared_event *entry;
	u32 i, joined = 0;

	mutex_lock(&shared->mutex);
	for (i = 0; i < nr_events; i++) {
		entry = mg_shared_find(shared, &attrs[i], cpu);
		if (!entry)
			break;
		entry->users++;
		events[joined++] = entry->event;
	}
	while (i < nr_events && joined)
		mg_shared_of(shared, events[--joined])->users--;
	mutex_unlock(&shared->mutex);
	return joined;
}

/**
 * mg_shared_leave - drop events if all of them have other users
 * @events:	the events
 * @nr_events:	entries of @events
 * @cpu:	the CPU that they were opened for
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex.
 * Return: true, or false if nothing was done because this is the last user of one.
 */
bool mg_shared_leave(struct perf_event **events, u32 nr_events, int cpu)
{
	struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);
	struct mg_shared_event *entry;
	u32 i, left = 0;

	mutex_lock(&shared->mutex);
	for (i = 0; i < nr_events; i++) {
		entry = mg_shared_of(shared, events[i]);
		if (entry->users == 1)
			break;
		entry->users--;
		left++;
	}
	while (i < nr_events && left)
		mg_shared_of(shared, events[--left])->users++;
	mutex_unlock(&shared->mutex);
	return left;
}

/**
 * mg_shared_open - open or share events on one CPU, all or none
 * @events:	result
 * @attrs:	what they count
 * @nr_events:	entries of @events and @attrs
 * @cpu:	the CPU
 * @failure:	set if an event is the cause of an error
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex, and inside it
 * ctx->mutex and cpu_hotplug_lock.
 * Return: 0 or an error.
 */
int mg_shared_open(struct perf_event **events, struct perf_event_attr *attrs, u32 nr_events,
		   int cpu, struct mg_failure *failure)
{
	struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);
	struct perf_event *event;
	int err = 0;
	u32 i;

	mutex_lock(&shared->mutex);
	for (i = 0; i < nr_events; i++) {
		event = mg_shared_get(shared, &attrs[i], cpu, &failure->reason);
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
		mg_shared_put_all(shared, events, i);
	}
	mutex_unlock(&shared->mutex);
	return err;
}

/**
 * mg_shared_close - drop events, which are released by their last user
 * @events:	the events
 * @nr_events:	entries of @events
 * @cpu:	the CPU that they were opened for
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex, and inside it
 * ctx->mutex and cpu_hotplug_lock.
 */
void mg_shared_close(struct perf_event **events, u32 nr_events, int cpu)
{
	struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);

	mutex_lock(&shared->mutex);
	mg_shared_put_all(shared, events, nr_events);
	mutex_unlock(&shared->mutex);
}

/**
 * mg_shared_users - number of users of events
 * @events:	the events
 * @nr_events:	entries of @events
 * @cpu:	the CPU that they were opened for
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex.
 * Return: the number for the event with the most users.
 */
u32 mg_shared_users(struct perf_event **events, u32 nr_events, int cpu)
{
	struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);
	const struct mg_shared_event *entry;
	u32 users = 0;

	mutex_lock(&shared->mutex);
	while (nr_events) {
		entry = mg_shared_of(shared, events[--nr_events]);
		if (entry)
			users = max(users, entry->users);
	}
	mutex_unlock(&shared->mutex);
	return users;
}

/**
 * mg_shared_init - prepare the tables
 */
void mg_shared_init(void)
{
	int cpu;

	mg_shared_seed = get_random_u32();
	for_each_possible_cpu(cpu) {
		struct mg_shared *shared = per_cpu_ptr(&mg_shared, cpu);

		mutex_init(&shared->mutex);
		hash_init(shared->by_attr);
		hash_init(shared->by_event);
	}
}
