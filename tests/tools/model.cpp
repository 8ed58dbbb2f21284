// SPDX-License-Identifier: MIT
// Every front end prints the counts of random schedules, whose true counts are known: stat, top and
// export read them from a fake of the module, report from a recording.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <deque>

#include "export/scrape.hpp"
#include "metrics_page.hpp"
#include "program.hpp"
#include "subcommands.hpp"
#include "support/perf_data_builder.hpp"
#include "support/schedule.hpp"
#include "top/batch.hpp"
#include "top/source.hpp"
#include "unit/fake_module.hpp"

namespace {

using metagroup::test::FakeModule;
using metagroup::test::Random;
using metagroup::test::ScheduledGroup;
using metagroup::test::ScheduleOptions;

constexpr std::array<const char*, ScheduledGroup::events> kEvents{"page-faults",
                                                                  "context-switches"};
constexpr const char* kGroup = "{page-faults,context-switches}";
constexpr int kCpus = 2;
constexpr int kReadings = 40;

// A number as it is printed, and what is true.
void check_number(double printed, double truth, double precision = 1e-9) {
    CHECK(printed == Approx(truth).epsilon(precision).margin(1));
}

struct Schedule {
    Schedule(int seed, bool hotplug, bool of_cgroup = false)
        : random(static_cast<std::uint64_t>(seed)) {
        const ScheduleOptions options{.multiplexed = seed % 2 == 1,
                                      .of_cgroup = of_cgroup,
                                      .hotplug = hotplug && seed % 4 >= 2};
        for (int cpu = 0; cpu < kCpus; ++cpu)
            groups.emplace_back(random, options);
    }
    // The time of all CPUs until the next readings.
    void run() {
        const std::uint64_t ns = 1000 + random.below(30'000);
        for (ScheduledGroup& group : groups)
            group.run(ns);
    }
    bool read(ScheduledGroup& group, bool first) {
        group.added = {};
        if (!first && random.one_in(4)) return false;  // lost
        if (!first && random.one_in(20)) group.replace();
        if (!first && random.one_in(10)) group.reset();
        group.read();
        return true;
    }

    Random random;
    std::deque<ScheduledGroup> groups;  // by CPU
};

// The sum over CPUs of what readings added after a time, as a row shows it.
struct Row {
    void add(const ScheduledGroup::Part& part, std::uint64_t since) {
        ++counters;
        if (!part.known) return;
        ++counted;
        value += part.value(since);
        wall += part.length(since);
    }
    double rate() const { return value / (wall / 1e9 / counted); }
    // Of the rate, if the count of each CPU is rounded.
    double precision() const { return 1e-9 + 1e9 * counted / wall / std::max(rate(), 1.0); }

    unsigned counters = 0, counted = 0;
    double value = 0, wall = 0;
};

// The parts of a sweep, for each CPU and in total.
struct Sweep {
    Row row(int cpu, std::size_t event) const {
        Row row;
        for (int one = 0; one < kCpus; ++one)
            if (cpu < 0 || one == cpu)
                row.add(added.at(static_cast<std::size_t>(one)).at(event), since);
        return row;
    }

    std::uint64_t since = 0;  // ns, of the sweep before
    std::array<std::array<ScheduledGroup::Part, ScheduledGroup::events>, kCpus> added{};
};

// The fake module with the counts of a schedule. Time begins with the first sweep after counting
// was enabled.
class Module {
  public:
    Module(int seed, bool hotplug) : schedule_(seed, hotplug) {
        fake_.on_sweep = [this](perf_metagroup_snapshot& header) {
            first_ = fake_.enabled == 0 || sweeps.empty();
            Sweep next{.since = schedule_.groups[0].time()};
            if (!first_) schedule_.run();
            header.begin = header.end = schedule_.groups[0].time();
            if (fake_.enabled > 0) sweeps.push_back(next);
        };
        fake_.on_record = [this](std::size_t index, perf_metagroup_record& record,
                                 std::byte* payload) { show(index, record, payload); };
    }

    static std::vector<std::string> options() {
        return {"--device", FakeModule::path(), "--backend", "module", "-e", kGroup, "-C", "0-1"};
    }
    static metagroup::MetaGroup::Options counted() {
        metagroup::MetaGroup::Options options;
        options.groups = metagroup::parse_events(kGroup);
        options.cpus = metagroup::CpuList({0, 1});
        options.device = FakeModule::path();
        options.backend = metagroup::Backend::module;
        options.start_disabled = true;
        return options;
    }
    const ScheduledGroup& group(int cpu) const {
        return schedule_.groups[static_cast<std::size_t>(cpu)];
    }

