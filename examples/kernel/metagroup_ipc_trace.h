/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM metagroup_ipc

#if !defined(METAGROUP_IPC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define METAGROUP_IPC_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(metagroup_ipc_class,
	TP_PROTO(int cpu, u64 instructions, u64 cycles),
	TP_ARGS(cpu, instructions, cycles),
	TP_STRUCT__entry(
		__field(int, cpu)
		__field(u64, instructions)
		__field(u64, cycles)
	),
	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->instructions = instructions;
		__entry->cycles = cycles;
	),
	TP_printk("cpu=%d instructions=%llu cycles=%llu", __entry->cpu,
		  __entry->instructions, __entry->cycles)
);

/* The counts of a CPU since the previous event. */
DEFINE_EVENT(metagroup_ipc_class, metagroup_ipc,
	TP_PROTO(int cpu, u64 instructions, u64 cycles),
	TP_ARGS(cpu, instructions, cycles)
);

/* The cost of reading all CPUs, on the CPU that reads. */
DEFINE_EVENT(metagroup_ipc_class, metagroup_ipc_cost,
	TP_PROTO(int cpu, u64 instructions, u64 cycles),
	TP_ARGS(cpu, instructions, cycles)
);

#endif /* METAGROUP_IPC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE metagroup_ipc_trace
#include <trace/define_trace.h>
