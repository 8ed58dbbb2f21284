// SPDX-License-Identifier: MIT
// OPEN_SET: arguments that are refused, and who may open what.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "identities.hpp"
#include "support/process.hpp"
#include "support/set.hpp"
#include "support/settings.hpp"

using namespace metagroup::test;

namespace {

// An attr as a program built with newer headers has it.
struct LargeAttr {
    perf_event_attr attr;
    std::array<__u64, 32> more{};

    explicit LargeAttr(const perf_event_attr& known) : attr(known) { attr.size = sizeof(*this); }
};

// The second of two events is refused.
void refuse(const perf_event_attr& attr, long error, unsigned reason) {
    const Meta meta;
    SetRequest request({faults(), attr}, {0});
    REQUIRE(request.open(meta) == error);
    REQUIRE(request.arg.failed == 1);
    REQUIRE(request.arg.reason == reason);
    REQUIRE(request.arg.count == 0);
    REQUIRE(meta.info().members == 0);
}

void refuse_template(int fd, long error, unsigned reason) {
    const Meta meta;
    const Fd good(open_event(faults(), -1, 0, -1));
    SetRequest request(std::vector<int>{good.get(), fd}, {0});
    REQUIRE(request.open(meta) == error);
    REQUIRE(request.arg.failed == 1);
    REQUIRE(request.arg.reason == reason);
    REQUIRE(meta.info().members == 0);
}

// An argument that is not valid: no event is the cause.
void refuse_arg(const std::function<void(perf_metagroup_open_set&)>& change, long error) {
    const Meta meta;
    SetRequest request({faults()}, {0});
    change(request.arg);
    REQUIRE(request.open(meta) == error);
    REQUIRE(meta.info().members == 0);
}

struct Opened {
    long attrs = 0, by_template = 0;
    unsigned reason = 0;
    int perf_error = 0;
};

// Opens a set with attrs, and one with a template of its own.
Opened open_both_ways(std::span<const int> /*fds*/) {
    Opened result;
    const Meta meta;
    SetRequest by_attrs({faults()}, {0});
    result.attrs = by_attrs.open(meta);
    result.reason = by_attrs.arg.reason;
    const Fd event(open_event(faults(), -1, 0, -1));
    if (!event) result.perf_error = errno;
    if (event) result.by_template = SetRequest(std::vector<int>{event.get()}).open(meta);
    return result;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "A sampling event is refused in a set") {
    perf_event_attr attr = faults();
    attr.sample_period = 1000;
    refuse(attr, -EINVAL, PERF_METAGROUP_REASON_ATTR);
    attr.freq = 1;
    refuse(attr, -EINVAL, PERF_METAGROUP_REASON_ATTR);
}

TEST_CASE_METHOD(NeedsSets, "An attr of a set that perf_event_open(2) refuses is refused") {
    perf_event_attr attr = faults();
    SECTION("reserved bits") {
        // Those after the last flag that a kernel knows.
        *(reinterpret_cast<__u64*>(&attr) + 5) |= std::uint64_t{1} << 63;
    }
    SECTION("sample_type") {
        attr.sample_type = std::uint64_t{1} << 40;
    }
    SECTION("read_format") {
        attr.read_format = 1 << 10;
    }
    refuse(attr, -EINVAL, PERF_METAGROUP_REASON_ATTR);
    REQUIRE(open_event(attr, -1, 0, -1) < 0);
}

TEST_CASE_METHOD(NeedsSets, "The size of an attr of a set is handled as in perf_event_open(2)") {
    perf_event_attr attr = faults();
    SECTION("0, which means the first version") {
        attr.size = 0;
        REQUIRE(open_set(Meta(), {attr}, {0}) == 0);
    }
    SECTION("smaller than the kernel's") {
        attr.size = PERF_ATTR_SIZE_VER0;
        REQUIRE(open_set(Meta(), {attr}, {0}) == 0);
    }
    SECTION("too small") {
        attr.size = 8;
        SetRequest request({attr}, {0});
        REQUIRE(request.open(Meta()) == -E2BIG);
        REQUIRE(request.attrs[0].size >= PERF_ATTR_SIZE_VER5);
        REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_ATTR);
    }
    SECTION("larger than the kernel's, with zero or nonzero bytes beyond it") {
        LargeAttr large(attr);
        SetRequest request({attr}, {0});
        request.arg.events = address(&large);
        request.arg.stride = sizeof(large);
        REQUIRE(request.open(Meta()) == 0);
        large.more.back() = 1;
        REQUIRE(request.open(Meta()) == -E2BIG);
        REQUIRE(large.attr.size < sizeof(large));
    }
    SECTION("larger than the stride") {
        LargeAttr large(attr);
        SetRequest request({attr}, {0});
        request.arg.events = address(&large);
        REQUIRE(request.open(Meta()) == 0);
        REQUIRE(Fd(open_event(large.attr, -1, 0, -1)));
        large.more.back() = 1;
        REQUIRE(request.open(Meta()) == -E2BIG);
        REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_ATTR);
        const auto known = std::exchange(large.attr.size, sizeof(large));
        REQUIRE_FALSE(Fd(open_event(large.attr, -1, 0, -1)));
        REQUIRE(errno == E2BIG);
        REQUIRE(large.attr.size == known);
    }
    SECTION("larger than any valid size") {
        attr.size = 4104;
        SetRequest request({attr}, {0});
        REQUIRE(request.open(Meta()) == -E2BIG);
        REQUIRE(request.attrs[0].size < 4096);
    }
}

