// SPDX-License-Identifier: MIT
#include "metagroup/metagroup.hpp"

#include <array>
#include <cstring>
#include <metagroup/delta.hpp>
#include <metagroup/topology.hpp>
#include <set>
#include <thread>

#include "fake_module.hpp"
#include "helpers.hpp"
#include "support/allocation_counter.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {

MetaGroup::Options options(const char* events, Backend backend) {
    MetaGroup::Options options;
    options.groups = parse_events(events);
    options.backend = backend;
    options.device = FakeModule::path();
    return options;
}

MetaGroup::Options on_one_cpu(const char* events, Backend backend = Backend::per_fd) {
    MetaGroup::Options one = options(events, backend);
    one.cpus = CpuList({first_cpu()});
    return one;
}

std::size_t open_fds() {
    const std::filesystem::directory_iterator fds("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(fds), end(fds)));
}

}  // namespace

TEST_CASE("Both backends read every group on every CPU") {
    need_software_events();
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(to_string(backend));
    MetaGroup mg = MetaGroup::open(options("{cpu-clock,page-faults},cs", backend));
    CHECK(mg.backend() == backend);
    CHECK(mg.backend_reason() == "requested");
    const CpuList online = CpuList::online();
    REQUIRE(mg.members().size() == 2 * online.size());
    Snapshot first;
    Snapshot second;
    mg.read(first);
    mg.read(second);
    REQUIRE(first.size() == mg.members().size());
    CHECK(second.sequence() == first.sequence() + 1);
    CHECK(first.begin_ns() < first.end_ns());
    CHECK(first.skew_ns() <= first.end_ns() - first.begin_ns());
    const Delta delta(first, second);
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto& member = mg.members()[i];
        CHECK(first[i].member() == member.number);
        // The fake module does not learn the CPU.
        if (backend == Backend::per_fd) CHECK(first[i].cpu() == member.cpu);
        CHECK(member.cpu == online.cpus()[i / 2]);
        CHECK(member.group == i % 2);
        CHECK(first[i].status() == Status::ok);
        CHECK(first[i].nr() == mg.events(i).size());
        CHECK(first[i].time_ns() >= first.begin_ns());
        CHECK(first[i].time_ns() <= first.end_ns());
        CHECK(delta[i].raw(0));
    }
    CHECK(delta[0].raw(0) > 0);
    CHECK(mg.events(0)[1].name == "page-faults");
    CHECK_THROWS_AS(mg.events(first.size()), std::out_of_range);
}

TEST_CASE("A weak group that cannot be counted is divided, and only then") {
    need_software_events();
    // No PMU here counts both events of the first.
    CHECK(can_count(parse_events("{dummy,cpu-clock}").front()));
    CHECK_FALSE(can_count(parse_events("{dummy,L1-icache-stores}").front()));
    const auto divided = divide_weak(parse_events("{dummy,L1-icache-stores}:W,{dummy,cs}:W"));
    CHECK(std::ranges::none_of(divided, &GroupSpec::weak));
    REQUIRE(divided.size() == 3);
    CHECK(divided[1].events.front().name == "L1-icache-stores");
    MetaGroup::Options wanted = on_one_cpu("{dummy,cs}:W");
    const MetaGroup mg = MetaGroup::open(wanted);
    CHECK(mg.members().size() == 1);
    wanted.groups.front().events.back().attr.pinned = 1;  // which no sibling can be
    const MetaGroup one_by_one = MetaGroup::open(wanted);
    CHECK(one_by_one.groups().size() == 2);
    CHECK(one_by_one.members().size() == 2);
}

TEST_CASE("The automatic backend uses the module if it is available") {
    need_software_events();
    const FakeModule module;
    const MetaGroup mg = MetaGroup::open(options("cpu-clock", Backend::automatic));
    CHECK(mg.backend() == Backend::module);
    CHECK_THAT(mg.backend_reason(), ContainsSubstring(FakeModule::path()));
}

TEST_CASE("The automatic backend falls back and gives the reason") {
    need_software_events();
    MetaGroup::Options wanted = options("cpu-clock", Backend::automatic);
    wanted.device = "/nonexistent/perf_metagroup";
    CHECK_THAT(MetaGroup::open(wanted).backend_reason(),
               ContainsSubstring("cannot open /nonexistent/perf_metagroup: ") &&
                   ContainsSubstring("load the module"));
    CHECK(MetaGroup::open(wanted).backend() == Backend::per_fd);
    wanted.device = "/dev/null";
    CHECK_THAT(MetaGroup::open(wanted).backend_reason(), ContainsSubstring("not the device"));
}

TEST_CASE("A missing module is an error if it was requested") {
    MetaGroup::Options wanted = options("cpu-clock", Backend::module);
    wanted.device = "/nonexistent/perf_metagroup";
    CHECK_THROWS_MATCHES(MetaGroup::open(wanted), Error,
                         MessageMatches(ContainsSubstring("modprobe")));
}

