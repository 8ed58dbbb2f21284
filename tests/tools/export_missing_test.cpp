// SPDX-License-Identifier: MIT
// Unknown counts, and how metagroup export shows them. Tag [machine]: changes the PMU
// that all tests share, or takes CPUs offline.
#include <cerrno>

#include "exporter.hpp"
#include "support/cpus.hpp"
#include "support/testpmu.hpp"

using namespace metagroup::test;

namespace {

void need_testpmu() {
    if (!testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
}

std::string count_on_first_cpu(const std::string& event) {
    return "metagroup_events_total{event=\"" + event + "\",cpu=\"0\"}";
}

std::string state_of(const std::string& event, const std::string& state) {
    return "metagroup_event_counters{event=\"" + event + "\",state=\"" + state + "\"}";
}

double in_state(const Samples& samples, const std::string& event, const std::string& state) {
    return samples.at(state_of(event, state));
}

// Scrapes until a counter of the event is in this state.
bool comes_to(const Exporter& exporter, const std::string& event, const std::string& state) {
    for (int scrape = 0; scrape < 500; ++scrape)
        if (in_state(exporter.scrape(), event, state) > 0) return true;
    return false;
}

// This many events of the shared PMU, which counts nanoseconds: a, b, c, ...
std::string events_of_pmu(int events, const std::string& separator) {
    std::string list;
    for (int i = 0; i < events; ++i)
        list += (i == 0 ? "" : separator) +
                "metagroup_test/config=0,name=" + static_cast<char>('a' + i) + '/';
    return list;
}

}  // namespace

TEST_CASE("Each counter of an event is in one state") {
    const Exporter exporter;
    const Samples samples = exporter.scrape();
    const auto cpus = static_cast<double>(number_online());
    CHECK(in_state(samples, "cpu-clock", "counted") == cpus);
    for (const char* state : {"waiting", "never", "offline", "unread", "lost"})
        CHECK(in_state(samples, "cpu-clock", state) == 0);
    CHECK(samples.at("metagroup_event_known_seconds_total{event=\"cpu-clock\"}") ==
          Approx(samples.at("metagroup_event_enabled_seconds_total{event=\"cpu-clock\"}"))
              .epsilon(0.1));
}

TEST_CASE("States have the labels of counts without the CPU") {
    const Exporter exporter("cpu-clock", "cpu,socket");
    double counted = 0;
    for (const auto& [name, value] : exporter.scrape()) {
        if (!name.starts_with("metagroup_event_counters{")) continue;
        CHECK_THAT(name, ContainsSubstring("socket=") && !ContainsSubstring("cpu=\""));
        if (name.find("\"counted\"") != std::string::npos) counted += value;
    }
    CHECK(counted == static_cast<double>(number_online()));
}

TEST_CASE("An event that was never counted has no count, and its counters say so", "[machine]") {
    need_testpmu();
    // A group larger than its PMU.
    const Exporter exporter('{' + events_of_pmu(5, ",") + "},cpu-clock");
    const Samples samples = exporter.scrape();
    CHECK(samples.contains(clock_of(0)));
    CHECK_FALSE(samples.contains(count_on_first_cpu("a")));
    const auto cpus = static_cast<double>(number_online());
    CHECK(in_state(samples, "a", "never") == cpus);
    CHECK(in_state(samples, "a", "counted") == 0);
    CHECK(samples.at("metagroup_event_known_seconds_total{event=\"a\"}") == 0);
    CHECK(in_state(samples, "cpu-clock", "counted") == cpus);
}

TEST_CASE("A scrape that cannot read events keeps their counts, and the next one has all",
          "[machine][module]") {
    need_testpmu();
    const auto backend = GENERATE("module", "per-fd");
    CAPTURE(backend);
    const Exporter exporter({"-e", events_of_pmu(1, ",") + ",cpu-clock", "--backend", backend});
    const std::string name = count_on_first_cpu("a");
    const Samples before = exporter.scrape();
    const auto begin = std::chrono::steady_clock::now();
    testpmu_set_read_error(EIO);
    const Samples during = exporter.scrape();
    testpmu_set_read_error(0);
    CHECK(during.at(name) == before.at(name));
    CHECK(during.at("metagroup_unread_total") > before.at("metagroup_unread_total"));
    CHECK(in_state(during, "a", "unread") == static_cast<double>(number_online()));
    CHECK(in_state(during, "cpu-clock", "unread") == 0);
    const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
    const Samples after = exporter.scrape();
    CHECK(after.at(name) - before.at(name) >= static_cast<double>(elapsed.count()));
    CHECK(in_state(after, "a", "unread") == 0);
}

TEST_CASE("A counter that is not on the PMU is waiting", "[machine]") {
    need_testpmu();
    const TestpmuCounters one(1);
    const Exporter exporter(events_of_pmu(2, ","));
    CHECK(comes_to(exporter, "a", "counted"));
    testpmu_set_counters(0);
    CHECK(comes_to(exporter, "a", "waiting"));
    testpmu_set_counters(1);
    CHECK(comes_to(exporter, "a", "counted"));
}

TEST_CASE("A count that decreased is lost, and its time is unknown", "[machine]") {
    need_testpmu();
    const Exporter exporter(events_of_pmu(1, ","));
    const std::string known = "metagroup_event_known_seconds_total{event=\"a\"}";
    const Samples before = exporter.scrape();
    testpmu_set_backwards(true);
    ::usleep(100'000);
    const Samples during = exporter.scrape();
    testpmu_set_backwards(false);
    CHECK(in_state(during, "a", "lost") == static_cast<double>(number_online()));
    CHECK(during.at(count_on_first_cpu("a")) == before.at(count_on_first_cpu("a")));
    CHECK(during.at(known) == before.at(known));
    CHECK(during.at("metagroup_event_running_seconds_total{event=\"a\"}") >
          before.at("metagroup_event_running_seconds_total{event=\"a\"}"));
    CHECK(comes_to(exporter, "a", "counted"));
}

TEST_CASE("Counters of an offline CPU are in that state until it is back online",
          "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const auto origin = GENERATE("groups", "set");
    CAPTURE(origin);
    const Exporter exporter({"-e", "cpu-clock", "--labels", "event", "--origin", origin});
    REQUIRE(in_state(exporter.scrape(), "cpu-clock", "offline") == 0);
    {
        const OfflineCpu gone(online_cpus().back());
        CHECK(comes_to(exporter, "cpu-clock", "offline"));
        const Samples during = exporter.scrape();
        CHECK(in_state(during, "cpu-clock", "offline") == 1);
        CHECK(in_state(during, "cpu-clock", "counted") == static_cast<double>(number_online()));
        CHECK(during.at("metagroup_cpus_online") == static_cast<double>(number_online()));
    }
    const auto all = static_cast<double>(number_online());
    for (int scrape = 0; scrape < 100; ++scrape) {
        if (in_state(exporter.scrape(), "cpu-clock", "counted") == all) return;
        ::usleep(20'000);
    }
    FAIL("the CPU is not counted again");
}
