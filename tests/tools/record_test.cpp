// SPDX-License-Identifier: MIT
// metagroup record by its command line, and what report and perf read of it; recordings in place of
// counters.
#include <metagroup/recording.hpp>

#include "program.hpp"
#include "record/timing.hpp"
#include "support/cpus.hpp"
#include "top/source.hpp"

namespace {

struct Directory {
    Outcome run(const std::string& command) const {
        return run_program("cd " + tree.path() + " && " + command);
    }
    Outcome record(const std::string& arguments) const {
        return run(METAGROUP_TOOL " record -e " + events + " " + arguments);
    }

    metagroup::test::TempTree tree;
    std::string events = "{cpu-clock,context-switches}";
};

struct Contents {
    explicit Contents(const std::string& path) {
        metagroup::Recording recording(path);
        finished = recording.finished();
        while (const auto entry = recording.next()) {
            using Kind = metagroup::RecordedEntry::Kind;
            if (entry->kind == Kind::lost) lost += entry->lost;
            if (entry->kind != Kind::sample) continue;
            ++samples;
            if (first == 0) first = entry->time_ns;
            last = entry->time_ns;
        }
    }
    bool finished = false;
    std::uint64_t samples = 0, lost = 0, first = 0, last = 0;
};

// Of the last CPU. Tests that take it offline have the tag [machine]: they run in guests only.
std::string state_of_last_cpu() {
    return "/sys/devices/system/cpu/cpu" + std::to_string(metagroup::test::online_cpus().back()) +
           "/online";
}

}  // namespace

TEST_CASE("record samples until the command ends, and returns its status") {
    const Directory here;
    const Outcome outcome = here.record("-F 1000 -- sh -c 'sleep 0.3; exit 7'");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 7);
    CHECK_THAT(outcome.text, ContainsSubstring("samples in ") && ContainsSubstring("to perf.data"));
    const Contents contents(here.tree.path("perf.data"));
    CHECK(contents.finished);
    CHECK(contents.samples > 100);
    CHECK(contents.last - contents.first > 200'000'000);
}

TEST_CASE("record stops after its duration, and keeps the previous recording") {
    const Directory here;
    REQUIRE(here.record("-I 10ms --duration 100ms").status == 0);
    const auto size = std::filesystem::file_size(here.tree.path("perf.data"));
    REQUIRE(here.record("--duration 300ms").status == 0);
    CHECK(std::filesystem::file_size(here.tree.path("perf.data.old")) == size);
    CHECK(std::filesystem::file_size(here.tree.path("perf.data")) > size);
}

TEST_CASE("record stops on a signal") {
    const Directory here;
    const Outcome outcome =
        here.run("{ " METAGROUP_TOOL
                 " record -o file & until [ -s file ] || ! kill -0 $!; do sleep 0.1; done; "
                 "sleep 0.3; kill -INT $!; wait $!; }");
    CAPTURE(outcome.text);
    CHECK_THAT(outcome.text, ContainsSubstring("to file") && ContainsSubstring("lost "));
    CHECK(Contents(here.tree.path("file")).finished);
}

TEST_CASE("A recording is read as far as it was written if its writer was killed") {
    const Directory here;
    here.run("timeout -s KILL 2 " METAGROUP_TOOL " record -e cpu-clock -F 10000 --ring-size 16K");
    const Contents contents(here.tree.path("perf.data"));
    CHECK_FALSE(contents.finished);
    CHECK(contents.samples > 100);
    const Outcome report = here.run(METAGROUP_TOOL " report perf.data");
    CHECK(report.status == 0);
    CHECK_THAT(report.text, ContainsSubstring("perf.data is incomplete"));
}

TEST_CASE("With --overwrite the newest samples are kept") {
    const Directory here;
    const metagroup::test::BusyCpus busy;
    REQUIRE(here.record("-F 1000 --overwrite --ring-size 4K --duration 1s").status == 0);
    const Contents contents(here.tree.path("perf.data"));
    CHECK(contents.samples > 20);
    CHECK(contents.last - contents.first < 500'000'000);
}