TEST_CASE("Counting starts at open unless disabled by option") {
    need_software_events();
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup::Options wanted = options("cpu-clock", backend);
    wanted.start_disabled = true;
    MetaGroup mg = MetaGroup::open(wanted);
    Snapshot shot;
    mg.read(shot);
    CHECK(shot[0].raw(0) == 0);
    mg.enable();
    mg.read(shot);
    CHECK(shot[0].raw(0) > 0);
    mg.disable();
    mg.reset();
    mg.read(shot);
    CHECK(shot[0].raw(0) == 0);
}

TEST_CASE("The per-fd backend shows disabled members") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(options("cpu-clock", Backend::per_fd));
    Snapshot shot;
    mg.disable();
    mg.read(shot);
    CHECK(shot[0].status() == Status::off);
    mg.enable();
    mg.read(shot);
    CHECK(shot[0].status() == Status::ok);
}

TEST_CASE("The module backend keeps the descriptors of siblings only") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options wanted = on_one_cpu("{cpu-clock,page-faults,cs},dummy", Backend::module);
    const MetaGroup mg = MetaGroup::open(wanted);
    REQUIRE(module.attached_fds.size() == 2);
    for (const int fd : module.attached_fds)
        CHECK(fcntl(fd, F_GETFD) == -1);
    Snapshot shot;
    MetaGroup(MetaGroup::open(wanted)).read(shot);
    CHECK(shot[2].nr() == 3);
}

TEST_CASE("Many groups are attached in batches of 64") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options wanted = on_one_cpu("dummy", Backend::module);
    wanted.groups.assign(150, wanted.groups.front());
    const MetaGroup mg = MetaGroup::open(wanted);
    CHECK(module.batches == std::vector<std::size_t>{64, 64, 22});
    CHECK(mg.members().back().number == 149);
    CHECK(mg.snapshot_size() > 0);
}

TEST_CASE("A meta-group that fails to open leaves nothing open") {
    need_software_events();
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup::Options wanted = options("{cpu-clock,page-faults}", backend);
    wanted.cpus = CpuList({first_cpu(), CpuList::possible().cpus().back() + 1});
    const std::size_t before = open_fds();
    {
        const FakeModule module;
        CHECK_THROWS_AS(MetaGroup::open(wanted), Error);
    }
    CHECK(open_fds() == before);
}

TEST_CASE("More members than the module allows is an error, not a fallback") {
    FakeModule module;
    module.max_members = 1;
    const Error error =
        error_from([] { MetaGroup::open(on_one_cpu("dummy,cs", Backend::automatic)); });
    CHECK(error.cause() == Cause::too_many_members);
    CHECK_THAT(error.reason(), ContainsSubstring("1 members"));
}

TEST_CASE("A refused attach is an error of open") {
    need_software_events();
    FakeModule module;
    module.refuse_attach = 0;
    module.attach_errno = EBUSY;
    module.attach_reason = PERF_METAGROUP_REASON_BUSY;
    const Error error = error_from([] { MetaGroup::open(options("dummy", Backend::automatic)); });
    CHECK(error.cause() == Cause::already_attached);
    CHECK(error.code().value() == EBUSY);
    CHECK_THAT(error.reason(), ContainsSubstring("already a member"));
}

TEST_CASE("A meta-group needs groups and CPUs") {
    CHECK_THROWS_AS(MetaGroup::open({}), std::invalid_argument);
    MetaGroup::Options wanted = options("dummy", Backend::per_fd);
    wanted.cpus = CpuList();
    CHECK_THROWS_AS(MetaGroup::open(wanted), std::invalid_argument);
    CHECK_THROWS_AS(MetaGroup::open({.groups = {{.modifiers = "W"}}}), std::invalid_argument);
}

TEST_CASE("A read of no CPU returns a snapshot without records") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(options("cpu-clock", Backend::per_fd));
    Snapshot shot;
    mg.read(shot);
    CHECK_FALSE(shot.empty());
    mg.read(shot, CpuList());
    CHECK(shot.empty());
    CHECK(shot.sequence() == 2);
    CHECK(shot.begin_ns() <= shot.end_ns());
}

TEST_CASE("An event that is bound to some CPUs is opened only on these") {
    need_software_events();
    MetaGroup::Options wanted = options("cpu-clock,dummy", Backend::per_fd);
    wanted.groups[1].events[0].cpus = CpuList({first_cpu()});
    const MetaGroup mg = MetaGroup::open(wanted);
    const auto members = mg.members();
    CHECK(std::count_if(members.begin(), members.end(),
                        [](const auto& member) { return member.group == 1; }) == 1);
    wanted.groups[1].events[0].cpus = CpuList({60000});
    const Error error = error_from([&] { MetaGroup::open(wanted); });
    CHECK(error.cause() == Cause::unsupported_event);
    CHECK_THAT(error.reason(), ContainsSubstring("\"dummy\"") && ContainsSubstring("60000"));
}

