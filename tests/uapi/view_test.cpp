// SPDX-License-Identifier: MIT
// Users of a set see its counts only, also while the module writes to memory that they have mapped.
#include "streams.hpp"
#include "support/background.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

// A set that is stopped at 0, of events that have counted for another one.
struct Stopped {
    static constexpr std::size_t kEvents = PERF_METAGROUP_MAX_SET_EVENTS;
    static constexpr std::size_t kPayload = (3 + 2 * kEvents) * sizeof(std::uint64_t);

    OnFirstCpu here;
    OneCpu last;
    Meta theirs, mine;

    Stopped() {
        if (last.cpu == online_cpus().front()) SKIP("needs two CPUs");
        const auto attrs = distinct(kEvents, clock_event());
        REQUIRE(open_set(theirs, attrs, {last.cpu}) == 0);
        std::this_thread::sleep_for(200ms);
        REQUIRE(open_set(mine, attrs, {last.cpu}) == 0);
        REQUIRE(mine.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        REQUIRE(mine.control(PERF_METAGROUP_IOC_RESET) == 0);
    }
};

// Counts of others are no smaller, while the identifiers of perf are; those of a set are larger.
constexpr std::uint64_t kTheirs = 100'000'000, kIdsOfSets = 1ULL << 62;

// The last count of a payload, from its end.
constexpr std::size_t kLastCount = 2 * sizeof(std::uint64_t);

bool is_theirs(const void* base, std::size_t offset) {
    const auto* word = static_cast<const unsigned char*>(base) + offset;
    const auto now =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_RELAXED);
    return now >= kTheirs && now < kIdsOfSets;
}

}  // namespace

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "A ring never shows what the events of a set have counted for others") {
    const Stopped set;
    constexpr std::size_t kRing = 1024 * kRingPage;
    constexpr std::size_t kSample = 32 + Stopped::kPayload;
    RunningStream stream(set.mine, 500us, kRing);
    const MappedRing& ring = stream.ring(set.last.cpu);
    const void* const data = reinterpret_cast<const char*>(&ring.page()) + kRingPage;
    unsigned shown = 0;
    // Not again over memory that has been written.
    while (ring.head() < kRing / 2)
        for (const std::size_t lost : {0, 40})  // bytes of a record before the sample
            shown += is_theirs(data, ring.head() + lost + kSample - kLastCount);
    REQUIRE(shown == 0);
}

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "A mapped snapshot never shows what the events of a set have counted for others") {
    const Stopped set;
    REQUIRE(set.mine.sweep() == 0);
    REQUIRE(set.mine.sweep() == 0);
    const Mapping mapping(set.mine);
    perf_metagroup_map head{};
    std::memcpy(&head, mapping.bytes(), sizeof(head));
    const Framed framed = mapping.framed();
    const auto& record = framed.frames.at(0).record;
    const std::size_t last =
        framed.head.bytes - record.frame + record.header + record.size - kLastCount;
    Background sweeping([&] {
        run_on(set.last.cpu);
        set.mine.sweep();
    });
    unsigned shown = 0;
    repeat_for(
        500ms,
        [&] {
            for (int i = 0; i < 1000; ++i)
                for (const auto copy : head.offset)
                    shown += is_theirs(mapping.bytes(), copy + last);
        },
        [&] { return sweeping.rounds() > 100; });
    sweeping.stop();
    REQUIRE(shown == 0);
}
