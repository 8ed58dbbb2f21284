// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <metagroup/error.hpp>
#include <stdexcept>

#include "methods/bpf.hpp"
#include "methods/module.hpp"
#include "methods/percpu.hpp"
#include "methods/readers.hpp"
#include "methods/recorders.hpp"
#include "methods/reference.hpp"
#include "methods/sampling.hpp"
#include "methods/setup.hpp"
#include "methods/stream.hpp"

namespace bench {
namespace {

bool is_of_core_pmu(const metagroup::EventSpec& event) {
    return event.attr.type == PERF_TYPE_HARDWARE || event.attr.type == PERF_TYPE_HW_CACHE ||
           event.attr.type == PERF_TYPE_RAW;
}

// tests/testpmu has a core PMU for guests, which have none of their own.
metagroup::EventSpec test_pmu_event() try {
    return metagroup::parse_events("metagroup_core/config=0/").front().events.front();
} catch (const metagroup::Error&) {
    throw std::runtime_error(
        "these events count while the CPU is idle: use events of the core PMU, as in "
        "--group-events={cycles,instructions}, or load metagroup_testpmu.ko");
}

template <class M, auto... arguments>
std::unique_ptr<Method> make(Subject& subject) {
    return std::make_unique<M>(subject, arguments...);
}

}  // namespace

Subject& Subject::stable_in_idle() {
    const bool stable = std::ranges::all_of(specs_, [](const metagroup::GroupSpec& spec) {
        return std::ranges::all_of(spec.events, is_of_core_pmu);
    });
    if (stable) return *this;
    if (!stable_in_idle_) {
        const metagroup::EventSpec event = test_pmu_event();
        std::vector<metagroup::GroupSpec> specs;
        for (const metagroup::GroupSpec& spec : specs_)
            specs.push_back({.events = std::vector(spec.events.size(), event)});
        stable_in_idle_ = std::make_unique<Subject>(specs, cpus(), period_);
    }
    return *stable_in_idle_;
}

Subject& Subject::without_reader() {
    if (cpus().size() < 2) return *this;
    if (!without_reader_) {
        const auto others = cpus().cpus().subspan(1);
        without_reader_ = std::make_unique<Subject>(
            specs_, metagroup::CpuList({others.begin(), others.end()}), period_);
    }
    return *without_reader_;
}

metagroup::Device& Subject::device() {
    if (!device_) {
        metagroup::Device device = metagroup::Device::open();
        device.attach(groups_.leaders());
        device_ = std::move(device);
    }
    return *device_;
}

// The only list of methods: --help, the JSON results and so the report take it from here. Roles are
// `existing`, which do without the module; `module`, in one of its modes; `floor`, which no sweep
// with interrupts can beat; `reference`, for scale, whose times are not compared; and `setup`,
// which is paid once.
std::span<const MethodInfo> all_methods() {
    static constexpr auto methods = std::to_array<MethodInfo>({
        {"per_fd", "existing", "a read() of each group leader, one CPU after the other",
         make<PerFd>},
        {"migrating", "existing", "the same, by a thread that moves to each CPU first",
         make<Migrating>},
        {"threads", "existing", "a thread on each CPU reads its own, all at once", make<Threads>},
        {"io_uring", "existing", "the read()s of per_fd in one submission to io_uring",
         make<IoUring>},
        {"sampling", "existing",
         "a timer on each CPU samples (PERF_SAMPLE_READ); a sweep empties the buffers",
         make<Sampling>},
        {"bpf", "existing", "a BPF program on each CPU reads the counters into a map", make<Bpf>},
        {"percpu", "existing",
         "one read() of an event on all CPUs, in a kernel with the patches in upstream/",
         make<Percpu>},
        {"raw", "module", "one read() of the module in RAW format", make<Raw>},
        {"framed", "module", "one read() of the module, each record with its CPU and time",
         make<Framed>},
        {"mapped", "module", "one sweep of the module into memory that it shares", make<Mapped>},
        {"quiet", "module", "as mapped, with events of a core PMU; idle CPUs are not woken",
         make<Quiet>},
        {"stream", "module",
         "a timer on each CPU samples (the module); a sweep is one of 64 deadlines that are read "
         "at once",
         make<Stream, 64U>},
        {"stream_10", "module", "as stream; a sweep is one of 10 deadlines that are read at once",
         make<Stream, 10U>},
        {"stream_library", "module",
         "as stream by the library; a sweep is one of 64 deadlines that are read at once",
         make<LibraryStream, 64U>},
        {"stream_quiet", "reference",
         "as stream, with events of a core PMU; idle CPUs are not woken and have no samples",
         make<QuietStream>},
        {"floor", "floor", "an empty broadcast to the same CPUs (metagroup_floor.ko)", make<Floor>},
        {"timer_floor", "reference", "empty timers on the same CPUs (metagroup_floor.ko)",
         make<TimerFloor>},
        {"record", "reference",
         "metagroup record with rings of 64 KiB, for each sample in the file", make<Record>},
        {"perf_record", "reference", "perf record of the same groups, with rings of the same size",
         make<PerfRecord>},
        {"null_syscall", "reference", "a system call that does nothing", make<NullSyscall>},
        {"attach", "setup", "attaching all groups to a meta-group", make<Attach>},
        {"open_fds", "setup", "opening, attaching and enabling a descriptor for each event",
         make<Opening<Descriptors>>},
        {"open_percpu", "setup", "opening and enabling the same events, each on all CPUs at once",
         make<Opening<OpenPercpu>>},
        {"open_set", "setup", "opening the same events as a set of the module", make<Opening<Set>>},
        {"open_shared", "setup", "opening a set whose events another set has opened",
         make<OpeningShared>},
        {"open_bare", "setup", "opening them in the kernel, and nothing else (metagroup_floor.ko)",
         make<OpeningBare>},
        {"close_fds", "setup", "closing what open_fds has opened", make<Closing<Descriptors>>},
        {"close_set", "setup", "closing what open_set has opened", make<Closing<Set>>},
    });
    return methods;
}

}  // namespace bench