TEST_CASE("An event that counts for a whole package is opened on one CPU of each package") {
    need_software_events();
    MetaGroup::Options wanted = options("cpu-clock,dummy", Backend::per_fd);
    wanted.groups[1].events[0].per_package = true;
    std::set<int> packages;
    std::size_t unknown = 0;
    const auto topology = read_topology();
    for (const int cpu : CpuList::online()) {
        const int package = topology.at(static_cast<std::size_t>(cpu)).socket;
        if (package < 0)
            ++unknown;
        else
            packages.insert(package);
    }
    const MetaGroup mg = MetaGroup::open(wanted);
    std::array<std::size_t, 2> members{};
    for (const auto& member : mg.members())
        ++members.at(member.group);
    CHECK(members[0] == CpuList::online().size());
    CHECK(members[1] == packages.size() + unknown);
}

TEST_CASE("A mode that needs the module is refused without it, not ignored") {
    MetaGroup::Options wanted = options("dummy", Backend::per_fd);
    wanted.mode.quiet = true;
    const Error error = error_from([&] { MetaGroup::open(wanted); });
    CHECK(error.cause() == Cause::needs_module);
    CHECK(error.code().value() == EOPNOTSUPP);
    wanted.backend = Backend::automatic;
    wanted.device = "/nonexistent/perf_metagroup";
    CHECK(error_from([&] { MetaGroup::open(wanted); }).cause() == Cause::no_module);
}

TEST_CASE("Both backends frame the same payload of a disabled group") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options wanted = options("{cpu-clock,page-faults}", Backend::module);
    wanted.start_disabled = true;
    MetaGroup by_module = MetaGroup::open(wanted);
    wanted.backend = Backend::per_fd;
    MetaGroup by_fd = MetaGroup::open(wanted);
    Snapshot a;
    Snapshot b;
    by_module.read(a);
    by_fd.read(b);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto one = a[i].payload_bytes();
        const auto other = b[i].payload_bytes();
        CHECK(std::equal(one.begin(), one.end(), other.begin(), other.end()));
    }
}

TEST_CASE("Backends have names") {
    CHECK(to_string(Backend::automatic) == "automatic");
    CHECK(to_string(Backend::module) == "module");
    CHECK(to_string(Backend::per_fd) == "per-fd");
    CHECK(to_string(Backend{9}) == "unknown");
}

namespace {

Status status(MetaGroup& mg) {
    Snapshot shot;
    mg.read(shot);
    return shot[0].status();
}

}  // namespace

TEST_CASE("A group whose clock has stopped was dissolved, even if its CPU is online") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(on_one_cpu("cpu-clock"));
    stop_clocks();
    CHECK(status(mg) == Status::ok);
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::offline);
    mg.enable();
    CHECK(status(mg) == Status::offline);
}

TEST_CASE("A group whose clock did not advance between two reads was dissolved") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(on_one_cpu("cpu-clock"));
    CHECK(status(mg) == Status::ok);
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::ok);
    stop_clocks();
    std::this_thread::sleep_for(kLongStop);
    for (const int event : perf_descriptors())
        REQUIRE(ioctl(event, PERF_EVENT_IOC_ENABLE, 0) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(status(mg) == Status::offline);
}

TEST_CASE("A group of a cgroup that does not run keeps its siblings while its clock is stopped") {
    need_software_events();
    MetaGroup::Options options = on_one_cpu("{cpu-clock,page-faults}");
    options.cgroup.assign(1, '/');  // gcc 12 warns of "/"
    MetaGroup mg = [&] {
        try {
            return MetaGroup::open(options);
        } catch (const Error& error) {
            if (error.cause() == Cause::no_cgroup) SKIP(error.what());
            throw;
        }
    }();
    stop_clocks();
    CHECK(status(mg) == Status::ok);
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::ok);
    remove_event(perf_descriptors().back());
    CHECK(status(mg) == Status::offline);
}

TEST_CASE("A group that has lost a sibling counts for as long as its clock advances") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(on_one_cpu("{cpu-clock,page-faults}"));
    CHECK(status(mg) == Status::ok);
    remove_event(perf_descriptors().back());
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::ok);
}

TEST_CASE("Reading and decoding do not allocate once the snapshot is large enough") {
    need_software_events();
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup mg = MetaGroup::open(options("{cpu-clock,page-faults},cs", backend));
    Snapshot older;
    Snapshot newer;
    const CpuList cpus = CpuList::online();
    mg.read(older);
    mg.read(newer, cpus);
    double sum = 0;
    std::size_t counted = 0;
    const AllocationCounter allocations;
    for (int round = 0; round < 100; ++round) {
        older.swap(newer);
        mg.read(newer, cpus);
        const Delta delta(older, newer);
        for (std::size_t i = 0; i < delta.size(); ++i) {
            const auto member = delta[i];
            for (std::size_t event = 0; event < member.newer().nr(); ++event) {
                sum += member.scaled(event).value_or(0);
                ++counted;
            }
        }
        sum += static_cast<double>(newer.skew_ns());
    }
    CHECK(allocations.count() == 0);
    CHECK(counted == std::size_t{300} * cpus.size());
    CHECK(sum > 0);
}

TEST_CASE("The allocation counter counts allocations") {
    const AllocationCounter allocations;
    const Snapshot shot = [] {
        Snapshot grown;
        grown.prepare(1000);
        return grown;
    }();
    CHECK(allocations.count() > 0);
    CHECK(shot.capacity() >= 1000);
}
