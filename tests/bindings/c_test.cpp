// SPDX-License-Identifier: MIT
// The C library, on software events, which any machine can count.
#include <metagroup.h>
#include <time.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;

namespace {

template <auto Free>
struct Freed {
    template <class T>
    void operator()(T* object) const {
        Free(object);
    }
};
using Config = std::unique_ptr<metagroup_config, Freed<metagroup_config_free>>;
using Group = std::unique_ptr<metagroup_group, Freed<metagroup_group_close>>;
using Snapshot = std::unique_ptr<metagroup_snapshot, Freed<metagroup_snapshot_free>>;
using Stream = std::unique_ptr<metagroup_stream, Freed<metagroup_stream_free>>;

Config config_of(const char* events) {
    Config config(metagroup_config_new());
    REQUIRE(config);
    REQUIRE(metagroup_config_add_events(config.get(), events) == 0);
    return config;
}

Group open(const Config& config) {
    Group group(metagroup_group_open(config.get()));
    INFO(metagroup_error_message());
    REQUIRE(group);
    return group;
}

std::uint64_t now_ns() {
    timespec now{};
    REQUIRE(::clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

Snapshot read(const Group& group) {
    Snapshot snapshot(metagroup_snapshot_new());
    REQUIRE(metagroup_group_read(group.get(), snapshot.get()) == 0);
    return snapshot;
}

}  // namespace

TEST_CASE("Counts, CPUs and times of a snapshot are those of the members") {
    const auto group = open(config_of("{cpu-clock,context-switches},page-faults"));
    const std::uint64_t before = now_ns();
    const auto older = read(group);
    const auto newer = read(group);
    const std::uint64_t after = now_ns();
    const std::size_t size = metagroup_group_get_size(group.get());
    REQUIRE(size >= 2);
    REQUIRE(metagroup_snapshot_get_size(newer.get()) == size);
    REQUIRE(metagroup_snapshot_get_begin_ns(older.get()) >= before);
    REQUIRE(metagroup_snapshot_get_end_ns(newer.get()) <= after);

    std::uint64_t first = 0, second = 0, enabled = 0, running = 0;
    double difference = 0;
    REQUIRE(metagroup_snapshot_get_count(older.get(), 0, 0, &first) == 0);
    REQUIRE(metagroup_snapshot_get_count(newer.get(), 0, 0, &second) == 0);
    REQUIRE(second > first);
    REQUIRE(metagroup_snapshot_get_difference(older.get(), newer.get(), 0, 0, &difference) == 0);
    REQUIRE(difference == static_cast<double>(second - first));
    REQUIRE(metagroup_snapshot_get_times(newer.get(), 0, &enabled, &running) == 0);
    REQUIRE(running > 0);
    REQUIRE(enabled >= running);
    REQUIRE(metagroup_snapshot_get_status(newer.get(), 0) == METAGROUP_OK);
    REQUIRE(metagroup_snapshot_get_time_ns(newer.get(), 0) >=
            metagroup_snapshot_get_begin_ns(newer.get()));
}

TEST_CASE("Events of a member have name, unit and scale, and its group") {
    const auto group = open(config_of("{cpu-clock,context-switches},page-faults"));
    REQUIRE(metagroup_group_get_event_count(group.get(), 0) == 2);
    REQUIRE(std::string("context-switches") == metagroup_group_get_event_name(group.get(), 0, 1));
    REQUIRE(std::string("page-faults") == metagroup_group_get_event_name(group.get(), 1, 0));
    REQUIRE(metagroup_group_get_event_unit(group.get(), 0, 1) == std::string());
    REQUIRE(metagroup_group_get_event_scale(group.get(), 0, 1) == 1);
    REQUIRE(metagroup_group_get_group(group.get(), 0) == 0);
    REQUIRE(metagroup_group_get_group(group.get(), 1) == 1);
    REQUIRE(metagroup_group_get_event_name(group.get(), 0, 2) == nullptr);
    REQUIRE(metagroup_group_get_event_count(group.get(), 10'000) == 0);
}

TEST_CASE("A disabled group does not count before it is enabled, nor after it is disabled") {
    const auto config = config_of("cpu-clock");
    REQUIRE(metagroup_config_set_disabled(config.get(), true) == 0);
    const auto group = open(config);
    const auto count = [&] {
        std::uint64_t value = 0;
        REQUIRE(metagroup_snapshot_get_count(read(group).get(), 0, 0, &value) == 0);
        return value;
    };
    REQUIRE(count() == 0);
    REQUIRE(metagroup_group_enable(group.get()) == 0);
    REQUIRE(count() > 0);
    REQUIRE(metagroup_group_disable(group.get()) == 0);
    const std::uint64_t stopped = count();
    REQUIRE(count() == stopped);
    REQUIRE(metagroup_group_reset(group.get()) == 0);
    REQUIRE(count() == 0);
}

TEST_CASE("Only the CPUs of the configuration are counted") {
    const auto config = config_of("cpu-clock");
    REQUIRE(metagroup_config_set_cpus(config.get(), "1") == 0);
    const auto group = open(config);
    REQUIRE(metagroup_group_get_size(group.get()) == 1);
    REQUIRE(metagroup_snapshot_get_cpu(read(group).get(), 0) == 1);
}

TEST_CASE("An error sets errno and a message with reason and remedy") {
    const Config config(metagroup_config_new());
    errno = 0;
    REQUIRE(metagroup_config_add_events(config.get(), "cpu-clok") == -1);
    REQUIRE(errno == ENOENT);
    REQUIRE_THAT(metagroup_error_message(), ContainsSubstring("cpu-clock"));

    REQUIRE(metagroup_group_open(config.get()) == nullptr);
    REQUIRE(errno == EINVAL);
    REQUIRE(metagroup_config_set_cpus(config.get(), "3-1") == -1);
    REQUIRE(errno == EINVAL);
    // C passes any integer, which no cast in C++ may.
    const int beyond = METAGROUP_BACKEND_PERCPU + 1;
    metagroup_backend unknown{};
    std::memcpy(&unknown, &beyond, sizeof unknown);
    REQUIRE(metagroup_config_set_backend(config.get(), unknown) == -1);
    REQUIRE(errno == EINVAL);
}

TEST_CASE("A NULL string is an error") {
    const Config config(metagroup_config_new());
    REQUIRE(metagroup_config_add_events(config.get(), nullptr) == -1);
    REQUIRE(errno == EINVAL);
    REQUIRE(metagroup_config_set_cpus(config.get(), nullptr) == -1);
    REQUIRE(metagroup_config_set_cgroup(config.get(), nullptr) == -1);
    REQUIRE(metagroup_error_message() != std::string());
}

TEST_CASE("A missing record is an error") {
    const auto group = open(config_of("cpu-clock"));
    const auto snapshot = read(group);
    std::uint64_t count = 0;
    const std::size_t beyond = metagroup_snapshot_get_size(snapshot.get());
    REQUIRE(metagroup_snapshot_get_count(snapshot.get(), beyond, 0, &count) == -1);
    REQUIRE(errno == EINVAL);
    REQUIRE(metagroup_snapshot_get_count(snapshot.get(), 0, 1, &count) == -1);
    REQUIRE(errno == ENODATA);
    REQUIRE(metagroup_snapshot_get_cpu(snapshot.get(), beyond) == -1);
    REQUIRE(metagroup_snapshot_get_time_ns(snapshot.get(), beyond) == 0);
}

TEST_CASE("Every function sets EINVAL for an index out of range") {
    const auto group = open(config_of("cpu-clock"));
    const auto snapshot = read(group);
    const Stream stream(metagroup_stream_start(group.get(), 10'000'000, 0));
    REQUIRE(stream);
    const auto refused = [](const auto& call) {
        errno = 0;
        call();
        return errno == EINVAL;
    };
    CHECK(refused([&] { return metagroup_group_get_event_count(group.get(), 999); }));
    CHECK(refused([&] { return metagroup_group_get_event_name(group.get(), 0, 1); }));
    CHECK(refused([&] { return metagroup_group_get_event_unit(group.get(), 999, 0); }));
    CHECK(refused([&] { return metagroup_group_get_event_scale(group.get(), 0, 1); }));
    CHECK_FALSE(refused([&] { return metagroup_group_get_event_scale(group.get(), 0, 0); }));
    CHECK(refused([&] { return metagroup_snapshot_get_time_ns(snapshot.get(), 999); }));
    CHECK(refused([&] { return metagroup_stream_get_time_ns(stream.get(), 0); }));
    CHECK(refused([&] { return metagroup_stream_get_size(stream.get(), 0); }));
    CHECK(refused([&] { return metagroup_stream_get_lost(stream.get(), 0, 0); }));
}

TEST_CASE("Deadlines of a stream end with the next wait") {
    const auto group = open(config_of("context-switches"));
    const Stream stream(metagroup_stream_start(group.get(), 1'000'000, 0));
    REQUIRE(stream);
    for (int i = 0; i < 500 && metagroup_stream_get_size(stream.get(), 0) == 0; ++i) {
        REQUIRE(metagroup_stream_wait(stream.get(), 10'000'000) >= 0);
        REQUIRE(metagroup_stream_read(stream.get()) >= 0);
    }
    REQUIRE(metagroup_stream_get_cpu(stream.get(), 0, 0) >= 0);
    REQUIRE(metagroup_stream_wait(stream.get(), 0) >= 0);
    REQUIRE(metagroup_stream_get_cpu(stream.get(), 0, 0) == -1);
    REQUIRE(errno == EINVAL);
}

TEST_CASE("A stream has samples of all members at multiples of its period") {
    const auto group = open(config_of("context-switches"));
    constexpr std::uint64_t period = 2'000'000;
    const Stream stream(metagroup_stream_start(group.get(), period, 0));
    INFO(metagroup_error_message());
    REQUIRE(stream);
    std::vector<std::uint64_t> samples(metagroup_group_get_size(group.get()));
    const auto take = [&] {
        for (int n = 0; (n = metagroup_stream_read(stream.get())) > 0;)
            for (std::size_t d = 0; d < static_cast<std::size_t>(n); ++d) {
                REQUIRE(metagroup_stream_get_time_ns(stream.get(), d) % period == 0);
                for (std::size_t s = 0; s < metagroup_stream_get_size(stream.get(), d); ++s) {
                    std::uint64_t count = 0;
                    const int member = metagroup_stream_get_member(stream.get(), d, s);
                    REQUIRE(member >= 0);
                    if (metagroup_stream_get_lost(stream.get(), d, s)) continue;
                    REQUIRE(metagroup_stream_get_count(stream.get(), d, s, 0, &count) == 0);
                    ++samples.at(static_cast<std::size_t>(member));
                }
            }
    };
    // A busy host may keep the timer of a CPU waiting.
    for (int i = 0; i < 20 || (i < 500 && std::ranges::count(samples, 0U) > 0); ++i) {
        REQUIRE(metagroup_stream_wait(stream.get(), 10'000'000) >= 0);
        take();
    }
    REQUIRE(metagroup_stream_stop(stream.get()) == 0);
    REQUIRE(metagroup_stream_wait(stream.get(), -1) == 2);
    take();
    for (const std::uint64_t number : samples)
        REQUIRE(number > 0);

    REQUIRE(metagroup_stream_start(group.get(), 1, 0) == nullptr);
    REQUIRE(errno == EINVAL);
}
