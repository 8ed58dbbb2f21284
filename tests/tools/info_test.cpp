// SPDX-License-Identifier: MIT
// metagroup info by its command line; the facts that it reads from files, and its page.
#include <unistd.h>

#include <fmt/format.h>
#include <linux/perf_metagroup.h>
#include <sys/utsname.h>

#include <cctype>
#include <metagroup/version.hpp>

#include "info/info.hpp"
#include "program.hpp"
#include "support/settings.hpp"

using tool::Json;

namespace {

const std::string kInfo = METAGROUP_TOOL " info ";

nlohmann::json report(const std::string& arguments = "") {
    return nlohmann::json::parse(tool_output("info -j " + arguments));
}

// Of a command that is info in other circumstances.
nlohmann::json report_of(const std::string& command, int status = 0) {
    const Outcome outcome = run_program(command);
    CAPTURE(command, outcome.text);
    REQUIRE(outcome.status == status);
    return nlohmann::json::parse(outcome.text);
}

// A module with another ABI and all features.
nlohmann::json report_of_other_abi() {
    return report_of("LD_PRELOAD=" METAGROUP_OTHER_ABI " " + kInfo + "-j --device /dev/null");
}

nlohmann::json check_of(const nlohmann::json& report, const std::string& part) {
    for (const nlohmann::json& tried : report.at("checks")) {
        if (tried.at("what").get<std::string>().find(part) != std::string::npos) return tried;
    }
    FAIL("no check of " << part);
    return {};
}

// Undoes the folding.
std::string in_one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
    text.erase(std::unique(text.begin(), text.end(), both_blank), text.end());
    return text;
}

bool contains(const nlohmann::json& list, const std::string& value) {
    return std::ranges::find(list, nlohmann::json(value)) != list.end();
}

// Those that work without the patches in upstream/, which the kernel may have.
nlohmann::json backends_of_linux(const nlohmann::json& report) {
    nlohmann::json names = nlohmann::json::array();
    for (const nlohmann::json& name : report.at("backends").at("available"))
        if (name != "percpu") names.push_back(name);
    return names;
}

}  // namespace

TEST_CASE("info prints a page of aligned text about the machine") {
    utsname name{};
    ::uname(&name);
    CHECK_THAT(tool_output("info"),
               ContainsSubstring(std::string("\n  release          ") + name.release + '\n') &&
                   ContainsSubstring("\n  architecture     ") &&
                   ContainsSubstring("\n  perf event paranoid   ") &&
                   ContainsSubstring("\n  works:  a software event on each CPU\n"));
}

TEST_CASE("The JSON of info has the versions, and the CPUs that are online") {
    const nlohmann::json all = report();
    CHECK(all.at("program").at("version") == METAGROUP_VERSION_STRING);
    CHECK(all.at("program").at("abi") == PERF_METAGROUP_ABI);
    CHECK(all.at("cpus").at("online") == metagroup::CpuList::online().to_string());
    CHECK(all.at("privileges").at("capabilities").is_array());
    CHECK(all.at("privileges").at("perf-event-paranoid").is_number_integer());
    CHECK(all.at("limits").at("needed-by-default-events").is_number_unsigned());
}

TEST_CASE("info lists the PMUs with type and CPUs") {
    const nlohmann::json pmus = report().at("pmus");
    const auto software = std::ranges::find_if(
        pmus, [](const nlohmann::json& pmu) { return pmu.at("pmu") == "software"; });
    REQUIRE(software != pmus.end());
    CHECK(software->at("type") == 1);
    CHECK(software->at("cpus") == "all");
    CHECK(software->at("counters").is_null());
    CHECK(software->at("caps").is_object());
}

TEST_CASE("info finds the number of counters of a CPU", "[hardware]") {
    const nlohmann::json pmus = report().at("pmus");
    const auto core = std::ranges::find_if(pmus, [](const nlohmann::json& pmu) {
        const std::string name = pmu.at("pmu");
        return name == "cpu" || name == "cpu_core" || name.starts_with("armv8");
    });
    if (core == pmus.end()) SKIP("this machine has no hardware counters");
    CAPTURE(core->dump());
    REQUIRE(core->at("counters").is_number_unsigned());
    CHECK(core->at("counters").get<unsigned>() >= 2);
    CHECK(core->at("counters").get<unsigned>() < 32);
}

