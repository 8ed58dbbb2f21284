// SPDX-License-Identifier: MIT
// Users without CAP_PERFMON keep to the module's parameter max_sweep_rate.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/background.hpp"
#include "support/meta.hpp"
#include "support/process.hpp"
#include "support/settings.hpp"

using namespace metagroup::test;

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The least time of this many sweeps at this rate: the first does not wait, and a burst of 10 ms is
// allowed.
constexpr unsigned kRate = 100;
constexpr int kSweeps = 40;
constexpr nanoseconds kLeast = (kSweeps - 1) * nanoseconds(seconds(1)) / kRate - milliseconds(10);
static_assert(kLeast == milliseconds(380));

// Without a limit they take much less, at one per second much longer.
constexpr nanoseconds kNoWait = seconds(kSweeps) / 2;

// Of reads and sweeps in turn, each by the handle that `handle` returns for it.
template <typename Handle>
nanoseconds time_of_sweeps(const Handle& handle) {
    return time_of([&] {
        for (int turn = 0; turn < kSweeps; ++turn) {
            const Meta& meta = handle(turn);
            char byte = 0;
            if ((turn / 4 % 2 ? meta.sweep() : meta.read(&byte, 1)) != 0)
                throw std::runtime_error("a sweep failed");
        }
    });
}

Meta nonblocking() {
    return Meta(Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK)));
}

// The first error of repeated sweeps, or 0.
template <typename Sweep>
long first_error(const Sweep& sweep) {
    long result = 0;
    for (int turn = 0; turn < kSweeps && result >= 0; ++turn)
        result = sweep();
    return result;
}

}  // namespace

TEST_CASE("All handles of a user without CAP_PERFMON together sweep at the limit", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(kRate);
    for (const Identity identity : {Identity::user, Identity::bare_root}) {
        const auto took = run_as(identity, {}, [](auto) {
            std::vector<Meta> handles(4);
            return time_of_sweeps([&](int turn) -> const Meta& {
                return handles[static_cast<std::size_t>(turn) % handles.size()];
            });
        });
        CAPTURE(name(identity));
        REQUIRE(took >= kLeast);
    }
}

TEST_CASE("A handle that is closed and opened again sweeps no more often", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(kRate);
    const auto took =
        run_as(Identity::user, {}, [](auto) { return time_of_sweeps([](int) { return Meta(); }); });
    REQUIRE(took >= kLeast);
}

TEST_CASE("Subordinate user ids share the limit of their owner", "[privilege]") {
    if (identity_error(Identity::container)) SKIP("no user namespaces here");
    const OpenDevice device;
    const MaxSweepRate rate(kRate);
    std::array<int, 2> unshared{}, mapped{};
    REQUIRE(::pipe(unshared.data()) == 0);
    REQUIRE(::pipe(mapped.data()) == 0);
    // Only root maps ids that are not the caller's own, as newuidmap(1) does.
    std::thread root([&] {
        pid_t child = 0;
        if (::read(unshared[0], &child, sizeof(child)) != sizeof(child)) return;
        std::ofstream("/proc/" + std::to_string(child) + "/uid_map") << "0 100000 1" << std::flush;
        ::close(mapped[1]);
    });
    nanoseconds took{};
    std::string error;
    try {
        took = run_as(
            Identity::user, std::array{unshared[1], mapped[0]}, [](std::span<const int> fds) {
                std::vector<Meta> handles(1);
                const pid_t self = ::getpid();
                char byte = 0;
                if (::unshare(CLONE_NEWUSER) || ::write(fds[0], &self, sizeof(self)) < 0 ||
                    ::read(fds[1], &byte, 1) != 0 || ::setresuid(0, 0, 0))
                    throw std::runtime_error("no other user id");
                handles.emplace_back();
                return time_of_sweeps([&](int turn) -> const Meta& {
                    return handles[static_cast<std::size_t>(turn) % handles.size()];
                });
            });
    } catch (const std::exception& failure) {
        error = failure.what();
    }
    ::close(unshared[1]);
    root.join();
    ::close(unshared[0]);
    ::close(mapped[0]);
    REQUIRE(error == "");
    REQUIRE(took >= kLeast);
}

TEST_CASE("With CAP_PERFMON there is no limit", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(1);
    for (const Identity identity : {Identity::root, Identity::monitor}) {
        const auto took = run_as(identity, {}, [](auto) {
            const Meta meta;
            return time_of_sweeps([&](int) -> const Meta& { return meta; });
        });
        CAPTURE(name(identity));
        REQUIRE(took < kNoWait);
    }
}

TEST_CASE("A rate of 0 is no limit", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(0);
    const auto took = run_as(Identity::user, {}, [](auto) {
        const Meta meta;
        return time_of_sweeps([&](int) -> const Meta& { return meta; });
    });
    REQUIRE(took < kNoWait);
}

TEST_CASE("A change of the rate applies to open handles", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(0);
    const Fd handle = [] {
        struct Effective {
            Effective() { REQUIRE(::seteuid(65534) == 0); }
            ~Effective() { (void)!::seteuid(0); }
        } const user;
        return Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    }();
    REQUIRE(handle);
    const Meta meta{Fd(::dup(handle.get()))};
    REQUIRE(first_error([&] { return meta.sweep(); }) == 0);
    REQUIRE(rate.set(1));
    REQUIRE(first_error([&] { return meta.sweep(); }) == -EAGAIN);
}

TEST_CASE("At the limit, a handle with O_NONBLOCK fails with EAGAIN", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(1);
    const auto errors = run_as(Identity::user, {}, [](auto) {
        const Meta meta = nonblocking();
        char byte = 0;
        return std::array{first_error([&] { return meta.sweep(); }),
                          first_error([&] { return meta.read(&byte, 1); })};
    });
    REQUIRE(errors == std::array<long, 2>{-EAGAIN, -EAGAIN});
}

TEST_CASE("A signal ends the wait for the next sweep", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(1);
    const long error = run_as(Identity::user, {}, [](auto) {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        ::sigaction(SIGALRM, &action, nullptr);
        ::ualarm(50'000, 50'000);
        const Meta meta;
        return first_error([&] { return meta.sweep(); });
    });
    REQUIRE(error == -EINTR);
}

TEST_CASE("A sweep that waits for its turn does not block the meta-group", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(1);
    const auto took = run_as(Identity::user, {}, [](auto) {
        const Meta meta;
        const Background sweeper([&] { meta.sweep(); });
        return time_of([&] {
            for (int turn = 0; turn < kSweeps; ++turn) {
                meta.info();
                std::this_thread::sleep_for(milliseconds(1));
            }
        });
    });
    REQUIRE(took < kNoWait);
}
