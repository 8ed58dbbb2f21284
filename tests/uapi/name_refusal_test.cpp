// SPDX-License-Identifier: MIT
// PUBLISH, JOIN and UNPUBLISH: arguments that are refused, and who may do what.
#include "identities.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

constexpr unsigned kNobody = 65534;

// A meta-group with a set, that a name can be given.
struct Creator : Meta {
    Creator() { REQUIRE(open_set(*this, {faults()}) == 0); }
};

struct MaxNames : Setting {
    explicit MaxNames(int names)
        : Setting("/sys/module/perf_metagroup/parameters/max_names", names) {}
};

// A call with the handle `fds[0]`, or a new one, as another user.
long join_as(Identity identity, const char* text) {
    return run_as(identity, {}, [text](std::span<const int>) { return join(Meta(), text); });
}

long unpublish_as(Identity identity, const char* text) {
    return run_as(identity, {}, [text](std::span<const int>) { return unpublish(text); });
}

long publish_as(Identity identity, const Meta& meta, const perf_metagroup_publish& arg) {
    const int fd = meta.fd();
    return run_as(identity, std::span(&fd, 1), [&arg](std::span<const int> fds) {
        return publish(Meta(Fd(::dup(fds[0]))), arg);
    });
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "An invalid name is refused") {
    const Creator creator;
    const std::string longest(PERF_METAGROUP_NAME_SIZE - 1, 'x');
    for (const std::string& text :
         {std::string(), std::string("a/b"), std::string("a b"), std::string(".a"),
          std::string("-a"), std::string("_a"), std::string(".."), std::string("a\n"),
          std::string("\xe4"), std::string("a\xe4"), longest + "x"}) {
        CAPTURE(text);
        REQUIRE(publish(creator, publish_arg(text)) == -EINVAL);
        REQUIRE(join(Meta(), text) == -EINVAL);
        REQUIRE(unpublish(text) == -EINVAL);
    }
    auto arg = publish_arg("a");
    arg.name[20] = 'b';
    REQUIRE(publish(creator, arg) == -EINVAL);
    for (const std::string& text : {longest, std::string("0"), std::string("Z.9-_a")}) {
        const Name name(creator, text);
        REQUIRE(join(Meta(), text) == 0);
    }
}

TEST_CASE_METHOD(NeedsSets, "Invalid arguments of PUBLISH, JOIN and UNPUBLISH are refused") {
    const Creator creator;
    for (const unsigned mode : {0200U, 0100U, 01000U, 0x80000000U})
        REQUIRE(publish(creator, publish_arg("refused", mode)) == -EINVAL);
    auto flags = publish_arg("refused");
    flags.flags = 1;
    REQUIRE(publish(creator, flags) == -EINVAL);
    auto name = with_name<perf_metagroup_name>("refused");
    name.flags = 1;
    REQUIRE(creator.ioctl(PERF_METAGROUP_IOC_JOIN, &name) == -EINVAL);
    REQUIRE(creator.ioctl(PERF_METAGROUP_IOC_UNPUBLISH, &name) == -EINVAL);
    for (const unsigned long command :
         {PERF_METAGROUP_IOC_PUBLISH, PERF_METAGROUP_IOC_JOIN, PERF_METAGROUP_IOC_UNPUBLISH}) {
        REQUIRE(creator.ioctl(command, nullptr) == -EFAULT);
        __u32 size = 8;
        REQUIRE(creator.ioctl(command, &size) == -EINVAL);
        size = 1 << 20;
        REQUIRE(creator.ioctl(command, &size) == -E2BIG);
    }
    REQUIRE(name_file("refused", "id").empty());
}

TEST_CASE_METHOD(NeedsSets, "A meta-group without sets cannot get a name") {
    const EventGroup group = open_group(0, kSetFormat, 1);
    const Meta none, of_groups(group);
    REQUIRE(publish(none, publish_arg("empty")) == -EINVAL);
    REQUIRE(publish(of_groups, publish_arg("empty")) == -EINVAL);
    REQUIRE(join(none, "empty") == -ENOENT);
}

