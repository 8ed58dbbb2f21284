// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PMU that shows rare behaviour on demand. For tests only.
 *
 * It counts nanoseconds, like cpu-clock, but has a limited number of counters
 * per CPU, so groups are multiplexed and pinned groups fail. Reads of a group can
 * fail; counts can go back; any CPU of a package can read some events; events can be
 * moved to another CPU; and the PMU can be unregistered while it has events. Since
 * Linux 6.12, there is also such a PMU with a scope: any CPU can read its events.
 */
#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/sysfs.h>

#include "core_pmu.h"

/* attr.config: any CPU of the package may read the event. */
#define TESTPMU_PACKAGE	BIT(0)
/* attr.config: the event counts on CPU 0. */
#define TESTPMU_FIRST	BIT(1)

static unsigned int counters = 4;
module_param(counters, uint, 0600);
MODULE_PARM_DESC(counters, "counters per CPU");

static int read_error;
module_param(read_error, int, 0600);
MODULE_PARM_DESC(read_error, "errno with which reads of a group fail");

static unsigned int read_failures;
module_param(read_failures, uint, 0600);
MODULE_PARM_DESC(read_failures, "one in this many reads of a group fails with EIO, at random; 0 for none");

static bool backwards;
module_param(backwards, bool, 0600);
MODULE_PARM_DESC(backwards, "counts go back");

/* On its own CPU with interrupts off, or under its context's lock. */
static DEFINE_PER_CPU(unsigned int, counters_used);

static void testpmu_update(struct perf_event *event)
{
	u64 now = ktime_get_ns();
	u64 passed = now - local64_xchg(&event->hw.prev_count, now);

	if (READ_ONCE(backwards))
		local64_sub(passed, &event->count);
	else
		local64_add(passed, &event->count);
}

static void testpmu_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, ktime_get_ns());
}

static void testpmu_stop(struct perf_event *event, int flags)
{
	testpmu_update(event);
}

static int testpmu_add(struct perf_event *event, int flags)
{
	if (this_cpu_read(counters_used) >= READ_ONCE(counters))
		return -EAGAIN;
	this_cpu_inc(counters_used);
	if (flags & PERF_EF_START)
		testpmu_start(event, flags);
	return 0;
}

static void testpmu_del(struct perf_event *event, int flags)
{
	testpmu_stop(event, PERF_EF_UPDATE);
	this_cpu_dec(counters_used);
}

/* Scheduling a group in is also a transaction, but only reads fail. */
static DEFINE_PER_CPU(unsigned int, txn_flags);

static void testpmu_start_txn(struct pmu *pmu, unsigned int flags)
{
	this_cpu_write(txn_flags, flags);
}

static void testpmu_cancel_txn(struct pmu *pmu)
{
}

static int testpmu_commit_txn(struct pmu *pmu)
{
	unsigned int failures = READ_ONCE(read_failures);

	if (this_cpu_read(txn_flags) == PERF_PMU_TXN_READ)
		return failures && !(get_random_u32() % failures) ? -EIO : -READ_ONCE(read_error);
	return 0;
}

static int testpmu_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK ||
	    event->attr.sample_period)
		return -EINVAL;
	if (event->attr.config & TESTPMU_PACKAGE)
		event->event_caps |= PERF_EV_CAP_READ_ACTIVE_PKG;
	if (event->attr.config & TESTPMU_FIRST)
		event->cpu = 0;
	return 0;
}

/* As those of energy that the kernel has. */
PMU_EVENT_ATTR_STRING(energy, testpmu_energy, "config=0");
PMU_EVENT_ATTR_STRING(energy.unit, testpmu_energy_unit, "Joules");
PMU_EVENT_ATTR_STRING(energy.scale, testpmu_energy_scale, "2.3283064365386962890625e-10");

static struct attribute *testpmu_event_attrs[] = {
	&testpmu_energy.attr.attr,
	&testpmu_energy_unit.attr.attr,
	&testpmu_energy_scale.attr.attr,
	NULL
};

static const struct attribute_group testpmu_events = {
	.name = "events",
	.attrs = testpmu_event_attrs,
};

