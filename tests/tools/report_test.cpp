// SPDX-License-Identifier: MIT
// metagroup report by its command line.
#include <random>

#include "common/analysis.hpp"
#include "program.hpp"
#include "support/perf_data_builder.hpp"

namespace {

std::vector<nlohmann::json> report(const Recorded& recorded, const std::string& options) {
    return json_lines(tool_output("report -j " + options + ' ' + recorded.path));
}

nlohmann::json figure(const std::vector<nlohmann::json>& lines, const std::string& name,
                      const std::string& place = "") {
    for (const auto& line : lines)
        if (line.value("figure", "") == name && line.value("place", "") == place) return line;
    return {};
}

// Runs the script of a page, with canvases that keep what is drawn. Prints a line for each text:
// all of the time, then after 20 steps of the wheel, then all again; and what is shown of the value
// under the pointer.
constexpr const char* kPageScript = R"(
const fs = require('fs');
const vm = require('vm');

const page = fs.readFileSync(process.argv[2], 'utf8');
const script = page.match(/<script>([^]*)<\/script>/)[1];
const elements = [];
let texts = [];
let cells = 0;
const drawing = {
  setTransform() {}, strokeRect() {}, beginPath() {}, lineTo(x, y) {
    if (Number.isNaN(x + y)) throw new Error('a line to nowhere');
  }, stroke() {}, fillRect() { cells++; }, fillText(text) { texts.push(text); },
};
const element = name => ({
  name, style: {}, clientWidth: 1000, getContext: () => drawing, setPointerCapture() {},
});
const show = title => {
  console.log(`${title}: ${cells > 0 ? 'drawn' : 'empty'}; ${texts.join('; ')}`);
  texts = [];
  cells = 0;
};
vm.runInNewContext(script, {
  window: {devicePixelRatio: 1},
  document: {createElement: element, body: {appendChild: child => elements.push(child) && child}},
  requestAnimationFrame: draw => draw(),
});
show('all');
const [output, canvas] = elements;
const middle = {offsetX: 475, offsetY: 25, deltaY: -1, pointerId: 1, preventDefault() {}};
for (let i = 0; i < 20; i++) canvas.onwheel(middle);
texts = [];
canvas.onpointerdown(middle);
canvas.onpointermove({...middle, offsetX: 476});
canvas.onpointerup();
show('zoomed');
console.log(`value: ${output.textContent}`);
canvas.ondblclick();
show('again');
)";

}  // namespace

TEST_CASE("report accepts the recording as an option, as perf report does") {
    const Recorded recorded;
    CHECK(tool_output("report -i " + recorded.path) == tool_output("report " + recorded.path));
}

TEST_CASE("report adds up the counts of each CPU", "[no-module]") {
    const auto lines = report(Recorded(), "-A");
    for (std::size_t cpu = 0; cpu < 3; ++cpu) {
        const auto& cycles = lines.at(cpu);
        const auto& instructions = lines.at(3 + cpu);
        CHECK(cycles.at("cpu") == std::to_string(cpu));
        // Between the first sample and the last.
        CHECK(cycles.at("counter-value") == 999'000'000 * (cpu + 1));
        CHECK(cycles.at("metric-value") == 1e9 * static_cast<double>(cpu + 1));
        CHECK(cycles.at("metric-unit") == "/sec");
        CHECK(instructions.at("counter-value") == 1'998'000'000 * (cpu + 1));
        CHECK(instructions.at("metric-value") == 2);
    }
}

TEST_CASE("The counts of intervals add up to those of the whole time", "[no-module]") {
    const Recorded recorded;
    const double whole = report(recorded, "").at(0).at("counter-value");
    CHECK(whole == 6 * 999'000'000.0);
    double sum = 0;
    std::vector<double> times;
    for (const auto& line : report(recorded, "-I 100ms")) {
        if (line.value("event", "") != "cycles") continue;
        sum += line.at("counter-value").get<double>();
        times.push_back(line.at("interval"));
    }
    CHECK(sum == whole);
    CHECK(times == std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999});
}

