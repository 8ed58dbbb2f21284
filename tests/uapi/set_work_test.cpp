// SPDX-License-Identifier: MIT
// Sets are opened and closed by the CPUs themselves, unless these have no time for it.
#include "fixtures.hpp"
#include "support/real_time.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

std::vector<perf_event_attr> clocks(std::size_t count) {
    return distinct(count, software_event(PERF_COUNT_SW_CPU_CLOCK, 0));
}

// Interrupts that a CPU gets because another one calls a function there.
class Interrupts {
  public:
    explicit Interrupts(int cpu) {
        const auto attr = tracepoint_event("irq_vectors/call_function_single_entry", 0);
        if (!attr) SKIP("no tracepoint for these interrupts");
        group_.add(*attr, cpu);
    }
    std::uint64_t count() const { return words(group_.read()).at(0); }

  private:
    EventGroup group_;
};

}  // namespace

TEST_CASE_METHOD(NeedsSets,
                 "A CPU is not interrupted for each event of a set that it opens and closes") {
    const OnFirstCpu here;
    const Interrupts last(online_cpus().back());
    const auto before = last.count();
    {
        const Meta meta;
        REQUIRE(open_set(meta, clocks(64)) == 0);
    }
    REQUIRE(last.count() - before < 64);
}

TEST_CASE_METHOD(NeedsSets, "A CPU is not interrupted for each event that SET_EVENTS opens") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    const Interrupts last(cpu);
    const Meta meta;
    REQUIRE(open_set(meta, clocks(1), {cpu}) == 0);
    auto attrs = clocks(64);
    perf_metagroup_events arg{};
    arg.size = sizeof(arg);
    arg.nr_events = static_cast<__u32>(attrs.size());
    arg.events = reinterpret_cast<std::uintptr_t>(attrs.data());
    arg.stride = sizeof(perf_event_attr);
    const auto before = last.count();
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_SET_EVENTS, &arg) == 0);
    REQUIRE(last.count() - before < 32);
}

TEST_CASE_METHOD(NeedsSets, "A CPU is not involved in a set whose events other sets have opened") {
    const OnFirstCpu here;
    const Meta other;
    REQUIRE(open_set(other, clocks(4)) == 0);
    // Nor is the time long that a CPU has to begin.
    const RealTimeCpu busy(online_cpus().back());
    const auto took = time_of([] {
        const Meta meta;
        REQUIRE(open_set(meta, clocks(4)) == 0);
    });
    REQUIRE(took < 150ms);
}

TEST_CASE_METHOD(NeedsSets,
                 "A set is opened and closed on a CPU that a real-time thread never leaves") {
    if (is_real_time_kernel()) SKIP("the caller's timer may be one of that CPU");
    const OnFirstCpu here;
    const RealTimeCpu busy(online_cpus().back());
    const auto took = time_of([] {
        const Meta meta;
        REQUIRE(open_set(meta, clocks(4)) == 0);
        REQUIRE(read_framed(meta).frames.back().record.status == PERF_METAGROUP_OK);
    });
    REQUIRE(took < 15s);
}

TEST_CASE_METHOD(NeedsSets, "A signal interrupts OPEN_SET while a CPU does not begin its work") {
    const OnFirstCpu here;
    const Meta meta;
    const auto four = distinct(4, testpmu_or_skip(0));
    {
        const RealTimeCpu busy(online_cpus().back());
        const long error = run_as(Identity::root, {}, [&](auto) {
            struct sigaction action {};
            action.sa_handler = [](int) {};
            ::sigaction(SIGALRM, &action, nullptr);
            ::ualarm(20'000, 20'000);
            const Meta mine;
            return open_set(mine, four);
        });
        REQUIRE(error == -EINTR);
    }
    // All counters are free again.
    REQUIRE(open_set(meta, distinct(4, testpmu_or_skip(0))) == 0);
}

TEST_CASE_METHOD(
    NeedsSets,
    "A set follows CPU hotplug while a real-time thread never leaves the CPU that opened it") {
    const auto cpus = online_cpus();
    if (cpus.size() < 3) SKIP("needs 3 CPUs");
    const OnFirstCpu here;
    OfflineCpu offline(cpus.back());
    const Meta meta;
    std::atomic<long> error = 1;
    const RealTimeCpu busy(cpus[1], [&] {
        SetRequest request(clocks(1));
        request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
        error = request.open(meta);
    });
    REQUIRE(error == 0);
    offline.back();
    const auto last = static_cast<unsigned>(cpus.size() - 1);
    const auto took = time_of([&] {
        for (int round = 0; round < 4000 && meta.member(last).generation == 0; ++round)
            std::this_thread::sleep_for(5ms);
    });
    REQUIRE(took < 15s);
}