TEST_CASE_METHOD(NeedsSets, "A name exists only once") {
    const Creator creator, other;
    Name name(creator, "once");
    REQUIRE(publish(creator, publish_arg("once")) == -EEXIST);
    REQUIRE(publish(other, publish_arg("once")) == -EEXIST);
    REQUIRE(publish(creator, publish_arg("Once")) == 0);
    REQUIRE(unpublish("Once") == 0);
    name.end();
    REQUIRE(unpublish("once") == -ENOENT);
    REQUIRE(join(other, "once") == -ENOENT);
    const Name again(other, "once");
}

TEST_CASE_METHOD(NeedsSets, "At most max_names names exist") {
    const Creator creator;
    const MaxNames limit(2);
    const Name one(creator, "one");
    Name two(creator, "two");
    REQUIRE(publish(creator, publish_arg("three")) == -ENOSPC);
    two.end();
    const Name three(creator, "three");
}

TEST_CASE_METHOD(NeedsSets, "A JOIN that exceeds the limits of a meta-group adds no member") {
    const Meta creator;
    REQUIRE(open_set(creator, std::vector<perf_event_attr>(64, faults()), {0}) == 0);
    const Name name(creator, "large");
    const Meta meta;
    for (unsigned i = 0; i < meta.info().max_events_per_cpu / 64; ++i)
        REQUIRE(join(meta, "large") == 0);
    const auto members = meta.info().members;
    REQUIRE(join(meta, "large") == -E2BIG);
    REQUIRE(meta.info().members == members);
    REQUIRE(name.file("users") == "1");
}

TEST_CASE_METHOD(NeedsSets, "A JOIN whose result cannot be written adds no member") {
    const Creator creator;
    const Name name(creator, "unwritten");
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto* const arg = new (page) perf_metagroup_name(with_name<perf_metagroup_name>("unwritten"));
    REQUIRE(::mprotect(page, 4096, PROT_READ) == 0);
    const Meta meta;
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_JOIN, arg) == -EFAULT);
    REQUIRE(meta.info().members == 0);
    REQUIRE(name.file("users") == "0");
    ::munmap(page, 4096);
}

TEST_CASE_METHOD(NeedsSets, "PUBLISH requires CAP_PERFMON", "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const OpenDevice device;
    const Creator creator;
    const long got = publish_as(identity, creator, publish_arg("demands"));
    const bool allowed = identity == Identity::root || identity == Identity::monitor;
    REQUIRE(got == (allowed ? 0 : -EPERM));
    const auto owner = name_file("demands", "uid"), group = name_file("demands", "gid");
    REQUIRE(unpublish("demands") == (allowed ? 0 : -ENOENT));
    if (allowed) REQUIRE(owner == (identity == Identity::root ? "0" : "65534"));
    REQUIRE(group == owner);
}