TEST_CASE("report shows the distributions of rates, ratios, lateness and skew", "[no-module]") {
    const auto lines = report(Recorded(), "-A");
    const auto cycles = figure(lines, "cycles", "CPU1");
    CHECK(cycles.at("samples") == 999);
    for (const char* part : {"p50", "p90", "p99", "max"}) {
        CHECK(cycles.at(part).get<double>() == Approx(2e9).epsilon(1.0 / 32));
        CHECK(figure(lines, "IPC", "CPU1").at(part).get<double>() == Approx(2).epsilon(1.0 / 32));
    }
    const auto late = figure(lines, "lateness", "CPU2");
    CHECK(late.at("max") == 3000);
    CHECK(late.at("samples") == 998);
    CHECK(late.at("lost") == 2);
    CHECK(figure(lines, "lateness", "CPU0").at("lost") == 0);
    CHECK(figure(lines, "skew").at("max") == 2000);
    CHECK(figure(lines, "skew").at("samples") == 1000);
}

TEST_CASE("report excludes samples before or after given times", "[no-module]") {
    const Recorded recorded;
    const auto lines = report(recorded, "-A --since 100ms --until 0.3");
    CHECK(lines.at(0).at("elapsed").get<double>() == Approx(0.2));
    CHECK(lines.at(0).at("counter-value") == 200'000'000);
    tool_fails("report --since 5s " + recorded.path, {"no samples"});
}

TEST_CASE("report prints the same as text and CSV", "[no-module]") {
    const Recorded recorded;
    const auto run = [&](const char* options) {
        return tool_output("report " + std::string(options) + ' ' + recorded.path);
    };
    CHECK_THAT(run(""), ContainsSubstring("5,994,000,000          cycles") &&
                            ContainsSubstring("insn per cycle") &&
                            ContainsSubstring("deadlines lost: 2 of 3000"));
    const auto lines = split(run("-x ';' -A"), '\n');
    CHECK(lines.at(0).starts_with("CPU0;999000000;;cycles;"));
    CHECK(lines.at(7) == "place;cpus;figure;unit;samples;lost;p50;p90;p99;max");
    CHECK(lines.at(11) == "CPU0;1;lateness;ns;1000;0;1000;1000;1000;1000");
}

TEST_CASE("report reads an unfinished recording, and says so", "[no-module]") {
    const Recorded recorded;
    {
        metagroup::RecordingWriter writer(recorded.path, recorded.stream.options());
        recorded.stream.write(writer, 1000);
    }
    CHECK_THAT(tool_output("report " + recorded.path),
               ContainsSubstring("is incomplete") && ContainsSubstring("5,994,000,000"));
}

TEST_CASE("report reads a truncated recording, and says so", "[no-module]") {
    const Recorded recorded;
    std::filesystem::resize_file(recorded.path, std::filesystem::file_size(recorded.path) / 2);
    CHECK_THAT(tool_output("report " + recorded.path),
               ContainsSubstring("is incomplete") && ContainsSubstring("insn per cycle"));
}

TEST_CASE("report draws each figure, and writes a page that loads nothing else", "[no-module]") {
    const Recorded recorded;
    const auto draw = [&](const std::string& option, const std::string& file) {
        const std::string path = recorded.tree.path(file);
        tool_output("report -o /dev/null " + option + ' ' + path + ' ' + recorded.path);
        return contents_of(path);
    };
    const std::string svg = draw("--plot", "picture.svg");
    CHECK(svg.starts_with("<svg "));
    for (const char* text : {"cycles, /sec", "instructions, /sec", "IPC, insn per cycle", ">CPU2<",
                             ">max of CPUs<", ">p50 of CPUs<"})
        CHECK_THAT(svg, ContainsSubstring(text));
    // The third CPU has the highest rate all the time: one rectangle of 333 steps.
    CHECK_THAT(svg, ContainsSubstring("<path fill=\"#fde725\" d=\"M0 2h333v1h-333z\"/>"));

    const std::string page = draw("--html", "page.html");
    CHECK_THAT(page, ContainsSubstring("\"name\":\"IPC, insn per cycle\"") &&
                         ContainsSubstring("\"steps\":999") && ContainsSubstring("<script>"));
    CHECK_THAT(page, !ContainsSubstring("src=") && !ContainsSubstring("href="));
}

TEST_CASE("The page of report draws the part of the time that the user zooms to", "[no-module]") {
    if (run_program("node --version").status != 0) SKIP("node is not installed");
    const Recorded recorded;
    const std::string page = recorded.tree.path("page.html");
    tool_output("report -o /dev/null --figure cycles --html " + page + ' ' + recorded.path);
    std::ofstream(recorded.tree.path("script")) << kPageScript;
    const Outcome outcome = run_program("node " + recorded.tree.path("script") + ' ' + page);
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    const auto lines = split(outcome.text, '\n');
    CHECK_THAT(lines.at(0),
               ContainsSubstring("all: drawn; cycles, /sec; CPU0; CPU1; CPU2; 3G; 0") &&
                   ContainsSubstring("; 0.000 s; 0.200 s;"));
    CHECK_THAT(lines.at(1),
               ContainsSubstring("zoomed: drawn; cycles, /sec; CPU0; CPU1; CPU2; 3G") &&
                   ContainsSubstring("; 0.4950 s; 0.4972 s;"));
    CHECK(lines.at(2) == "value: CPU0, 0.5005 s: 999M");
    CHECK(lines.at(3).substr(5) == lines.at(0).substr(3));  // behind "again", "all"
}

