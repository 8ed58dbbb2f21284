// SPDX-License-Identifier: MIT
// What may become a member, and what is said of the rest.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <new>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

// A good group, then `bad`: the call must fail, blame `bad` and attach nothing.
void refuse(int bad, long error, unsigned reason) {
    const EventGroup good = open_group(0, 0, 1);
    const Meta meta;
    const std::array fds{good.leader(), bad};
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == error);
    REQUIRE(out.failed == 1);
    REQUIRE(out.reason == reason);
    REQUIRE(meta.info().members == 0);
    // The good one was let go and can be attached.
    REQUIRE(meta.attach(good) == 0);
}

}  // namespace

TEST_CASE("Numbers of members begin at 0 and rise in attach order") {
    const auto groups = open_everywhere(0, 1);
    const Meta meta;
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(groups[0], &out) == 0);
    REQUIRE(out.first == 0);
    REQUIRE(meta.attach(groups[1], &out) == 0);
    REQUIRE(out.first == 1);
    REQUIRE(out.failed == out.count);
    REQUIRE(out.reason == PERF_METAGROUP_REASON_NONE);
    REQUIRE(meta.info().members == 2);
    REQUIRE(meta.info().cpus == 2);
}

TEST_CASE("A file that is no perf event cannot be attached") {
    const Fd event(::eventfd(0, 0));
    refuse(event.get(), -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
    const Fd null(::open("/dev/null", O_RDONLY));
    refuse(null.get(), -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
}

TEST_CASE("A meta-group cannot be attached to another") {
    const Meta inner;
    refuse(inner.fd(), -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
}

TEST_CASE("A sibling cannot be attached") {
    const EventGroup group = open_group(0, 0, 2);
    refuse(group.fds[1].get(), -EINVAL, PERF_METAGROUP_REASON_SIBLING);
}

TEST_CASE("An event that is bound to a task cannot be attached") {
    const auto attr = software_event(PERF_COUNT_SW_TASK_CLOCK, 0);
    const Fd anywhere(open_event(attr, 0, -1, -1));
    refuse(anywhere.get(), -EINVAL, PERF_METAGROUP_REASON_TASK);
    const Fd on_cpu(open_event(attr, 0, 0, -1));
    refuse(on_cpu.get(), -EINVAL, PERF_METAGROUP_REASON_TASK);
}

TEST_CASE("A file that is not open for reading cannot be attached") {
    const Fd null(::open("/dev/null", O_WRONLY));
    refuse(null.get(), -EBADF, PERF_METAGROUP_REASON_BAD_FD);
    const Fd path(::open("/dev/null", O_PATH));
    refuse(path.get(), -EBADF, PERF_METAGROUP_REASON_BAD_FD);
}

TEST_CASE("A closed or bogus descriptor cannot be attached") {
    refuse(900, -EBADF, PERF_METAGROUP_REASON_BAD_FD);
    refuse(-1, -EBADF, PERF_METAGROUP_REASON_BAD_FD);
    refuse(1'000'000'000, -EBADF, PERF_METAGROUP_REASON_BAD_FD);
}

TEST_CASE("A group that stands twice in one call cannot be attached") {
    const EventGroup group = open_group(0, 0, 1);
    const Meta meta;
    const std::array fds{group.leader(), group.leader()};
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == -EBUSY);
    REQUIRE(out.failed == 1);
    REQUIRE(out.reason == PERF_METAGROUP_REASON_BUSY);
    REQUIRE(meta.info().members == 0);
}

TEST_CASE("A group belongs to one meta-group at most, also through a duplicate descriptor") {
    const EventGroup group = open_group(0, 0, 1);
    const Fd duplicate(::dup(group.leader()));
    const Meta owner, other;
    REQUIRE(owner.attach(group) == 0);
    REQUIRE(other.attach(group) == -EBUSY);
    REQUIRE(owner.attach(group) == -EBUSY);
    const int fd = duplicate.get();
    REQUIRE(other.attach(std::span(&fd, 1)) == -EBUSY);
    REQUIRE(owner.detach(0) == 0);
    REQUIRE(other.attach(group) == 0);
}

TEST_CASE("Closing a meta-group lets its members go") {
    const EventGroup group = open_group(0, 0, 1);
    Meta owner;
    REQUIRE(owner.attach(group) == 0);
    owner.close();
    REQUIRE(Meta().attach(group) == 0);
}

TEST_CASE("No descriptors and too many are refused, with none to blame") {
    const Meta meta;
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(std::span<const int>(), &out) == -EINVAL);

    const std::vector<int> many(meta.info().max_members + 1, -1);
    REQUIRE(meta.attach(many, &out) == -E2BIG);
    REQUIRE(out.failed == out.count);

    perf_metagroup_attach huge{};
    huge.size = sizeof(huge);
    huge.count = ~0U;
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_ATTACH, &huge) == -E2BIG);
    REQUIRE(meta.info().members == 0);
}

TEST_CASE("More members on one CPU than the limit are refused, all of them") {
    const Meta meta;
    const unsigned limit = meta.info().max_per_cpu;
    rlimit files{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max = std::max<rlim_t>(files.rlim_max, limit + 64);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);

    EventGroup many;
    const auto attr = software_event(PERF_COUNT_SW_DUMMY, 0);
    std::vector<int> fds;
    for (unsigned i = 0; i <= limit; ++i) {
        many.fds.emplace_back(open_event(attr, -1, 0, -1));
        fds.push_back(many.fds.back().get());
        REQUIRE(fds.back() >= 0);
    }
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == -E2BIG);
    REQUIRE(out.failed == out.count);
    REQUIRE(meta.info().members == 0);
    REQUIRE(meta.info().cpus == 0);

    fds.pop_back();
    REQUIRE(meta.attach(fds) == 0);
    REQUIRE(meta.attach(many) == -EBUSY);
    REQUIRE(meta.read().size() == 8 * std::size_t{limit});
}

TEST_CASE("An array of descriptors that cannot be read is refused") {
    const Meta meta;
    perf_metagroup_attach arg{};
    arg.size = sizeof(arg);
    arg.count = 1;
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_ATTACH, &arg) == -EFAULT);
    arg.fds = ~0ULL << 12;
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_ATTACH, &arg) == -EFAULT);
}

TEST_CASE("Nothing is attached if the answer cannot be written") {
    const EventGroup group = open_group(0, 0, 1);
    const int fd = group.leader();
    const Meta meta;
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto* arg = new (page) perf_metagroup_attach{};
    arg->size = sizeof(*arg);
    arg->count = 1;
    arg->fds = reinterpret_cast<std::uintptr_t>(&fd);
    REQUIRE(::mprotect(page, 4096, PROT_READ) == 0);
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_ATTACH, arg) == -EFAULT);
    REQUIRE(meta.info().members == 0);
    ::munmap(page, 4096);
}

TEST_CASE("Members go on when the caller has closed their descriptors") {
    auto groups = open_everywhere(0, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    groups.clear();
    const Bytes first = meta.read();
    burn_ms(2);
    REQUIRE(meta.read() != first);
    REQUIRE(first.size() == 8 * online_cpus().size());
}

TEST_CASE("There may be more members than open files") {
    rlimit files{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
    const rlimit few{64, files.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);

    const Meta meta;
    const auto cpus = online_cpus();
    const std::size_t wanted = 200;
    for (std::size_t i = 0; i < wanted; ++i)
        REQUIRE(meta.attach(open_group(cpus[i % cpus.size()], 0, 1)) == 0);
    REQUIRE(meta.read().size() == 8 * wanted);
    ::setrlimit(RLIMIT_NOFILE, &files);
}