TEST_CASE_METHOD(NeedsSets, "kprobes and uprobes cannot be in a set") {
    const auto attr = pmu_event("kprobe", 0, 0);
    if (!attr) SKIP("no PMU kprobe");
    perf_event_attr probe = *attr;
    constexpr char kFunction[] = "do_nanosleep";
    probe.config1 = address(kFunction);
    refuse(probe, -EINVAL, PERF_METAGROUP_REASON_ATTR);
}

TEST_CASE_METHOD(NeedsSets, "The memory that an attr of a kprobe or uprobe points to is not read") {
    const auto attr = pmu_event(GENERATE("kprobe", "uprobe"), 0, 0);
    if (!attr) SKIP("no such PMU");
    if (!SlowPage::available()) SKIP("no userfaultfd");
    SlowPage page;
    const Meta meta;
    std::atomic<long> result = 1;
    std::thread open([&] {
        perf_event_attr probe = *attr;
        probe.config1 = address(page.at());
        result = open_set(meta, {faults(), probe}, {0});
    });
    const bool read = page.touched(std::chrono::milliseconds(500));
    page.destroy();
    open.join();
    REQUIRE_FALSE(read);
    REQUIRE(result == -EINVAL);
}

TEST_CASE_METHOD(NeedsSets, "An event that its PMU counts on another CPU cannot be in a set") {
    perf_event_attr attr = testpmu_or_skip(0);
    attr.config = kTestpmuFirstCpu;
    const Meta meta;
    const int last = online_cpus().back();
    SetRequest request({faults(), attr});
    REQUIRE(request.open(meta) == -EINVAL);
    REQUIRE(request.arg.failed == 1);
    // The CPU of the caller is the first one that is tried.
    REQUIRE(request.arg.failed_cpu > static_cast<unsigned>(online_cpus().front()));
    REQUIRE(request.arg.failed_cpu <= static_cast<unsigned>(last));
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_OTHER_CPU);
    REQUIRE(open_set(meta, {faults(), attr}, {0}) == 0);
    REQUIRE(open_set(meta, {faults()}, {last}) == 0);
}

TEST_CASE_METHOD(NeedsSets, "An invalid argument of OPEN_SET is refused") {
    using Arg = perf_metagroup_open_set;
    for (const auto& change : std::initializer_list<std::function<void(Arg&)>>{
             [](Arg& arg) { arg.flags = 1U << 31; },
             [](Arg& arg) { arg.nr_events = 0; },
             [](Arg& arg) { arg.read_format = 0; },
             [](Arg& arg) { arg.read_format = PERF_FORMAT_GROUP | 1 << 20; },
             [](Arg& arg) { arg.stride = 0; },
             [](Arg& arg) { arg.stride = 60; },
             [](Arg& arg) { arg.stride += 4; },
             [](Arg& arg) { arg.stride = 8192; },
             [](Arg& arg) { arg.nr_words = 0; },
             [](Arg& arg) { arg.cpus = 0; },
             [](Arg& arg) { arg.nr_words = 1025; },
             [](Arg& arg) { arg.flags = PERF_METAGROUP_SET_TEMPLATES; },
         })
        refuse_arg(change, -EINVAL);
    refuse_arg([](Arg& arg) { arg.nr_events = 65; }, -E2BIG);
    refuse_arg([](Arg& arg) { arg.events = 8; }, -EFAULT);
    refuse_arg([](Arg& arg) { arg.cpus = 8; }, -EFAULT);
}

