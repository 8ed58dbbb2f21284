// SPDX-License-Identifier: MIT
// A BPF program on each CPU reads that CPU's events into a per-CPU map, as `perf stat
// --bpf-counters` does: BPF_PROG_TEST_RUN runs it on one CPU after the other, with an interrupt
// each, and one lookup in the map returns all counts. BPF reads single events, not groups, so the
// events of a CPU are not scheduled together.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>

#include "methods/readers.hpp"
#include "read_cpu.skel.h"

namespace bench {

inline std::vector<metagroup::GroupSpec> single_events(
    const std::vector<metagroup::GroupSpec>& specs) {
    std::vector<metagroup::GroupSpec> singles;
    for (const metagroup::GroupSpec& spec : specs) {
        for (const metagroup::EventSpec& event : spec.events)
            singles.push_back({.events = {event}});
    }
    return singles;
}

class Bpf : public GroupReader {
  public:
    explicit Bpf(const Subject& subject)
        : GroupReader(measure::CpuGroups(single_events(subject.specs()), subject.cpus())),
          per_cpu_(groups_.all().size() / subject.cpus().size()),
          values_(static_cast<std::size_t>(::libbpf_num_possible_cpus()) * per_cpu_) {
        ::libbpf_set_print(nullptr);
        bpf_.reset(read_cpu_bpf::open());
        if (!bpf_) fail(errno, "cannot open the BPF program");
        const auto count = static_cast<std::uint32_t>(groups_.all().size());
        const auto per_cpu = static_cast<std::uint32_t>(per_cpu_);
        bpf_->rodata->events_per_cpu = per_cpu;
        ::bpf_map__set_max_entries(bpf_->maps.events, count);
        ::bpf_map__set_value_size(bpf_->maps.values, per_cpu * sizeof(bpf_perf_event_value));
        if (const int error = read_cpu_bpf::load(bpf_.get()); error != 0)
            fail(-error, "cannot load the BPF program (are you root?)");
        for (std::uint32_t i = 0; i < count; ++i) {
            const int fd = groups_.all()[i].leader_fd();
            if (::bpf_map_update_elem(::bpf_map__fd(bpf_->maps.events), &i, &fd, BPF_ANY) != 0)
                fail(errno, "cannot put a perf event into a BPF map");
        }
    }

    void sweep() override {
        const auto cpus = groups_.cpus().cpus();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            run_on(cpus[i], i * per_cpu_);
            note_time(i);
        }
        const std::uint32_t key = 0;
        if (::bpf_map_lookup_elem(::bpf_map__fd(bpf_->maps.values), &key, values_.data()) != 0)
            fail(errno, "cannot look up a BPF map");
    }
    std::vector<std::uint64_t> counts() const override {
        std::vector<std::uint64_t> counts;
        for (const int cpu : groups_.cpus()) {
            for (std::size_t i = 0; i < per_cpu_; ++i)
                counts.push_back(values_[static_cast<std::size_t>(cpu) * per_cpu_ + i].counter);
        }
        return counts;
    }

  private:
    struct Destroy {
        void operator()(read_cpu_bpf* program) const { read_cpu_bpf::destroy(program); }
    };

    void run_on(int cpu, std::uint64_t first_event) {
        bpf_test_run_opts options{};
        options.sz = sizeof(options);
        options.ctx_in = &first_event;
        options.ctx_size_in = sizeof(first_event);
        options.flags = BPF_F_TEST_RUN_ON_CPU;
        options.cpu = static_cast<std::uint32_t>(cpu);
        if (::bpf_prog_test_run_opts(::bpf_program__fd(bpf_->progs.read_cpu), &options) != 0)
            fail(errno, "BPF_PROG_TEST_RUN");
        if (options.retval != 0)
            fail(-static_cast<int>(options.retval), "bpf_perf_event_read_value()");
    }

    std::size_t per_cpu_;
    std::vector<bpf_perf_event_value> values_;  // in the order of CPU numbers, as in the map
    std::unique_ptr<read_cpu_bpf, Destroy> bpf_;
};

}  // namespace bench
