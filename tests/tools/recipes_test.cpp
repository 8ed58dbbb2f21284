// SPDX-License-Identifier: MIT
// Recipes of the documents that compute with counts.
#include "program.hpp"

namespace {

// Of the project; they are not in guests.
std::string document(const std::string& name) {
    const std::string path = METAGROUP_PROJECT "/" + name;
    if (!std::filesystem::exists(path)) SKIP(name + " is not here");
    return contents_of(path);
}

}  // namespace

TEST_CASE("The trace of the README has the rate or the ratio of each CPU, under its unit",
          "[no-module]") {
    if (run_program("jq --version").status != 0) SKIP("jq is not installed");
    const std::string readme = document("README.md");
    std::smatch recipe;
    REQUIRE(std::regex_search(
        readme, recipe, std::regex("```sh\nmetagroup( report [^`]*\\| jq [^`]*)> trace.json")));
    const Recorded recorded(100);
    const Outcome outcome =
        run_program("cp " + recorded.path + ' ' + recorded.tree.path() + "/perf.data && cd " +
                    recorded.tree.path() + " && " METAGROUP_TOOL + recipe[1].str());
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    const auto trace = nlohmann::json::parse(outcome.text);
    std::map<std::string, int> points;
    for (const auto& point : trace) {
        const std::string name = point.at("name");
        ++points[name];
        if (name.ends_with("instructions"))
            CHECK(point.at("args").at("insn per cycle").get<double>() == Approx(2));
        else
            CHECK(point.at("args").at("/sec").get<double>() ==
                  Approx(1e9 * (name.at(3) - '0' + 1)).epsilon(0.01));
        CHECK(point.at("ts").get<double>() <= 100'000);
    }
    CHECK(points.size() == 6);
    CHECK(points["CPU0 cycles"] >= 98);
    CHECK(points["CPU2 instructions"] >= 95);
}

TEST_CASE("The rule for power adds up only domains that do not overlap") {
    const std::string page = document("docs/prometheus.md");
    std::smatch rule;
    REQUIRE(std::regex_search(
        page, rule, std::regex("metagroup_event_joules_total\\{event=~\"([^\"]*)\"\\}\\[5m\\]")));
    const std::regex domains(rule[1].str());
    const auto counts = [&](const char* event) {
        return std::regex_match(std::string(event), domains);
    };
    CHECK(counts("power/energy-pkg/"));
    CHECK(counts("power/energy-ram/"));
    // Within the package, or around all.
    CHECK_FALSE(counts("power/energy-cores/"));
    CHECK_FALSE(counts("power/energy-gpu/"));
    CHECK_FALSE(counts("power/energy-psys/"));
}