TEST_CASE("report draws PNG with rsvg-convert, and names it if it is missing", "[no-module]") {
    const Recorded recorded;
    const std::string picture = recorded.tree.path("picture.png");
    const auto draw = [&](const std::string& path) {
        return run_program("PATH=" + path + " " METAGROUP_TOOL " report -o /dev/null --plot " +
                           picture + ' ' + recorded.path);
    };
    const std::string programs = recorded.tree.path("programs");
    const Outcome missing = draw(programs);
    CHECK(missing.status == kFailure);
    CHECK_THAT(missing.text,
               ContainsSubstring("rsvg-convert") && ContainsSubstring("install librsvg2-bin"));
    std::filesystem::create_directory(programs);
    const std::string program = programs + "/rsvg-convert";
    const auto install = [&](const char* script) {
        std::ofstream(program) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    };
    install("exec /bin/cat >\"${1#--output=}\"\n");
    REQUIRE(draw(programs).status == 0);
    CHECK_THAT(contents_of(picture),
               Catch::Matchers::StartsWith("<svg ") && Catch::Matchers::EndsWith("</svg>\n"));
    install("exit 1\n");
    CHECK_THAT(draw(programs).text, ContainsSubstring("rsvg-convert failed"));
}

TEST_CASE("report draws no other formats", "[no-module]") {
    tool_fails("report --plot /tmp/x.jpg " + Recorded().path, {"/tmp/x.jpg", ".svg", ".png"});
}

TEST_CASE("report shows only the selected figures", "[no-module]") {
    const Recorded recorded;
    std::vector<std::string> names;
    for (const auto& line : report(recorded, "--figure lateness,IPC"))
        if (line.contains("figure")) names.push_back(line.at("figure"));
    CHECK(names == std::vector<std::string>{"IPC", "lateness"});
    for (const char* options :
         {"--figure cycles,ipc", "--figure cycl", "--figure ,", "--figure lateness --phases"})
        tool_fails(std::string("report ") + options + ' ' + recorded.path, {"--figure: "});
}

TEST_CASE("report finds the phases of a recording, with the means of each figure", "[no-module]") {
    using namespace metagroup::test;
    const TempTree tree;
    const std::string path = tree.path("recording");
    const SyntheticStream stream{.cpus = 1};
    metagroup::RecordingWriter writer(path, stream.options());
    // A cycle each nanosecond, then four; two instructions for each, then one.
    std::uint64_t cycles = 0;
    std::uint64_t instructions = 0;
    for (std::uint64_t deadline = 0; deadline <= 1000; ++deadline) {
        const bool second = deadline > 300;
        cycles += SyntheticStream::period * (second ? 4 : 1);
        instructions += SyntheticStream::period * (second ? 4 : 2);
        const std::uint64_t elapsed = (deadline + 1) * SyntheticStream::period;
        const Bytes read = payload(SyntheticStream::format,
                                   {{cycles, SyntheticStream::cycles_id(0)},
                                    {instructions, SyntheticStream::instructions_id(0)}},
                                   elapsed, elapsed);
        Bytes record;
        append(record, perf_event_header{PERF_RECORD_SAMPLE, 0,
                                         static_cast<std::uint16_t>(32 + read.size())});
        append(record, SyntheticStream::cycles_id(0));
        append(record, SyntheticStream::time(0, deadline));
        append(record, std::uint64_t{0});
        record.insert(record.end(), read.begin(), read.end());
        writer.write(metagroup::Records(record));
    }
    writer.finish();
    const auto run = [&](const std::string& options) {
        return tool_output("report --phases " + options + ' ' + path);
    };
    std::vector<nlohmann::json> phases;
    for (const auto& line : json_lines(run("-j --figure cycles,IPC")))
        if (line.contains("phase")) phases.push_back(line);
    REQUIRE(phases.size() == 4);
    // A sample is some microseconds later than its deadline, and so is the phase.
    const auto mean_of = [&](std::size_t row) {
        const double mean = phases[row].at("mean");
        phases[row].erase("mean");
        return mean;
    };
    CHECK(mean_of(0) == Approx(1e9));
    CHECK(mean_of(1) == Approx(2));
    CHECK(mean_of(2) == Approx(4e9).epsilon(1e-5));
    CHECK(mean_of(3) == Approx(1).epsilon(1e-5));
    CHECK(phases[0] == nlohmann::json::parse(R"({"phase": 1, "from": 0, "to": 0.3,
        "figure": "cycles", "unit": "/sec"})"));
    CHECK(phases[2] == nlohmann::json::parse(R"({"phase": 2, "from": 0.3, "to": 1.0,
        "figure": "cycles", "unit": "/sec"})"));
    const auto lines = split(run("-x ';'"), '\n');
    CHECK(std::ranges::find(lines, "phase;from;to;figure;unit;mean;cpus-missing") != lines.end());
    CHECK(std::ranges::any_of(lines, [](const std::string& line) {
        return line.starts_with("2;0.3;1;IPC;insn per cycle;1");
    }));
    CHECK_THAT(run(""), ContainsSubstring("phase 2       0.300000 s  1.000000 s  cycles "));
}

