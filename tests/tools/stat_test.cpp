// SPDX-License-Identifier: MIT
// metagroup stat by its command line. Tag [machine]: changes the machine (cgroups, CPU hotplug,
// busy PMUs, permission), so it runs in guests only.
#include "common/counts.hpp"
#include "common/intervals.hpp"
#include "program.hpp"
#include "support/backends.hpp"
#include "support/settings.hpp"

using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::test::Cgroup;

namespace {

// The first line of stat on CPU 0, with N for each number.
std::string first_line(const std::string& arguments) {
    const std::string text = tool_output("stat -C 0 -e dummy " + arguments);
    const std::regex number(R"((^|[,;:\t])\d+(\.\d+)?(e[-+]?\d+)?(?=[,;}\t%]|$))");
    return std::regex_replace(split(text, '\n').at(0), number, "$1N");
}

std::vector<nlohmann::json> stat_lines(const std::string& options) {
    return json_lines(tool_output("stat -j -e cpu-clock " + options));
}

// Has four counters on each CPU.
const std::filesystem::path kTestPmu = "/sys/bus/event_source/devices/metagroup_test";

std::string group_of(std::size_t events) {
    std::string group;
    for (std::size_t event = 0; event < events; ++event)
        group += (event == 0 ? "{" : ",") + std::string("metagroup_test/config=0/");
    return group + "}";
}

}  // namespace

TEST_CASE("stat counts all CPUs while a command runs") {
    CHECK_THAT(tool_output("stat -e cpu-clock,context-switches -- sleep 0.1"),
               ContainsSubstring("'sleep 0.1'") && ContainsSubstring("cpu-clock") &&
                   ContainsSubstring("CPUs utilized") && ContainsSubstring("seconds time elapsed"));
}

TEST_CASE("stat shows large rates with a prefix") {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/msr/events/tsc"))
        SKIP("this machine has no msr/tsc/");
    CHECK_THAT(tool_output("stat -e dummy,msr/tsc/ --timeout 20ms"),
               ContainsSubstring(" G/sec") || ContainsSubstring(" M/sec"));
}

TEST_CASE("stat returns the command's exit status") {
    CHECK(run_tool("stat -e cpu-clock -- sh -c 'exit 7'").status == 7);
    CHECK(run_tool("stat -e cpu-clock -- sh -c 'kill -9 $$'").status == 128 + 9);
}

TEST_CASE("stat names a command that cannot be run, and exits with the status of env(1)") {
    const Outcome missing = run_tool("stat -e cpu-clock -- /no/such/program");
    CHECK(missing.status == 127);
    CHECK_THAT(missing.text,
               ContainsSubstring("/no/such/program") && ContainsSubstring("No such file"));
    const Outcome no_program = run_tool("stat -e cpu-clock -- /etc/passwd");
    CHECK(no_program.status == 126);
    CHECK_THAT(no_program.text,
               ContainsSubstring("/etc/passwd") && ContainsSubstring("Permission denied"));
}

TEST_CASE("stat runs a script without a #! line in a shell, with its arguments") {
    metagroup::test::TempTree tree;
    tree.file("script", "echo \"$1 of $2\"; exit 3\n");
    std::filesystem::permissions(tree.path("script"), std::filesystem::perms::owner_all);
    const Outcome script =
        run_tool("stat -e dummy -o /dev/null -- " + tree.path("script") + " 'one two' three");
    CHECK(script.text == "one two of three\n");
    CHECK(script.status == 3);
}

TEST_CASE("The command has the limit of descriptors that stat was started with") {
    std::string events = "dummy";
    for (int i = 0; i < 60; ++i)
        events += ",dummy";
    CHECK(run_program("ulimit -Sn 40; " METAGROUP_TOOL " stat --backend per-fd -e '{" + events +
                      "}' -o /dev/null -- sh -c 'ulimit -Sn'")
              .text == "40\n");
}

TEST_CASE("stat prints one block for each interval") {
    const auto lines = split(tool_output("stat -e cpu-clock -I 20ms --count 3 -x ,"), '\n');
    REQUIRE(lines.size() == 3);
    CHECK(std::stod(lines[0]) < std::stod(lines[1]));
    CHECK(std::stod(lines[1]) < std::stod(lines[2]));
}

TEST_CASE("The absolute start time of intervals is printed") {
    CHECK_THAT(tool_output("stat -e dummy -I 10ms --count 1"), ContainsSubstring("# started on "));
    const auto now = [] {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    };
    const double before = now();
    const double started = stat_lines("-I 10ms --count 1").back().at("self").at("started");
    CHECK(started >= before);
    CHECK(started <= now());
}

