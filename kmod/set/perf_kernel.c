// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/smp.h>

#include "compat/perf_event.h"
#include "core/perf_read.h"
#include "set/perf_kernel.h"

/* A placeholder for events that are not open. It counts nothing. */
static struct perf_event *mg_dummy;	/* constant */

/*
 * Types of the kprobe and uprobe PMUs, which read user memory at addresses in the attr.
 * The task that opens an event may have another address space, and holds mutexes that
 * other tasks wait for.
 */
static u32 mg_kprobe_type, mg_uprobe_type;	/* constant */

static struct perf_event *mg_dummy_create(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

/**
 * mg_kernel_may_open - check whether the current task may open events of CPUs
 *
 * A module can neither read perf_event_paranoid nor call a security module's hook.
 * perf checks both when it opens an event.
 *
 * Context: Process context, may sleep. Takes ctx->mutex and cpu_hotplug_lock.
 * Return: 0, -EACCES, or another error of perf.
 */
int mg_kernel_may_open(void)
{
	struct perf_event *event = mg_dummy_create(raw_smp_processor_id());
	int err = PTR_ERR_OR_ZERO(event);

	if (!err)
		perf_event_release_kernel(event);
	/* The CPU went offline, which perf checks last. */
	return err == -ENODEV ? 0 : err;
}

/* Lock @ctx instead of @locked. Both locks have one class, so only one may be held. */
static __always_inline struct perf_event_context *
mg_relock(struct perf_event_context *locked, struct perf_event_context *ctx)
{
	if (unlikely(ctx != locked)) {
		raw_spin_unlock(&locked->lock);
		raw_spin_lock(&ctx->lock);
	}
	return ctx;
}

/* Status of a kernel event of @cpu. The lock of @ctx is held. */
static u32 mg_kernel_status(const struct perf_event *event,
			    const struct perf_event_context *ctx, int cpu)
{
	/* The event is not open, or its PMU has moved it. */
	if (event->state > PERF_EVENT_STATE_REVOKED &&
	    (event == mg_dummy || READ_ONCE(event->cpu) != cpu))
		return PERF_METAGROUP_OFFLINE;
	return mg_event_status(event, mg_event_place(event, ctx));
}

/**
 * mg_worse_status - status of two events together
 * @one:	PERF_METAGROUP_OK, ...
 * @other:	status of the other event
 *
 * Return: the larger one, except that ERROR, which has no payload, takes precedence.
 */
u32 mg_worse_status(u32 one, u32 other)
{
	if (one == PERF_METAGROUP_ERROR || other == PERF_METAGROUP_ERROR)
		return PERF_METAGROUP_ERROR;
	return max(one, other);
}

static u32 mg_kernel_status_now(const struct perf_event *event, int cpu)
{
	unsigned long flags;
	struct perf_event_context *ctx = mg_event_lock(event, &flags);
	u32 status = mg_kernel_status(event, ctx, cpu);

	mg_event_unlock(ctx, flags);
	/*
	 * A pinned event is on the PMU or in ERROR; but an event that excludes guests is
	 * off the PMU while its CPU runs a guest that owns the PMU.
	 */
	if (status == PERF_METAGROUP_INACTIVE && event->attr.exclude_guest)
		return PERF_METAGROUP_OK;
	return status;
}

/**
 * mg_kernel_counts - check whether an event can be given to a user
 * @event:	the event
 * @cpu:	the CPU that it was opened for
 *
 * Context: Any. Takes ctx->lock.
 * Return: true if it is on the PMU of that CPU.
 */
bool mg_kernel_counts(const struct perf_event *event, int cpu)
{
	return mg_kernel_status_now(event, cpu) == PERF_METAGROUP_OK;
}

/**
 * mg_kernel_open - open an event on one CPU
 * @attr:	what it counts
 * @cpu:	the CPU
 * @reason:	set to PERF_METAGROUP_REASON_* if the event is the cause of an error
 *
 * The event counts when this returns. What it counts before it is shown is subtracted
 * with the baseline, so it need not be opened disabled and enabled later. perf and
 * security modules check the current credentials, see mg_kernel_counter_open().
 *
 * Context: Process context, may sleep. Takes ctx->mutex and cpu_hotplug_lock.
 * Return: the event, or an ERR_PTR().
 */
struct perf_event *mg_kernel_open(struct perf_event_attr *attr, int cpu, u32 *reason)
{
	struct perf_event *event;

	if (attr->type == mg_kprobe_type || attr->type == mg_uprobe_type) {
		*reason = PERF_METAGROUP_REASON_ATTR;
		return ERR_PTR(-EINVAL);
	}
	event = perf_event_create_kernel_counter(attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(event)) {
		*reason = PERF_METAGROUP_REASON_REFUSED;
		return event;
	}
	if (READ_ONCE(event->cpu) == cpu)
		return event;
	*reason = PERF_METAGROUP_REASON_OTHER_CPU;
	perf_event_release_kernel(event);
	return ERR_PTR(-EINVAL);
}

/**
 * mg_kernel_verify - check that all events are on the PMU
 * @events:	the events
 * @nr_events:	entries of @events
 * @cpu:	their CPU
 * @failure:	set on failure
 *
 * Context: Any. Takes ctx->lock.
 * Return: 0, -EBUSY or -ENODEV.
 */
int mg_kernel_verify(struct perf_event **events, u32 nr_events, int cpu,
		     struct mg_failure *failure)
{
	u32 i;

	for (i = 0; i < nr_events; i++) {
		u32 status = mg_kernel_status_now(events[i], cpu);

		if (status == PERF_METAGROUP_OK)
			continue;
		failure->event = i;
		failure->reason = status == PERF_METAGROUP_OFFLINE ?
			PERF_METAGROUP_REASON_REFUSED : PERF_METAGROUP_REASON_NO_COUNTER;
		return status == PERF_METAGROUP_OFFLINE ? -ENODEV : -EBUSY;
	}
	return 0;
}

/**
 * mg_kernel_leave_closed - use placeholders for the events of an offline CPU
 * @events:	result
 * @nr_events:	entries of @events
 *
 * Their status is OFFLINE, as if their PMU had moved them. They are not released.
 */
void mg_kernel_leave_closed(struct perf_event **events, u32 nr_events)
{
	while (nr_events)
		events[--nr_events] = mg_dummy;
}

/**
 * mg_kernel_is_opened - check whether a counter has events that must be released
 * @counter:	the counter, which has kernel events
 *
 * Return: true if so.
 */
bool mg_kernel_is_opened(const struct mg_counter *counter)
{
	return counter->leader && counter->leader != mg_dummy;
}

static u32 mg_kernel_presence_of(const struct perf_event *event, int cpu)
{
	unsigned long flags;
	struct perf_event_context *ctx = mg_event_lock(event, &flags);
	u32 presence = PERF_METAGROUP_OK;

	if (event->state <= PERF_EVENT_STATE_REVOKED)
		presence = PERF_METAGROUP_REVOKED;
	else if (event == mg_dummy || READ_ONCE(event->cpu) != cpu ||
		 mg_event_place(event, ctx) != MG_INSTALLED)
		presence = PERF_METAGROUP_OFFLINE;
	mg_event_unlock(ctx, flags);
	return presence;
}

/**
 * mg_kernel_presence - check whether events are on their CPU, counting or not
 * @counter:	the counter, which has kernel events
 *
 * Context: Any. Takes ctx->lock.
 * Return: PERF_METAGROUP_OK; _REVOKED if the PMU of one was unregistered, else _OFFLINE
 * if one is not on its CPU.
 */
u32 mg_kernel_presence(const struct mg_counter *counter)
{
	u32 presence = PERF_METAGROUP_OK;
	u32 i;

	for (i = 0; i < counter->nr_kernel; i++)
		presence = max(presence, mg_kernel_presence_of(counter->kernel[i], counter->cpu));
	return presence;
}

/**
 * mg_kernel_describe - describe the events of a counter
 * @counter:	the counter, which has kernel events
 * @info:	result
 *
 * Context: Any. Takes ctx->lock.
 */
void mg_kernel_describe(const struct mg_counter *counter, struct mg_event_info *info)
{
	u32 i;

	*info = (struct mg_event_info){
		.read_format = counter->read_format,
		.status = PERF_METAGROUP_OK,
		.nr_events = counter->nr_kernel,
		.nr_in_payload = counter->nr_kernel,
		.payload = mg_payload_size(counter, counter->nr_kernel),
		.cpu = counter->cpu,
	};
	for (i = 0; i < counter->nr_kernel; i++)
		info->status = mg_worse_status(info->status,
					       mg_kernel_status_now(counter->kernel[i],
								    counter->cpu));
}

/* task-clock continues from the time of its own context, see mg_write_clocks(). */
static bool mg_kernel_is_clock(const struct perf_event *event)
{
	return mg_event_is_clock(event) && event->attr.config == PERF_COUNT_SW_CPU_CLOCK;
}

/* Of an event whose pmu->read() has an effect. Its PMU is registered. */
static void mg_kernel_plan_read(struct mg_plan *plan, u32 index, bool clock)
{
	struct perf_event *event = plan->events[index];
	bool topology = event->group_caps & (PERF_EV_CAP_READ_ACTIVE_PKG | PERF_EV_CAP_READ_SCOPE);
	u8 scope = topology ? MG_SCOPE_TOPOLOGY : MG_SCOPE_CPU;

	if (!clock)
		plan->reads[index] = event;
	plan->scope = min(plan->scope, scope);
	if (event->pmu->task_ctx_nr != perf_hw_context)
		plan->idle_stable = false;
	/* Only uncore PMUs call perf_pmu_migrate_context(). */
	if (event->pmu->task_ctx_nr == perf_invalid_context)
		plan->movable = true;
}

static void mg_kernel_plan_event(struct mg_plan *plan, u32 index)
{
	const struct mg_counter *counter = plan->counter;
	struct perf_event *event = counter->kernel[index];
	struct mg_count *count;
	unsigned long flags;
	struct perf_event_context *ctx = mg_event_lock(event, &flags);
	bool revoked = event->state <= PERF_EVENT_STATE_REVOKED;
	bool clock = !revoked && mg_kernel_is_clock(event);

	plan->events[index] = event;
	if (!revoked && mg_event_needs_read(event))
		mg_kernel_plan_read(plan, index, clock);
	mg_event_unlock(ctx, flags);
	count = clock ? &plan->clocks[plan->nr_clocks++] : &plan->counts[plan->nr_counts++];
	count->event = event;
	count->word = counter->count_word + index * counter->stride;
}

/**
 * mg_kernel_plan - make the plan of kernel events
 * @plan:	newly allocated
 *
 * Context: Process context. Takes ctx->lock.
 */
void mg_kernel_plan(struct mg_plan *plan)
{
	const struct mg_counter *counter = plan->counter;
	u32 i;

	plan->leader = counter->leader;
	plan->nr_events = counter->nr_kernel;
	plan->nr_present = counter->nr_kernel;
	plan->nr_reads = counter->nr_kernel;
	plan->scope = MG_SCOPE_ANY;
	plan->idle_stable = true;
	for (i = 0; i < counter->nr_kernel; i++)
		mg_kernel_plan_event(plan, i);
}

/**
 * mg_kernel_refresh - bring the counts of kernel events up to date
 * @plan:	their plan
 * @ctx:	the context that mg_plan_lock() has locked, and that is locked on return
 * @cpu:	this CPU, or MG_OTHER_CPU
 * @status:	result: worst status of the events
 *
 * Context: Interrupts are off. Takes ctx->lock of other contexts.
 * Return: an enum mg_scope; -EBUSY if this CPU cannot read an event that counts; or
 * -EAGAIN if the first event is no longer on @ctx, so its times must not be read.
 */
int mg_kernel_refresh(const struct mg_plan *plan, struct perf_event_context *const ctx, int cpu,
		      u32 *status) __must_hold(&ctx->lock)
{
	struct perf_event_context *locked = ctx;
	int own_cpu = plan->counter->cpu;
	int scope = MG_SCOPE_ANY;
	u32 i, one;

	*status = PERF_METAGROUP_OK;
	for (i = 0; i < plan->nr_events; i++) {
		struct perf_event *event = plan->events[i];

		locked = mg_relock(locked, READ_ONCE(event->ctx));
		if (likely(mg_event_is_active(event) && event->oncpu == cpu)) {
			if (plan->reads[i])
				event->pmu->read(event);
			if (scope >= 0)
				scope = plan->scope;
			continue;
		}
		one = mg_kernel_status(event, locked, own_cpu);
		*status = mg_worse_status(*status, one);
		if (one != PERF_METAGROUP_OK || !mg_event_needs_read(event))
			continue;
		if (mg_event_in_scope(event))
			event->pmu->read(event);
		else
			scope = -EBUSY;
	}
	/* Its PMU may have moved the first event meanwhile; the caller unlocks @ctx. */
	mg_relock(locked, ctx);
	if (unlikely(READ_ONCE(plan->leader->ctx) != ctx))
		return -EAGAIN;
	return *status == PERF_METAGROUP_ERROR ? MG_SCOPE_ANY : scope;
}

/* Read the type of a PMU from sysfs; U32_MAX if there is no such PMU. */
static u32 mg_type_of_pmu(const char *name)
{
	struct device *device = bus_find_device_by_name(mg_dummy->pmu->dev->bus, NULL, name);
	const struct pmu *pmu;
	u32 type;

	if (!device)
		return U32_MAX;
	pmu = dev_get_drvdata(device);
	type = pmu->type;
	put_device(device);
	return type;
}

/**
 * mg_kernel_init - prepare to open events
 *
 * Context: Process context, may sleep.
 * Return: 0 or an error.
 */
int mg_kernel_init(void)
{
	struct perf_event *event = ERR_PTR(-ENODEV);
	int cpu;

	/* Any CPU will do, even if it goes offline later. */
	for_each_online_cpu(cpu) {
		event = mg_dummy_create(cpu);
		if (event != ERR_PTR(-ENODEV))
			break;
	}
	if (IS_ERR(event))
		return PTR_ERR(event);
	mg_dummy = event;
	mg_kprobe_type = mg_type_of_pmu("kprobe");
	mg_uprobe_type = mg_type_of_pmu("uprobe");
	return 0;
}

/**
 * mg_kernel_exit - undo mg_kernel_init()
 */
void mg_kernel_exit(void)
{
	perf_event_release_kernel(mg_dummy);
}
