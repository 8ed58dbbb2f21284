// SPDX-License-Identifier: MIT
#include "metagroup/event_group.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <climits>

#include "helpers.hpp"
#include "support/temp_tree.hpp"
#include "system.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;

namespace {

GroupSpec three_events() {
    return parse_events("{cpu-clock,page-faults,context-switches}").front();
}

std::optional<Payload> read(EventGroup& group, std::span<std::byte> buffer) {
    return Payload::parse(buffer.first(group.read(buffer)), group.read_format());
}

// Lets no more than `more` further descriptors be opened.
bool limit_fds(rlim_t more, bool hard) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    limit.rlim_cur = static_cast<rlim_t>(next.get()) + more;
    if (hard) limit.rlim_max = limit.rlim_cur;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

template <typename Action>
std::string outcome(Action action) {
    try {
        action();
        return "opened";
    } catch (const std::system_error& error) {
        const std::string kind = error.code().value() == EMFILE ? "EMFILE: " : "other: ";
        return kind + error.what();
    }
}

// The outcome of opening three events in a child process, since a hard limit cannot be raised
// again.
std::string open_with_limit(rlim_t more, bool hard) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // A sanitizer needs descriptors of its own when it sees its first error: let it have one.
        std::string text = outcome([] { EventGroup::open(three_events(), INT_MAX); });
        text = limit_fds(more, hard)
                   ? outcome([] { EventGroup::open(three_events(), first_cpu()); })
                   : "cannot set the limit";
        _exit(write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    writing.reset();
    std::array<char, 2048> buffer{};
    const ssize_t got = ::read(reading.get(), buffer.data(), buffer.size());
    int status = 0;
    waitpid(child, &status, 0);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

TEST_CASE("A group reads all of its events") {
    need_software_events();
    EventGroup group = EventGroup::open(three_events(), first_cpu());
    CHECK(group.size() == 3);
    CHECK(group.cpu() == first_cpu());
    CHECK(group.payload_size() == 6 * sizeof(std::uint64_t));
    group.enable();
    std::array<std::byte, 256> buffer{};
    const auto payload = read(group, buffer);
    REQUIRE(payload);
    CHECK(payload->nr() == 3);
    CHECK(payload->time_enabled() > 0);
}

TEST_CASE("The kernel's payload decodes in every read format") {
    need_software_events();
    const auto format = GENERATE(range(std::uint64_t{0}, ReadFormat::all + 1));
    CAPTURE(format);
    std::optional<EventGroup> group;
    try {
        group = EventGroup::open(three_events(), first_cpu(), format);
    } catch (const std::system_error& error) {
        if ((format & ReadFormat::lost) == 0 || error.code().value() != EINVAL) throw;
        SKIP("this kernel has no PERF_FORMAT_LOST");
    }
    std::array<std::byte, 256> buffer{};
    const auto payload = read(*group, buffer);
    REQUIRE(payload);
    CHECK(payload->nr() == ((format & ReadFormat::group) != 0 ? 3 : 1));
}

TEST_CASE("A group is opened disabled, and can be switched and reset") {
    need_software_events();
    EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    std::array<std::byte, 64> buffer{};
    CHECK(read(group, buffer)->value(0) == 0);
    group.enable();
    CHECK(read(group, buffer)->value(0) > 0);
    group.disable();
    const auto stopped = read(group, buffer)->value(0);
    CHECK(read(group, buffer)->value(0) == stopped);
    group.reset();
    CHECK(read(group, buffer)->value(0) == 0);
}

TEST_CASE("Releasing the leader closes its descriptor") {
    need_software_events();
    EventGroup group = EventGroup::open(three_events(), first_cpu());
    const int leader = group.leader_fd();
    group.release_leader();
    CHECK(group.leader_fd() == -1);
    CHECK(fcntl(leader, F_GETFD) == -1);
}

TEST_CASE("A CPU that the machine lacks is an error that names it") {
    need_software_events();
    const int absent = CpuList::possible().cpus().back() + 1;
    const auto error = error_from([&] { EventGroup::open(three_events(), absent); });
    CHECK(error.cause() == Cause::no_such_cpu);
    CHECK_THAT(error.operation(), ContainsSubstring("\"cpu-clock\""));
    CHECK_THAT(error.reason(), ContainsSubstring("no CPU " + std::to_string(absent)));
}

TEST_CASE("A failing sibling is named, and fails the whole group") {
    need_software_events();
    GroupSpec spec = three_events();
    spec.events[1].name = "nonsense";
    spec.events[1].attr.type = 0x7fffffff;
    const auto error = error_from([&] { EventGroup::open(spec, first_cpu()); });
    CHECK(error.cause() == Cause::unsupported_event);
    CHECK(error.code().value() == ENOENT);
    CHECK_THAT(error.operation(), ContainsSubstring("event \"nonsense\" on CPU"));
}

TEST_CASE("A group without events, a negative CPU and an unknown read format are refused") {
    CHECK_THROWS_AS(EventGroup::open({}, 0), std::invalid_argument);
    CHECK_THROWS_AS(metagroup::can_count({}), std::invalid_argument);
    CHECK_THROWS_AS(EventGroup::open(three_events(), -1), std::invalid_argument);
    CHECK_THROWS_AS(EventGroup::open(three_events(), 0, 1U << 5), std::invalid_argument);
}

TEST_CASE("The soft limit of descriptors is raised when they run out") {
    need_software_events();
    CHECK(open_with_limit(1, false) == "opened");
}

TEST_CASE("Reaching the hard limit of descriptors names the limit") {
    need_software_events();
    CHECK_THAT(open_with_limit(1, true), ContainsSubstring("EMFILE: ") &&
                                             ContainsSubstring("RLIMIT_NOFILE") &&
                                             ContainsSubstring("ulimit -Hn"));
}

namespace {

constexpr const char* kUnified = "none /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";

}  // namespace

TEST_CASE("Cgroups are those of version 2") {
    TempTree tree;
    tree.file("mounts", std::string("proc /proc proc rw 0 0\n") + kUnified);
    CHECK(cgroup_root(tree.path("mounts")) == "/sys/fs/cgroup/unified");
}

TEST_CASE("If cgroup version 1 has the perf_event controller, cgroups are looked up there") {
    TempTree tree;
    tree.file("mounts", std::string(kUnified) +
                            "none /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
                            "none /sys/fs/cgroup/perf cgroup rw,perf_event 0 0");
    CHECK(cgroup_root(tree.path("mounts")) == "/sys/fs/cgroup/perf");
}

TEST_CASE("A blank in the mount point of cgroups does not end the path") {
    TempTree tree;
    tree.file("mounts", "none /my\\040groups cgroup2 rw 0 0");
    CHECK(cgroup_root(tree.path("mounts")) == "/my groups");
}

TEST_CASE("Without cgroups the error says how to mount them") {
    TempTree tree;
    tree.file("mounts", "proc /proc proc rw 0 0");
    const auto error = error_from([&] { cgroup_root(tree.path("mounts")); });
    CHECK(error.cause() == Cause::no_cgroup);
    CHECK_THAT(error.remedy(), ContainsSubstring("mount -t cgroup2"));
}

TEST_CASE("A cgroup is found by its path, with or without the mount point") {
    TempTree tree;
    tree.file("system.slice/cron.service/cgroup.procs", "1");
    CHECK(open_cgroup("system.slice/cron.service", tree.path()));
    CHECK(open_cgroup("/system.slice", tree.path()));
    CHECK(open_cgroup(tree.path("system.slice"), tree.path()));
}

TEST_CASE("A list of cgroups is refused, unless a cgroup has that name") {
    TempTree tree;
    tree.file("a/x", "").file("b,c/x", "");
    CHECK_THAT(error_from([&] { open_cgroup("a,b", tree.path()); }).what(),
               ContainsSubstring("one cgroup") && ContainsSubstring("once for each"));
    CHECK(open_cgroup("b,c", tree.path()));
}

TEST_CASE("Seccomp filters and user namespaces are detected") {
    TempTree tree;
    tree.file("status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    tree.file("uid_map", "         0       1000          1\n");
    CHECK(has_seccomp_filter(tree.path()));
    CHECK(in_user_namespace(tree.path()));
    tree.file("status", "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n");
    tree.file("uid_map", "         0          0 4294967295\n");
    CHECK_FALSE(has_seccomp_filter(tree.path()));
    CHECK_FALSE(in_user_namespace(tree.path()));
}

TEST_CASE("A process has the capabilities of its effective set") {
    TempTree tree;
    tree.file("status", "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000004000000001\n");
    CHECK(has_capability(38, tree.path()));
    CHECK(has_capability(0, tree.path()));
    CHECK_FALSE(has_capability(21, tree.path()));
    CHECK_FALSE(has_capability(0, tree.path("nowhere")));
}

TEST_CASE("A missing cgroup is named, with the location of cgroups") {
    TempTree tree;
    const auto error = error_from([&] { open_cgroup("system.slcie", tree.path()); });
    CHECK(error.cause() == Cause::no_cgroup);
    CHECK_THAT(error.operation(),
               ContainsSubstring("system.slcie") && ContainsSubstring(tree.path()));
}

TEST_CASE("A path that leads out of the cgroup tree is refused") {
    TempTree tree;
    tree.file("cgroups/busy/cgroup.procs", "1");
    const std::string root = tree.path("cgroups");
    CHECK(open_cgroup("busy/../busy", root));
    for (const std::string& name : {std::string(".."), std::string("../.."), root + "/../.."}) {
        CAPTURE(name);
        const auto error = error_from([&] { open_cgroup(name, root); });
        CHECK(error.cause() == Cause::no_cgroup);
        CHECK_THAT(error.operation(), ContainsSubstring("cgroup \"" + name + '"'));
        CHECK_THAT(error.what(), ContainsSubstring("outside the cgroup"));
    }
}
