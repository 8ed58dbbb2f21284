// SPDX-License-Identifier: MIT
// --backend percpu. Kernels have what it needs only with the patches in upstream/.
#include <metagroup/recording.hpp>

#include "exporter.hpp"
#include "program.hpp"
#include "support/backends.hpp"

namespace {

// METAGROUP_TEST_BACKEND says that the kernel must have it.
void need_percpu() {
    const Outcome tried = run_tool("stat -e dummy --backend percpu --timeout 1ms");
    if (tried.status == 0) return;
    CAPTURE(tried.text);
    REQUIRE(metagroup::test::other_backend() != metagroup::Backend::percpu);
    SKIP("this kernel has no PERF_FORMAT_PERCPU, or counting is not permitted");
}

}  // namespace

TEST_CASE("Where a kernel has no events on all CPUs, stat and info say so, and auto is without") {
    const Outcome tried = run_tool("stat -e dummy --backend percpu --timeout 1ms");
    const auto info = nlohmann::json::parse(tool_output("info --json"));
    const auto available = info.at("backends").at("available");
    const bool offered = std::ranges::find(available, "percpu") != available.end();
    CHECK(offered == (tried.status == 0));
    CHECK(info.at("backends").at("auto") != "percpu");
    const auto check = std::ranges::find_if(info.at("checks"), [](const nlohmann::json& tested) {
        return tested.at("what").get<std::string>().find("experimental") != std::string::npos;
    });
    REQUIRE(check != info.at("checks").end());
    CHECK(check->at("works") == offered);
    if (tried.status == 0) return;
    CHECK(tried.status == kFailure);
    CHECK_THAT(tried.text,
               ContainsSubstring("PERF_FORMAT_PERCPU") || ContainsSubstring("perf_event_paranoid"));
}

TEST_CASE("stat counts by an event on all CPUs what it counts one CPU at a time", "[machine]") {
    need_percpu();
    const std::string command =
        " -A -j -e '{cpu-clock,page-faults},task-clock' --timeout 200ms -o /dev/stdout";
    const auto lines = json_lines(tool_output("stat --backend percpu" + command));
    const auto other = json_lines(tool_output("stat --backend per-fd" + command));
    REQUIRE(lines.size() == other.size());
    // The last line says what stat itself cost.
    REQUIRE(lines.size() == 3 * metagroup::CpuList::online().size() + 1);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        CAPTURE(lines[i].dump(), other[i].dump());
        CHECK(lines[i].at("event") == other[i].at("event"));
        CHECK(lines[i].at("cpu") == other[i].at("cpu"));
        if (lines[i].at("event") == "cpu-clock")
            CHECK(lines[i].at("counter-value").get<double>() > 100);  // ms
    }
    CHECK_THAT(tool_output("stat --backend percpu -e cpu-clock --timeout 10ms 2>&1"),
               ContainsSubstring("by percpu"));
}

TEST_CASE("top, export and record use an event on all CPUs", "[machine]") {
    need_percpu();
    CHECK_THAT(tool_output("top --batch --method sweep -n 2 -d 0.1 -e cpu-clock,page-faults "
                           "--backend percpu </dev/null"),
               ContainsSubstring("percpu"));
    const Exporter exporter({"-e", "{cpu-clock,page-faults}", "--backend", "percpu"});
    const auto page = exporter.answer();
    CHECK_THAT(page, ContainsSubstring(R"({event="cpu-clock",state="counted"} )" +
                                       std::to_string(metagroup::CpuList::online().size())));
    const metagroup::test::TempTree here;
    const std::string file = here.path("perf.data");
    CHECK(
        run_tool("record -o " + file + " -e cpu-clock --backend percpu --duration 100ms").status ==
        0);
    metagroup::Recording recording(file);
    CHECK(recording.next());
}

TEST_CASE("stat says what an event on all CPUs does not count", "[machine]") {
    need_percpu();
    tool_fails("stat -e cpu-clock --backend percpu -G / --timeout 10ms", {"counts all tasks"});
    tool_fails("stat -e cpu-clock --backend percpu --quiet-cpus --timeout 10ms",
               {"require the module"});
    tool_fails("stat -e cpu-clock --backend percpu --origin set --timeout 10ms",
               {"sets require the module"});
}