    std::vector<Sweep> sweeps;  // the first one adds nothing

  private:
    void show(std::size_t index, perf_metagroup_record& record, std::byte* payload) {
        ScheduledGroup& group = schedule_.groups[index];
        const bool read = schedule_.read(group, first_);
        const metagroup::Reading reading = group.reading();
        if (!sweeps.empty()) sweeps.back().added.at(index) = group.added;
        record.time = reading.time;
        record.status = reading.status == metagroup::Status::offline ? PERF_METAGROUP_OFFLINE
                                                                     : PERF_METAGROUP_OK;
        const std::array<std::uint64_t, 5> words{2, reading.enabled, reading.running,
                                                 reading.counts[0], reading.counts[1]};
        record.size = sizeof(words);
        std::memcpy(payload, words.data(), sizeof(words));
        if (read) return;
        record.size = 0;
        record.status = PERF_METAGROUP_STALE;
    }

    Schedule schedule_;
    FakeModule fake_;
    bool first_ = true;
};

// Runs a subcommand in this process. \return what it writes to a file.
std::string run_here(void (*add)(CLI::App&, int&), std::vector<std::string> words) {
    const metagroup::test::TempTree tree;
    words.insert(words.end(), {"-o", tree.path("output")});
    CLI::App app;
    int status = -1;
    add(app, status);
    std::ranges::reverse(words);
    app.parse(std::move(words));
    REQUIRE(status == 0);
    return contents_of(tree.path("output"));
}

std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

void check_line(const nlohmann::json& line, const Row& row) {
    CAPTURE(line.dump());
    CHECK(line.value("counters-missing", 0U) == row.counters - row.counted);
    if (row.counted == 0) {
        CHECK(line.at("counter-value") == "<not counted>");
        CHECK_FALSE(line.contains("metric-value"));
        return;
    }
    check_number(line.at("counter-value"), row.value);
    check_number(line.at("metric-value"), row.rate(), row.precision());
    CHECK(line.at("metric-unit") == "/sec");
    if (line.contains("counters")) CHECK(line.at("counters") == row.counted);
}

void check_stat_intervals(int seed) {
    for (const int cpu : {-1, 0}) {
        Module module(seed, true);
        std::vector<std::string> words{"stat",     "-j",    "-I",      "1ms",
                                       "--method", "sweep", "--count", std::to_string(kReadings)};
        if (cpu >= 0) words.emplace_back("-A");
        std::size_t number = 0;
        const std::size_t rows = cpu < 0 ? kEvents.size() : kEvents.size() * kCpus;
        for (const auto& line : json_lines(run_here(tool::add_stat, words + Module::options()))) {
            if (!line.contains("interval")) continue;
            const Sweep& sweep = module.sweeps.at(1 + number / rows);
            const std::size_t in_sweep = number++ % rows;  // by event, then by CPU
            if (cpu < 0)
                check_line(line, sweep.row(-1, in_sweep));
            else
                check_line(line, sweep.row(static_cast<int>(in_sweep) % kCpus, in_sweep / kCpus));
        }
        CHECK(number == kReadings * rows);
    }
}

// Text, CSV and metrics have the same figures as JSON.
void check_stat_formats(int seed) {
    const std::vector<std::string> words{"stat",     "-A",    "-I",      "1ms",
                                         "--method", "sweep", "--count", "8"};
    Module as_csv(seed, true);
    const std::string csv =
        run_here(tool::add_stat, words + Module::options() + std::vector<std::string>{"-x", ","});
    Module as_text(seed, true);
    const std::string text = run_here(tool::add_stat, words + Module::options());
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n'))
        if (line.find(kEvents[0]) != line.npos || line.find(kEvents[1]) != line.npos)
            lines.push_back(line);
    std::size_t number = 0;
    for (const std::string& line : split(csv, '\n')) {
        const auto fields = split(line, ',');
        if (fields.size() < 5) continue;
        const std::size_t in_sweep = number % (kEvents.size() * kCpus);
        const Row row = as_csv.sweeps.at(1 + number / (kEvents.size() * kCpus))
                            .row(static_cast<int>(in_sweep) % kCpus, in_sweep / kCpus);
        std::string plain = lines.at(number++);
        CAPTURE(line, plain);
        std::erase(plain, ',');
        std::istringstream shown(plain);
        std::string time, cpu, count;
        shown >> time >> cpu >> count;
        CHECK(cpu == fields.at(1));
        if (row.counted == 0) {
            CHECK(fields.at(2) == "<not counted>");
            CHECK_THAT(plain, ContainsSubstring("<not counted>"));
            continue;
        }
        check_number(std::stod(fields.at(2)), row.value);
        check_number(std::stod(count), row.value);
        check_number(std::stod(fields.at(7)), row.rate(), row.precision());
    }
    CHECK(number == lines.size());
    CHECK(number == 8 * kEvents.size() * kCpus);
}

// All of the time as one difference, in which everything has happened.
void check_stat_whole(int seed) {
    Module module(seed, true);
    const std::string text = run_here(
        tool::add_stat, {"stat", "-A", "-j", "--timeout", "1ms", "--device", FakeModule::path(),
                         "--backend", "module", "-e", kGroup, "-C", "0-1"});
    std::size_t number = 0;
    for (const auto& line : json_lines(text)) {
        if (!line.contains("elapsed")) continue;
        check_line(line, module.sweeps.at(1).row(static_cast<int>(number % kCpus), number / kCpus));
        ++number;
    }
    CHECK(number == kEvents.size() * kCpus);
}

// 1.23k is 1230.
double long_number(const std::string& text) {
    const std::string prefixes = "kMGTPE";
    std::size_t end = 0;
    const double number = std::stod(text, &end);
    const auto power = end < text.size() ? prefixes.find(text[end]) : prefixes.npos;
    return power == prefixes.npos ? number
                                  : number * std::pow(1000, static_cast<double>(power) + 1);
}

void check_top(int seed) {
    Module module(seed, false);
    tool::LiveSource source(Module::counted(), tool::AggrMode::cpu);
    tool::Model model(source.places(), source.series());
    for (std::size_t reading = 1; reading <= kReadings; ++reading) {
        const tool::Update* update = source.sample();
        REQUIRE(update != nullptr);
        model.update(*update);
        const auto lines = split(tool::plain_lines(model, ""), '\n');
        for (int line = 1; line <= kCpus + 1; ++line) {  // the total first
            const std::string& text = lines.at(static_cast<std::size_t>(line));
            for (std::size_t event = 0; event < kEvents.size(); ++event) {
                const Row row = module.sweeps.at(reading).row(line - 2, event);
                CAPTURE(reading, text, event, row.rate());
                std::smatch found;
                REQUIRE(std::regex_search(
                    text, found,
                    std::regex(
                        std::string(kEvents.at(event)) +
                        " (?:about )?(not counted|[^ ,]+)/?s?(?: \\((\\d) of (\\d) CPUs\\))?")));
                if (row.counted == 0) {
                    CHECK(found[1] == "not counted");
                    continue;
                }
                // Three digits.
                const double rate = long_number(found[1]);
                CHECK(rate == Approx(row.rate()).epsilon(0.006 + row.precision()));
                CHECK(found[2].matched == (row.counted < row.counters));
                if (found[2].matched) CHECK(found[2] == std::to_string(row.counted));
            }
        }
    }
}

void check_export(int seed) {
    Module module(seed, false);
    tool::Scrape scrape(Module::counted(), {"cpu"}, "1");
    std::map<std::string, double> last;
    for (int reading = 1; reading <= kReadings; ++reading) {
        const MetricsPage page = read_page(scrape.page(tool::Format::text), tool::Format::text);
        for (int cpu = 0; cpu < kCpus; ++cpu) {
            for (std::size_t event = 0; event < kEvents.size(); ++event) {
                const std::string name = std::string("metagroup_events_total{event=\"") +
                                         kEvents.at(event) + "\",cpu=\"" + std::to_string(cpu) +
                                         "\"}";
                const auto& truth = module.group(cpu).truth.at(event);
                CAPTURE(reading, name, truth.wall);
                REQUIRE(page.contains(name) == (truth.wall > 0));
                if (truth.wall == 0) continue;
                const double value = std::stod(page.at(name).value);
                check_number(value, truth.whole);
                CHECK(value >= last[name]);
                last[name] = value;
            }
        }
        for (std::size_t event = 0; event < kEvents.size(); ++event) {
            const auto seconds = [&](const std::string& what) {
                return std::stod(page.at("metagroup_event_" + what + "_seconds_total{event=\"" +
                                         kEvents.at(event) + "\"}")
                                     .value);
            };
            double enabled = 0, running = 0, known = 0;
            for (int cpu = 0; cpu < kCpus; ++cpu) {
                enabled += static_cast<double>(module.group(cpu).enabled) / 1e9;
                running += static_cast<double>(module.group(cpu).running) / 1e9;
                known += static_cast<double>(module.group(cpu).truth.at(event).wall) / 1e9;
            }
            CHECK(seconds("enabled") == Approx(enabled).margin(1e-9));
            CHECK(seconds("running") == Approx(running).margin(1e-9));
            CHECK(seconds("known") == Approx(known).margin(1e-9));
        }
    }
}

void check_report(int seed) {
    Schedule schedule(seed, true, seed % 3 == 0);
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::test::PerfDataBuilder file;
    file.event({1, 2});
    file.event({11, 12});
    for (std::size_t event = 0; event < kEvents.size(); ++event)
        file.update(metagroup::test::PerfDataBuilder::name, 10 * event + 1, kEvents.at(event));
    for (int reading = 0; reading <= kReadings; ++reading) {
        if (reading > 0) schedule.run();
        for (int cpu = 0; cpu < kCpus; ++cpu) {
            ScheduledGroup& group = schedule.groups[static_cast<std::size_t>(cpu)];
            // An offline CPU takes no samples.
            if (!group.online() || !schedule.read(group, reading == 0)) continue;
            const metagroup::Reading now = group.reading();
            const auto id = static_cast<std::uint64_t>(cpu);
            file.sample(now.time, cpu, {{now.counts[0], id + 1}, {now.counts[1], id + 11}},
                        now.enabled, now.running);
        }
        file.round();
    }
    file.write(path);
    const auto check = [&](const nlohmann::json& line, std::size_t number) {
        const auto& group = schedule.groups[number % kCpus];
        const auto& truth = group.truth.at(number / kCpus);
        CAPTURE(line.dump(), truth.wall);
        CHECK(line.at("event") == kEvents.at(number / kCpus));
        CHECK(line.at("event-runtime") == group.running);
        CHECK(line.at("pcnt-running").get<double>() ==
              Approx(group.enabled == 0 ? 0
                                        : 100 * static_cast<double>(group.running) /
                                              static_cast<double>(group.enabled)));
        if (truth.wall == 0) {
            CHECK(line.at("counter-value") == "<not counted>");
            return;
        }
        check_number(line.at("counter-value"), truth.whole);
        check_number(line.at("metric-value"), truth.whole / static_cast<double>(truth.wall) * 1e9);
    };
    std::size_t number = 0;
    for (const auto& line : json_lines(run_here(tool::add_report, {"report", "-jA", path})))
        if (line.contains("counter-value")) check(line, number++);
    CHECK(number == kEvents.size() * kCpus);
    // Intervals add up to the whole.
    std::map<std::string, double> sums;
    for (const auto& line :
         json_lines(run_here(tool::add_report, {"report", "-jAI", "20us", path})))
        if (line.contains("interval") && line.at("counter-value").is_number())
            sums[line.at("event").get<std::string>() + line.at("cpu").get<std::string>()] +=
                line.at("counter-value").get<double>();
    for (std::size_t event = 0; event < kEvents.size(); ++event) {
        for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
            const std::string name = kEvents.at(event) + std::to_string(cpu);
            CAPTURE(name);
            check_number(sums[name], schedule.groups[cpu].truth.at(event).whole);
        }
    }
    // The sum of all CPUs.
    for (const auto& line : json_lines(run_here(tool::add_report, {"report", "-j", path}))) {
        if (!line.contains("counter-value") || !line.at("counter-value").is_number()) continue;
        const auto event = static_cast<std::size_t>(line.at("event") == kEvents[1]);
        double sum = 0;
        unsigned missing = 0;
        for (const ScheduledGroup& group : schedule.groups) {
            sum += group.truth.at(event).whole;
            missing += group.truth.at(event).wall == 0 ? 1U : 0U;
        }
        check_number(line.at("counter-value"), sum);
        CHECK(line.value("counters-missing", 0U) >= missing);
    }
}

struct FrontEnd {
    const char* name;
    void (*check)(int seed);
};

constexpr auto kFrontEnds = std::to_array<FrontEnd>({{"stat", check_stat_whole},
                                                     {"stat -I", check_stat_intervals},
                                                     {"stat -x and text", check_stat_formats},
                                                     {"top", check_top},
                                                     {"export", check_export},
                                                     {"report", check_report}});

// Messages on offline CPUs are not of interest.
class Quiet {
  public:
    Quiet() : saved_(::dup(STDERR_FILENO)) {
        const metagroup::detail::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(nowhere.get(), STDERR_FILENO);
    }
    ~Quiet() { ::dup2(saved_.get(), STDERR_FILENO); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    metagroup::detail::UniqueFd saved_;
};

}  // namespace

TEST_CASE("Each front end prints the true figures of random schedules") {
    if (number_online() < kCpus) SKIP("needs two CPUs");
    const auto& front_end = GENERATE(from_range(kFrontEnds));
    const Quiet quiet;
    for (int seed = 0; seed < 24; ++seed) {
        CAPTURE(front_end.name, seed);
        front_end.check(seed);
    }
}
