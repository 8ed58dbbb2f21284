// SPDX-License-Identifier: MIT
// A long stream, in which nothing is missing, while members and CPUs come and go.
#include "fixtures.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kShortPeriod = 1ms;
constexpr int kGroupsPerCpu = 60;
constexpr std::uint64_t kSamples = 1'000'000;

std::uint64_t timed_leader_count(const Bytes& payload) {
    return words(payload).at(3);
}

// The samples of one member.
struct Member {
    const EventGroup* group;
    std::uint64_t deadline;  // the next one; 0: its CPU goes offline, and has none then
    std::uint64_t count = 0;

    void add(const RingRecord& record, std::uint64_t period) {
        if (deadline) deadline = next_deadline(record, deadline, period);
        if (!record.is_sample()) return;
        REQUIRE(timed_leader_count(record.payload) >= count);
        count = timed_leader_count(record.payload);
    }
};

}  // namespace

TEST_CASE_METHOD(NeedsStreams,
                 "A million samples miss no deadline and no count while members and CPUs change") {
    const MaxStreamPercent no_limit(100);
    const int plugged = online_cpus().back();
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        for (int i = 0; i < kGroupsPerCpu; ++i)
            groups.push_back(open_group(cpu, kFull, 1));
    const Meta meta(groups);
    RunningStream stream(meta, kShortPeriod, 256 * kRingPage);

    std::map<std::uint64_t, Member> members;
    for (std::size_t i = 0; i < groups.size(); ++i)
        members[groups[i].id(0)] = {
            &groups[i], i / kGroupsPerCpu + 1 == online_cpus().size() ? 0 : stream.arg().first};
    std::uint64_t samples = 0, of_others = 0;
    const auto take = [&](const std::map<int, std::vector<RingRecord>>& all) {
        for (const auto& [cpu, records] : all)
            for (const RingRecord& record : records) {
                const auto member = members.find(record.id);
                if (member == members.end()) {
                    ++of_others;
                    continue;
                }
                member->second.add(record, stream.period());
                samples += record.is_sample();
            }
    };
    for (int round = 0; samples < kSamples; ++round) {
        take(stream.run(10ms));
        const EventGroup passing = open_group(online_cpus().front(), kFull, 2);
        REQUIRE(meta.attach(passing) == 0);
        take(stream.run(10ms));
        REQUIRE(meta.detach(static_cast<unsigned>(groups.size()) + round) == 0);
        if (round % 50 == 10) {
            const OfflineCpu offline(plugged);
            take(stream.run(10ms));
        }
    }
    REQUIRE(of_others > 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    for (const auto& [id, member] : members) {
        if (!member.deadline) continue;
        const std::uint64_t count = timed_leader_count(member.group->read());
        REQUIRE(count > 0);
        repeat_for(
            0ms, [&] { take(stream.run(kShortPeriod)); }, [&] { return member.count == count; });
        REQUIRE(member.count == count);
    }
}
