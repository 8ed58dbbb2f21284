// SPDX-License-Identifier: MIT
// The facts that metagroup info reads from files, and its page.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "info/facts.hpp"
#include "info/page.hpp"
#include "support/temp_tree.hpp"

using tool::Json;
using tool::System;

TEST_CASE("Missing files make unknown facts", "[no-module]") {
    const metagroup::test::TempTree nothing;
    const System system(nothing.path());
    CHECK(tool::kernel_facts(system).at("virtual-machine").is_null());
    CHECK(tool::cpu_facts(system).at("cores").is_null());
    CHECK(tool::privilege_facts(system).at("capabilities").is_null());
    CHECK(tool::privilege_facts(system).at("perf-event-paranoid").is_null());
    CHECK(tool::module_facts(system, nothing.path("device")).at("loaded") == false);
    CHECK(tool::pmu_facts(system).empty());
}

TEST_CASE("The flag hypervisor of the CPU marks a virtual machine", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu hypervisor");
    const Json guest = tool::kernel_facts(System(tree.path()));
    CHECK(guest.at("virtual-machine") == true);
    CHECK(guest.at("cpu-model") == "A CPU");
    tree.file("proc/cpuinfo", "flags\t\t: fpu vme");
    CHECK(tool::kernel_facts(System(tree.path())).at("virtual-machine") == false);
}

TEST_CASE("CPUs are counted by core, socket and node", "[no-module]") {
    metagroup::test::TempTree tree;
    const std::string cpus = "sys/devices/system/cpu/";
    tree.file(cpus + "online", "0-3")
        .file(cpus + "isolated", "2")
        .file(cpus + "nohz_full", "(null)");
    for (int cpu = 0; cpu < 4; ++cpu) {
        const std::string topology = cpus + "cpu" + std::to_string(cpu) + "/topology/";
        tree.file(topology + "physical_package_id", "0").file(topology + "die_id", "0");
        tree.file(topology + "core_id", std::to_string(cpu / 2));
    }
    const Json facts = tool::cpu_facts(System(tree.path()));
    CHECK(facts.at("cores") == 2);
    CHECK(facts.at("sockets") == 1);
    CHECK(facts.at("isolated") == "2");
    CHECK(facts.at("nohz-full") == "");
    CHECK(facts.at("offline").is_null());
}

TEST_CASE("Privileges are read from the process's status", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("proc/self/status", "Name:\tx\nCapEff:\t0000004000200000\nSeccomp:\t2")
        .file("proc/self/uid_map", "         0       1000          1")
        .file("proc/sys/kernel/perf_event_paranoid", "-1")
        .file("sys/kernel/security/lockdown", "none [integrity] confidentiality");
    const Json facts = tool::privilege_facts(System(tree.path()));
    CHECK(facts.at("capabilities") == Json::array({"CAP_PERFMON", "CAP_SYS_ADMIN"}));
    CHECK(facts.at("seccomp") == "filter");
    CHECK(facts.at("first-user-namespace") == false);
    CHECK(facts.at("perf-event-paranoid") == -1);
    CHECK(facts.at("lockdown") == "integrity");
}

TEST_CASE("The first user namespace maps all users to themselves", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("proc/self/uid_map", "         0          0 4294967295");
    CHECK(tool::privilege_facts(System(tree.path())).at("first-user-namespace") == true);
}

TEST_CASE("A PMU has its type, CPUs and caps", "[no-module]") {
    metagroup::test::TempTree tree;
    const std::string pmu = "sys/bus/event_source/devices/uncore_test/";
    tree.file(pmu + "type", "77").file(pmu + "cpumask", "0,8").file(pmu + "caps/slots", "4");
    const Json facts = tool::pmu_facts(System(tree.path()));
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].at("type") == 77);
    CHECK(facts[0].at("cpus") == "0,8");
    CHECK(facts[0].at("caps").at("slots") == "4");
    CHECK(facts[0].at("counters").is_null());
}

TEST_CASE("Facts are aligned below the name of their section", "[no-module]") {
    Json report;
    report["things"] = {{"a", 1}, {"long-name", "text"}, {"c", nullptr}, {"d", false}};
    CHECK(tool::as_page(report) ==
          "things\n"
          "  a          1\n"
          "  long name  text\n"
          "  c          unknown\n"
          "  d          no\n");
}

TEST_CASE("Arrays are tables", "[no-module]") {
    Json report;
    report["pmus"] = Json::array(
        {{{"pmu", "software"}, {"counters", nullptr}}, {{"pmu", "cpu"}, {"counters", 6}}});
    CHECK(tool::as_page(report) ==
          "pmus\n"
          "  pmu       counters\n"
          "  software  -\n"
          "  cpu       6\n");
}

TEST_CASE("A failed check has its reason and remedy", "[no-module]") {
    Json report;
    report["checks"] = Json::array(
        {{{"what", "this"}, {"works", true}, {"why", ""}, {"remedy", ""}},
         {{"what", "that"}, {"works", false}, {"why", "it is so"}, {"remedy", "change it"}}});
    CHECK(tool::as_page(report) ==
          "checks\n"
          "  works:  this\n"
          "  fails:  that: it is so; remedy: change it\n");
}
