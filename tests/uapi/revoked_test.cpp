// SPDX-License-Identifier: MIT
// Sets and names whose PMU is unregistered. Its type is then that of the next one.
#include <cerrno>

#include "fixtures.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

// An event of metagroup_test that only the kernels that revoke events get here with.
perf_event_attr revocable() {
    const auto attr = testpmu_or_skip(0);
    need_revoked_events();
    return attr;
}

// metagroup_test while it is not registered.
struct Unregistered {
    Unregistered() { testpmu_set_registered(false); }
    ~Unregistered() { back(); }
    Unregistered(const Unregistered&) = delete;
    Unregistered& operator=(const Unregistered&) = delete;
    void back() {
        if (!std::exchange(registered_, true)) testpmu_set_registered(true);
    }

  private:
    bool registered_ = false;
};

}  // namespace

TEST_CASE_METHOD(NeedsSets, "A template whose PMU was unregistered is refused") {
    const Fd event(open_event(revocable(), -1, 0, -1));
    Unregistered pmu;
    for (int round = 0; round < 2; ++round) {
        const Meta meta;
        SetRequest request(std::vector<int>{event.get()}, {0});
        REQUIRE(request.open(meta) == -ENODEV);
        REQUIRE(request.arg.failed == 0);
        REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_REFUSED);
        pmu.back();
    }
}

TEST_CASE_METHOD(NeedsSets,
                 "A set whose PMU was unregistered keeps its last counts, and is not reopened") {
    const auto attr = revocable();
    const int last = online_cpus().back();
    const bool while_offline = GENERATE(false, true);
    CAPTURE(while_offline);
    const Meta meta;
    Meta other;
    std::optional<OfflineCpu> offline;
    // The events of that CPU are not there when the PMU goes.
    if (while_offline) offline.emplace(last);
    REQUIRE(open_following(meta, {attr, faults()}) == 0);
    Unregistered pmu;
    const Framed before = read_framed(meta);
    REQUIRE(before.frames.front().record.status == PERF_METAGROUP_REVOKED);
    pmu.back();
    REQUIRE(testpmu_event(0)->type == attr.type);
    if (!while_offline) offline.emplace(last);
    offline->back();
    // The work has been done when that of a second set has.
    {
        const OfflineCpu again(last);
        REQUIRE(open_following(other, {faults()}) == 0);
    }
    const auto member = static_cast<unsigned>(before.frames.size() - 1);
    REQUIRE(wait_until([&] { return other.member(member).status == PERF_METAGROUP_OK; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Framed after = read_framed(meta);
    REQUIRE(after.frames.back().record.status ==
            (while_offline ? PERF_METAGROUP_OFFLINE : PERF_METAGROUP_REVOKED));
    REQUIRE(generation(after.frames.back()) == 0);
    REQUIRE(SetPayload(after.frames.front().payload).counts[0] ==
            SetPayload(before.frames.front().payload).counts[0]);
}

TEST_CASE_METHOD(NeedsSets,
                 "A name whose PMU was unregistered cannot be joined, nor its set published") {
    const auto attr = revocable();
    const Meta creator;
    REQUIRE(open_set(creator, {attr}) == 0);
    const Name name(creator, "revoked");
    Unregistered pmu;
    for (int round = 0; round < 2; ++round) {
        CAPTURE(round);
        REQUIRE(name.file("state") == "revoked");
        const Meta meta;
        REQUIRE(join(meta, "revoked") == -ENODEV);
        REQUIRE(meta.info().members == 0);
        REQUIRE(publish(creator, publish_arg("revoked-too")) == -ENODEV);
        pmu.back();
    }
    // An event of the new PMU, that the name does not stand for.
    const Meta other;
    REQUIRE(open_set(other, {attr}) == 0);
    REQUIRE(join(Meta(), "revoked") == -ENODEV);
}

TEST_CASE_METHOD(
    NeedsSets, "Sets are opened, read and closed while their PMU is registered and unregistered") {
    const auto attr = revocable();
    Background registering([] {
        testpmu_set_registered(false);
        testpmu_set_registered(true);
    });
    const std::vector<int> cpus = online_cpus();
    unsigned opened = 0, refused = 0;
    repeat_for(
        long_time(std::chrono::seconds(8)),
        [&] {
            const Fd event(open_event(attr, -1, cpus.back(), -1));
            const Meta meta;
            std::vector<int> fds(8, event.get());
            const long got = event ? SetRequest(fds).open(meta) : open_set(meta, {attr});
            REQUIRE((got == 0 || got == -ENODEV || got == -ENOENT || got == -EBADF));
            ++(got == 0 ? opened : refused);
            if (got == 0) meta.read();
        },
        [&] { return opened > 5 && refused > 5; });
    registering.stop();
}
