// SPDX-License-Identifier: MIT
// Reads the events of the CPU that it runs on into this CPU's value of a map. bpf.hpp runs it.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile __u32 events_per_cpu;

// All events, CPU by CPU. bpf.hpp sets the number of entries.
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(int));
    __uint(max_entries, 1);
} events SEC(".maps");

// An array of the events of one CPU. bpf.hpp sets its size.
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_perf_event_value));
    __uint(max_entries, 1);
} values SEC(".maps");

// The argument is the place of this CPU's first event. Returns the error of a read that failed.
SEC("raw_tp")
int read_cpu(struct bpf_raw_tracepoint_args* context) {
    const __u32 key = 0;
    const __u32 first = (__u32)context->args[0];
    struct bpf_perf_event_value* value = bpf_map_lookup_elem(&values, &key);

    if (!value) return -1;
    for (__u32 i = 0; i < events_per_cpu; i++) {
        const long error = bpf_perf_event_read_value(&events, first + i, &value[i], sizeof(*value));

        if (error) return (int)error;
    }
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
