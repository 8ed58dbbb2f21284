// SPDX-License-Identifier: MIT
// stat with cgroups, CPU hotplug, busy PMUs and missing permission. Tag [machine]: changes the
// machine, so it runs in guests only.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "support/settings.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::test::Cgroup;

namespace {

// Has four counters on each CPU.
const std::filesystem::path kTestPmu = "/sys/bus/event_source/devices/metagroup_test";

std::string group_of(std::size_t events) {
    std::string group;
    for (std::size_t event = 0; event < events; ++event)
        group += (event == 0 ? "{" : ",") + std::string("metagroup_test/config=0/");
    return group + "}";
}

}  // namespace

TEST_CASE("stat -G counts the tasks of the cgroup only", "[machine]") {
    const Cgroup busy("metagroup_busy");
    const Cgroup empty("metagroup_empty");
    const std::string spin = "-- sh -c 'echo $$ >" + busy.procs() +
                             "; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'";
    for (const char* backend : {"module", "perfd"}) {
        const std::string begin =
            std::string(METAGROUP_TOOL " stat -j -e cpu-clock --backend ") + backend;
        const Outcome outcome = run_program(begin + " -G metagroup_busy " + spin);
        CAPTURE(backend, outcome.text);
        REQUIRE(outcome.status == 0);
        const auto counted = json_lines(outcome.text).at(0);
        CHECK(counted.at("cgroup") == "metagroup_busy");
        CHECK(counted.at("counter-value").get<double>() > 1e6);
        const auto nothing =
            json_lines(run_program(begin + " -G metagroup_empty " + spin).text).at(0);
        CHECK(nothing.at("counter-value").is_null());
    }
}

TEST_CASE("stat names a cgroup that does not exist", "[machine]") {
    for (const std::string name : {"no/such", "../.."}) {
        const Outcome outcome =
            run_program(METAGROUP_TOOL " stat -e cpu-clock --timeout 10ms -G " + name);
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text,
                   ContainsSubstring('"' + name + '"') && ContainsSubstring("/sys/fs/cgroup"));
    }
}

TEST_CASE("A CPU that goes offline is no longer counted by stat, the others are", "[machine]") {
    const int last = metagroup::CpuList::online().cpus().back();
    if (last == 0) SKIP("needs two CPUs");
    const std::string online = "/sys/devices/system/cpu/cpu" + std::to_string(last) + "/online";
    // It goes after the second interval, and is back before the last, in which it stays uncounted.
    const int cpus = static_cast<int>(metagroup::CpuList::online().cpus().size());
    const std::string switching =
        "{ lines=0; while read -r line; do printf '%s\\n' \"$line\"; lines=$((lines + 1)); "
        "[ $lines != " +
        std::to_string(2 * cpus) + " ] || echo 0 >" + online +
        "; "
        "[ $lines != " +
        std::to_string(10 * cpus) + " ] || echo 1 >" + online + "; done; }";
    for (const char* backend : {"module", "perfd"}) {
        const Outcome outcome =
            run_program("{ " METAGROUP_TOOL
                        " stat -A -j -e cpu-clock -I 50ms --count 20 2>/dev/null --backend " +
                        std::string(backend) + " || echo failed; } | " + switching);
        CAPTURE(backend, outcome.text);
        REQUIRE_THAT(outcome.text, !ContainsSubstring("failed"));
        const auto counted = [lines = json_lines(outcome.text)](int cpu) {
            std::vector<bool> intervals;
            for (const auto& line : lines) {
                if (line.value("place", "") == "CPU" + std::to_string(cpu))
                    intervals.push_back(!line.at("counter-value").is_null());
            }
            return intervals;
        };
        REQUIRE(counted(last).size() == 20);
        CHECK(counted(last).front());
        CHECK_FALSE(counted(last).back());
        CHECK(counted(0) == std::vector<bool>(20, true));
    }
}

