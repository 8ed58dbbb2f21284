// SPDX-License-Identifier: MIT
// Events that their PMU moves to another CPU and back at any moment.
#include <chrono>

#include "fixtures.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

// A set on the first CPU whose first event moves to the second one and back all the time, and whose
// others stay. The calls are made on a third CPU.
struct MovingSet {
    Meta meta;
    MovingSet(const perf_event_attr& first, std::vector<perf_event_attr> events) {
        if (online_cpus().size() < 3) SKIP("needs three CPUs");
        events.insert(events.begin(), first);
        REQUIRE(open_set(meta, std::move(events), {0}) == 0);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    }

    // Calls `read` meanwhile.
    template <std::invocable Read>
    void move_while(const Read& read) const {
        run_on(2);
        Background mover([] {
            run_on(1);
            testpmu_move(0, 1);
            testpmu_move(1, 0);
        });
        repeat_for(std::chrono::milliseconds(500), read, [&] { return mover.rounds() >= 20; });
        run_anywhere();
        mover.stop();
        REQUIRE(mover.rounds() >= 20);
    }
};

}  // namespace

TEST_CASE_METHOD(NeedsSets,
                 "Sweeps continue while the first event of a set moves and the others stay") {
    const bool scope = GENERATE(false, true);
    const MovingSet set(or_skip(scope ? testpmu_scope_event(0) : testpmu_event(0)),
                        distinct(60, software_event(PERF_COUNT_SW_DUMMY, 0)));
    set.move_while([&] {
        const Frame frame = take_apart(set.meta.read()).frames.at(0);
        REQUIRE(frame.record.cpu == 0);
        if (frame.record.status == PERF_METAGROUP_STALE) return;
        REQUIRE(SetPayload(frame.payload).counts.size() == 61);
    });
}

TEST_CASE_METHOD(NeedsSets, "A set is reset while its first event moves and the others stay") {
    // Most moves of the first event then happen during a read of the second.
    const TestpmuUpdateTime slow(300);
    const MovingSet set(testpmu_or_skip(0), {core_or_skip(0)});
    set.move_while([&] { REQUIRE(set.meta.control(PERF_METAGROUP_IOC_RESET) == 0); });
}
