// SPDX-License-Identifier: MIT
// What must hold of every look at the counters, and from one look of a thread to the next.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "world.hpp"

namespace stress {

// Something that must not be.
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

class Witness {
  public:
    explicit Witness(World& world) : world_(world) {}

    // To be called before a look: resets that had ended by then are seen by it.
    void begin() { resets_ = world_.resets_ended; }
    // Before a look at a mapping, which may show what was there before a reset.
    void begin_old() { resets_ = ~0U; }

    // What a read of the slot or a copy of its mapping gave, in whichever format it was. `mapped`:
    // there may be records that the last sweep did not renew.
    void look(Slot& slot, const Bytes& bytes, bool mapped = false);

    // A member's own read(2): not behind what was seen before.
    void own(std::uint64_t read_format, const Bytes& bytes);

  private:
    // Where it was seen, to be told if it does not fit.
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

    void look_raw(Slot& slot, const Bytes& bytes);
    void look_framed(Slot& slot, const Framed& framed, bool mapped);
    void compare(const Counts& counts, const Place& place);
    void remember(const Counts& counts, const Place& place);
    void check_family(const Counts& counts);

    World& world_;
    unsigned resets_ = 0;
    std::unordered_map<std::uint64_t, Seen> seen_;
};

}  // namespace stress