TEST_CASE("stat names a CPU that went offline while it counted", "[machine]") {
    const int last = metagroup::CpuList::online().cpus().back();
    if (last == 0) SKIP("needs two CPUs");
    const std::string number = std::to_string(last);
    const std::string online = "/sys/devices/system/cpu/cpu" + number + "/online";
    // Groups of several events lose their counts.
    const std::array<std::pair<const char*, const char*>, 2> cases{
        {{"cpu-clock", "not counted from then on"},
         {"{cpu-clock,page-faults}", "its counts are not included; use -I"}}};
    for (const std::string backend : {"module", "perfd"}) {
        for (const auto& [events, consequence] : cases) {
            const Outcome outcome =
                run_program(METAGROUP_TOOL " stat --backend " + backend + " -e '" + events +
                            "' -- sh -c 'echo 0 >" + online + "'; echo 1 >" + online);
            CAPTURE(backend, outcome.text);
            CHECK_THAT(outcome.text,
                       ContainsSubstring("CPU " + number + " went offline: " + consequence));
        }
    }
}

TEST_CASE("A group larger than its PMU is not counted by stat, the others are", "[machine]") {
    if (!std::filesystem::exists(kTestPmu)) SKIP("metagroup_testpmu is not loaded");
    for (const char* backend : {"module", "perfd"}) {
        const Outcome outcome = run_program(METAGROUP_TOOL " stat -j --timeout 100ms -e '" +
                                            group_of(5) + ",cpu-clock' --backend " + backend);
        CAPTURE(backend, outcome.text);
        REQUIRE(outcome.status == 0);
        const auto lines = json_lines(outcome.text);
        for (std::size_t event = 0; event < 5; ++event) {
            CHECK(lines.at(event).at("counter-value").is_null());
            CHECK(lines.at(event).at("pcnt-running") == 0);
        }
        CHECK(lines.at(5).at("counter-value").get<double>() > 0);
        CHECK(lines.at(5).at("pcnt-running") == 100);
    }
    CHECK_THAT(run_program(METAGROUP_TOOL " stat --timeout 100ms -e '" + group_of(5) + "'").text,
               ContainsSubstring("<not counted>"));
}

TEST_CASE("Groups that take turns on their PMU are estimated by stat, with the part of the time",
          "[machine]") {
    if (!std::filesystem::exists(kTestPmu)) SKIP("metagroup_testpmu is not loaded");
    for (const char* backend : {"module", "perfd"}) {
        const Outcome outcome =
            run_program(METAGROUP_TOOL " stat -j -A -C 0 --timeout 500ms -e '" + group_of(3) + ',' +
                        group_of(3) + "' --backend " + backend);
        CAPTURE(backend, outcome.text);
        REQUIRE(outcome.status == 0);
        const auto lines = json_lines(outcome.text);
        for (std::size_t event = 0; event < 6; ++event) {
            const auto& line = lines.at(event);
            const double counted = line.at("pcnt-running");
            CHECK(counted > 10);
            CHECK(counted < 90);
            // It counts nanoseconds.
            const double elapsed = line.at("elapsed").get<double>() * 1e9;
            CHECK(line.at("counter-value").get<double>() > 0.7 * elapsed);
            CHECK(line.at("counter-value").get<double>() < 1.3 * elapsed);
        }
    }
}

TEST_CASE("Without permission stat fails and names the remedy", "[machine]") {
    const metagroup::test::Paranoid paranoid(2);
    for (const char* arguments :
         {"stat -e cpu-clock --timeout 10ms", "stat -e cpu-clock --timeout 10ms --backend=perfd",
          "compare -e '{cpu-clock}' --sweeps 10", "export -e cpu-clock --listen 127.0.0.1:0"}) {
        const Outcome outcome =
            run_program(std::string(METAGROUP_TOOL " ") + arguments, Who::nobody);
        CAPTURE(arguments, outcome.text);
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text,
                   ContainsSubstring("perf_event_paranoid") && ContainsSubstring("CAP_PERFMON"));
    }
}
