// SPDX-License-Identifier: MIT
#include "helpers.hpp"
#include "metagroup/topology.hpp"
#include "support/fake_system.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {
std::vector<int> numbers(const CpuList& list) {
    return {list.begin(), list.end()};
}
}  // namespace

TEST_CASE("A CPU list holds numbers and ranges") {
    CHECK(numbers(CpuList::parse("0-3,8")) == std::vector<int>{0, 1, 2, 3, 8});
    CHECK(numbers(CpuList::parse("5")) == std::vector<int>{5});
    CHECK(numbers(CpuList::parse("4-4")) == std::vector<int>{4});
}

TEST_CASE("A CPU list is in ascending order however it is written") {
    CHECK(numbers(CpuList::parse("8,0-2")) == std::vector<int>{0, 1, 2, 8});
    CHECK(numbers(CpuList({3, 1, 2})) == std::vector<int>{1, 2, 3});
}

TEST_CASE("A CPU list is written as it is read") {
    const auto* text = GENERATE("0-3,8", "0", "1,3,5", "0-1,4-5,7");
    CHECK(CpuList::parse(text).to_string() == text);
}

TEST_CASE("An invalid CPU list is refused with text, column and remedy") {
    struct Wrong {
        const char* text;
        const char* column;
        const char* message;
    };
    const auto wrong = GENERATE(values<Wrong>({
        {"", "column 1", "write numbers"},
        {"0,", "column 3", "missing"},
        {",0", "column 1", "missing"},
        {"0,,1", "column 3", "missing"},
        {"0-", "column 3", "missing"},
        {"3-1", "column 1", "write 1-3"},
        {"0-3,2", "column 5", "duplicate CPU 2"},
        {"1,1", "column 3", "duplicate CPU 1"},
        {"0 1", "column 2", "unexpected"},
        {" 0", "column 1", "not a CPU number"},
        {"0x1", "column 2", "unexpected"},
        {"-1", "column 1", "not a CPU number"},
        {"0--1", "column 3", "not a CPU number"},
        {"two", "column 1", "\"two\""},
        {"65536", "column 1", "too large"},
        {"0-99999999999", "column 3", "too large"},
        {"ALL", "column 1", "\"all\""},
    }));
    CAPTURE(wrong.text);
    REQUIRE_THROWS_MATCHES(
        CpuList::parse(wrong.text), Error,
        MessageMatches(ContainsSubstring(wrong.message) && ContainsSubstring(wrong.column) &&
                       ContainsSubstring('"' + std::string(wrong.text) + '"')));
}

TEST_CASE("The error of an invalid CPU list has location, reason and remedy as separate parts") {
    const Error error = error_from([] { CpuList::parse("3-1"); });
    CHECK(error.cause() == Cause::syntax);
    CHECK(error.code().value() == EINVAL);
    CHECK(error.operation() == "CPU list \"3-1\", column 1");
    CHECK(error.reason() == "range 3-1 is descending");
    CHECK(error.remedy() == "write 1-3");
}

TEST_CASE("A NUL in a CPU list does not hide the error") {
    CHECK_THROWS_MATCHES(CpuList::parse(std::string_view("0\0", 2)), Error,
                         MessageMatches(ContainsSubstring("column 2: unexpected")));
}

TEST_CASE("A CPU list made from numbers is checked like one made from text") {
    CHECK_THROWS_AS(CpuList({1, 1}), std::invalid_argument);
    CHECK_THROWS_AS(CpuList({-1}), std::invalid_argument);
    CHECK(CpuList(std::vector<int>{}).empty());
}

TEST_CASE("The words of a CPU list are replaced by lists of the system") {
    const FakeSystem fake;
    const auto parsed = [&](const char* word) {
        return metagroup::detail::parse_cpu_list(word, fake.paths).to_string();
    };
    CHECK(parsed("all") == "0,2-3");
    CHECK(parsed("online") == "0,2-3");
    CHECK(parsed("possible") == "0-7");
}

TEST_CASE("A system without sysfs is an error that names the file") {
    metagroup::detail::SystemPaths paths;
    paths.cpus = "/nonexistent";
    const Error error = error_from([&] { metagroup::detail::online_cpus(paths); });
    CHECK(error.cause() == Cause::no_sysfs);
    CHECK_THAT(error.operation(), ContainsSubstring("/nonexistent/online"));
}

TEST_CASE("At least one CPU is online, and online CPUs are possible CPUs") {
    CHECK_FALSE(CpuList::online().empty());
    CHECK(CpuList::online().intersect(CpuList::possible()) == CpuList::online());
}

TEST_CASE("CPU lists intersect") {
    CHECK(CpuList::parse("0-4").intersect(CpuList::parse("3-8")).to_string() == "3-4");
    CHECK(CpuList::parse("0").intersect(CpuList::parse("1")).empty());
    CHECK(CpuList::parse("1,3").contains(3));
    CHECK_FALSE(CpuList::parse("1,3").contains(2));
}

TEST_CASE("The mask of a CPU list has a bit for each CPU, in words of 64") {
    using Words = std::vector<std::uint64_t>;
    const auto words = [](const CpuList& list) {
        return Words(list.mask().begin(), list.mask().end());
    };
    CHECK(words(CpuList()) == Words{0});
    CHECK(words(CpuList({0, 1, 63})) == Words{0x8000000000000003});
    CHECK(words(CpuList({64})) == Words{0, 1});
    CHECK(words(CpuList({3, 130})) == Words{8, 0, 4});
}

TEST_CASE("Each CPU has its core, die, socket and node") {
    TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "0")
        .file("cpu/cpu0/topology/die_id", "1")
        .file("cpu/cpu0/topology/core_id", "2")
        .file("cpu/cpu10/topology/physical_package_id", "3")
        .file("cpu/cpu10/topology/die_id", "4")
        .file("cpu/cpu10/topology/core_id", "5")
        .file("node/node6/cpulist", "10")
        .file("node/node7/cpulist", "0-3")
        .file("node/node8/cpulist", "");
    const auto places = read_topology(tree.path());
    REQUIRE(places.size() == 11);
    CHECK(places[0] == CpuPlace{.socket = 0, .die = 1, .core = 2, .node = 7});
    CHECK(places[10] == CpuPlace{.socket = 3, .die = 4, .core = 5, .node = 6});
}

TEST_CASE("If files of a CPU are missing, its topology is unknown") {
    TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "-1")
        .file("cpu/cpu0/topology/core_id", "1")
        .file("cpu/cpu1/online", "0")
        .file("cpu/cpufreq/policy0", "")
        .file("node/online", "0");
    const auto places = read_topology(tree.path());
    REQUIRE(places.size() == 2);
    CHECK(places[0] == CpuPlace{.socket = -1, .die = -1, .core = 1, .node = -1});
    CHECK(places[1] == CpuPlace{});
    CHECK(read_topology(tree.path() + "/none").empty());
}

TEST_CASE("Every online CPU of this machine has a core") {
    const auto places = read_topology();
    for (const int cpu : CpuList::online())
        CHECK(places.at(static_cast<std::size_t>(cpu)).core >= 0);
}
