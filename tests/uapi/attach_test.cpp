// SPDX-License-Identifier: MIT
// ATTACH: groups that can be members, and the reasons of refusals.
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <barrier>
#include <new>

#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

// A good group, then `bad`: the call must fail, name `bad` and attach nothing.
void refuse(int bad, long error, unsigned reason) {
    const EventGroup good = open_group(0, 0, 1);
    const Meta meta;
    const std::array fds{good.leader(), bad};
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == error);
    REQUIRE(out.failed == 1);
    REQUIRE(out.reason == reason);
    REQUIRE(meta.info().members == 0);
    // The good one was released and can be attached.
    REQUIRE(meta.attach(good) == 0);
}

}  // namespace

TEST_CASE("Numbers of members start at 0 and increase in attach order") {
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

TEST_CASE("A file that is not a perf event cannot be attached") {
    const Fd event(::eventfd(0, 0)), null(::open("/dev/null", O_RDONLY));
    const Meta inner;
    for (const int fd : {event.get(), null.get(), inner.fd()})
        refuse(fd, -EINVAL, PERF_METAGROUP_REASON_NOT_PERF);
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

TEST_CASE("An event whose read format the module does not know cannot be attached") {
    const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, PERF_FORMAT_GROUP | 1U << 5);
    const int fd = open_event(attr, -1, -1, -1);
    if (fd < 0) SKIP("this kernel has no PERF_FORMAT_PERCPU");
    const Fd event(fd);
    refuse(event.get(), -EINVAL, PERF_METAGROUP_REASON_ATTR);
}

TEST_CASE("A descriptor that is closed, bogus or not open for reading cannot be attached") {
    const Fd write_only(::open("/dev/null", O_WRONLY)), path(::open("/dev/null", O_PATH));
    for (const int fd : {write_only.get(), path.get(), 900, -1, 1'000'000'000})
        refuse(fd, -EBADF, PERF_METAGROUP_REASON_BAD_FD);
}

TEST_CASE("A group cannot be attached twice in one call") {
    const EventGroup group = open_group(0, 0, 1);
    const Meta meta;
    const std::array fds{group.leader(), group.leader()};
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == -EBUSY);
    REQUIRE(out.failed == 1);
    REQUIRE(out.reason == PERF_METAGROUP_REASON_BUSY);
    REQUIRE(meta.info().members == 0);
}

TEST_CASE("A group belongs to at most one meta-group, even through a duplicate descriptor") {
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

TEST_CASE("A refusal of a busy group leaves the meta-group as it was") {
    const EventGroup owned = open_group(0, 0, 1);
    const EventGroup small = open_group(0, 0, 1, true);
    const EventGroup large = open_group(0, kTimed, 20);
    const Meta owner, meta;
    REQUIRE(owner.attach(owned) == 0);
    REQUIRE(meta.attach(small) == 0);
    const auto before = meta.info().framed_size;

    const std::array fds{large.leader(), owned.leader()};
    perf_metagroup_attach out{};
    REQUIRE(meta.attach(fds, &out) == -EBUSY);
    REQUIRE(out.failed == 1);
    REQUIRE(out.reason == PERF_METAGROUP_REASON_BUSY);
    REQUIRE(out.first == 0);
    REQUIRE(meta.info().members == 1);
    REQUIRE(meta.info().framed_size == before);
    REQUIRE(meta.read() == small.read());
    // Neither a group nor a number was used up.
    REQUIRE(meta.attach(large, &out) == 0);
    REQUIRE(out.first == 1);
}

TEST_CASE("One of two handles that attach the same groups in opposite orders succeeds") {
    constexpr int kRounds = 200;
    const auto groups = open_in_turn(64, 0);
    const auto forwards = leaders_of(groups);
    const std::vector<int> backwards(forwards.rbegin(), forwards.rend());

    int none = 0, both = 0;
    for (int round = 0; round < kRounds; ++round) {
        const Meta here, there;
        std::barrier start(2);
        long other = 0;
        std::jthread thread([&] {
            start.arrive_and_wait();
            other = there.attach(backwards);
        });
        start.arrive_and_wait();
        const long mine = here.attach(forwards);
        thread.join();
        none += mine != 0 && other != 0;
        both += mine == 0 && other == 0;
    }
    REQUIRE(both == 0);
    REQUIRE(none == 0);
}

TEST_CASE("Closing a meta-group releases its members") {
    const EventGroup group = open_group(0, 0, 1);
    Meta owner;
    REQUIRE(owner.attach(group) == 0);
    owner.close();
    REQUIRE(Meta().attach(group) == 0);
}

TEST_CASE("ATTACH of no descriptor or of too many is refused and names none") {
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
    REQUIRE(Meta().attach(many) == -EBUSY);
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

TEST_CASE("ATTACH fails with EFAULT and attaches nothing if its result cannot be written") {
    const EventGroup group = open_group(0, 0, 1);
    const int fd = GENERATE_REF(group.leader(), -1);
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

TEST_CASE("An ATTACH whose result cannot be written returns while a reader holds the meta-group") {
    if (!SlowPage::available()) SKIP("this kernel has no userfaultfd");
    const EventGroup member = open_group(0, 0, 1);
    const EventGroup group = open_group(0, 0, 1);
    const int fd = group.leader();
    const Meta meta(member);

    SlowPage fds, answer, buffer;
    answer.serve();
    auto* const arg = new (answer.at()) perf_metagroup_attach{};
    arg->size = sizeof(*arg);
    arg->count = 1;
    arg->fds = reinterpret_cast<std::uintptr_t>(fds.at());
    std::atomic<long> result = 1;
    std::thread attacher([&] { result = meta.ioctl(PERF_METAGROUP_IOC_ATTACH, arg); });

    // The page becomes missing between the read of the arguments and the write of the answer.
    const bool reads = fds.touched(std::chrono::minutes(1));
    answer.take_away();
    fds.serve(std::as_bytes(std::span(&fd, 1)));
    const bool answers = answer.touched(std::chrono::minutes(1));
    std::thread reader([&] { meta.read(buffer.at(), SlowPage::kSize); });
    bool stuck = buffer.touched(std::chrono::seconds(2));
    answer.destroy();
    for (int tries = 0; tries < 100 && result == 1; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const long ended = result;
    stuck = stuck || buffer.touched(std::chrono::minutes(1));
    buffer.serve();
    attacher.join();
    reader.join();

    REQUIRE(reads);
    REQUIRE(answers);
    REQUIRE(stuck);
    REQUIRE(ended == -EFAULT);
    REQUIRE(meta.info().members == 1);
    REQUIRE(Meta().attach(group) == 0);
}

TEST_CASE("Members keep counting after the caller has closed their descriptors") {
    auto [groups, meta] = attached(open_everywhere(0, 1));
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

TEST_CASE("Groups of a failed ATTACH can be attached at once") {
    const auto groups = open_in_turn(64, 0);
    const auto leaders = leaders_of(groups);
    const Meta owner(groups.back());
    Background failing([&] {
        if (Meta().attach(leaders) != -EBUSY) throw std::runtime_error("ATTACH");
    });
    unsigned tries = 0, busy = 0;
    const auto attach = [&] { busy += Meta().attach(groups[tries++ % 63]) != 0; };
    repeat_for(std::chrono::seconds(2), attach, [&] { return failing.rounds() > 100; });
    failing.stop();
    REQUIRE(failing.rounds() > 0);
    REQUIRE(busy == 0);
}
