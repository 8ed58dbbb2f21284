// SPDX-License-Identifier: MIT
// Sets are opened, controlled and published, and names are joined and ended.
#include <cerrno>
#include <cstring>
#include <shared_mutex>

#include "operations.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

namespace stress {
namespace {

// A name is joined by slots of the index of the one that has published it: they have the same
// read_format.
std::string name_of(unsigned index) {
    return "stress-" + std::to_string(index);
}

// A slot whose read_format sets can have.
unsigned any_index(Random& random) {
    static constexpr unsigned kWithGroup[] = {0, 1, 3};
    return random.pick(kWithGroup);
}

std::vector<perf_event_attr> any_events(Random& random) {
    // The clock is read by its own CPU only, so the others are as of the same moment.
    std::vector<perf_event_attr> attrs{software_event(PERF_COUNT_SW_CPU_CLOCK, 0)};
    if (random.one_in(2)) attrs.push_back(software_event(PERF_COUNT_SW_PAGE_FAULTS, 0));
    if (random.one_in(2)) attrs.push_back(software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0));
    if (random.one_in(4)) attrs.push_back(testpmu_core_event(0).value());
    return attrs;
}

// A CPU is offline, a PMU has no counter, or the rings of a stream are too small.
bool may_be_refused(long got) {
    return got == -ENODEV || got == -EBUSY || got == -ENOSPC;
}

void attached(Slot& slot, unsigned first, unsigned count, Random& random) {
    for (unsigned i = 0; i < count; ++i)
        slot.attached(first + i, nullptr);
    while (slot.members() > World::kMaxMembers)
        if (const auto number = slot.take(random))
            demand(slot.meta.detach(*number) == 0, "DETACH of a member");
}

bool open_a_set(Worker& worker, Random& random) {
    const auto slot = worker.world.slot(any_index(random));
    SetRequest request(any_events(random));
    request.arg.read_format = slot->read_format;
    if (random.one_in(2)) request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    const long got = request.open(slot->meta);
    if (may_be_refused(got)) return false;
    demand(got == 0, "OPEN_SET: " + std::to_string(got));
    attached(*slot, request.arg.first, request.arg.count, random);
    return true;
}

// A template's PMU may be unregistered at any time. Uses a meta-group of its own.
bool open_template(Worker& worker, Random& random) {
    const auto attr = testpmu_event(0);
    if (!attr) return false;
    const Fd event(open_event(*attr, -1, worker.world.cpus.front(), -1));
    if (!event) return false;
    const Meta meta;
    SetRequest request(std::vector<int>{event.get()});
    if (random.one_in(2)) request.arg.flags |= PERF_METAGROUP_SET_FOLLOW;
    const long got = request.open(meta);
    if (may_be_refused(got) || (got == -ENOENT && kernel_revokes_events())) return false;
    demand(got == 0, "OPEN_SET of a template: " + std::to_string(got));
    demand(read_framed(meta).frames.size() == request.arg.count,
           "OPEN_SET of a template: number of members");
    return true;
}

bool control_sets(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const auto cpus = cpu_words({random.pick(worker.world.cpus)});
    perf_metagroup_control arg{};
    arg.size = sizeof(arg);
    arg.op = random.below(2);
    if (random.one_in(2)) {
        arg.cpus = reinterpret_cast<std::uintptr_t>(cpus.data());
        arg.nr_words = static_cast<__u32>(cpus.size());
    }
    const long got = slot->meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &arg);
    if (got == -ENODEV && kernel_revokes_events()) return false;
    demand(got == 0, "CONTROL: " + std::to_string(got));
    return true;
}

bool publish_slot(Worker& worker, Random& random) {
    const unsigned index = any_index(random);
    const long got = publish(worker.world.slot(index)->meta, publish_arg(name_of(index)));
    if (may_be_refused(got) || got == -EEXIST || got == -EINVAL) return false;
    demand(got == 0, "PUBLISH: " + std::to_string(got));
    return true;
}

bool end_name(Worker&, Random& random) {
    const long got = unpublish(name_of(any_index(random)));
    demand(got == 0 || got == -ENOENT, "UNPUBLISH: " + std::to_string(got));
    return got == 0;
}