TEST_CASE("With --overwrite no sample is older than the last round but one, and rounds are short") {
    const Directory here;
    const metagroup::test::BusyCpus busy;
    REQUIRE(here.record("-F 1000 --overwrite --ring-size 64K --duration 500ms").status == 0);
    metagroup::Recording recording(here.tree.path("perf.data"));
    std::uint64_t rounds = 0;
    std::uint64_t newest = 0;
    std::uint64_t complete = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind == metagroup::RecordedEntry::Kind::round) {
            ++rounds;
            complete = newest;
        }
        if (entry->kind != metagroup::RecordedEntry::Kind::sample) continue;
        CHECK(entry->time_ns >= complete);
        newest = std::max(newest, entry->time_ns);
    }
    CHECK(rounds > 100);
}

TEST_CASE("record refuses what it cannot do, and keeps the recording") {
    const Directory here;
    REQUIRE(here.record("--duration 10ms").status == 0);
    for (const char* arguments :
         {"-F 0", "-F 100001", "-F 1000 -I 1ms", "-I 1us", "--duration 0", "--ring-size 5000",
          "--ring-size 128M", "--ring-size x", "-o ''"}) {
        const Outcome outcome = here.record(arguments);
        CAPTURE(arguments, outcome.text);
        CHECK(outcome.status == kFailure);
    }
    CHECK_THAT(here.record("-o missing/file --duration 10ms").text,
               ContainsSubstring("cannot write recording \"missing/file\""));
    CHECK_THAT(here.record("--ring-size 5000").text, ContainsSubstring("must be a power of two"));
    CHECK(Contents(here.tree.path("perf.data")).finished);
    CHECK_FALSE(std::filesystem::exists(here.tree.path("perf.data.old")));
}

TEST_CASE("Only its owner can read a recording") {
    const Directory here;
    REQUIRE(here.run("umask 0; " METAGROUP_TOOL " record -e cpu-clock --duration 10ms").status ==
            0);
    using std::filesystem::perms;
    CHECK(std::filesystem::status(here.tree.path("perf.data")).permissions() ==
          (perms::owner_read | perms::owner_write));
}

TEST_CASE("record keeps previous recordings unless it has samples") {
    const Directory here;
    REQUIRE(here.record("--duration 50ms").status == 0);
    REQUIRE(here.record("--duration 60ms").status == 0);
    const auto old = contents_of(here.tree.path("perf.data.old"));
    const auto last = contents_of(here.tree.path("perf.data"));
    SECTION("because the command does not exist") {
        for (int i = 0; i < 2; ++i)
            CHECK(here.record("-- no-such-command").status == 127);
    }
    SECTION("because the disk is full") {
        for (int i = 0; i < 2; ++i) {
            const Outcome outcome = here.run("(ulimit -f 0; trap '' XFSZ; " METAGROUP_TOOL
                                             " record -e cpu-clock --duration 50ms)");
            CHECK(outcome.status == kFailure);
            CHECK_THAT(outcome.text, ContainsSubstring("cannot write recording"));
        }
    }
    CHECK(contents_of(here.tree.path("perf.data")) == last);
    CHECK(contents_of(here.tree.path("perf.data.old")) == old);
    CHECK_FALSE(std::filesystem::exists(here.tree.path("perf.data.new")));
    REQUIRE(here.record("-o other -- no-such-command").status == 127);
    CHECK_FALSE(std::filesystem::exists(here.tree.path("other")));
}

TEST_CASE("report shows the losses that record counts, including those at the end") {
    const Directory here;
    // The timer of a CPU that has stopped, as idle ones do, has no last sample.
    const Outcome outcome = here.record("-F 1000 --duration 500ms");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    std::smatch found;
    REQUIRE(std::regex_search(outcome.text, found, std::regex("lost +(\\d+) of (\\d+) samples")));
    const Contents contents(here.tree.path("perf.data"));
    CHECK(std::to_string(contents.lost) == found[1].str());
    CHECK(std::to_string(contents.lost + contents.samples) == found[2].str());
    for (const char* rows : {"", "-A "})
        CHECK_THAT(tool_output(std::string("report ") + rows + here.tree.path("perf.data")),
                   ContainsSubstring("deadlines lost: " + found[1].str() + " of " + found[2].str() +
                                     "\n"));
}

