// SPDX-License-Identifier: MIT
// Groups with an event that samples, which perf stops for a while when it overflows too often.
#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

// On a busy CPU: clocks beside an event that is throttled in every tick.
struct ThrottledGroup {
    Setting rate{"/proc/sys/kernel/perf_event_max_sample_rate", 1000};
    int cpu = online_cpus().back();
    BusyCpu busy{cpu};
    EventGroup group;
    Meta meta;

    // The sampling event is the leader, or the first sibling.
    explicit ThrottledGroup(bool leads, std::uint64_t format = kTimed) {
        perf_event_attr sampling = software_event(PERF_COUNT_SW_CPU_CLOCK, format);
        sampling.sample_period = 50'000;
        std::vector<perf_event_attr> events{software_event(PERF_COUNT_SW_CPU_CLOCK, format),
                                            software_event(PERF_COUNT_SW_TASK_CLOCK, format)};
        events.insert(events.begin() + !leads, sampling);
        group = group_of(cpu, events);
        REQUIRE(meta.attach(group) == 0);
    }
};

void require_no_step_back(const ThrottledGroup& world) {
    std::vector<std::uint64_t> last;
    repeat_for(
        std::chrono::milliseconds(400),
        [&] {
            const auto now = words(world.meta.read());
            for (std::size_t i = 0; i < last.size(); ++i) {
                CAPTURE(i);
                REQUIRE(now.at(i) >= last[i]);
            }
            last = now;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        [] { return true; });
    // Without a sweep in between, read(2) goes on from there.
    const auto own = words(world.group.read());
    for (std::size_t i = 0; i < last.size(); ++i)
        REQUIRE(own.at(i) >= last[i]);
}

}  // namespace

TEST_CASE("Clocks of a throttled group do not go back") {
    require_no_step_back(ThrottledGroup(GENERATE(false, true)));
}

TEST_CASE("A clock does not go back while its siblings, which are not shown, are throttled") {
    require_no_step_back(ThrottledGroup(false, kTimes));
}

TEST_CASE("Clocks of a throttled group match read(2)") {
    const ThrottledGroup world(GENERATE(false, true));
    for (int round = 0; round < 200; ++round) {
        const Bytes before = world.group.read();
        const Bytes ours = world.meta.read();
        require_between(before, ours, world.group.read());
    }
}