bool join_name(Worker& worker, Random& random) {
    const unsigned index = any_index(random);
    const auto slot = worker.world.slot(index);
    perf_metagroup_name joined{};
    const long got = join(slot->meta, name_of(index), &joined);
    if (may_be_refused(got) || got == -ENOENT) return false;
    demand(got == 0, "JOIN: " + std::to_string(got));
    attached(*slot, joined.first, joined.count, random);
    return true;
}

bool show_name(Worker&, Random& random) {
    const std::string name = name_of(any_index(random));
    bool found = false;
    for (const char* file : {"id", "state", "uid", "mode", "cpus", "events", "users", "sweeps"})
        found |= !name_file(name, file).empty();
    return found;
}

std::vector<Frame> read_frames(const Meta& meta) {
    return read_framed(meta).frames;
}

// Two members on one CPU whose events are the same, in two sweeps: both counted all the time.
void compare_sharers(const std::array<const Frame*, 4>& frames, std::uint64_t format) {
    std::vector<Counts> counts;
    for (const Frame* frame : frames) {
        if (frame->record.status != PERF_METAGROUP_OK || generation(*frame)) return;
        std::span<const unsigned char> bytes(frame->payload);
        counts.emplace_back(format, bytes);
    }
    const std::string name = "two that share the events of CPU " +
                             std::to_string(frames[0]->record.cpu) + ", before generation 1: ";
    demand(counts[2].enabled - counts[0].enabled == counts[3].enabled - counts[1].enabled,
           name + "their times advance differently");
    // Of a core PMU, each read shows what was counted until then.
    demand(counts[2].events[0].count - counts[0].events[0].count ==
               counts[3].events[0].count - counts[1].events[0].count,
           name + "their counts advance differently");
}

// One who joins twice, and leaves: sees the same twice.
bool join_twice(Worker& worker, Random& random) {
    const unsigned index = any_index(random);
    const std::uint64_t format = worker.world.slot(index)->read_format;
    const Meta meta;
    perf_metagroup_name one{}, other{};
    const std::shared_lock lock(worker.world.plugging);  // or they may share nothing
    if (join(meta, name_of(index), &one) || join(meta, name_of(index), &other)) return false;
    if (one.count != other.count) return false;  // it was published again
    const auto before = read_frames(meta), after = read_frames(meta);
    demand(before.size() == one.count + other.count && after.size() == before.size(),
           "JOIN: members are missing");
    for (std::size_t i = 0; i < one.count; ++i) {
        const std::size_t j = i + one.count;
        const auto first = meta.member(one.first + static_cast<unsigned>(i));
        const auto second = meta.member(other.first + static_cast<unsigned>(i));
        if (first.cpu != second.cpu || first.events != second.events) return false;
        compare_sharers({&before[i], &before[j], &after[i], &after[j]}, format);
    }
    return true;
}

// The events of one CPU are replaced, in a meta-group that no other worker has.
bool set_events(Worker&, Random& random) {
    const unsigned index = any_index(random);
    const Meta meta;
    perf_metagroup_name joined{};
    if (join(meta, name_of(index), &joined)) return false;
    auto attrs = any_events(random);
    perf_metagroup_events arg{};
    arg.size = sizeof(arg);
    arg.member = joined.first + random.below(joined.count);
    arg.nr_events = static_cast<__u32>(attrs.size());
    arg.events = reinterpret_cast<std::uintptr_t>(attrs.data());
    arg.stride = sizeof(perf_event_attr);
    const long got = meta.ioctl(PERF_METAGROUP_IOC_SET_EVENTS, &arg);
    if (may_be_refused(got)) return false;
    demand(got == 0, "SET_EVENTS: " + std::to_string(got));
    demand(meta.member(arg.member).events == attrs.size(), "SET_EVENTS: number of events");
    demand(read_frames(meta).size() == joined.count, "SET_EVENTS: number of members");
    return true;
}

}  // namespace

void end_names() {
    for (unsigned index = 0; index < World::kSlots; ++index)
        unpublish(name_of(index));
}

std::span<const Operation> set_operations() {
    static constexpr Operation all[] = {
        {"open set", 8, open_a_set},   {"open template", 4, open_template},
        {"control", 8, control_sets},  {"publish", 4, publish_slot},
        {"unpublish", 2, end_name},    {"join", 6, join_name},
        {"show name", 4, show_name},   {"join twice", 4, join_twice},
        {"set events", 4, set_events},
    };
    return all;
}

}  // namespace stress