TEST_CASE_METHOD(NeedsSets, "A set on no CPU, or on an impossible CPU, is refused") {
    const Meta meta;
    SetRequest none({faults()}, {0});
    none.cpus[0] = 0;
    REQUIRE(none.open(meta) == -EINVAL);
    REQUIRE(open_set(meta, {faults()}, {0, 60000}) == -EINVAL);
    REQUIRE(meta.info().members == 0);
}

TEST_CASE_METHOD(NeedsSets, "A set is opened from templates as it is from attrs") {
    perf_event_attr attr = faults();
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.sample_type = PERF_SAMPLE_IDENTIFIER;
    const Fd one(open_event(attr, -1, 0, -1));
    const Fd two(open_event(software_event(PERF_COUNT_SW_CPU_CLOCK, kTimes), -1, 1, -1));
    const Meta meta;
    SetRequest request(std::vector<int>{one.get(), two.get()});
    REQUIRE(request.open(meta) == 0);
    REQUIRE(request.arg.count == online_cpus().size());
    const Framed framed = read_framed(meta);
    for (const Frame& frame : framed.frames) {
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        REQUIRE(SetPayload(frame.payload).counts[1] > 0);
    }
}

TEST_CASE_METHOD(NeedsSets, "A template that a set cannot count is refused") {
    const Fd event(::eventfd(0, 0)), path(::open("/dev/null", O_PATH));
    refuse_template(event.get(), -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
    refuse_template(path.get(), -EBADF, PERF_METAGROUP_REASON_BAD_FD);
    refuse_template(-1, -EBADF, PERF_METAGROUP_REASON_BAD_FD);
    refuse_template(Meta().fd(), -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
    const Fd task(open_event(faults(), 0, -1, -1)), task_on_cpu(open_event(faults(), 0, 0, -1));
    refuse_template(task.get(), -EINVAL, PERF_METAGROUP_REASON_TASK);
    refuse_template(task_on_cpu.get(), -EINVAL, PERF_METAGROUP_REASON_TASK);
    perf_event_attr samples = faults();
    samples.sample_period = 100;
    const Fd sampling(open_event(samples, -1, 0, -1));
    refuse_template(sampling.get(), -EINVAL, PERF_METAGROUP_REASON_ATTR);
}

TEST_CASE_METHOD(NeedsSets, "A template of a cgroup is refused") {
    const Cgroup cgroup("metagroup_set_test");
    const Fd directory(::open(cgroup.path().c_str(), O_RDONLY));
    const perf_event_attr attr = faults();
    const Fd event(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attr, directory.get(), 0, -1, PERF_FLAG_PID_CGROUP)));
    if (!event) SKIP("no events of cgroups here: errno " << errno);
    refuse_template(event.get(), -EINVAL, PERF_METAGROUP_REASON_ATTR);
}

TEST_CASE_METHOD(NeedsSets, "Events of a set have the exclude bits of their templates") {
    const OnFirstCpu here;
    perf_event_attr attr = faults();
    attr.exclude_user = 1;
    const Fd kernel(open_event(attr, -1, 0, -1)), both(open_event(faults(), -1, 0, -1));
    const Meta meta;
    REQUIRE(SetRequest(std::vector<int>{kernel.get(), both.get()}, {0}).open(meta) == 0);
    touch_new_memory(1024);
    const SetPayload payload(meta.read());
    REQUIRE(payload.counts[1] > 100);
    REQUIRE(payload.counts[0] < payload.counts[1] / 2);
}

