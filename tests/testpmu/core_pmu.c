// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU core PMU for guests without one: it is in perf_hw_context, its events are
 * read on their own CPU, and its counts do not change while that CPU is idle.
 *
 * It counts the nanoseconds for which the CPU runs a task other than the idle
 * task. Interrupts in idle are not counted: two reads of an idle CPU are equal. With
 * CORE_INTERRUPTS they are: each update of the count adds the time since the last one.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

#include "core_pmu.h"

/* attr.config: also count interrupts in idle. */
#define CORE_INTERRUPTS	1

static unsigned int update_us;
module_param(update_us, uint, 0600);
MODULE_PARM_DESC(update_us, "duration of an update of a count in microseconds");

/* On its own CPU with interrupts off. */
struct core_busy {
	u64 total;	/* ns, without the current interval */
	u64 since;	/* start of the current interval, 0 in idle */
};

static DEFINE_PER_CPU(struct core_busy, core_busy);

/* In kernels with CFI, 6.1 and later, its type must be that of the tracepoint. */
#ifdef TASK_FREEZABLE
static void core_switch_probe(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
#else
static void core_switch_probe(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next)
#endif
{
	struct core_busy *busy = this_cpu_ptr(&core_busy);
	u64 now = ktime_get_ns();

	if (busy->since)
		busy->total += now - busy->since;
	busy->since = is_idle_task(next) ? 0 : now;
}

static void core_update(struct perf_event *event)
{
	const struct core_busy *busy = this_cpu_ptr(&core_busy);
	unsigned int us = READ_ONCE(update_us);
	u64 now = busy->total;
	u64 passed, count, end;

	if (event->attr.config == CORE_INTERRUPTS)
		now = ktime_get_ns();
	else if (busy->since)
		now += ktime_get_ns() - busy->since;
	passed = now - local64_xchg(&event->hw.prev_count, now);
	if (!us) {
		local64_add(passed, &event->count);
		return;
	}
	/* A concurrent write by another CPU is lost. */
	count = local64_read(&event->count);
	/* udelay() ends too early if it was calibrated while the host was busy. */
	for (end = ktime_get_ns() + us * NSEC_PER_USEC; ktime_get_ns() < end;)
		cpu_relax();
	local64_set(&event->count, count + passed);
}

static void core_start(struct perf_event *event, int flags)
{
	u64 count = local64_read(&event->count);

	core_update(event);
	local64_set(&event->count, count);
}

static void core_stop(struct perf_event *event, int flags)
{
	core_update(event);
}

static int core_add(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_START)
		core_start(event, flags);
	return 0;
}

static void core_del(struct perf_event *event, int flags)
{
	core_stop(event, PERF_EF_UPDATE);
}

static struct pmu core_pmu;

static int core_event_init(struct perf_event *event)
{
	if (event->attr.type != core_pmu.type)
		return -ENOENT;
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK ||
	    event->attr.sample_period)
		return -EINVAL;
	return 0;
}

static struct pmu core_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_hw_context,
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
	/* Before Linux 6.2, other PMUs share that context only with this capability. */
	.capabilities = PERF_PMU_CAP_HETEROGENEOUS_CPUS,
#endif
#ifdef CONFIG_PERF_GUEST_MEDIATED_PMU
	.capabilities = PERF_PMU_CAP_MEDIATED_VPMU,
#endif
	.event_init = core_event_init,
	.add = core_add,
	.del = core_del,
	.start = core_start,
	.stop = core_stop,
	.read = core_update,
};

/* Not exported, but in the list of all tracepoints. */
static struct tracepoint *core_switch, *core_idle;

static void core_find_tracepoint(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "sched_switch"))
		core_switch = tracepoint;
	if (!strcmp(tracepoint->name, "cpu_idle"))
		core_idle = tracepoint;
}

static int core_get_idle_probed(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%d\n", !!rcu_access_pointer(core_idle->funcs));
}

static const struct kernel_param_ops core_idle_probed_ops = { .get = core_get_idle_probed };
module_param_cb(idle_probed, &core_idle_probed_ops, NULL, 0400);
MODULE_PARM_DESC(idle_probed, "the tracepoint cpu_idle has a probe");

#ifdef CONFIG_PERF_GUEST_MEDIATED_PMU
static void core_switch_guest(void *enter)
{
	if (enter)
		perf_load_guest_context();
	else
		perf_put_guest_context();
}

static int core_set_guest(const char *text, const struct kernel_param *param)
{
	unsigned long enter;
	unsigned int cpu;

	if (sscanf(text, "%u %lu", &cpu, &enter) != 2)
		return -EINVAL;
	return smp_call_function_single(cpu, core_switch_guest, (void *)enter, 1);
}

static const struct kernel_param_ops core_guest_ops = { .set = core_set_guest };
module_param_cb(guest, &core_guest_ops, NULL, 0200);
MODULE_PARM_DESC(guest, "\"CPU 1\": a guest gets the PMU of the CPU; \"CPU 0\": it is left");
#endif

static void core_unprobe(void)
{
	tracepoint_probe_unregister(core_switch, core_switch_probe, NULL);
	tracepoint_synchronize_unregister();
}

int core_pmu_register(void)
{
	int err;

	for_each_kernel_tracepoint(core_find_tracepoint, NULL);
	if (!core_switch || !core_idle)
		return -ENOENT;
	err = tracepoint_probe_register(core_switch, core_switch_probe, NULL);
	if (err)
		return err;
	err = perf_pmu_register(&core_pmu, "metagroup_core", -1);
	if (err)
		core_unprobe();
	return err;
}

void core_pmu_unregister(void)
{
	perf_pmu_unregister(&core_pmu);
	core_unprobe();
}
