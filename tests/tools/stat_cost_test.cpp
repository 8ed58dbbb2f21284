// SPDX-License-Identifier: MIT
// Instructions of an interval of `stat -I` after its sweep: they take CPU time from the measured
// load.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <vector>

#include "common/aggregation.hpp"
#include "common/count_report.hpp"
#include "common/output.hpp"
#include "common/totals.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"
#include "support/instruction_counter.hpp"

using metagroup::MetaGroup;
using metagroup::ReadFormat;
using metagroup::Snapshot;
using metagroup::test::Frame;

namespace {

constexpr std::uint32_t kCpus = 32;

// Four events on 32 CPUs, in one row each.
class Interval {
  public:
    using MakeReport = std::function<std::unique_ptr<tool::Report>(tool::Output&, tool::Subject)>;

    explicit Interval(const MakeReport& make_report)
        : report_(make_report(output_,
                              {rows_, totals_.columns(), metrics_, "system wide", "", "module"})) {}

    void show() {
        totals_.clear();
        totals_.add(metagroup::Delta(older_, newer_));
        report_->interval(1234.567890123, totals_);
    }

  private:
    static std::vector<MetaGroup::Member> members() {
        std::vector<MetaGroup::Member> all;
        for (std::uint32_t i = 0; i < kCpus; ++i)
            all.push_back({i, static_cast<int>(i), 0});
        return all;
    }

    static Snapshot snapshot(std::uint64_t second) {
        constexpr auto format =
            static_cast<std::uint32_t>(ReadFormat::group | ReadFormat::total_time_enabled |
                                       ReadFormat::total_time_running | ReadFormat::id);
        const std::uint64_t time = second * 1'000'000'000;
        std::vector<Frame> frames;
        for (std::uint32_t i = 0; i < kCpus; ++i)
            frames.push_back({i, i, time,
                              metagroup::test::payload(format,
                                                       {{time, 4ULL * i},
                                                        {time / 7 * 13, 4ULL * i + 1},
                                                        {second * 1'234'567, 4ULL * i + 2},
                                                        {second * 321, 4ULL * i + 3}},
                                                       time, time),
                              format});
        return metagroup::test::snapshot(metagroup::test::framed(frames));
    }

    const std::vector<metagroup::GroupSpec> groups_ =
        metagroup::parse_events("{cpu-clock,task-clock,context-switches,page-faults}");
    const tool::Aggregation rows_{tool::AggrMode::all, metagroup::CpuList::parse("0-31")};
    tool::Totals totals_{groups_, members(), rows_};
    const tool::Metrics metrics_{totals_.columns()};
    tool::Output output_{"/dev/null"};
    std::unique_ptr<tool::Report> report_;
    const Snapshot older_ = snapshot(1);
    const Snapshot newer_ = snapshot(2);
};

void check_instructions(const Interval::MakeReport& make_report, std::uint64_t most) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("only code that is optimized, and not instrumented, says something");
#endif
    Interval interval(make_report);
    const auto instructions = metagroup::test::count_instructions([&] { interval.show(); });
    if (!instructions) SKIP("processes may not be traced here");
    UNSCOPED_INFO("instructions: " << *instructions);
    CHECK(*instructions > 1000);
    CHECK(*instructions <= most);
}

}  // namespace

// perf stat -I takes 43,000 with its reads.
TEST_CASE("An interval of 32 CPUs as text takes few instructions", "[no-module]") {
    check_instructions(tool::make_text_report, 30'000);
}

TEST_CASE("An interval of 32 CPUs as CSV takes few instructions", "[no-module]") {
    check_instructions(
        [](tool::Output& output, tool::Subject subject) {
            return tool::make_csv_report(output, std::move(subject), ",");
        },
        34'000);
}

TEST_CASE("An interval of 32 CPUs as JSON takes few instructions", "[no-module]") {
    check_instructions(tool::make_json_report, 34'000);
}

TEST_CASE("An interval as text allocates nothing", "[no-module]") {
    Interval interval(tool::make_text_report);
    for (int i = 0; i < 2; ++i)
        interval.show();
    const metagroup::test::AllocationCounter allocations;
    interval.show();
    CHECK(allocations.count() == 0);
}