TEST_CASE("An interval without a unit is in milliseconds") {
    const double seconds = stat_lines("-I 50 --count 1").at(0).at("interval");
    CHECK(seconds >= 0.05);
    CHECK(seconds < 5);
}

TEST_CASE("stat -A has a row for each CPU") {
    const auto lines =
        split(run_tool("stat -A -e cpu-clock,page-faults -x ';' --timeout 20ms").text, '\n');
    REQUIRE(lines.size() == 2 * number_online());
    CHECK(split(lines[0], ';')[0] == "CPU0");
    CHECK(split(lines[number_online()], ';')[0] == "CPU0");
    CHECK(split(lines[number_online()], ';')[3] == "page-faults");
}

TEST_CASE("The fields of CSV are those of perf stat") {
    const auto lines =
        split(run_tool("stat -e '{cpu-clock,page-faults}' -x , --timeout 20ms").text, '\n');
    REQUIRE(lines.size() == 2);
    const auto fields = split(lines[0], ',');
    REQUIRE(fields.size() == 7);
    CHECK(std::stod(fields[0]) >= 20 * static_cast<double>(number_online()));
    CHECK(fields[1] == "msec");
    CHECK(fields[2] == "cpu-clock");
    CHECK(std::stoull(fields[3]) >= number_online() * 20'000'000);
    CHECK(fields[4] == "100.00");
    CHECK(fields[6] == "CPUs utilized");
}

TEST_CASE("Every line of JSON is an object, and the last one is the overhead") {
    const auto lines = stat_lines("-I 20ms --count 2");
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].at("event") == "cpu-clock");
    CHECK(lines[0].at("counters") == number_online());
    CHECK(lines[0].at("counter-value").get<double>() > 0);
    CHECK(lines[2].at("self").at("sweeps") == 4);
    CHECK(lines[2].at("self").at("missed-ticks").is_number_unsigned());
}

TEST_CASE("stat fails if it cannot write its file") {
    tool_fails("stat -e cpu-clock --timeout 10ms -o /dev/full", {"/dev/full", "No space left"});
}

TEST_CASE("stat writes only to the file if one is given") {
    const metagroup::test::TempTree tree;
    CHECK(tool_output("stat -e cpu-clock --timeout 10ms -x , -o " + tree.path("csv")).empty());
    CHECK(std::filesystem::file_size(tree.path("csv")) > 0);
}

TEST_CASE("stat suggests events similar to an unknown one") {
    tool_fails("stat -e cpu-clok --timeout 10ms", {"cpu-clock"});
}

TEST_CASE("stat names a CPU that does not exist") {
    tool_fails("stat -e cpu-clock -C 9999 --timeout 10ms",
               {"this machine has no CPU 9999 (online: ", "leave it out"});
}

TEST_CASE("Without the module, stat uses the per-fd backend, and --backend module fails",
          "[no-module]") {
    tool_fails("stat -e cpu-clock --backend=module --timeout 10ms", {"perf_metagroup"});
    CHECK_THAT(run_tool("stat -e cpu-clock --timeout 10ms").text, ContainsSubstring("by per-fd"));
}

TEST_CASE("stat reads through the module if it is loaded", "[module]") {
    CHECK_THAT(run_tool("stat -e cpu-clock --timeout 10ms").text, ContainsSubstring("by module"));
    CHECK_THAT(run_tool("stat -e cpu-clock --timeout 10ms --backend=per-fd").text,
               ContainsSubstring("by per-fd"));
}

TEST_CASE("The fields of stat's CSV do not change") {
    CHECK(first_line("-x ';' --timeout 10ms") == "N;;dummy;N;N;N;/sec");
    CHECK(first_line("-x '\\t' --timeout 10ms") == "N\t\tdummy\tN\tN\tN\t/sec");
    CHECK(first_line("-x , -A --timeout 10ms") == "CPU0,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , --per-socket --timeout 10ms") == "S0,N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -I 10ms --count 1") == "N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -A -I 10ms --count 1") == "N,CPU0,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -r 2 true") == "N,,dummy,N%,N,N,N,/sec");
}

TEST_CASE("Text with the separator in it is quoted, so that all lines have the same fields") {
    const auto line = [](const char* events) {
        return split(tool_output(std::string("stat -C 0 --timeout 10ms -x , -e ") + events), '\n')
            .at(0);
    };
    CHECK_THAT(line("software/config=0x9,config1=0x0/"),
               ContainsSubstring(",,\"software/config=0x9,config1=0x0/\","));
    CHECK_THAT(line("\"software/config=9,name='a \\\"b'/\""), ContainsSubstring(",\"a \"\"b\","));
    CHECK_THAT(tool_output("stat -x ' ' -C 0 -e L1-icache-stores,dummy --timeout 10ms"),
               ContainsSubstring("\"<not supported>\""));
}

