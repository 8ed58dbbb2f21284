// SPDX-License-Identifier: MIT
// The page of metagroup export: the rules of both formats, and its numbers.
#include "metrics_page.hpp"
#include "export/exposition.hpp"
#include "export/scrape.hpp"
#include "exporter.hpp"
#include "http.hpp"
#include "program.hpp"
#include "support/testpmu.hpp"

using tool::Exposition;
using tool::Format;

namespace {

using Events = std::map<std::string, tool::Counters::Event>;

constexpr std::uint64_t kLarge = (1ULL << 53) + 1;  // the first integer that no double has

tool::Counter counted(std::uint64_t count, double estimate = 0) {
    tool::Count result;
    result.count = result.enabled = result.running = count;
    result.estimate = estimate;
    result.counted = result.counters = 1;
    return {result};
}

// Of two CPUs.
MetricsPage page_of(const Events& events, Format format) {
    Exposition page(format);
    const tool::Labels labels({"event"}, metagroup::CpuList::parse("0-1"));
    tool::add_events(page, events, labels, labels);
    return read_page(std::move(page).finish(), format);
}

std::string text_of(Format format, const tool::LabelSet& labels) {
    Exposition page(format);
    page.begin("a", Exposition::Type::gauge, "A text.");
    page.add(tool::Number(0.25), labels);
    return std::move(page).finish();
}

}  // namespace

TEST_CASE("Counts above 2^53 are exact in both formats", "[no-module]") {
    const Format format = GENERATE(Format::text, Format::open_metrics);
    const Events events{
        {"a", {.unit = "", .counters = {{0, counted(kLarge)}, {1, counted(kLarge + 3)}}}},
        {"b", {.unit = "", .counters = {{0, counted(kLarge)}}}},
        {"most", {.unit = "", .counters = {{0, counted(UINT64_MAX)}}}}};
    const MetricsPage page = page_of(events, format);
    CHECK(page.at(R"(metagroup_events_total{event="a"})").value == "18014398509481989");
    CHECK(page.at(R"(metagroup_events_total{event="b"})").value == "9007199254740993");
    CHECK(page.at(R"(metagroup_events_total{event="most"})").value == "18446744073709551615");
}

TEST_CASE("Times above 2^53 ns are exact in both formats", "[no-module]") {
    const Format format = GENERATE(Format::text, Format::open_metrics);
    const MetricsPage page = page_of(
        {{"clock", {.unit = "seconds", .factor = 1e-9, .counters = {{0, counted(UINT64_MAX)}}}}},
        format);
    for (const char* name :
         {"metagroup_event_seconds_total", "metagroup_event_enabled_seconds_total",
          "metagroup_event_running_seconds_total"})
        CHECK(page.at(name + std::string(R"({event="clock"})")).value == "18446744073.709551615");
}

