// SPDX-License-Identifier: MIT
// metagroup stat on a machine that changes, refuses, or has cgroups. Tag [machine]: changes the
// machine, so it runs in guests only.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

#include "json_lines.hpp"
#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

const std::filesystem::path kCgroups = "/sys/fs/cgroup";

// A cgroup for a test.
class Cgroup {
  public:
    explicit Cgroup(const std::string& name) : path_(kCgroups / name) {
        std::filesystem::create_directory(path_);
    }
    Cgroup(const Cgroup&) = delete;
    Cgroup& operator=(const Cgroup&) = delete;
    ~Cgroup() { ::rmdir(path_.c_str()); }

    std::string procs() const { return (path_ / "cgroup.procs").string(); }

  private:
    std::filesystem::path path_;
};

void set_paranoid(int level) {
    std::ofstream("/proc/sys/kernel/perf_event_paranoid") << level;
}

}  // namespace

TEST_CASE("stat counts what runs in a cgroup, and nothing else", "[machine]") {
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

TEST_CASE("stat names a cgroup that is not there", "[machine]") {
    const Outcome outcome =
        run_program(METAGROUP_TOOL " stat -e cpu-clock -G no/such --timeout 10ms");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("no/such") && ContainsSubstring("/sys/fs/cgroup"));
}

TEST_CASE("A CPU that goes offline is no longer counted by stat, the others are", "[machine]") {
    const int last = metagroup::CpuList::online().cpus().back();
    if (last == 0) SKIP("needs two CPUs");
    const std::string online = "/sys/devices/system/cpu/cpu" + std::to_string(last) + "/online";
    for (const char* backend : {"module", "perfd"}) {
        const Outcome outcome = run_program(std::string("(sleep 0.3; echo 0 >") + online +
                                            "; sleep 0.3; echo 1 >" + online +
                                            ") & " METAGROUP_TOOL
                                            " stat -A -j -e cpu-clock -I 50ms "
                                            "--count 20 --backend " +
                                            backend + "; status=$?; wait; exit $status");
        CAPTURE(backend, outcome.text);
        REQUIRE(outcome.status == 0);
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

TEST_CASE("Without permission stat says what would give it", "[machine]") {
    set_paranoid(2);
    const Outcome outcome =
        run_program(METAGROUP_TOOL " stat -e cpu-clock --timeout 10ms", Who::nobody);
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text,
               ContainsSubstring("perf_event_paranoid") && ContainsSubstring("CAP_PERFMON"));
}

TEST_CASE("A closed standard output is no success") {
    const Outcome outcome =
        run_program("(" METAGROUP_TOOL " stat -e cpu-clock --timeout 10ms >&-)");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("standard output"));
}
