// SPDX-License-Identifier: MIT
#include "rest.hpp"

#include <array>
#include <cstdio>
#include <cstring>

#include "witness.hpp"

namespace stress {
namespace {

void succeed(long got, const char* what) {
    demand(got == 0, std::string("at rest: ") + what + ": " + std::to_string(got));
}

std::string hex(const Bytes& bytes) {
    std::string text;
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
         at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, &bytes[at], sizeof(word));
        std::array<char, 20> digits{};
        std::snprintf(digits.data(), digits.size(), " %llx", static_cast<unsigned long long>(word));
        text += digits.data();
    }
    return text.empty() ? "nothing" : text.substr(1);
}

void check_member(const Slot& slot, const Frame& frame, const std::weak_ptr<Group>& of) {
    const auto& record = frame.record;
    const std::string name = "at rest: member " + std::to_string(record.member) + ": ";
    demand(record.status == PERF_METAGROUP_OFF || record.status == PERF_METAGROUP_OFFLINE ||
               record.status == PERF_METAGROUP_ERROR,
           name + "disabled, but its status is " + std::to_string(record.status));
    const auto known = slot.meta.member(record.member);
    demand(known.status == record.status && known.cpu == record.cpu,
           name + "GET_MEMBER says status " + std::to_string(known.status) + " on CPU " +
               std::to_string(known.cpu) + ", its record " + std::to_string(record.status) +
               " on CPU " + std::to_string(record.cpu));
    if (const auto group = of.lock()) {
        const Bytes own = group->events.read();
        demand(frame.payload == own, name + "status " + std::to_string(record.status) + ", " +
                                         hex(frame.payload) + ", but its own read(2) gives " +
                                         hex(own));
    }
}

// The groups stand still: the same bytes in all ways to read them.
void check_slot(const Slot& slot) {
    const Meta& meta = slot.meta;
    succeed(meta.set_mode(0), "SET_MODE");
    succeed(meta.control(PERF_METAGROUP_IOC_DISABLE), "DISABLE");
    const Framed framed = read_framed(meta);
    const auto members = slot.all();
    demand(framed.frames.size() == members.size(),
           "at rest: " + std::to_string(framed.frames.size()) + " members, not " +
               std::to_string(members.size()));

    Bytes payloads;
    auto member = members.begin();
    for (const Frame& frame : framed.frames) {
        demand(frame.record.member == member->first, "at rest: a member is another");
        check_member(slot, frame, (member++)->second);
        payloads.insert(payloads.end(), frame.payload.begin(), frame.payload.end());
    }

    const auto info = meta.info();
    demand(info.members == members.size(), "at rest: INFO: members");
    demand(info.framed_size == framed.head.size + framed.head.count * framed.head.stride,
           "at rest: INFO: framed_size");
    demand(info.raw_size >= payloads.size(), "at rest: INFO: raw_size");
    succeed(meta.set_format(PERF_METAGROUP_FORMAT_RAW), "SET_FORMAT");
    demand(meta.read() == payloads, "at rest: RAW is not the payloads of FRAMED");
    succeed(meta.control(PERF_METAGROUP_IOC_ENABLE), "ENABLE");
}

}  // namespace

void check_at_rest(World& world) {
    for (unsigned index = 0; index < World::kSlots; ++index)
        check_slot(*world.slot(index));
}

}  // namespace stress
