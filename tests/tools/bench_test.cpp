// SPDX-License-Identifier: MIT
// metagroup_bench: every method runs and reports what the report needs, and wrong counts are
// detected.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "unit/helpers.hpp"
#include "verify.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

Outcome run_bench(const std::string& arguments) {
    return run_program(METAGROUP_BENCH " " + arguments);
}

// The JSON object of the benchmark of that name, to which Google Benchmark adds a suffix.
std::string entry(const std::string& json, const std::string& name) {
    const std::size_t begin = json.find("\"name\": \"" + name + "/");
    if (begin == std::string::npos) return {};
    return json.substr(begin, json.find('}', begin) - begin);
}

bool has(const std::string& entry, const std::string& counter) {
    return entry.find("\"" + counter + "\": ") != std::string::npos;
}

using Counts = std::vector<std::uint64_t>;

// Delivers the true counts as changed by `twist`.
class FakeMethod : public bench::Method {
  public:
    explicit FakeMethod(std::function<Counts(const Counts&)> twist) : twist_(std::move(twist)) {
        groups_.enable();
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override { counts_ = twist_(groups_.counts()); }
    Counts counts() const override { return counts_; }

  private:
    measure::CpuGroups groups_{metagroup::parse_events("{cpu-clock,page-faults}"),
                               metagroup::CpuList({metagroup::test::first_cpu()})};
    std::function<Counts(const Counts&)> twist_;
    Counts counts_;
};

void verify(const std::function<Counts(const Counts&)>& twist) {
    FakeMethod method(twist);
    bench::verify_counts(method);
}

}  // namespace

TEST_CASE("the benchmark explains itself and its methods") {
    const Outcome outcome = run_bench("--help");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("--cpus") && ContainsSubstring("--targets") &&
                                 ContainsSubstring("per_fd") && ContainsSubstring("sampling"));
}

TEST_CASE("the benchmark refuses unknown options and methods") {
    CHECK(run_bench("--nonsense").status != 0);
    CHECK_THAT(run_bench("--methods=telepathy").text, ContainsSubstring("telepathy"));
    CHECK_THAT(run_bench("--events=99").text, ContainsSubstring("--group-events"));
    CHECK_THAT(run_bench("--benchmark_nonsense=1").text, ContainsSubstring("--benchmark_nonsense"));
}

TEST_CASE("every method delivers true counts and its costs", "[module]") {
    const Outcome outcome =
        run_bench("--cpus=0,1 --time=0 --benchmark_repetitions=1 --benchmark_format=json");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    for (const std::string method :
         {"null_syscall", "per_fd", "migrating", "threads", "io_uring", "sampling", "bpf", "raw",
          "framed", "mapped", "quiet", "stream", "slow_stream", "stream_library", "floor",
          "timer_floor", "attach"}) {
        for (const std::string targets : {"idle", "busy"}) {
            const std::string name = method + "/" + targets + "/cpus:2/events:4/groups:1";
            CAPTURE(name);
            const std::string one = entry(outcome.text, name);
            CHECK(has(one, "real_time"));
            CHECK_FALSE(has(one, "error_message"));
            CHECK(has(one, "syscalls"));
            CHECK(has(one, "ipis"));
            CHECK(has(one, "wakeups") == (targets == "idle"));
            const bool reads = method != "null_syscall" && method != "attach" &&
                               method.find("floor") == std::string::npos;
            const bool library = method == "stream_library";
            CHECK(has(one, "memory_bytes") == (reads && !library));
            // Streams: unless a CPU is behind the others in all tries.
            const bool stream = method.find("stream") != std::string::npos;
            if (!stream) CHECK(has(one, "skew_ns") == (reads && method != "io_uring"));
            CHECK(has(one, "lost") == stream);
            CHECK(has(one, "overruns") == (stream && !library));
            CHECK(has(one, "late_p99_ns") == (stream && !library));
            CHECK(has(one, "max_rate") == (stream && !library && targets == "busy"));
        }
    }
}

TEST_CASE("the benchmark takes several shapes and other events", "[module]") {
    const Outcome shapes = run_bench(
        "--cpus=0,1 --targets=idle --methods=raw,bpf,sampling --events=1,8 --groups=1,3 --time=0 "
        "--benchmark_repetitions=1 --benchmark_format=json");
    CAPTURE(shapes.text);
    for (const std::string method : {"raw", "bpf", "sampling"}) {
        for (const std::string events : {"1", "8"}) {
            for (const std::string groups : {"1", "3"})
                CHECK(has(entry(shapes.text,
                                method + "/idle/cpus:2/events:" + events + "/groups:" + groups),
                          "memory_bytes"));
        }
    }
    const Outcome other = run_bench(
        "--cpus=0 --targets=busy --methods=per_fd --group-events='{task-clock,dummy}' --time=0 "
        "--benchmark_repetitions=1");
    CAPTURE(other.text);
    CHECK_THAT(other.text, ContainsSubstring("per_fd/busy/cpus:1/events:2/groups:1"));
}

TEST_CASE("without the module its methods are skipped with the reason", "[no-module]") {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module is loaded here");
    const Outcome outcome = run_bench(
        "--cpus=0 --targets=idle --methods=null_syscall,raw --time=0 --benchmark_repetitions=1");
    CAPTURE(outcome.text);
    CHECK_THAT(outcome.text, ContainsSubstring("modprobe"));
}

TEST_CASE("a method that delivers true counts passes") {
    metagroup::test::need_software_events();
    CHECK_NOTHROW(verify([](const Counts& counts) { return counts; }));
}

TEST_CASE("a method that is late once is verified again") {
    metagroup::test::need_software_events();
    bool late = true;
    CHECK_NOTHROW(verify([&](const Counts& counts) {
        return std::exchange(late, false) ? Counts{1, counts[1]} : counts;
    }));
}

TEST_CASE("a method that delivers old, wrong, too few or no counts fails") {
    metagroup::test::need_software_events();
    Counts old;
    CHECK_THROWS_MATCHES(verify([&](const Counts& counts) {
                             if (old.empty()) old = {1, counts[1]};
                             return old;
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Counts& counts) {
                             return Counts{counts[0] + 1'000'000'000'000, counts[1]};
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Counts& counts) { return Counts{counts[0]}; }),
                         std::runtime_error, MessageMatches(ContainsSubstring("1 counts of 2")));
    CHECK_THROWS_MATCHES(verify([](const Counts&) { return Counts{}; }), std::runtime_error,
                         MessageMatches(ContainsSubstring("0 counts of 2")));
}
