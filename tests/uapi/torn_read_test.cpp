// SPDX-License-Identifier: MIT
// Readers of the mapped snapshot while it is written: by the protocol, no copy is torn.
#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "support/cpus.hpp"
#include "support/mapping.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;
constexpr auto kDuration = std::chrono::seconds(6);

// Times and counts of a payload of kFormat.
struct Words {
    std::uint64_t events, enabled, running, count;
    explicit Words(const Bytes& payload) : events(0) {
        if (payload.size() >= sizeof(*this)) std::memcpy(this, payload.data(), sizeof(*this));
    }
};

// What holds of every snapshot, and from one to the next. Returns what does not, or null.
class Witness {
  public:
    const char* look(const Framed& now) {
        if (now.head.sequence < sequence_) return "the sequence went back";
        sequence_ = now.head.sequence;
        for (std::size_t i = 0; i < now.frames.size(); ++i) {
            const Frame& frame = now.frames[i];
            if (i && frame.record.member <= now.frames[i - 1].record.member)
                return "the numbers of members do not rise";
            if (frame.record.status != PERF_METAGROUP_OK) continue;
            if (frame.record.time < now.head.begin || now.head.end < frame.record.time)
                return "a record is not of its sweep";
            const Words words(frame.payload);
            if (frame.payload.size() != 8 * (3 + words.events))
                return "a payload is not as long as it says";
            if (words.enabled < words.running) return "more time running than enabled";
            std::uint64_t& last = last_[frame.record.member];
            if (words.count < last) return "a count went back";
            last = words.count;
        }
        return nullptr;
    }

  private:
    std::uint64_t sequence_ = 0;
    std::map<unsigned, std::uint64_t> last_;
};

struct Tally {
    std::atomic<unsigned> copies{0}, sweeps{0}, changes{0}, maps{0}, bad{0};
    std::atomic<const char*> what{""};

    void complain(const char* sentence) {
        what = sentence;
        ++bad;
    }
};

void watch(const Meta& meta, Tally& tally, const std::atomic<bool>& stop) {
    Witness witness;
    auto mapping = std::make_unique<Mapping>(meta);
    while (!stop) {
        const auto copy = mapping->copy();
        if (!copy || mapping->moved()) {
            // More than INFO says is never mapped, but it may have grown since.
            mapping = std::make_unique<Mapping>(meta);
            ++tally.maps;
            continue;
        }
        try {
            if (const char* wrong = witness.look(take_apart(*copy))) tally.complain(wrong);
        } catch (const std::exception&) {
            tally.complain("a copy that cannot be taken apart");
        }
        ++tally.copies;
    }
}

}  // namespace

TEST_CASE("No copy of a mapped snapshot is torn while members and siblings come and go") {
    const auto cpus = online_cpus();
    const auto base = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(base) == 0);
    Tally tally;
    std::atomic<bool> stop = false;

    std::vector<std::thread> threads;
    for (int reader = 0; reader < 2; ++reader)
        threads.emplace_back([&] { watch(meta, tally, stop); });
    for (int sweeper = 0; sweeper < 2; ++sweeper)
        threads.emplace_back([&, sweeper] {
            for (; !stop; ++tally.sweeps)
                if (sweeper ? meta.sweep() < 0 : meta.read().empty())
                    tally.complain("a sweep failed");
        });
    threads.emplace_back([&] {  // members, sometimes so many that the snapshot moves
        for (std::size_t i = 0; !stop; ++i) {
            const EventGroup group = open_group(cpus[i % cpus.size()], kFormat, 1);
            perf_metagroup_attach out{};
            if (meta.attach(group, &out)) tally.complain("an attach failed");
            std::this_thread::yield();
            if (meta.detach(out.first)) tally.complain("a detach failed");
            ++tally.changes;
        }
    });
    threads.emplace_back([&] {  // siblings
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
        for (std::size_t i = 0; !stop; ++i) {
            std::vector<Fd> siblings;
            for (std::size_t more = 0; more < 1 + i % 40; ++more)
                siblings.emplace_back(
                    open_event(attr, -1, cpus[i % cpus.size()], base[i % cpus.size()].leader()));
            ++tally.changes;
        }
    });
    const auto enough = [&] {
        return tally.copies > 100 && tally.sweeps > 100 && tally.changes > 10;
    };
    std::this_thread::sleep_for(kDuration);
    // Virtual CPUs may stand still for long.
    for (int more = 0; more < 600 && !enough(); ++more)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    const std::string what = tally.what.load();
    CAPTURE(what, tally.copies.load(), tally.sweeps.load(), tally.changes.load());
    REQUIRE(tally.bad == 0);
    REQUIRE(enough());
}

TEST_CASE("Readers follow a snapshot that moves under them") {
    const auto cpus = online_cpus();
    Tally tally;
    unsigned moves = 0;
    for (int round = 0; round < 4; ++round) {
        const Meta meta;
        std::atomic<bool> stop = false;
        std::thread reader([&] { watch(meta, tally, stop); });
        std::thread sweeper([&] {
            for (; !stop; ::usleep(200))  // attaching is to get its turn
                meta.sweep();
        });
        std::vector<EventGroup> groups;
        const Mapping first(meta);
        for (std::size_t i = 0; i < 200; ++i) {
            groups.push_back(open_group(cpus[i % cpus.size()], kFormat, 1));
            if (meta.attach(groups.back())) tally.complain("an attach failed");
        }
        moves += first.moved();
        stop = true;
        reader.join();
        sweeper.join();
    }
    const std::string what = tally.what.load();
    CAPTURE(what, tally.copies.load(), tally.maps.load());
    REQUIRE(tally.bad == 0);
    REQUIRE(moves == 4);
    REQUIRE(tally.maps > 0);
}
