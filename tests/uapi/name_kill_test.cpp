// SPDX-License-Identifier: MIT
// Creators of names that are killed at any moment leave nothing behind.
#include <filesystem>

#include "fixtures.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

constexpr const char* kName = "at-any-moment";

unsigned rounds() {
    return std::getenv("METAGROUP_LONG") ? 100 : 25;
}

// Shared with a creator.
struct Progress {
    std::atomic<std::uint64_t> nanoseconds;  // of a whole round
    std::atomic<bool> named;
};

class SharedProgress {
  public:
    SharedProgress()
        : memory_(::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        REQUIRE(memory_ != MAP_FAILED);
        new (memory_) Progress{};
    }
    ~SharedProgress() { ::munmap(memory_, sizeof(Progress)); }
    SharedProgress(const SharedProgress&) = delete;
    SharedProgress& operator=(const SharedProgress&) = delete;

    Progress* operator->() const { return static_cast<Progress*>(memory_); }

  private:
    void* memory_;
};

// Opens a set, publishes it, joins the name, and ends the name, until it is killed.
[[noreturn]] void create_until_killed(const std::vector<perf_event_attr>& attrs, bool many_joins,
                                      const SharedProgress& progress) {
    for (;;) {
        const auto begin = monotonic_ns();
        const Meta creator;
        if (open_set(creator, attrs) || publish(creator, publish_arg(kName))) ::_exit(1);
        progress->named = true;
        for (int again = 0; again < 10 || many_joins; ++again)
            if (const long got = join(creator, kName)) {
                if (got == -E2BIG && many_joins) ::pause();  // the killer is late
                ::_exit(2);
            }
        if (unpublish(kName)) ::_exit(3);
        progress->nanoseconds = monotonic_ns() - begin;
    }
}

// Kills a creator, in the part of its work that `round` says: the name is there for a small part
// only, so that it is there in each fifth round.
void kill_creator(unsigned round, const std::vector<perf_event_attr>& attrs) {
    const bool with_name = round % 5 == 0;
    const SharedProgress progress;
    const auto child = ::fork();
    if (child == 0) create_until_killed(attrs, with_name, progress);
    if (with_name) {
        REQUIRE(wait_until([&] { return progress->named.load(); }));
    } else {
        REQUIRE(wait_until([&] { return progress->nanoseconds > 0; }));
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(progress->nanoseconds * (round % 25) / 25));
    }
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CAPTURE(status);
    REQUIRE(WIFSIGNALED(status));
}

// The events of the PMU of the test module: perf has a reference to the module for each.
unsigned long events_of_testpmu() {
    unsigned long count = 0;
    REQUIRE(std::ifstream("/sys/module/metagroup_testpmu/refcnt") >> count);
    return count;
}

// The objects of a cache of the kernel, once those are free that CPUs keep for later.
unsigned long objects_or_skip(const std::string& cache) {
    std::ofstream("/sys/kernel/slab/" + cache + "/shrink") << 1 << std::flush;
    std::ifstream file("/proc/slabinfo");
    for (std::string name, line; file >> name && std::getline(file, line);)
        if (name == cache) return std::stoul(line);
    SKIP("the kernel has no cache " << cache);
    return 0;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "Creators that are killed at any moment leave no event behind") {
    const std::vector<perf_event_attr> attrs = distinct(2, testpmu_or_skip(0));
    const auto before = events_of_testpmu();
    unsigned left = 0;
    for (unsigned round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        kill_creator(round, attrs);
        {
            // A name that was published when it was killed is there as a whole.
            const Meta meta;
            const bool there = join(meta, kName) == 0;
            REQUIRE(events_of_testpmu() ==
                    before + (there ? attrs.size() * online_cpus().size() : 0));
            if (there) {
                ++left;
                REQUIRE(meta.member(0).users == 2);
                REQUIRE(name_file(kName, "users") == "1");
                REQUIRE(unpublish(kName) == 0);
            }
            REQUIRE(std::filesystem::is_empty(kNames));
        }
        REQUIRE(events_of_testpmu() == before);
    }
    REQUIRE(left >= rounds() / 5);
}

TEST_CASE_METHOD(NeedsSets,
                 "Creators that are killed at any moment leave no memory of events behind") {
    const auto attrs = distinct(8, software_event(PERF_COUNT_SW_CPU_CLOCK, 0));
    const auto before = objects_or_skip("perf_event");
    for (unsigned round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        kill_creator(round, attrs);
        unpublish(kName);
    }
    // Memory is freed after a grace period.
    auto after = before;
    wait_until([&] { return (after = objects_or_skip("perf_event")) <= before; });
    REQUIRE(after <= before);
}
