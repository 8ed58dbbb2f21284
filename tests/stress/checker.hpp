// SPDX-License-Identifier: MIT
// Invariants of every read of the counters, and from one read of a thread to the next.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "world.hpp"

namespace stress {

// A broken invariant.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void demand(bool condition, const std::string& what);

// A payload of a read_format with PERF_FORMAT_ID.
struct Counts {
    struct Event {
        std::uint64_t count, id;
    };
    std::uint64_t enabled = 0, running = 0;
    std::vector<Event> events;  // the leader first

    // Takes the first payload off `bytes`.
    Counts(std::uint64_t read_format, std::span<const unsigned char>& bytes);

    std::uint64_t leader() const { return events.front().id; }
};

class Checker {
  public:
    explicit Checker(World& world) : world_(world) {}

    // To be called before a read, which sees all resets that have ended by then.
    void begin() { resets_ = world_.resets_ended; }
    // Before a copy of a mapping, which may be older than a reset.
    void begin_old() { resets_ = ~0U; }

    // The bytes of a read of the slot or of a copy of its mapping, in either format. `mapped`:
    // there may be records that the last sweep did not update.
    void check(Slot& slot, const Bytes& bytes, bool mapped = false);

    // A sample of a stream, which may be older than what was read since.
    void check_sample(std::uint64_t read_format, const RingRecord& sample);

    // A member's own read(2).
    void check_own(std::uint64_t read_format, const Bytes& bytes);

  private:
    // Where a count was read, for messages.
    struct Place {
        std::uint64_t time = 0;
        const char* how = "RAW";
        unsigned status = 0, cpu = 0;
        std::string text() const;
    };
    struct Seen {
        std::uint64_t count = 0, enabled = 0, running = 0;
        unsigned resets = 0;
        Place place{};
    };

    void check_raw(Slot& slot, const Bytes& bytes);
    void check_framed(Slot& slot, const Framed& framed, bool mapped);
    std::string describe(std::uint64_t leader) const;
    void compare(const Counts& counts, const Place& place);
    void remember(const Counts& counts, const Place& place);
    void check_family(const Counts& counts);

    World& world_;
    unsigned resets_ = 0;
    std::unordered_map<std::uint64_t, Seen> seen_;
};

// All members of all slots, stopped: every way to read them gives the bytes of read(2). Throws if
// not. Called while the gate is closed.
void check_stopped(World& world);

}  // namespace stress
