// SPDX-License-Identifier: MIT
// Readers of the mapped snapshot while it is written.
#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "support/background.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;
constexpr auto kDuration = std::chrono::seconds(6);
using std::chrono::milliseconds;

// Copies the mapped snapshot and checks it. Maps it again when it has moved.
class Reader {
  public:
    explicit Reader(const Meta& meta) : meta_(meta), mapping_(meta) {}

    void operator()() {
        const auto copy = mapping_.copy();
        if (!copy || mapping_.moved()) {
            // More than INFO says is never mapped, but it may have grown since.
            mapping_ = Mapping(meta_);
            ++maps;
            return;
        }
        snapshots_.check(take_apart(*copy));
        ++copies;
    }

    unsigned copies = 0, maps = 0;

  private:
    const Meta& meta_;
    Mapping mapping_;
    SnapshotCheck snapshots_;
};

void must(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

}  // namespace

TEST_CASE("No copy of a mapped snapshot is torn while members and siblings change") {
    const auto cpus = online_cpus();
    const auto base = open_everywhere(kFormat, 2);
    const Meta meta(base);
    Reader one(meta), two(meta);
    const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
    std::array threads{
        Background([&] { one(); }), Background([&] { two(); }),
        Background([&] { must(meta.sweep() >= 0, "SWEEP"); }),
        Background([&] { must(!meta.read().empty(), "read"); }),
        // Sometimes so many members that the snapshot moves.
        Background([&, i = std::size_t{0}]() mutable {
            const EventGroup group = open_group(cpus[i++ % cpus.size()], kFormat, 1);
            perf_metagroup_attach out{};
            must(meta.attach(group, &out) == 0, "ATTACH");
            std::this_thread::yield();
            must(meta.detach(out.first) == 0, "DETACH");
        }),
        Background([&, i = std::size_t{0}]() mutable {
            const std::size_t cpu = i % cpus.size();
            std::vector<Fd> siblings;
            for (std::size_t more = 0; more < 1 + i % 40; ++more)
                siblings.emplace_back(open_event(attr, -1, cpus[cpu], base[cpu].leader()));
            ++i;
        })};
    const auto all_did = [&] {
        return std::ranges::all_of(threads,
                                   [](const Background& thread) { return thread.rounds() > 10; });
    };
    repeat_for(
        kDuration, [] { std::this_thread::sleep_for(milliseconds(100)); }, all_did);
    for (Background& thread : threads)
        thread.stop();
    CAPTURE(one.copies, two.copies);
    REQUIRE(one.copies > 50);
    REQUIRE(two.copies > 50);
    REQUIRE(all_did());
}

TEST_CASE("Readers follow a snapshot that moves") {
    const auto cpus = online_cpus();
    unsigned maps = 0;
    for (int round = 0; round < 4; ++round) {
        const Meta meta;
        Reader reader(meta);
        Background reads([&] { reader(); });
        Background sweeps([&] {
            must(meta.sweep() == 0, "SWEEP");
            ::usleep(200);  // ATTACH needs the mutex, too
        });
        std::vector<EventGroup> groups;
        const Mapping first(meta);
        for (std::size_t i = 0; i < 200; ++i) {
            groups.push_back(open_group(cpus[i % cpus.size()], kFormat, 1));
            REQUIRE(meta.attach(groups.back()) == 0);
        }
        reads.stop();
        sweeps.stop();
        REQUIRE(first.moved());
        maps += reader.maps;
    }
    REQUIRE(maps > 0);
}