TEST_CASE("A phase begins only where the level of a series changes", "[no-module]") {
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
    std::normal_distribution<double> noise(0, 1);
    const auto series = [&](std::vector<std::pair<std::size_t, double>> parts, double deviation) {
        std::vector<double> values;
        for (const auto& [steps, level] : parts)
            for (std::size_t i = 0; i < steps; ++i)
                values.push_back(level + deviation * noise(random));
        return values;
    };
    using Begins = std::vector<std::size_t>;
    CHECK(tool::find_phases({}) == Begins{0});
    CHECK(tool::find_phases(series({{3, 5}}, 1)) == Begins{0});
    CHECK(tool::find_phases(series({{500, 1e9 / 3}}, 0)) == Begins{0});
    CHECK(tool::find_phases(series({{100, 1}, {200, 3}, {100, 2}}, 0)) == Begins{0, 100, 300});
    // One or two steps are no phase.
    auto spikes = series({{400, 1}}, 0);
    spikes[17] = spikes[200] = spikes[201] = 50;
    CHECK(tool::find_phases(spikes) == Begins{0});

    int exact = 0;
    int found_in_noise = 0;
    for (int round = 0; round < 100; ++round) {
        const Begins found = tool::find_phases(series({{150, 10}, {150, 14}, {100, 10}}, 1));
        const auto near = [](std::size_t a, std::size_t b) { return a + 3 >= b && b + 3 >= a; };
        if (found.size() == 3 && near(found[1], 150) && near(found[2], 300)) ++exact;
        if (tool::find_phases(series({{400, 10}}, 1)).size() > 1) ++found_in_noise;
    }
    CHECK(exact >= 90);
    CHECK(found_in_noise <= 5);
}

TEST_CASE("Without the module, report shows the losses of the sampling timer, but not the timer",
          "[no-module]") {
    const metagroup::test::TempTree tree;
    metagroup::test::SyntheticStream stream{};
    auto options = stream.options();
    options.period_ns = 0;
    options.events[0].name = "timer";
    perf_event_attr& timer = options.events[0].attr;
    metagroup::test::make_timer(timer);
    timer.sample_period = metagroup::test::SyntheticStream::period;
    const std::string path = tree.path("recording");
    metagroup::RecordingWriter writer(path, options);
    stream.write(writer, 100);
    writer.finish();
    CHECK_THAT(tool_output("report -A --plot " + tree.path("picture.svg") + ' ' + path),
               ContainsSubstring("instructions") && !ContainsSubstring("timer") &&
                   ContainsSubstring(" CPU1        interval ") &&
                   ContainsSubstring("deadlines lost: 2 of 200\n"));
    CHECK_THAT(tool_output("report --since 51ms " + path),
               ContainsSubstring("deadlines lost: 1 of "));
    CHECK_THAT(tool_output("report --since 52ms " + path),
               ContainsSubstring("deadlines lost: 0 of "));
    CHECK_THAT(contents_of(tree.path("picture.svg")),
               ContainsSubstring("instructions") && !ContainsSubstring("timer") &&
                   // Four samples of each CPU in a step: one rectangle of 24 steps.
                   ContainsSubstring("<path fill=\"#fde725\" d=\"M0 1h24v1h-24z\"/>"));
}

