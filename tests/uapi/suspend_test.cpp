// SPDX-License-Identifier: MIT
// Streams while the machine is suspended as far as it comes back by itself:
// Documentation/power/basic-pm-debugging.rst of the kernel.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "fixtures.hpp"
#include "support/stream.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

bool write_word(const std::string& path, const std::string& word) {
    std::ofstream file(path);
    file << word << std::flush;
    return file.good();
}

bool has_word(const std::string& path, const std::string& word) {
    std::ifstream file(path);
    for (std::string one; file >> one;)
        if (one == word || one == "[" + word + "]") return true;
    return false;
}

std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

const std::string kState = "/sys/power/state";
const std::string kTest = "/sys/power/pm_test";

// How far suspending goes while this lives. Then the kernel waits and resumes.
struct SuspendTest {
    explicit SuspendTest(const std::string& level) {
        write_word("/sys/module/suspend/parameters/pm_test_delay", "1");
        REQUIRE(write_word(kTest, level));
    }
    ~SuspendTest() { write_word(kTest, "none"); }
};

// A stream of all CPUs around a suspend: each deadline on CLOCK_MONOTONIC is a sample or lost, but
// for CPUs that go offline meanwhile.
void check_stream(const std::string& state, bool others_go_offline = false) {
    const MaxStreamPercent no_limit(100);
    const auto groups = open_everywhere(kFull, 2);
    const Meta meta(groups);
    RunningStream stream(meta, kPeriod, 256 * kRingPage);
    auto all = stream.run(50ms);
    const auto add = [&](const std::map<int, std::vector<RingRecord>>& more) {
        for (const auto& [cpu, records] : more)
            all[cpu].insert(all[cpu].end(), records.begin(), records.end());
    };
    if (!write_word(kState, state)) SKIP("this machine cannot be suspended");
    const auto awake = monotonic_ns();
    add(stream.run(100ms));
    REQUIRE(stream.stop() == 0);
    const auto end = monotonic_ns();
    add(stream.drain());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& records = all.at(online_cpus()[i]);
        CAPTURE(i, stream.arg().first, awake, end);
        REQUIRE(std::any_of(records.begin(), records.end(), [&](const RingRecord& record) {
            return record.is_sample() && record.time > awake;
        }));
        if (others_go_offline && i > 0) continue;
        const std::uint64_t number =
            check_deadlines(records, groups[i].id(0), stream.arg().first, stream.period());
        const std::uint64_t passed = (end - stream.arg().first) / stream.period();
        // The last ones may be still to come.
        REQUIRE(number + 20 >= passed);
        REQUIRE(number <= passed + 1);
    }
}

}  // namespace

TEST_CASE_METHOD(NeedsStreams, "A stream continues while tasks and devices are suspended",
                 "[suspend]") {
    const std::string level = GENERATE("freezer", "devices");
    if (!has_word(kTest, level) || !has_word(kState, "freeze"))
        SKIP("this kernel cannot suspend tasks and devices alone");
    const SuspendTest until(level);
    check_stream("freeze");
}

// The clock stands still meanwhile, and no deadline passes.
TEST_CASE_METHOD(NeedsStreams,
                 "A stream continues after all CPUs but one were offline for a suspend",
                 "[suspend]") {
    if (!has_word(kTest, "core") || !has_word(kState, "mem"))
        SKIP("this kernel cannot rehearse a suspend");
    const SuspendTest until("core");
    check_stream("mem", true);
}