TEST_CASE_METHOD(
    NeedsSets, "The group of a name must be one of its creator's, unless the creator has CAP_CHOWN",
    "[privilege]") {
    const OpenDevice device;
    const Creator creator;
    const auto as = [&](Identity identity, unsigned gid) {
        const long got = publish_as(identity, creator, publish_arg("of-group", 0400, gid));
        unpublish("of-group");
        return got;
    };
    REQUIRE(as(Identity::root, 12345) == 0);
    if (identity_error(Identity::monitor)) SKIP("no CAP_PERFMON here");
    REQUIRE(as(Identity::monitor, 12345) == -EPERM);
    REQUIRE(as(Identity::monitor, 0) == -EPERM);
    REQUIRE(as(Identity::monitor, kNobody) == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "Joining a name requires the permission to read it as a file, or CAP_PERFMON",
                 "[privilege]") {
    const Identity identity = any_identity();
    const auto [mode, gid] = GENERATE(table<unsigned, unsigned>({{0400, 0},
                                                                 {0040, kNobody},
                                                                 {0040, 12},
                                                                 {0004, 12},
                                                                 {0004, kNobody},
                                                                 {0444, kNobody},
                                                                 {0, 0}}));
    CAPTURE(name(identity), mode, gid);
    const OpenDevice device;
    const Creator creator;
    const Name name(creator, "readable", mode, gid);
    const bool privileged = identity == Identity::root || identity == Identity::monitor;
    const unsigned needed = identity == Identity::bare_root ? 0400 : gid == kNobody ? 0040 : 0004;
    const bool allowed = privileged || mode & needed;
    REQUIRE(join_as(identity, "readable") == (allowed ? 0 : -EACCES));
}

TEST_CASE_METHOD(NeedsSets, "Removing a name requires being its owner, or CAP_PERFMON",
                 "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const OpenDevice device;
    const Creator creator;
    const Name name(creator, "ended", 0444);
    const bool allowed = identity == Identity::root || identity == Identity::bare_root ||
                         identity == Identity::monitor;
    REQUIRE(unpublish_as(identity, "ended") == (allowed ? 0 : -EACCES));
}

TEST_CASE_METHOD(NeedsSets, "A user who lost CAP_PERFMON is still the owner of a name",
                 "[privilege]") {
    if (identity_error(Identity::monitor)) SKIP("no CAP_PERFMON here");
    const OpenDevice device;
    const Creator creator;
    REQUIRE(publish_as(Identity::monitor, creator, publish_arg("own")) == 0);
    REQUIRE(join_as(Identity::user, "own") == 0);
    REQUIRE(unpublish_as(Identity::bare_root, "own") == -EACCES);
    REQUIRE(unpublish_as(Identity::user, "own") == 0);
}

// perf itself would not let this user open an event of a CPU.
TEST_CASE_METHOD(NeedsSets, "A user without CAP_PERFMON joins a name whose events must be opened",
                 "[privilege]") {
    const OpenDevice device;
    const ParanoidOrSkip paranoid(2);
    const Creator creator;
    const Name name(creator, "reopened", 0004, 12);
    { const OfflineCpu offline(online_cpus().back()); }
    // Those of that CPU are gone.
    REQUIRE(join_as(Identity::user, "reopened") == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "A user without CAP_PERFMON joins a name that follows while a CPU is offline",
                 "[privilege]") {
    const OpenDevice device;
    const ParanoidOrSkip paranoid(2);
    const Meta creator, joined;
    SetRequest request({faults()});
    request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    REQUIRE(request.open(creator) == 0);
    const Name name(creator, "followed", 0004, 12);
    const auto last = static_cast<unsigned>(online_cpus().size() - 1);
    OfflineCpu offline(online_cpus().back());
    const int fd = joined.fd();
    REQUIRE(run_as(Identity::user, std::span(&fd, 1), [](std::span<const int> fds) {
                return join(Meta(Fd(::dup(fds[0]))), "followed");
            }) == 0);
    REQUIRE(joined.member(last).status == PERF_METAGROUP_OFFLINE);
    offline.back();
    REQUIRE(wait_until([&] { return joined.member(last).status == PERF_METAGROUP_OK; }));
}

TEST_CASE_METHOD(NeedsSets, "A user without CAP_PERFMON joins at most max_set_events events",
                 "[privilege]") {
    const OpenDevice device;
    const Creator creator;
    const Name name(creator, "limited", 0004, 12);
    const auto cpus = online_cpus().size();
    const MaxSetEvents limit(static_cast<int>(2 * cpus - 1));
    const auto results = run_as(Identity::user, {}, [](std::span<const int>) {
        const Meta one, two;
        const long first = join(one, "limited"), second = join(two, "limited");
        return std::array<long, 3>{first, second, two.info().members};
    });
    REQUIRE(results == std::array<long, 3>{0, -E2BIG, 0});
    REQUIRE(join(Meta(), "limited") == 0);
}