TEST_CASE("Without the module, record reports that each CPU has its own timer") {
    const Directory here;
    const Outcome outcome = here.record("--backend per-fd --duration 100ms");
    CHECK_THAT(outcome.text, ContainsSubstring("its own timer") && ContainsSubstring("reason"));
    CHECK_FALSE(metagroup::Recording(here.tree.path("perf.data")).period_ns());
    CHECK(here.run(METAGROUP_TOOL " report perf.data").status == 0);
}

TEST_CASE("Without the module, every deadline between two samples has a sample or is lost") {
    const Directory here;
    const auto [losses, options] = GENERATE(
        table<bool, std::string>({{false, "-F 1000 --duration 500ms"},
                                  // The process cannot drain the rings for half of the time.
                                  {true,
                                   "-F 10000 --ring-size 4K --duration 600ms & pid=$!; "
                                   "sleep 0.2; kill -STOP $pid; sleep 0.3; "
                                   "kill -CONT $pid; wait $pid"}}));
    const Outcome outcome = here.record("--backend per-fd " + options);
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    metagroup::Recording recording(here.tree.path("perf.data"));
    const double period = losses ? 100'000 : 1'000'000;
    struct Span {
        std::uint64_t first = UINT64_MAX, last = 0, samples = 0;
        std::uint64_t lost_behind = 0;
    };
    std::map<int, Span> cpus;
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind == metagroup::RecordedEntry::Kind::round) continue;
        Span& span = cpus[entry->cpu];
        lost += entry->lost;
        span.lost_behind = entry->lost;
        if (entry->kind != metagroup::RecordedEntry::Kind::sample) continue;
        span.first = std::min(span.first, entry->time_ns);
        span.last = std::max(span.last, entry->time_ns);
        ++span.samples;
        ++samples;
    }
    CHECK_THAT(outcome.text, ContainsSubstring("lost      " + std::to_string(lost) + " of " +
                                               std::to_string(samples + lost) + " samples"));
    if (losses) CHECK(lost > cpus.size() * 1000);
    double expected = 0;
    for (const auto& [cpu, span] : cpus) {
        expected += static_cast<double>(span.lost_behind);
        if (span.samples == 0) continue;
        expected += static_cast<double>(span.last - span.first) / period + 1;
    }
    // The first and the last sample may be late.
    CHECK(std::abs(static_cast<double>(samples + lost) - expected) <=
          2 * static_cast<double>(cpus.size()));
}

TEST_CASE("The summary shows losses that no record reports", "[no-module]") {
    using metagroup::test::SyntheticStream;
    std::vector<std::byte> records;
    for (const std::uint64_t deadline : {0, 1, 5, 6})
        for (int cpu = 0; cpu < 2; ++cpu)
            SyntheticStream::sample(records, cpu, deadline);
    std::vector<tool::Timing::Member> members;
    for (int cpu = 0; cpu < 3; ++cpu)
        members.push_back({SyntheticStream::cycles_id(cpu), cpu});
    const auto time = [](std::uint64_t deadline) { return SyntheticStream::time(0, deadline); };
    tool::Timing own(SyntheticStream::period, false, 64, time(0), members);
    own.add(metagroup::Records(records));
    CHECK(own.samples() == 8);
    CHECK(own.lost() == 6);
    CHECK(own.lateness().count() == 0);
    SyntheticStream::lost(records, 1, 5, 1);
    tool::Timing common(SyntheticStream::period, true, 64, time(0), members);
    common.add(metagroup::Records(records));
    common.finish();
    CHECK(common.lost() == 1);
    CHECK(common.lateness().max() == 2000);
    CHECK(common.skew().max() == 1000);

    // The third CPU has no sample.
    for (tool::Timing* timing : {&own, &common}) {
        const std::uint64_t before = timing->lost();
        const auto end = timing->losses_at_end(13, time(10));
        timing->add(metagroup::Records(end));
        CHECK(timing->lost() == before + 13);
        CHECK(timing->lost_at_end() == 13);
        const auto bytes = std::span(end);
        CHECK(bytes.size() == 80);
        CHECK(metagroup::Records::number_at(bytes, 8) == 10);
        CHECK(metagroup::Records::number_at(bytes, 24) == 2);
        CHECK(metagroup::Records::number_at(bytes, 32) == SyntheticStream::cycles_id(2));
        CHECK(metagroup::Records::number_at(bytes, 48) == 3);
        CHECK(timing->unknown() == 0);
    }
}

