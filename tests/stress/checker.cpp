// SPDX-License-Identifier: MIT
#include "operations.hpp"

#include <array>
#include <cstdio>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace stress {
namespace {

constexpr std::size_t kMaxEvents = 400;  // in a group; no operation opens so many
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
    return head.size == sizeof(head) && bytes.size() == head.bytes;
}

bool has_payload(unsigned status) {
    return status != PERF_METAGROUP_ERROR && status != PERF_METAGROUP_STALE &&
           status != PERF_METAGROUP_SKIPPED;
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
    const std::string name = "stopped: member " + std::to_string(record.member) + ": ";
    // A group that does not fit into the rings is tried again a second later.
    if (record.status == PERF_METAGROUP_STALE && slot.streamed) return;
    demand(record.status == PERF_METAGROUP_OFF || record.status == PERF_METAGROUP_OFFLINE ||
               record.status == PERF_METAGROUP_REVOKED || record.status == PERF_METAGROUP_ERROR,
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

void check_slot(const Slot& slot) {
    const Meta& meta = slot.meta;
    succeed(meta.set_mode(0), "stopped: SET_MODE");
    control(meta, PERF_METAGROUP_IOC_DISABLE, "stopped: DISABLE");
    const Framed framed = read_framed(meta);
    const auto members = slot.all();
    demand(framed.frames.size() == members.size(),
           "stopped: " + std::to_string(framed.frames.size()) + " members, not " +
               std::to_string(members.size()));

    Bytes payloads;
    auto member = members.begin();
    for (const Frame& frame : framed.frames) {
        demand(frame.record.member == member->first, "stopped: a member is another");
        check_member(slot, frame, (member++)->second);
        payloads.insert(payloads.end(), frame.payload.begin(), frame.payload.end());
    }

    const auto info = meta.info();
    demand(info.members == members.size(), "stopped: INFO: members");
    demand(info.framed_size == framed.head.bytes, "stopped: INFO: framed_size");
    demand(info.raw_size >= payloads.size(), "stopped: INFO: raw_size");
    succeed(meta.set_format(PERF_METAGROUP_FORMAT_RAW), "stopped: SET_FORMAT");
    demand(meta.read() == payloads, "stopped: RAW is not the payloads of FRAMED");
    control(meta, PERF_METAGROUP_IOC_ENABLE, "stopped: ENABLE");
}

}  // namespace

void demand(bool condition, const std::string& what) {
    if (!condition) throw Violation(what);
}

bool succeed(long got, const char* what) {
    demand(got == 0, std::string(what) + ": " + std::to_string(got));
    return true;
}

bool control(const Meta& meta, unsigned long command, const char* what) {
    const long got = meta.control(command);
    return !(got == -ENODEV && kernel_revokes_events()) && succeed(got, what);
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

void Checker::check_family(const Counts& counts) {
    std::set<std::uint64_t> ids;
    for (const auto& event : counts.events) {
        demand(ids.insert(event.id).second, "duplicate event in a payload");
        if (event.id != counts.leader())
            demand(world_.events.belongs(event.id, counts.leader()),
                   "event " + std::to_string(event.id) + " is in the payload of leader " +
                       std::to_string(counts.leader()) + ", but of another group");
    }
}

std::string Checker::Place::text() const {
    if (!time) return how;
    return std::string(how) + ", status " + std::to_string(status) + ", CPU " +
           std::to_string(cpu) + " at " + std::to_string(time) + " ns";
}

// The group of a leader, for messages.
std::string Checker::describe(std::uint64_t leader) const {
    for (unsigned index = 0; index < World::kSlots; ++index) {
        const auto slot = world_.slot(index);
        for (const auto& [number, weak] : slot->all()) {
            const auto group = weak.lock();
            if (!group || group->id != leader) continue;
            const auto member = slot->meta.member(number);
            return group->kind + ", status " + std::to_string(member.status) + ", opened on CPU " +
                   std::to_string(group->cpu) + ", on CPU " + std::to_string(member.cpu) +
                   ", read(2) gives " + hex(group->events.read());
        }
    }
    return "it is no member any more";
}

void Checker::compare(const Counts& counts, const Place& place) {
    const unsigned resets_begun = world_.resets_begun;
    for (const auto& event : counts.events) {
        const auto found = seen_.find(event.id);
        if (found == seen_.end()) continue;
        const Seen& last = found->second;
        const auto not_back = [&](const char* what, std::uint64_t before, std::uint64_t now) {
            if (now < before)
                demand(false, "event " + std::to_string(event.id) + ": " + what +
                                  " went back from " + std::to_string(before) + " (" +
                                  last.place.text() + ") to " + std::to_string(now) + " (" +
                                  place.text() + "); " + describe(counts.leader()));
        };
        if (last.resets == resets_begun) not_back("the count", last.count, event.count);
        if (event.id != counts.leader()) continue;
        not_back("time enabled", last.enabled, counts.enabled);
        not_back("time running", last.running, counts.running);
        if (place.time) not_back("the time of the record", last.place.time, place.time);
    }
}

void Checker::remember(const Counts& counts, const Place& place) {
    if (seen_.size() > kMaxRemembered) seen_.clear();
    for (const auto& event : counts.events)
        seen_[event.id] = {.count = event.count,
                           .enabled = event.id == counts.leader() ? counts.enabled : 0,
                           .running = event.id == counts.leader() ? counts.running : 0,
                           .resets = resets_,
                           .place = place};
}

void Checker::check_raw(Slot& slot, const Bytes& bytes) {
    std::span<const unsigned char> rest = bytes;
    std::set<std::uint64_t> leaders;
    while (!rest.empty()) {
        const Counts counts(slot.read_format, rest);
        demand(leaders.insert(counts.leader()).second, "duplicate member in a RAW read");
        check_family(counts);
        compare(counts, {});
        remember(counts, {});
    }
}

void Checker::check_framed(Slot& slot, const Framed& framed, bool mapped) {
    const perf_metagroup_snapshot& head = framed.head;
    for (std::size_t i = 0; i < framed.frames.size(); ++i) {
        const auto& record = framed.frames[i].record;
        const Bytes& payload = framed.frames[i].payload;
        const std::string name = "member " + std::to_string(record.member) + ": ";
        demand(i == 0 || record.member > framed.frames[i - 1].record.member,
               name + "numbers do not rise");
        demand(record.status <= PERF_METAGROUP_SKIPPED,
               name + "unknown status " + std::to_string(record.status));
        demand(record.read_format == slot.read_format, name + "another read_format");
        demand(has_payload(record.status) != payload.empty(),
               name + "status " + std::to_string(record.status) + " with " +
                   std::to_string(payload.size()) + " bytes of payload");
        demand(record.time <= head.end, name + "read after the end of the sweep");
        if (record.status != PERF_METAGROUP_IDLE && !mapped)
            demand(record.time >= head.begin, name + "read before the sweep began");
        if (payload.empty()) continue;

        std::span<const unsigned char> rest = payload;
        const Counts counts(slot.read_format, rest);
        demand(rest.empty(), name + "the payload is longer than its events");
        demand(slot.is(record.member, counts.leader()), name + "the payload of another member");
        if (const auto home = world_.events.home(counts.leader()))
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

void Checker::check(Slot& slot, const Bytes& bytes, bool mapped) {
    if (is_framed(bytes))
        check_framed(slot, take_apart(bytes, !mapped), mapped);
    else
        check_raw(slot, bytes);
}

void Checker::check_sample(std::uint64_t read_format, const RingRecord& sample) {
    std::span<const unsigned char> rest(sample.payload);
    const Counts counts(read_format, rest);
    demand(rest.empty(), "a sample is longer than its payload");
    demand(counts.leader() == sample.id, "a sample has the identifier of another group");
    check_family(counts);
    const Place place{
        .time = sample.time, .how = "sample", .cpu = static_cast<unsigned>(sample.cpu)};
    compare(counts, place);
    remember(counts, place);
}

void Checker::check_own(std::uint64_t read_format, const Bytes& bytes) {
    std::span<const unsigned char> rest = bytes;
    compare(Counts(read_format, rest), {.how = "its own read(2)"});
    demand(rest.empty(), "read(2) of a leader gave more than its payload");
}

Stream::Stream(World& world, const Slot& slot, std::chrono::nanoseconds period,
               std::size_t ring_size, unsigned flags)
    : world_(world),
      slot_(slot),
      modes_(slot.modes_ended),
      running_(slot.meta, period, ring_size, flags),
      quiet_(slot.meta.info().mode & PERF_METAGROUP_MODE_QUIET || slot.modes_begun != modes_) {}

void Stream::drain() {
    if (running_.overwrites()) return;
    const Moment begin = now();
    const auto all = running_.drain();
    const unsigned plugs = world_.plugs_now();
    for (const auto& [cpu, records] : all) {
        Ring& ring = rings_.try_emplace(cpu, Ring{Checker(world_)}).first->second;
        ring.checker.begin(before_.resets);
        for (const RingRecord& record : records) {
            demand(record.cpu == cpu, "a record is in the ring of another CPU");
            demand(record.time >= ring.time, "a record is older than the one before");
            ring.time = record.time;
            if (record.is_sample()) ring.checker.check_sample(slot_.read_format, record);
            check_deadline(ring, cpu, record, plugs);
        }
    }
    before_ = begin;
}

// CPUs that are offline have no deadlines, and members that are moved have them elsewhere.
void Stream::check_deadline(Ring& ring, int cpu, const RingRecord& record, unsigned plugs) {
    if (quiet_ || world_.events.home(record.id) != cpu) return;
    const auto known = ring.deadlines.find(record.id);
    std::uint64_t next = 0;
    if (known != ring.deadlines.end() && known->second.plugs == plugs)
        next = next_deadline(record, known->second.next, running_.period());
    else if (record.is_sample())
        next = (record.time / running_.period() + 1) * running_.period();
    else
        return;
    ring.deadlines[record.id] = {next, before_.plugs};
}

void check_stopped(World& world) {
    for (unsigned index = 0; index < World::kSlots; ++index)
        check_slot(*world.slot(index));
}

}  // namespace stress
