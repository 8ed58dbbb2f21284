// SPDX-License-Identifier: MIT
#include "witness.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace stress {
namespace {

constexpr std::size_t kMaxEvents = 200;  // in a group; no operation opens so many
constexpr std::size_t kMaxRemembered = 20'000;

class Words {
  public:
    explicit Words(std::span<const unsigned char>& bytes) : bytes_(bytes) {}

    std::uint64_t next() {
        std::uint64_t word = 0;
        demand(bytes_.size() >= sizeof(word), "a payload ends in the middle");
        std::memcpy(&word, bytes_.data(), sizeof(word));
        bytes_ = bytes_.subspan(sizeof(word));
        return word;
    }

  private:
    std::span<const unsigned char>& bytes_;
};

// A RAW read begins with the number of events or with a count.
bool is_framed(const Bytes& bytes) {
    perf_metagroup_snapshot head;
    if (bytes.size() < sizeof(head)) return false;
    std::memcpy(&head, bytes.data(), sizeof(head));
    return head.size == sizeof(head) &&
           bytes.size() == head.size + std::size_t{head.count} * head.stride;
}

bool has_payload(unsigned status) {
    return status != PERF_METAGROUP_ERROR && status != PERF_METAGROUP_STALE &&
           status != PERF_METAGROUP_SPARED;
}

}  // namespace

void demand(bool condition, const std::string& what) {
    if (!condition) throw Violation(what);
}

Counts::Counts(std::uint64_t read_format, std::span<const unsigned char>& bytes) {
    Words words(bytes);
    const auto times = [&] {
        if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) enabled = words.next();
        if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) running = words.next();
    };
    const auto tags = [&](std::uint64_t count) {
        events.push_back({.count = count, .id = words.next()});
        if (read_format & PERF_FORMAT_LOST) words.next();
    };
    if (!(read_format & PERF_FORMAT_GROUP)) {
        const std::uint64_t count = words.next();
        times();
        tags(count);
        return;
    }
    const std::uint64_t number = words.next();
    demand(number >= 1 && number <= kMaxEvents, "a group of " + std::to_string(number) + " events");
    times();
    while (events.size() < number)
        tags(words.next());
}

void Witness::check_family(const Counts& counts) {
    std::set<std::uint64_t> ids;
    for (const auto& event : counts.events) {
        demand(ids.insert(event.id).second, "an event stands twice in a payload");
        if (event.id != counts.leader())
            demand(world_.book.belongs(event.id, counts.leader()),
                   "event " + std::to_string(event.id) + " is in the payload of leader " +
                       std::to_string(counts.leader()) + ", but of another group");
    }
}

std::string Witness::Place::text() const {
    if (!time) return how;
    return std::string(how) + ", status " + std::to_string(status) + ", CPU " +
           std::to_string(cpu) + " at " + std::to_string(time) + " ns";
}

void Witness::compare(const Counts& counts, const Place& place) {
    const unsigned resets_begun = world_.resets_begun;
    for (const auto& event : counts.events) {
        const auto found = seen_.find(event.id);
        if (found == seen_.end()) continue;
        const Seen& last = found->second;
        const auto not_back = [&](const char* what, std::uint64_t before, std::uint64_t now) {
            demand(now >= before, "event " + std::to_string(event.id) + ": " + what +
                                      " went back from " + std::to_string(before) + " (" +
                                      last.place.text() + ") to " + std::to_string(now) + " (" +
                                      place.text() + ")");
        };
        if (last.resets == resets_begun) not_back("the count", last.count, event.count);
        if (event.id != counts.leader()) continue;
        not_back("time enabled", last.enabled, counts.enabled);
        not_back("time running", last.running, counts.running);
        if (place.time) not_back("the time of the record", last.place.time, place.time);
    }
}

void Witness::remember(const Counts& counts, const Place& place) {
    if (seen_.size() > kMaxRemembered) seen_.clear();
    for (const auto& event : counts.events)
        seen_[event.id] = {.count = event.count,
                           .enabled = event.id == counts.leader() ? counts.enabled : 0,
                           .running = event.id == counts.leader() ? counts.running : 0,
                           .resets = resets_,
                           .place = place};
}

void Witness::look_raw(Slot& slot, const Bytes& bytes) {
    std::span<const unsigned char> rest = bytes;
    std::set<std::uint64_t> leaders;
    while (!rest.empty()) {
        const Counts counts(slot.read_format, rest);
        demand(leaders.insert(counts.leader()).second, "a member stands twice in a RAW read");
        check_family(counts);
        compare(counts, {});
        remember(counts, {});
    }
}

void Witness::look_framed(Slot& slot, const Framed& framed, bool mapped) {
    const perf_metagroup_snapshot& head = framed.head;
    for (std::size_t i = 0; i < framed.frames.size(); ++i) {
        const auto& record = framed.frames[i].record;
        const Bytes& payload = framed.frames[i].payload;
        const std::string name = "member " + std::to_string(record.member) + ": ";
        demand(i == 0 || record.member > framed.frames[i - 1].record.member,
               name + "numbers do not rise");
        demand(record.status <= PERF_METAGROUP_SPARED,
               name + "unknown status " + std::to_string(record.status));
        demand(record.read_format == slot.read_format, name + "another read_format");
        demand(has_payload(record.status) != payload.empty(),
               name + "status " + std::to_string(record.status) + " with " +
                   std::to_string(payload.size()) + " bytes of payload");
        demand(record.time <= head.end, name + "read after the end of the sweep");
        if (record.status == PERF_METAGROUP_OK && !mapped)
            demand(record.time >= head.begin, name + "read before the sweep began");
        if (payload.empty()) continue;

        std::span<const unsigned char> rest = payload;
        const Counts counts(slot.read_format, rest);
        demand(rest.empty(), name + "the payload is longer than its events");
        demand(slot.is(record.member, counts.leader()), name + "the payload of another member");
        if (const auto home = world_.book.home(counts.leader()))
            demand(static_cast<unsigned>(*home) == record.cpu, name + "on another CPU");
        if (counts.enabled) demand(counts.running <= counts.enabled, name + "ran while disabled");
        check_family(counts);
        const Place place{.time = record.time,
                          .how = mapped ? "mapped" : "FRAMED",
                          .status = record.status,
                          .cpu = record.cpu};
        compare(counts, place);
        remember(counts, place);
    }
}

void Witness::look(Slot& slot, const Bytes& bytes, bool mapped) {
    if (is_framed(bytes))
        look_framed(slot, take_apart(bytes), mapped);
    else
        look_raw(slot, bytes);
}

void Witness::own(std::uint64_t read_format, const Bytes& bytes) {
    std::span<const unsigned char> rest = bytes;
    compare(Counts(read_format, rest), {.how = "its own read(2)"});
    demand(rest.empty(), "read(2) of a leader gave more than its payload");
}

}  // namespace stress