TEST_CASE("The distributions of report have the same fields as its counts") {
    const Recorded recorded;
    const std::string text = tool_output("report -x '\\t' " + recorded.path);
    CHECK_THAT(text, ContainsSubstring("place\tcpus\tfigure\t") && !ContainsSubstring("\\t"));
}

TEST_CASE("A separator that numbers may contain is refused") {
    for (const char* separator : {"-", ".", "1", "e", "%", "'\"'", "', 0'"})
        tool_fails(std::string("stat -e dummy --timeout 10ms -x ") + separator,
                   {"--field-separator", "part of a number"});
}

TEST_CASE("The keys of stat's JSON do not change") {
    const std::string rest = R"("counter-value":N,"unit":"","event":"dummy","event-runtime":N,)"
                             R"("pcnt-running":N,"metric-value":N,"metric-unit":"/sec"})";
    CHECK(first_line("-j --timeout 10ms") == R"({"elapsed":N,"counters":N,)" + rest);
    CHECK(first_line("-j -I 10ms --count 1") == R"({"interval":N,"counters":N,)" + rest);
    CHECK(first_line("-j -A --timeout 10ms") == R"({"elapsed":N,"cpu":"0",)" + rest);
}

TEST_CASE("stat reads short intervals from a stream, and others with sweeps", "[module]") {
    const auto deadlines = [](const std::string& options) {
        return stat_lines(options).back().at("self").at("deadlines").get<int>();
    };
    CHECK(deadlines("-I 1ms --count 20") > 0);
    CHECK(deadlines("-I 1ms --count 20 --method sweep") == 0);
    CHECK(deadlines("-I 20ms --count 3") == 0);
    CHECK(deadlines("-I 20ms --count 3 --method stream") >= 3);
}

TEST_CASE("The intervals of a stream end at its deadlines", "[module]") {
    const auto lines = stat_lines("-I 2ms --count 50");
    REQUIRE(lines.size() == 51);
    for (std::size_t i = 1; i < 50; ++i) {
        const double before = lines[i - 1].at("interval");
        // Deadlines may be lost; they do not shift.
        const double periods = (lines[i].at("interval").get<double>() - before) / 0.002;
        CAPTURE(i, periods);
        CHECK(periods >= 0.999);
        CHECK(periods == Approx(static_cast<double>(static_cast<int>(periods + 0.5))));
    }
}

TEST_CASE("The last interval of a stream ends when counting ends", "[module]") {
    const auto lines = stat_lines("-I 5ms --timeout 203ms");
    CHECK(lines.at(lines.size() - 2).at("interval").get<double>() > 0.203);
}

TEST_CASE("The intervals of a stream, including the last one, add up to all counts", "[module]") {
    MetaGroup group = MetaGroup::open(
        {.groups = metagroup::parse_events("{cpu-clock,context-switches},page-faults"),
         .cpus = metagroup::CpuList::online()});
    const tool::Aggregation rows(tool::AggrMode::cpu, metagroup::CpuList::online());
    const auto layout = std::make_shared<tool::CountLayout>(group.groups(), group.members(), rows);
    tool::Counts whole(layout);
    tool::Overhead overhead;
    std::vector<tool::Count> sums(rows.places().size() * whole.columns().size());
    Snapshot first;
    Snapshot last;
    group.read(first);
    auto stream = tool::StreamedIntervals::start(group, "stream", 1ms, first, layout).value();
    const auto add_all = [&] {
        while (const tool::Counts* interval = stream.next(overhead))
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i].add(interval->at(0, i));
    };
    while (overhead.deadlines < 100) {
        std::this_thread::sleep_for(stream.batch() / 2);
        add_all();
    }
    stream.stop();
    add_all();
    group.disable();
    group.read(last);
    stream.finish(last);
    add_all();
    tool::Accumulator accumulator(first.size());
    accumulator.add(whole, first);
    accumulator.add(whole, last);
    whole.add_up();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        CAPTURE(i);
        CHECK(sums[i].count == whole.at(0, i).count);
        CHECK(sums[i].enabled == whole.at(0, i).enabled);
    }
}

TEST_CASE("Without the module, stat --method stream fails with the reason", "[no-module]") {
    tool_fails("stat -e cpu-clock -I 1ms --method stream --timeout 10ms",
               {"--method stream", "perf_metagroup is not loaded"});
}

