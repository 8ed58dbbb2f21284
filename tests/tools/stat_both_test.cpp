// SPDX-License-Identifier: MIT
// perf stat and metagroup stat at once, on the same work: the same counts within what their
// different starts explain.
#include <map>

#include "program.hpp"
#include "support/testpmu.hpp"

namespace {

constexpr const char* kCounted = "cpu-clock,context-switches,page-faults";

// A row of CSV.
struct Row {
    double value = 0;
    std::string unit{};
    double coverage = 0;   // percent
    std::string metric{};  // its unit
    double metric_value = 0;
};
using Rows = std::map<std::string, std::vector<Row>>;  // by event

Rows rows_of(const std::string& csv, std::size_t before, std::size_t behind) {
    Rows rows;
    for (const std::string& line : split(csv, '\n')) {
        if (line.empty() || line.starts_with('#')) continue;
        auto fields = split(line, ',');
        if (line.ends_with(',')) fields.emplace_back();
        CAPTURE(line);
        REQUIRE(fields.size() > before + 6 + behind);
        Row row{.value = std::stod(fields[before]), .unit = fields[before + 1]};
        row.coverage = std::stod(fields[before + behind + 4]);
        row.metric = fields.back();
        const std::string& value = fields[fields.size() - 2];
        row.metric_value = value.empty() ? 0 : std::stod(value);
        rows[fields[before + 2]].push_back(row);
    }
    return rows;
}

class Both {
  public:
    // Both with these options, while something works. `before` fields come before the value, and
    // `behind` between the event and the times.
    explicit Both(const std::string& options, const std::string& cgroup = "",
                  std::size_t before = 0, std::size_t behind = 0,
                  const std::string& command = "sleep 1", const std::string& events = kCounted)
        : before_(before), behind_(behind) {
        if (run_program("perf version").status != 0) SKIP("perf is not installed");
        const auto run = [&](const std::string& program, const std::string& file,
                             const std::string& of_cgroup) {
            return program + " stat -a -x, -o " + tree_.path(file) + " -e " + events + ' ' +
                   of_cgroup + options + " -- " + command;
        };
        const std::string three =
            cgroup.empty() ? "" : "-G " + cgroup + ',' + cgroup + ',' + cgroup + ' ';
        const std::string one = cgroup.empty() ? "" : "-G " + cgroup + ' ';
        both_ = "{ while :; do /bin/true; done & } 2>/dev/null; work=$!; " +
                run("perf", "theirs", three) + " & " + run(METAGROUP_TOOL, "ours", one) +
                "; status=$?; wait $!; theirs=$?; kill $work; [ $theirs = 0 ] || exit 77; "
                "exit $status";
        count();
    }

    // They do not start at the same instant, and what else the machine does may fall between: a
    // fault is a difference that is there three times.
    void compare(double epsilon) {
        for (int more = 2; more > 0 && !differences(epsilon).empty(); --more)
            count();
        CHECK(differences(epsilon) == "");
        for (const auto& [event, rows] : theirs) {
            CAPTURE(event);
            REQUIRE(ours.at(event).size() == rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i)
                CHECK(ours.at(event)[i].unit == rows[i].unit);
        }
        if (!theirs.contains("cpu-clock")) return;
        CHECK(ours.at("cpu-clock").front().metric == theirs.at("cpu-clock").front().metric);
    }

    Rows theirs, ours;

  private:
    void count() {
        const Outcome outcome = run_program(both_);
        if (outcome.status == 77 && outcome.text.find("perf_event_paranoid") != outcome.text.npos)
            SKIP("perf stat is not permitted here");
        CAPTURE(outcome.text);
        REQUIRE(outcome.status == 0);
        theirs = rows_of(contents_of(tree_.path("theirs")), before_, behind_);
        ours = rows_of(contents_of(tree_.path("ours")), before_, behind_);
        REQUIRE_FALSE(theirs.empty());
        REQUIRE(ours.size() == theirs.size());
    }

    std::string differences(double epsilon) const {
        std::string text;
        const auto compare = [&](const std::string& what, double our_value, double value,
                                 double margin) {
            if (our_value != Approx(value).epsilon(epsilon).margin(margin))
                text += what + ": " + std::to_string(our_value) + ", perf " +
                        std::to_string(value) + '\n';
        };
        for (const auto& [event, rows] : theirs)
            compare(event, sum(ours.at(event)), sum(rows), 20);
        if (theirs.contains("cpu-clock"))
            compare("metric of cpu-clock", ours.at("cpu-clock").front().metric_value,
                    theirs.at("cpu-clock").front().metric_value, 0);
        return text;
    }

    static double sum(const std::vector<Row>& rows) {
        double total = 0;
        for (const Row& row : rows)
            total += row.value;
        return total;
    }