TEST_CASE_METHOD(
    NeedsSets,
    "Attrs of a set require CAP_SYS_ADMIN, and templates the privileges of perf_event_open(2)",
    "[privilege]") {
    const Identity identity = any_identity();
    const int level = GENERATE(range(-1, 4));
    CAPTURE(name(identity), level);
    const OpenDevice device;
    const ParanoidOrSkip paranoid(level);
    const Opened result = run_as(identity, {}, open_both_ways);
    const bool root = identity == Identity::root;
    REQUIRE(result.attrs == (root ? 0 : -EACCES));
    REQUIRE(result.reason ==
            (root ? PERF_METAGROUP_REASON_NONE : PERF_METAGROUP_REASON_PERMISSION));
    const bool allowed = root || (identity == Identity::monitor && level < 3) || level <= 0;
    REQUIRE(result.perf_error == (allowed ? 0 : EACCES));
    REQUIRE(result.by_template == 0);
}

// perf does not see it: the events are shared.
TEST_CASE_METHOD(
    NeedsSets,
    "A user who may no longer open events cannot open a set, even if its events are already open",
    "[privilege]") {
    const OpenDevice device;
    const ParanoidOrSkip paranoid(0);
    const Meta open;
    REQUIRE(open_set(open, {faults()}, {0}) == 0);
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    const Fd here(pair[0]), there(pair[1]);
    std::thread raise([&] {
        char byte = 0;
        if (::read(here.get(), &byte, 1) != 1 || !paranoid.set(2)) ::shutdown(pair[0], SHUT_RDWR);
        if (::write(here.get(), &byte, 1) != 1) ::shutdown(pair[0], SHUT_RDWR);
    });
    const auto result =
        run_as(Identity::user, std::span(&pair[1], 1),
               [](std::span<const int> fds) -> std::array<long, 3> {
                   char byte = 0;
                   const Fd event(open_event(faults(), -1, 0, -1));
                   const Meta meta;
                   SetRequest request(std::vector<int>{event.get()}, {0});
                   const long before = request.open(meta);
                   if (::write(fds[0], &byte, 1) != 1 || ::read(fds[0], &byte, 1) != 1) return {};
                   const long after = request.open(meta);
                   return {before, after, request.arg.reason};
               });
    raise.join();
    REQUIRE(result == std::array<long, 3>{0, -EACCES, PERF_METAGROUP_REASON_PERMISSION});
}

TEST_CASE_METHOD(NeedsSets,
                 "A template that was received from a more privileged process is refused",
                 "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const OpenDevice device;
    const Fd event(open_event(faults(), -1, 0, -1));
    const int fd = event.get();
    const auto result = run_as(identity, std::span(&fd, 1), [](std::span<const int> fds) {
        const Meta meta;
        SetRequest request(std::vector<int>{fds[0]}, {0});
        const long opened = request.open(meta);
        // It can attach the event itself.
        return std::array<long, 3>{opened, request.arg.reason, meta.attach(fds)};
    });
    const bool root = identity == Identity::root;
    REQUIRE(result == std::array<long, 3>{
                          root ? 0 : -EACCES,
                          root ? PERF_METAGROUP_REASON_NONE : PERF_METAGROUP_REASON_PERMISSION, 0});
}

// There is no way back until the next boot, so this is the last test of a guest.
TEST_CASE_METHOD(NeedsSets,
                 "While the kernel is locked down, attrs are refused but templates are not",
                 "[.lockdown]") {
    constexpr const char* kFile = "/sys/kernel/security/lockdown";
    ::mount("securityfs", "/sys/kernel/security", "securityfs", 0, nullptr);
    if (::access(kFile, F_OK)) SKIP("this kernel cannot be locked down");
    const Meta meta;
    REQUIRE(open_set(meta, {faults()}, {0}) == 0);
    std::ofstream(kFile) << "confidentiality" << std::flush;
    SetRequest request({faults()}, {0});
    REQUIRE(request.open(meta) == -EPERM);
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_PERMISSION);
    const Fd event(open_event(faults(), -1, 0, -1));
    REQUIRE(event);
    REQUIRE(SetRequest(std::vector<int>{event.get()}).open(meta) == 0);
}