TEST_CASE(
    "Deadlines that were lost after the last sample are counted, unless --until excludes them",
    "[no-module]") {
    using metagroup::test::Bytes;
    using metagroup::test::SyntheticStream;
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::RecordingWriter writer(path, SyntheticStream{.cpus = 2}.options());
    Bytes records;
    for (const int cpu : {0, 1})
        for (std::uint64_t at = 0; at < 10; ++at)
            SyntheticStream::sample(records, cpu, at);
    SyntheticStream::lost(records, 1, 12, 3);
    writer.write(metagroup::Records(records));
    writer.finish();
    CHECK_THAT(tool_output("report " + path), ContainsSubstring("deadlines lost: 3 of 23\n"));
    CHECK_THAT(tool_output("report --until 8ms " + path),
               ContainsSubstring("deadlines lost: 0 of "));
}

TEST_CASE("report refuses a recording whose only events are timers", "[no-module]") {
    const metagroup::test::TempTree tree;
    metagroup::test::PerfDataBuilder file;
    file.event({1}).attr.watermark = 1;
    file.update(metagroup::test::PerfDataBuilder::name, 1, "timer");
    for (std::uint64_t i = 1; i < 50; ++i)
        file.sample(i * metagroup::test::PerfDataBuilder::ms, 0, {{i, 1}});
    const std::string path = tree.path("recording");
    file.write(path);
    for (const std::string& options :
         {std::string(), std::string("--phases "), "--html " + tree.path("page.html ")})
        tool_fails("report " + options + path, {path, "only timers, no events"});
}

TEST_CASE("report lists what it leaves out of a recording", "[no-module]") {
    const metagroup::test::TempTree tree;
    metagroup::test::PerfDataBuilder file;
    file.event({1});
    file.set_scale(1, 1e300);
    for (std::uint64_t i = 1; i < 50; ++i)
        file.sample(i * metagroup::test::PerfDataBuilder::ms, 0, {{1000 * i, i == 10 ? 77 : 1U}});
    const std::string path = tree.path("recording");
    file.write(path);
    const std::string text = tool_output("report -j " + path);
    CHECK_THAT(text, ContainsSubstring(path + ": 1 records were skipped") &&
                         ContainsSubstring("the scale of \"event 0\" is ignored") &&
                         ContainsSubstring("\"counter-value\":48000"));
}

TEST_CASE("report needs little memory for a small file, whatever its header contains",
          "[no-module]") {
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::test::PerfDataBuilder file;
    for (std::uint64_t i = 0; i < 6500; ++i)
        file.event({i + 100});
    file.ids_overlap = true;
    file.write(path);
    const Outcome outcome = run_program("ulimit -v 500000; exec " METAGROUP_TOOL " report " + path);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring(path) && ContainsSubstring("identifiers"));
}

TEST_CASE("report needs little memory for a recording of many groups on many CPUs", "[no-module]") {
    constexpr std::uint64_t groups = 5000;
    constexpr std::uint64_t cpus = 1000;
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::test::PerfDataBuilder file;
    for (std::uint64_t i = 1; i <= groups; ++i)
        file.event({i, i + groups});
    for (std::uint64_t i = 1; i <= 2 * groups; ++i)
        file.sample(i * 1000, static_cast<int>(i % cpus), {{i, (i - 1) % groups + 1}});
    file.write(path);
    const std::string report = "ulimit -v 300000; exec " METAGROUP_TOOL " report ";
    for (const char* options : {"-j ", "-A -j "}) {
        const Outcome outcome = run_program(report + options + path + " >/dev/null");
        CAPTURE(options, outcome.text);
        CHECK(outcome.status == 0);
    }
    const Outcome page = run_program(report + "--html " + tree.path("page.html ") + path);
    CHECK(page.status == kFailure);
    CHECK_THAT(page.text, ContainsSubstring("too many events on too many CPUs"));
}

TEST_CASE("report needs little memory for intervals in which a CPU has no samples", "[no-module]") {
    using metagroup::test::Bytes;
    using metagroup::test::SyntheticStream;
    constexpr std::uint64_t deadlines = 6000;
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::RecordingWriter writer(path, SyntheticStream{.cpus = 2}.options());
    for (std::uint64_t at = 0; at < deadlines; ++at) {
        Bytes records;
        SyntheticStream::sample(records, 0, at);
        if (at < 10 || at > deadlines - 10) SyntheticStream::sample(records, 1, at);
        writer.write(metagroup::Records(records));
        writer.finish_round();
    }
    writer.finish();
    const Outcome outcome = run_program(
        "ulimit -v 300000; exec " METAGROUP_TOOL " report -x , -I 10us " + path + " >/dev/null");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
}