TEST_CASE("Every check of info has a result, and failed checks have a reason") {
    const nlohmann::json checks = report().at("checks");
    REQUIRE_FALSE(checks.empty());
    for (const nlohmann::json& tried : checks) {
        CAPTURE(tried.dump());
        CHECK(tried.at("what").is_string());
        CHECK(tried.at("works").get<bool>() == tried.at("why").get<std::string>().empty());
        CHECK(tried.at("remedy").is_string());
    }
}

TEST_CASE("info reports a missing module with the remedy", "[no-module]") {
    need_no_module();
    const nlohmann::json all = report();
    CHECK(all.at("module").at("loaded") == false);
    CHECK(all.at("module").at("version").is_null());
    CHECK(all.at("module").at("device-exists") == false);
    CHECK(all.at("backends").at("auto") == "per-fd");
    CHECK(backends_of_linux(all) == nlohmann::json::array({"per-fd"}));
    CHECK_THAT(in_one_line(run_program(kInfo).text),
               ContainsSubstring("fails: reading all CPUs at once, with the module: cannot open "
                                 "/dev/perf_metagroup: the module perf_metagroup is not loaded") &&
                   ContainsSubstring("; remedy: ") &&
                   ContainsSubstring("(modprobe perf_metagroup)"));
}

TEST_CASE("With the module info shows its version, ABI, limits and features", "[module]") {
    const nlohmann::json module = report().at("module");
    CHECK(module.at("loaded") == true);
    CHECK(module.at("version") == METAGROUP_VERSION_STRING);
    CHECK(module.at("device-exists") == true);
    CHECK(module.at("device-permissions") == "0600 0:0");
    CHECK(module.at("abi") == 1);
    CHECK(module.at("max-members").get<unsigned>() > 0);
    CHECK(module.at("max-snapshot-bytes").get<std::uint64_t>() > 0);
    CHECK(contains(module.at("features"), "framed"));
    CHECK(contains(module.at("features"), "skip-isolated"));
}

TEST_CASE("With the module all checks of info pass", "[module]") {
    const nlohmann::json all = report();
    CHECK(backends_of_linux(all) == nlohmann::json::array({"per-fd", "module"}));
    CHECK(all.at("backends").at("auto") == "module");
    for (const std::string what :
         {"all CPUs at once", "not waking", "isolated", "newer than the module"}) {
        const nlohmann::json tried = check_of(all, what);
        CAPTURE(tried.dump());
        CHECK(tried.at("works") == true);
    }
}

TEST_CASE("info reports a device that is not the module's") {
    const nlohmann::json all = report("--device /dev/null");
    CHECK(all.at("module").at("answers") == false);
    CHECK_THAT(check_of(all, "with the module").at("why").get<std::string>(),
               ContainsSubstring("/dev/null is not the device"));
}

TEST_CASE("info reports a module with another ABI", "[no-module]") {
    const nlohmann::json all = report_of_other_abi();
    CHECK(all.at("module").at("abi") == 99);
    const nlohmann::json tried = check_of(all, "with the module");
    CHECK_THAT(tried.at("why").get<std::string>(), ContainsSubstring("ABI 99"));
    CHECK_THAT(tried.at("remedy").get<std::string>(), ContainsSubstring("matching"));
    CHECK(all.at("backends").at("auto") == "per-fd");
}

TEST_CASE("info names each feature in the kernel's header, and shows the bits of unknown ones",
          "[no-module]") {
    const std::regex definition(R"(#define PERF_METAGROUP_FEATURE_(\w+)\s+_BITULL\((\d+)\).*)");
    nlohmann::json expected = nlohmann::json::array();
    std::uint64_t others = ~std::uint64_t{0};
    std::ifstream header(METAGROUP_HEADER);
    std::smatch found;
    for (std::string line; std::getline(header, line);) {
        if (!std::regex_match(line, found, definition)) continue;
        std::string name = found[1];
        std::ranges::transform(name, name.begin(), [](char c) {
            return c == '_' ? '-' : static_cast<char>(std::tolower(c));
        });
        expected.push_back(name);
        others &= ~(std::uint64_t{1} << std::stoi(found[2]));
    }
    REQUIRE(expected.size() > 5);
    expected.push_back(fmt::format("{:#x}", others));
    CHECK(report_of_other_abi().at("module").at("features") == expected);
}

TEST_CASE("info --check succeeds if stat counts the default events") {
    const bool counted = run_tool("stat --timeout 10ms").status == 0;
    CHECK((run_tool("info --check").status == 0) == counted);
}