    std::string both_;
    std::size_t before_, behind_;
    metagroup::test::TempTree tree_;
};

}  // namespace

TEST_CASE("stat counts what perf stat counts at the same time", "[no-module]") {
    const std::string rows = GENERATE("", "-A ");
    Both(rows, "", rows.empty() ? 0 : 1).compare(0.15);
}

TEST_CASE("The intervals of stat and perf stat have the same counts", "[no-module]") {
    const Both both("-I 200 ", "", 1);
    CHECK(both.ours.at("cpu-clock").size() >= 5);
    CHECK(std::abs(static_cast<double>(both.ours.at("cpu-clock").size()) -
                   static_cast<double>(both.theirs.at("cpu-clock").size())) <= 1);
    // perf divides by the nominal interval, however long it was.
    for (std::size_t i = 1; i < 4; ++i)
        CHECK(both.ours.at("cpu-clock")[i].metric_value ==
              Approx(static_cast<double>(number_online())).epsilon(0.1));
}

TEST_CASE("The means of stat -r and perf stat -r are the same", "[no-module]") {
    // Short runs, which do not begin together: a sum in place of a mean differs by 200 %.
    Both("-r 3 ", "", 0, 1, "sleep 0.4").compare(0.6);
}

TEST_CASE("stat -D and perf stat -D exclude the same time", "[no-module]") {
    Both("-D 500 ").compare(0.25);
}

TEST_CASE("stat -G and perf stat -G count the same for a cgroup", "[no-module]") {
    const std::string unified = "/sys/fs/cgroup/unified";
    const std::string root = std::filesystem::exists(unified) ? unified : "/sys/fs/cgroup";
    const std::string group = root + "/metagroup_both";
    std::error_code error;
    std::filesystem::create_directory(group, error);
    if (error) SKIP("cgroups cannot be made here");
    // Busy for about a tenth of the time.
    const Outcome worker =
        run_program("(echo 0 >" + group +
                    "/cgroup.procs && exec sh -c 'for i in $(seq 60); do i=0; "
                    "while [ $i -lt 9000 ]; do i=$((i + 1)); done; sleep 0.2; done') "
                    ">/dev/null 2>&1 & until grep . " +
                    group + "/cgroup.procs; do sleep 0.1; done");
    REQUIRE(worker.status == 0);
    REQUIRE_FALSE(worker.text.empty());
    Both both("", "metagroup_both", 0, 1, "sleep 2");
    both.compare(0.25);
    CHECK(both.ours.at("cpu-clock").front().metric_value < 0.5);
    run_program("while kill $(cat " + group + "/cgroup.procs); do sleep 0.1; done; rmdir " + group);
}

TEST_CASE("stat and perf stat count the same tracepoints", "[no-module]") {
    if (!std::filesystem::exists("/sys/kernel/tracing/events/sched/sched_switch/id"))
        SKIP("tracepoints cannot be seen here");
    const std::string rows = GENERATE("", "-A ");
    Both(rows, "", rows.empty() ? 0 : 1, 0, "sleep 1",
         "sched:sched_switch,sched:sched_process_fork,sched:sched_process_exit")
        .compare(0.15);
}

// The events of such a PMU count nanoseconds on all CPUs, so that each estimate is known.
TEST_CASE("stat and perf stat have the same estimates for multiplexed events", "[machine]") {
    const bool emulated = GENERATE(false, true);
    std::string event = "metagroup_test/config=0,name=";
    std::optional<metagroup::test::TestpmuCounters> counters;
    if (emulated) {
        if (!std::filesystem::exists("/sys/bus/event_source/devices/armv8_pmuv3"))
            SKIP("there is no PMU of arm64");
        event = "armv8_pmuv3/config=0x11,name=";
    } else {
        if (!metagroup::test::testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
        counters.emplace(2);
    }
    std::string events;
    for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})
        events += (events.empty() ? "" : ",") + event + name + '/';
    const std::string rows = GENERATE("", "-A ");
    Both both(rows, "", rows.empty() ? 0 : 1, 0, "sleep 3", events);
    both.compare(0.1);
    for (const auto& [name, theirs] : both.theirs) {
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            CAPTURE(name, i);
            const Row& ours = both.ours.at(name)[i];
            CHECK(ours.coverage < 80);
            CHECK(ours.coverage == Approx(theirs[i].coverage).margin(15));
            const double expected = 3e9 * (rows.empty() ? static_cast<double>(number_online()) : 1);
            CHECK(ours.value == Approx(expected).epsilon(0.2));
        }
    }
}

TEST_CASE("stat and perf stat have the same units and scales", "[machine]") {
    if (!metagroup::test::testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
    Both both("", "", 0, 0, "sleep 1", "metagroup_test/energy/,cpu-clock");
    both.compare(0.1);
    CHECK(both.ours.at("metagroup_test/energy/").front().unit == "Joules");
}