// The events count the same on two counters, which start one after the other.
TEST_CASE("An event with a scale is exported in its unit", "[machine]") {
    if (!metagroup::test::testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
    const Exporter exporter("{metagroup_test/energy/,metagroup_test/config=0,name=ns/}");
    const Samples samples = exporter.scrape();
    CHECK(samples.at(R"(metagroup_event_joules_total{event="metagroup_test/energy/",cpu="0"})") ==
          Approx(samples.at(R"(metagroup_events_total{event="ns",cpu="0"})") * 0x1p-32)
              .epsilon(0.01));
}

TEST_CASE("A count that becomes an estimate does not decrease", "[no-module]") {
    const auto value = [](double estimate) {
        return page_of({{"a", {.unit = "", .counters = {{0, counted(kLarge, estimate)}}}}},
                       Format::text)
            .at(R"(metagroup_events_total{event="a"})")
            .value;
    };
    CHECK(value(0) == "9007199254740993");
    CHECK(value(0.4) == "9007199254740993");
    CHECK(value(2.5) == "9007199254740995");
    // More than 64 bits.
    CHECK(std::stod(value(0x1p64)) == 0x1p64 + 0x1p53);
}

TEST_CASE("The exporter's page follows the rules of its declared format") {
    const auto accept = GENERATE("", "Accept: application/openmetrics-text\r\n");
    const Exporter exporter(R"({cpu-clock,page-faults},software/config=2,name="x\y"/)",
                            "cpu,socket");
    for (int scrape = 0; scrape < 2; ++scrape)
        CHECK(samples_of(exporter.answer({.headers = accept})).contains("metagroup_sweeps_total"));
}

TEST_CASE("Values of labels are escaped", "[no-module]") {
    const std::string text = text_of(Format::text, {{"b", "x\\y"}, {"c", "\"\n"}});
    CHECK(text == "# HELP a A text.\n# TYPE a gauge\na{b=\"x\\\\y\",c=\"\\\"\\n\"} 0.25\n");
    CHECK_NOTHROW(read_page(text, Format::text));
}

TEST_CASE("A histogram has limits, a sum and a count", "[no-module]") {
    const Format format = GENERATE(Format::text, Format::open_metrics);
    tool::Times times;
    times.add(5'000);
    times.add(5'001);
    times.add(3'000'000'000);
    Exposition page(format);
    page.begin("a_seconds", Exposition::Type::histogram, "A text.");
    page.add(times);
    const MetricsPage read = read_page(std::move(page).finish(), format);
    CHECK(read.at(R"(a_seconds_bucket{le="5e-06"})").value == "1");
    CHECK(read.at(R"(a_seconds_bucket{le="1e-05"})").value == "2");
    CHECK(read.at(R"(a_seconds_bucket{le="0.1"})").value == "2");
    CHECK(read.at(R"(a_seconds_bucket{le="+Inf"})").value == "3");
    CHECK(read.at("a_seconds_sum").value == "3.000010001");
    CHECK(read.at("a_seconds_count").value == "3");
}

TEST_CASE("A page that breaks a rule of its format is refused", "[no-module]") {
    const std::string good =
        "# HELP a_total A text.\n# TYPE a_total counter\na_total{b=\"c\"} 1\na_total{b=\"d\"} 2\n";
    REQUIRE_NOTHROW(read_page(good, Format::text));
    CHECK_THROWS(read_page(good, Format::open_metrics));
    CHECK_THROWS(read_page(good + "# EOF\n", Format::text));
    const auto& [from, to] = GENERATE(table<std::string, std::string>({
        {"counter", "counts"},
        {"# HELP a_total A text.\n", ""},
        {"# HELP a_total A text.\n", "# HELP b_total A text.\n"},
        {"# TYPE a_total counter\n", ""},
        {"a_total{b=\"c\"}", "a{b=\"c\"}"},
        {"{b=\"c\"}", "{b=\"d\"}"},
        {"{b=\"c\"}", "{e=\"c\"}"},
        {"{b=\"c\"}", "{1=\"c\"}"},
        {"{b=\"c\"}", "{b=\"c\",b=\"c\"}"},
        {"{b=\"c\"}", "{b=\"\\c\"}"},
        {"{b=\"c\"}", "{b=\"c}"},
        {"} 1\n", "} inf\n"},
        {"} 1\n", "} nan\n"},
        {"} 1\n", "} -1\n"},
        {"} 1\n", "}  1\n"},
        {"} 1\n", "} 1 \n"},
        {"} 1\n", "} 1\n\n"},
    }));
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    CAPTURE(bad);
    CHECK_THROWS(read_page(bad, Format::text));
}

TEST_CASE("An event without a known count is absent from the counts, and does not count as 0",
          "[no-module]") {
    tool::Counter unknown;
    unknown.count.counters = 1;
    unknown.count.enabled = kLarge;
    unknown.states[static_cast<std::size_t>(tool::State::never)] = 1;
    const MetricsPage page = page_of({{"a", {.unit = "", .counters = {{0, unknown}}}}},
                                     GENERATE(Format::text, Format::open_metrics));
    CHECK_FALSE(page.contains(R"(metagroup_events_total{event="a"})"));
    CHECK(page.at(R"(metagroup_event_counters{event="a",state="never"})").value == "1");
    CHECK(page.at(R"(metagroup_event_enabled_seconds_total{event="a"})").value ==
          "9007199.254740993");
}

TEST_CASE("A reading is a gauge, with the mean of its CPUs", "[no-module]") {
    const MetricsPage page = page_of(
        {{"margin",
          {.unit = "c", .reading = true, .counters = {{0, counted(40)}, {1, counted(50)}}}}},
        GENERATE(Format::text, Format::open_metrics));
    const auto& margin = page.at(R"(metagroup_reading_c{event="margin"})");
    CHECK(margin.type == "gauge");
    CHECK(std::stod(margin.value) == 45);
    CHECK_FALSE(page.contains(R"(metagroup_event_c_total{event="margin"})"));
}