TEST_CASE("The summary shows samples of events that the recording does not describe",
          "[no-module]") {
    using metagroup::test::SyntheticStream;
    std::vector<std::byte> records;
    for (int cpu = 0; cpu < 2; ++cpu)
        SyntheticStream::sample(records, cpu, 1);
    tool::Timing timing(SyntheticStream::period, true, 64, 0, {{SyntheticStream::cycles_id(0), 0}});
    timing.add(metagroup::Records(records));
    CHECK(timing.samples() == 2);
    CHECK(timing.unknown() == 1);
}

TEST_CASE("record --quiet means --quiet-cpus") {
    const Directory here;
    for (const char* option : {"--quiet", "--quiet-cpus"}) {
        const Outcome outcome =
            here.record(std::string("--backend per-fd --duration 10ms ") + option);
        CAPTURE(option, outcome.text);
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text, ContainsSubstring("module"));
    }
}

TEST_CASE("perf script prints what record wrote") {
    const Directory here;
    if (run_program("perf version").status != 0) SKIP("perf is not installed");
    REQUIRE(here.record("--duration 300ms").status == 0);
    const Contents contents(here.tree.path("perf.data"));
    const Outcome script = here.run("perf script -i perf.data -F cpu,time,event,period");
    CHECK(script.status == 0);
    std::uint64_t printed = 0;
    for (const std::string& line : split(script.text, '\n'))
        if (line.find(" cpu-clock: ") != std::string::npos) ++printed;
    CHECK(printed > 0);
    CHECK(printed <= contents.samples);
}

TEST_CASE("With the module all CPUs have the same deadlines", "[module]") {
    const Directory here;
    const Outcome outcome = here.record("-F 100 --duration 1s");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("lateness  p50 ") && ContainsSubstring("skew "));
    CHECK(metagroup::Recording(here.tree.path("perf.data")).period_ns() == 10'000'000);
    const Outcome report = here.run(METAGROUP_TOOL " report -A perf.data");
    CHECK(report.status == 0);
    CHECK_THAT(report.text, ContainsSubstring("lateness"));
}

TEST_CASE("Events count from the first sample on", "[module]") {
    const Directory here;
    REQUIRE(here.record("-I 100us --duration 100ms").status == 0);
    metagroup::Recording recording(here.tree.path("perf.data"));
    std::size_t samples = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind != metagroup::RecordedEntry::Kind::sample) continue;
        ++samples;
        CAPTURE(entry->cpu, samples);
        REQUIRE(entry->payload->time_enabled().value() > 0);
    }
    CHECK(samples > 0);
}

TEST_CASE("stat --replay prints the counts of a recording", "[no-module]") {
    const Recorded recorded;
    const auto stat = [&](const std::string& options) {
        return json_lines(tool_output("stat --replay " + recorded.path + " -j " + options));
    };
    const auto whole = stat("-A");
    REQUIRE(whole.size() == 6);
    CHECK(whole[1].at("cpu") == "1");
    CHECK(whole[1].at("counter-value") == 2 * 999'000'000);
    const auto intervals = stat("-I 100ms");
    REQUIRE(intervals.size() == 20);
    CHECK(intervals[2].at("interval") == 0.2);
    CHECK(intervals[2].at("counter-value") == 6 * 100'000'000);
}

