// SPDX-License-Identifier: MIT
// Ways to read are compared: by metagroup compare, and by metagroup_bench, of which every method
// runs and reports what the report needs, and wrong counts are detected. Tag [module]: needs the
// module, so it runs in guests only; [no-module]: the opposite.
#include <stdexcept>

#include "program.hpp"
#include "unit/helpers.hpp"
#include "verify.hpp"

using Catch::Matchers::MessageMatches;

namespace {

// A line for each number of CPUs; the last one is that of all.
std::vector<nlohmann::json> compare(const std::string& arguments) {
    return json_lines(tool_output("compare --json " + arguments));
}

}  // namespace

TEST_CASE("compare --help lists its options") {
    CHECK_THAT(tool_output("compare --help"), ContainsSubstring("--event") &&
                                                  ContainsSubstring("--cpu") &&
                                                  ContainsSubstring("--sweeps"));
}

TEST_CASE("compare refuses unknown options and invalid numbers") {
    tool_fails("compare --nonsense", {"unknown option"});
    tool_fails("compare --sweeps 0", {"not in range 1 to"});
    tool_fails("compare --sweeps many", {"not in range 1 to"});
}

TEST_CASE("compare suggests events similar to an unknown one") {
    tool_fails("compare -e '{cpu-clok}'", {"cpu-clock"});
}

TEST_CASE("compare refuses several groups and shows how to write one") {
    tool_fails("compare -e cpu-clock,task-clock", {"in braces"});
}

TEST_CASE("compare refuses an invalid CPU list") {
    tool_fails("compare -C 1-", {"CPU list \"1-\""});
}

TEST_CASE("Without the module, compare explains how to load it", "[no-module]") {
    need_no_module();
    tool_fails("compare -e '{cpu-clock}'", {"modprobe perf_metagroup"});
}

TEST_CASE("compare shows that both methods count the same, and their costs", "[module]") {
    CHECK_THAT(tool_output("compare --sweeps 200"),
               ContainsSubstring("all counts are the same with both backends") &&
                   ContainsSubstring("mutexes") && ContainsSubstring("interrupts") &&
                   !ContainsSubstring("slow motion"));
}

TEST_CASE("In slow motion compare labels its times", "[module]") {
    const Outcome outcome =
        run_program("METAGROUP_SLOW_MOTION=10000000 " METAGROUP_TOOL " compare --sweeps 20");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("in slow motion:"));
}

TEST_CASE("compare counts one system call for the module and one per CPU without", "[module]") {
    const nlohmann::json last = compare("--sweeps 200").back();
    const auto cpus = static_cast<double>(number_online());
    CHECK(last["cpus"] == cpus);
    CHECK(last["same-counts"] == true);
    CHECK(last["module"]["system-calls"] == 1.0);
    CHECK(last["per-fd"]["system-calls"] == cpus);
    CHECK(last["module"]["samples-per-second"] > 0);
}

TEST_CASE("compare counts mutexes and waits per CPU without the module, and one of each with it",
          "[module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const nlohmann::json last = compare("--sweeps 200").back();
    const auto cpus = static_cast<double>(number_online());
    // With link-time optimization, which only clang has, a probe may see no call.
    if (last["per-fd"]["waits"].is_null() &&
        contents_of("/proc/version").find("clang") != std::string::npos)
        SKIP("the compiler of this kernel has inlined the calls that are counted");
    CHECK(last["per-fd"]["mutexes"] >= cpus);
    CHECK(last["per-fd"]["waits"] == cpus - 1);  // its own CPU needs no interrupt
    CHECK(last["module"]["mutexes"] == 1.0);
    CHECK(last["module"]["waits"] == 1.0);
}

TEST_CASE("compare does not show 0 where a probe sees none of the calls", "[module]") {
    const std::string enabled = "/sys/kernel/debug/kprobes/enabled";
    if (::access(enabled.c_str(), W_OK) != 0) SKIP("needs debugfs to switch probes off");
    // To a probe that is off, calls look as if the compiler had inlined them.
    std::ofstream(enabled) << 0;
    const Outcome lines = run_tool("compare --json --sweeps 20");
    const Outcome table = run_tool("compare --sweeps 20");
    std::ofstream(enabled) << 1;
    CAPTURE(lines.text);
    REQUIRE(lines.status == 0);
    const nlohmann::json last = json_lines(lines.text).back();
    for (const char* backend : {"per-fd", "module"})
        for (const char* cost : {"mutexes", "waits"})
            CHECK(last[backend][cost].is_null());
    CHECK(last["module"]["system-calls"] == 1.0);
    CHECK_THAT(table.text, ContainsSubstring("Some costs are unknown: probes do not see"));
}

TEST_CASE("compare --numbers selects the numbers of CPUs", "[module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const auto lines = compare("--sweeps 10 --numbers 2,1");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["cpus"] == 2);
    CHECK(lines[1]["cpus"] == 1);
}

TEST_CASE("compare refuses more CPUs than the machine has") {
    tool_fails("compare -C 0 -e '{cpu-clock}' --numbers 2", {"--numbers needs 2 CPUs"});
}

TEST_CASE("compare compares 1, 2, 4 ... and all CPUs", "[module]") {
    std::size_t expected = 1;
    for (std::size_t number = 1; number < number_online(); number *= 2)
        ++expected;
    CHECK(compare("--sweeps 10").size() == expected);
}

TEST_CASE("compare names a CPU that does not exist", "[module]") {
    tool_fails("compare -C 0,4095", {"this machine has no CPU 4095"});
}

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

using Values = std::vector<std::uint64_t>;