static const struct attribute_group *testpmu_attr_groups[] = { &testpmu_events, NULL };

static struct pmu testpmu;
#ifdef PERF_EV_CAP_READ_SCOPE
static struct pmu scope_pmu;
#endif

/* Copied for each registration, because registering changes the structure. */
static const struct pmu testpmu_new = {
	.module = THIS_MODULE,
	.attr_groups = testpmu_attr_groups,
	.task_ctx_nr = perf_invalid_context,
	.event_init = testpmu_event_init,
	.add = testpmu_add,
	.del = testpmu_del,
	.start = testpmu_start,
	.stop = testpmu_stop,
	.read = testpmu_update,
	.start_txn = testpmu_start_txn,
	.commit_txn = testpmu_commit_txn,
	.cancel_txn = testpmu_cancel_txn,
};

/* Writing "FROM TO" moves all events of this PMU, and of the one with a scope, between CPUs. */
static int testpmu_move(const char *text, const struct kernel_param *param)
{
	unsigned int from, to;
	int err = -EINVAL;

	if (sscanf(text, "%u %u", &from, &to) != 2 ||
	    from >= nr_cpu_ids || to >= nr_cpu_ids || from == to)
		return err;

	cpus_read_lock();
	if (cpu_online(from) && cpu_online(to)) {
		perf_pmu_migrate_context(&testpmu, from, to);
#ifdef PERF_EV_CAP_READ_SCOPE
		perf_pmu_migrate_context(&scope_pmu, from, to);
#endif
		err = 0;
	}
	cpus_read_unlock();
	return err;
}

static const struct kernel_param_ops testpmu_move_ops = { .set = testpmu_move };
module_param_cb(move, &testpmu_move_ops, NULL, 0200);
MODULE_PARM_DESC(move, "\"FROM TO\": move all events between CPUs");

/* Protected by the lock of parameters, which are not set during loading and unloading. */
static bool registered;

static int testpmu_register(bool wanted)
{
	int err = 0;

	if (wanted == registered)
		return 0;
	if (wanted) {
		testpmu = testpmu_new;
		err = perf_pmu_register(&testpmu, "metagroup_test", -1);
	} else {
		perf_pmu_unregister(&testpmu);
	}
	if (!err)
		registered = wanted;
	return err;
}

/* Before Linux 6.15 all events must be closed before a PMU is unregistered. */
static int testpmu_set_registered(const char *text, const struct kernel_param *param)
{
	bool wanted;
	int err = kstrtobool(text, &wanted);

	return err ? err : testpmu_register(wanted);
}

static const struct kernel_param_ops testpmu_registered_ops = {
	.set = testpmu_set_registered,
};
module_param_cb(registered, &testpmu_registered_ops, NULL, 0200);
MODULE_PARM_DESC(registered, "0: unregister the PMU, 1: register it");

#ifdef PERF_EV_CAP_READ_SCOPE
static int scope_pmu_register(void)
{
	scope_pmu = testpmu_new;
	scope_pmu.scope = PERF_PMU_SCOPE_SYS_WIDE;
	return perf_pmu_register(&scope_pmu, "metagroup_scope", -1);
}

static void scope_pmu_unregister(void)
{
	perf_pmu_unregister(&scope_pmu);
}
#else
static int scope_pmu_register(void)
{
	return 0;
}

static void scope_pmu_unregister(void)
{
}
#endif

static int __init testpmu_init(void)
{
	int err;

	err = core_pmu_register();
	if (err)
		return err;
	err = scope_pmu_register();
	if (err)
		goto unregister_core;
	err = testpmu_register(true);
	if (err)
		goto unregister_scope;
	return 0;

unregister_scope:
	scope_pmu_unregister();
unregister_core:
	core_pmu_unregister();
	return err;
}
module_init(testpmu_init);

static void __exit testpmu_exit(void)
{
	testpmu_register(false);
	scope_pmu_unregister();
	core_pmu_unregister();
}
module_exit(testpmu_exit);

MODULE_DESCRIPTION("PMUs for the tests of perf meta-groups");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_LICENSE("GPL");