TEST_CASE("Options for counting are refused in a replay", "[no-module]") {
    const Recorded recorded;
    for (const char* line : {"stat -e cycles", "stat -C 0", "stat --timeout 1s", "top --cpu 0",
                             "stat --quiet-cpus", "stat -I 1s --count 2"})
        tool_fails(std::string(line) + " --replay " + recorded.path + " </dev/null",
                   {"the recording determines this"});
}

TEST_CASE("Recordings that cannot be replayed are named", "[no-module]") {
    for (const char* subcommand : {"stat", "top"})
        tool_fails(std::string(subcommand) + " --replay /no/such/file </dev/null",
                   {"/no/such/file", "No such file"});
}

TEST_CASE("A replay shows the rates and the ratio of each interval, then ends", "[no-module]") {
    const Recorded recorded;
    tool::RecordingSource player({.file = recorded.path}, tool::AggrMode::cpu, 250ms);
    REQUIRE(player.places().size() == 3);
    REQUIRE(player.series().size() == 3);
    CHECK(player.series()[2].name == "IPC");
    for (int interval = 0; interval < 4; ++interval) {
        const tool::Update* update = player.sample();
        REQUIRE(update != nullptr);
        REQUIRE(update->cells.size() == 12);
        for (std::size_t cpu = 0; cpu < 3; ++cpu) {
            CHECK(update->cells[3 * cpu].value.value() ==
                  Approx(1e9 * static_cast<double>(cpu + 1)).epsilon(0.01));
            CHECK(update->cells[3 * cpu + 2].value.value() == Approx(2));
        }
        CHECK(update->cells[9].value.value() == Approx(6e9).epsilon(0.01));  // of all CPUs
        CHECK(update->online == std::vector<std::size_t>{1, 1, 1});
    }
    CHECK(player.sample() == nullptr);
    CHECK_THAT(player.problem(), ContainsSubstring("end of the recording"));
    CHECK(player.progress() == "1.00 of 1.00 s");
}

TEST_CASE("top --replay shows a recording to its end", "[no-module]") {
    const Recorded recorded;
    Pty terminal({METAGROUP_TOOL, "top", "--replay", recorded.path, "-d", "0.1"});
    REQUIRE(terminal.shows("IPC"));
    REQUIRE(terminal.shows("end of the recording"));
    terminal.type("q");
    CHECK(terminal.end() == 0);
}

TEST_CASE("A recording describes CPUs that were offline at its end", "[machine]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    const Outcome outcome =
        run_program(METAGROUP_TOOL " record -e '{cpu-clock,page-faults}' -F 100 -o " + path +
                    " -- sh -c 'sleep 1; echo 0 >" + state_of_last_cpu() + "'; rc=$?; echo 1 >" +
                    state_of_last_cpu() + "; exit $rc");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    const auto last = static_cast<std::size_t>(metagroup::test::online_cpus().back());
    const metagroup::Recording recording(path);
    REQUIRE(recording.topology().size() > last);
    CHECK(recording.topology()[last].core >= 0);
    CHECK(recording.topology()[last].socket >= 0);
    CHECK_THAT(tool_output("report --per-core " + path), !ContainsSubstring("S-1"));
}

TEST_CASE("A recording continues when a CPU is back", "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    const Outcome outcome =
        run_program(METAGROUP_TOOL " record -e '{cpu-clock,page-faults}' -F 100 -o " + path +
                    " -- sh -c 'sleep 1; echo 0 >" + state_of_last_cpu() + "; sleep 1; echo 1 >" +
                    state_of_last_cpu() + "; sleep 3'");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    metagroup::Recording recording(path);
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    std::uint64_t last_of_cpu = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind != metagroup::RecordedEntry::Kind::sample) continue;
        first = std::min(first, entry->time_ns);
        last = std::max(last, entry->time_ns);
        if (entry->cpu == metagroup::test::online_cpus().back()) last_of_cpu = entry->time_ns;
    }
    CHECK(recording.remarks().empty());
    CHECK(last - first > 3'000'000'000);
    CHECK(last - last_of_cpu < 500'000'000);
}