// Delivers the true counts as changed by `twist`.
class FakeMethod : public bench::Method {
  public:
    explicit FakeMethod(std::function<Values(const Values&)> twist) : twist_(std::move(twist)) {
        groups_.enable();
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override { counts_ = twist_(groups_.counts()); }
    Values counts() const override { return counts_; }

  private:
    measure::CpuGroups groups_{metagroup::parse_events("{cpu-clock,page-faults}"),
                               metagroup::CpuList({metagroup::test::first_cpu()})};
    std::function<Values(const Values&)> twist_;
    Values counts_;
};

void verify(const std::function<Values(const Values&)>& twist) {
    FakeMethod method(twist);
    bench::verify_counts(method);
}

}  // namespace

TEST_CASE("The benchmark has help for its options and methods", "[bench]") {
    const Outcome outcome = run_bench("--help");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("--cpus") && ContainsSubstring("--targets") &&
                                 ContainsSubstring("per_fd") && ContainsSubstring("sampling"));
}

TEST_CASE("The benchmark refuses unknown options and methods", "[bench]") {
    CHECK_THAT(run_bench("--nonsense").text, ContainsSubstring("unknown option --nonsense"));
    CHECK_THAT(run_bench("--methods=telepathy").text, ContainsSubstring("telepathy not in {"));
    CHECK_THAT(run_bench("--events=99").text, ContainsSubstring("not in range"));
    CHECK_THAT(run_bench("--benchmark_nonsense=1").text,
               ContainsSubstring("unknown option --benchmark_nonsense"));
}

TEST_CASE("Every method returns correct counts and its costs", "[module][bench]") {
    const bool idle = GENERATE(true, false);
    const std::string targets = idle ? "idle" : "busy";
    const Outcome outcome = run_bench(
        "--cpus=0,1 --time=0 --benchmark_repetitions=1 "
        "--benchmark_format=json --targets=" +
        targets);
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    for (const std::string method :
         {"null_syscall", "per_fd", "migrating", "threads", "io_uring", "sampling", "bpf", "raw",
          "framed", "mapped", "quiet", "stream", "stream_10", "stream_library", "stream_quiet",
          "floor", "timer_floor", "attach"}) {
        const std::string name = method + "/" + targets + "/cpus:2/events:4/groups:1";
        CAPTURE(name);
        const std::string one = entry(outcome.text, name);
        CHECK(has(one, "real_time"));
        CHECK_FALSE(has(one, "error_message"));
        CHECK(has(one, "syscalls"));
        CHECK(has(one, "ipis"));
        CHECK(has(one, "wakeups") == idle);
        const bool times = method != "null_syscall" && method != "attach" && method != "io_uring" &&
                           method.find("floor") == std::string::npos;
        // Streams: unless a CPU is behind the others in all tries, or idle.
        const bool stream = method.find("stream") != std::string::npos;
        if (!stream) CHECK(has(one, "skew_ns") == times);
        CHECK(has(one, "lost") == stream);
        const bool by_rings = method == "stream" || method == "stream_10";
        if (method != "stream_quiet") {
            CHECK(has(one, "overruns") == by_rings);
            CHECK(has(one, "late_p99_ns") == by_rings);
        }
        CHECK(has(one, "max_rate") == (by_rings && !idle));
    }
}

TEST_CASE("The benchmark accepts several shapes and other events", "[module][bench]") {
    const std::string events = GENERATE("1", "8");
    const std::string groups = GENERATE("1", "3");
    const Outcome shapes = run_bench(
        "--cpus=0,1 --methods=raw,bpf,sampling --time=0 --benchmark_repetitions=1 "
        "--benchmark_format=json --events=" +
        events + " --groups=" + groups);
    CAPTURE(shapes.text);
    for (const std::string method : {"raw", "bpf", "sampling"})
        CHECK(
            has(entry(shapes.text, method + "/idle/cpus:2/events:" + events + "/groups:" + groups),
                "syscalls"));
    const Outcome other = run_bench(
        "--cpus=0 --targets=busy --methods=per_fd --group-events='{task-clock,dummy}' --time=0 "
        "--benchmark_repetitions=1");
    CAPTURE(other.text);
    CHECK_THAT(other.text, ContainsSubstring("per_fd/busy/cpus:1/events:2/groups:1"));
}

TEST_CASE("Without the module, its methods are skipped with the reason", "[no-module][bench]") {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module is loaded here");
    const Outcome outcome =
        run_bench("--cpus=0 --methods=null_syscall,raw --time=0 --benchmark_repetitions=1");
    CAPTURE(outcome.text);
    CHECK_THAT(outcome.text, ContainsSubstring("modprobe"));
}

TEST_CASE("A method that returns correct counts passes") {
    metagroup::test::need_software_events();
    CHECK_NOTHROW(verify([](const Values& counts) { return counts; }));
}

TEST_CASE("A method that is late once is verified again") {
    metagroup::test::need_software_events();
    bool late = true;
    CHECK_NOTHROW(verify([&](const Values& counts) {
        return std::exchange(late, false) ? Values{1, counts[1]} : counts;
    }));
}

TEST_CASE("A method that returns old, wrong, too few or no counts fails") {
    metagroup::test::need_software_events();
    Values old;
    CHECK_THROWS_MATCHES(verify([&](const Values& counts) {
                             if (old.empty()) old = {1, counts[1]};
                             return old;
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Values& counts) {
                             return Values{counts[0] + 1'000'000'000'000, counts[1]};
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Values& counts) { return Values{counts[0]}; }),
                         std::runtime_error, MessageMatches(ContainsSubstring("1 counts of 2")));
    CHECK_THROWS_MATCHES(verify([](const Values&) { return Values{}; }), std::runtime_error,
                         MessageMatches(ContainsSubstring("0 counts of 2")));
}