TEST_CASE("info --check fails with the reason if seccomp refuses perf") {
    const Outcome outcome = run_without_perf(kInfo + "-j --check");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 1);
    const nlohmann::json all = nlohmann::json::parse(outcome.text);
    CHECK(all.at("privileges").at("seccomp") == "filter");
    const nlohmann::json tried = check_of(all, "software event");
    CHECK(tried.at("works") == false);
    CHECK_THAT(tried.at("why").get<std::string>(),
               ContainsSubstring("CPUs " + metagroup::CpuList::online().to_string()) &&
                   ContainsSubstring("seccomp"));
    CHECK_THAT(tried.at("remedy").get<std::string>(), ContainsSubstring("--cap-add PERFMON"));
    CHECK(all.at("backends").at("auto").is_null());
}

TEST_CASE("A seccomp filter that refuses perf is named, whatever its error") {
    const int error = GENERATE(EPERM, ENOSYS);
    CAPTURE(error);
    for (const char* arguments : {" stat -e cpu-clock --timeout 10ms", " info"}) {
        const Outcome outcome = run_without_perf(METAGROUP_TOOL + std::string(arguments), error);
        CAPTURE(arguments, outcome.text);
        CHECK_THAT(outcome.text, ContainsSubstring("filter") && ContainsSubstring("seccomp") &&
                                     !ContainsSubstring("CONFIG_PERF_EVENTS"));
    }
}

TEST_CASE("info without --check succeeds despite a failed check") {
    CHECK(run_without_perf(kInfo).status == 0);
}

TEST_CASE("info reports a lack of file descriptors", "[no-module]") {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module needs fewer");
    const nlohmann::json all = report_of("sh -c 'ulimit -n 6; exec " + kInfo + "-j'");
    CHECK(all.at("limits").at("open-files-hard") == 6);
    CHECK(all.at("limits").at("needed-by-default-events").get<unsigned>() > 3);
    CHECK_THAT(check_of(all, "default events").at("why").get<std::string>(),
               ContainsSubstring("hard limit 6"));
}

TEST_CASE("info works without sysfs") {
    const std::string hidden = "mount -t tmpfs none /sys && ";
    if (run_program("unshare -m sh -c '" + hidden + "true'").status != 0)
        SKIP("mounts cannot be made here");
    const nlohmann::json all = report_of("unshare -m sh -c '" + hidden + kInfo + "-j'");
    CHECK(all.at("cpus").at("online").is_null());
    CHECK(all.at("pmus").empty());
    CHECK(check_of(all, "default events").at("works") == false);
}

TEST_CASE("Facts from missing files are unknown", "[no-module]") {
    const metagroup::test::TempTree nothing;
    const std::string root = nothing.path();
    CHECK(tool::kernel_facts(root).at("virtual-machine").is_null());
    CHECK(tool::cpu_facts(root).at("cores").is_null());
    CHECK(tool::privilege_facts(root).at("capabilities").is_null());
    CHECK(tool::privilege_facts(root).at("perf-event-paranoid").is_null());
    CHECK(tool::module_facts(nothing.path("device"), root).at("loaded") == false);
    CHECK(tool::pmu_facts(root).empty());
}

TEST_CASE("The CPU flag hypervisor identifies a virtual machine", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu hypervisor");
    const Json guest = tool::kernel_facts(tree.path());
    CHECK(guest.at("virtual-machine") == true);
    CHECK(guest.at("cpu-model") == "A CPU");
    tree.file("proc/cpuinfo", "flags\t\t: fpu vme");
    CHECK(tool::kernel_facts(tree.path()).at("virtual-machine") == false);
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
    const Json facts = tool::cpu_facts(tree.path());
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
    const Json facts = tool::privilege_facts(tree.path());
    CHECK(facts.at("capabilities") == Json::array({"CAP_PERFMON", "CAP_SYS_ADMIN"}));
    CHECK(facts.at("seccomp") == "filter");
    CHECK(facts.at("first-user-namespace") == false);
    CHECK(facts.at("perf-event-paranoid") == -1);
    CHECK(facts.at("lockdown") == "integrity");
}

TEST_CASE("The first user namespace maps all users to themselves", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("proc/self/uid_map", "         0          0 4294967295");
    CHECK(tool::privilege_facts(tree.path()).at("first-user-namespace") == true);
}

TEST_CASE("A PMU has its type, CPUs and caps", "[no-module]") {
    metagroup::test::TempTree tree;
    const std::string pmu = "sys/bus/event_source/devices/uncore_test/";
    tree.file(pmu + "type", "77").file(pmu + "cpumask", "0,8").file(pmu + "caps/slots", "4");
    const Json facts = tool::pmu_facts(tree.path());
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

TEST_CASE("Arrays are shown as tables", "[no-module]") {
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