TEST_CASE("stat -G counts only the tasks of the cgroup", "[machine][module]") {
    const Cgroup busy("metagroup_busy");
    const Cgroup empty("metagroup_empty");
    const std::string spin = " -- sh -c 'echo $$ >" + busy.procs() +
                             "; i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done'";
    for (const char* backend : {"module", "per-fd"}) {
        const auto count = [&](const std::string& cgroup) {
            return stat_lines(std::string("--backend ") + backend + " -G " + cgroup + spin).at(0);
        };
        const auto counted = count("metagroup_busy");
        CHECK(counted.at("cgroup") == "metagroup_busy");
        CHECK(counted.at("counter-value").get<double>() > 1);  // ms
        const auto nothing = count("metagroup_empty");
        CHECK(nothing.at("counter-value") == "<not counted>");
    }
}

TEST_CASE("stat names a cgroup that does not exist", "[machine]") {
    for (const std::string name : {"no/such", "../.."})
        tool_fails("stat -e cpu-clock --timeout 10ms -G " + name,
                   {'"' + name + '"', "/sys/fs/cgroup"});
}

TEST_CASE("stat stops counting a CPU that goes offline, but not the others", "[machine]") {
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
    for (const std::string& backend : metagroup::test::backend_names()) {
        const Outcome outcome = run_program(
            "{ " METAGROUP_TOOL
            " stat -A -j -e cpu-clock -I 50ms --count 20 -o /dev/stdout 2>/dev/null --backend " +
            backend + " || echo failed; } | " + switching);
        CAPTURE(backend, outcome.text);
        REQUIRE_THAT(outcome.text, !ContainsSubstring("failed"));
        const auto counted = [lines = json_lines(outcome.text)](int cpu) {
            std::vector<bool> intervals;
            for (const auto& line : lines) {
                if (line.value("cpu", "") == std::to_string(cpu))
                    intervals.push_back(line.at("counter-value").is_number());
            }
            return intervals;
        };
        REQUIRE(counted(last).size() == 20);
        CHECK(counted(last).front());
        CHECK_FALSE(counted(last).back());
        CHECK(counted(0) == std::vector<bool>(20, true));
    }
}

TEST_CASE("stat names a CPU that groups no longer count", "[machine]") {
    const int last = metagroup::CpuList::online().cpus().back();
    if (last == 0) SKIP("needs two CPUs");
    const std::string number = std::to_string(last);
    const std::string online = "/sys/devices/system/cpu/cpu" + number + "/online";
    const std::string kept = "not counted from then on";
    const std::string lost = "its counts are not included; use -I";
    for (const std::string& way : metagroup::test::backend_names()) {
        // Groups of several events lose their counts, but not those behind one descriptor.
        for (const auto& [events, consequence] :
             {std::pair("cpu-clock", kept),
              std::pair("{cpu-clock,page-faults}", way == "percpu" ? kept : lost)}) {
            const Outcome outcome =
                run_tool("stat --origin groups --backend " + way + " -e '" + events +
                         "' -- sh -c 'echo 0 >" + online + "'; echo 1 >" + online);
            CAPTURE(way, outcome.text);
            CHECK_THAT(outcome.text,
                       ContainsSubstring("CPU " + number + " went offline: " + consequence));
        }
    }
}

TEST_CASE("stat does not count a group that is too large for its PMU, but counts the others",
          "[machine][module]") {
    if (!std::filesystem::exists(kTestPmu)) SKIP("metagroup_testpmu is not loaded");
    for (const char* backend : {"module", "per-fd"}) {
        const auto lines =
            json_lines(tool_output("stat -j --timeout 100ms -e '" + group_of(5) +
                                   ",cpu-clock' --origin groups --backend " + backend));
        for (std::size_t event = 0; event < 5; ++event) {
            CHECK(lines.at(event).at("counter-value") == "<not counted>");
            CHECK(lines.at(event).at("pcnt-running") == 0);
        }
        CHECK(lines.at(5).at("counter-value").get<double>() > 0);
        CHECK(lines.at(5).at("pcnt-running") == 100);
    }
    CHECK_THAT(tool_output("stat --origin groups --timeout 100ms -e '" + group_of(5) + "'"),
               ContainsSubstring("<not counted>"));
}

TEST_CASE("stat scales multiplexed groups, and shows for what part of the time they counted",
          "[machine][module]") {
    if (!std::filesystem::exists(kTestPmu)) SKIP("metagroup_testpmu is not loaded");
    for (const char* backend : {"module", "per-fd"}) {
        const auto lines =
            json_lines(tool_output("stat -j -A -C 0 --timeout 500ms -e '" + group_of(3) + ',' +
                                   group_of(3) + "' --origin groups --backend " + backend));
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
