// SPDX-License-Identifier: MIT
// Members and their groups are opened, attached, switched, detached and closed.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <optional>
#include <shared_mutex>

#include "operations.hpp"

namespace stress {
namespace {

constexpr std::size_t kMaxGroups = 24;  // that a worker holds open
constexpr std::size_t kMaxSiblings = 40;
constexpr unsigned kGiant = 300;  // events whose record the smallest ring cannot hold

perf_event_attr clock_event(std::uint64_t read_format, Random& random) {
    static constexpr std::uint64_t kConfigs[] = {
        PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
        PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK};
    return software_event(random.pick(kConfigs), read_format);
}

enum class Kind { software, core, testpmu };

const char* name(Kind kind) {
    switch (kind) {
        case Kind::software:
            return "software";
        case Kind::core:
            return "core";
        case Kind::testpmu:
            return "testpmu";
    }
    return "?";
}

Kind any_kind(Random& random) {
    return static_cast<Kind>(random.below(3));
}

// Groups of testpmu have no others, those of a core PMU have clocks as well. Nothing while testpmu
// is unregistered.
std::optional<perf_event_attr> event_of(Kind kind, bool leader, std::uint64_t read_format,
                                        Random& random) {
    if (kind == Kind::software || (kind == Kind::core && !leader && random.one_in(3)))
        return clock_event(read_format, random);
    if (kind == Kind::core) return testpmu_core_event(read_format).value();
    auto attr = testpmu_event(read_format);
    if (attr && random.one_in(2)) attr->config = kTestpmuPackage;
    return attr;
}

// A software event in a group of testpmu is in the context that perf has for that PMU on the CPU.
// When the PMU is unregistered it stays there, and perf reads and writes memory of the PMU that is
// freed, see World::plugging.
bool mixes_with_software(Kind kind) {
    return kind != Kind::testpmu || !kernel_revokes_events();
}

Fd open_cgroup_event(const perf_event_attr& attr, int cgroup, int cpu, int leader) {
    return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, cgroup, cpu, leader,
                                         PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)));
}

// No value if the CPU or the PMU has just gone.
std::shared_ptr<Group> open_any(World& world, std::uint64_t format, Random& random) {
    const std::shared_lock lock(world.plugging);
    auto group = std::make_shared<Group>();
    group->plugs = world.plugs;
    group->cpu = random.pick(world.cpus);
    group->events.read_format = format;
    const Kind kind = any_kind(random);
    group->mixes = mixes_with_software(kind);
    const bool rotated = kind == Kind::testpmu;
    const bool pinned = random.one_in(8);
    const bool disabled = random.one_in(6);
    const bool of_cgroup = !world.cgroups.empty() && random.one_in(6);
    const unsigned events = 1 + random.below(rotated ? 3 : 6);
    group->kind =
        std::string(pinned ? "pinned " : "") + name(kind) + (of_cgroup ? " of a cgroup" : "");
    for (unsigned i = 0; i < events; ++i) {
        auto attr = event_of(kind, i == 0, format, random);
        if (!attr) return nullptr;
        attr->pinned = pinned && i == 0;
        attr->disabled = disabled && i == 0;
        const int leader = i ? group->events.leader() : -1;
        Fd fd = of_cgroup
                    ? open_cgroup_event(*attr, random.pick(world.cgroups).get(), group->cpu, leader)
                    : Fd(open_event(*attr, -1, group->cpu, leader));
        if (!fd && i == 0) return nullptr;
        if (fd) group->events.fds.push_back(std::move(fd));
    }
    group->id = group->events.id(0);
    if (!rotated) world.events.stays_on(group->id, group->cpu);
    return group;
}

bool close_group(Worker& worker, Random& random);

// The worker holds the group open from now on, and closes another if there are too many.
void keep(Worker& worker, std::shared_ptr<Group> group, Random& random) {
    worker.groups.push_back(std::move(group));
    if (worker.groups.size() > kMaxGroups) close_group(worker, random);
}

void detach_one(Slot& slot, unsigned number) {
    const long got = slot.meta.detach(number);
    demand(got == 0, "DETACH of a member: " + std::to_string(got));
}

bool add_event(Worker& worker, Group& group, const perf_event_attr& attr) {
    const std::shared_lock lock(worker.world.plugging);
    auto& fds = group.events.fds;
    if (group.plugs != worker.world.plugs) return false;
    Fd fd(open_event(attr, -1, group.cpu, group.events.leader()));
    if (!fd) return false;  // its CPU is gone, or it was moved, or is a cgroup's
    fds.push_back(std::move(fd));
    demand(worker.world.events.belongs(group.events.id(fds.size() - 1), group.id),
           "a new sibling was seen in another group before");
    return true;
}

bool renew_slot(Worker& worker, Random& random) {
    worker.world.renew(random.below(World::kSlots));
    return true;
}

bool attach(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    std::vector<std::shared_ptr<Group>> fresh;
    std::vector<int> fds;
    for (unsigned wanted = 1 + random.below(4); wanted; --wanted) {
        auto group = open_any(worker.world, slot->read_format, random);
        if (!group) continue;
        fds.push_back(group->events.leader());
        fresh.push_back(std::move(group));
    }
    if (fresh.empty()) return false;

    perf_metagroup_attach out{};
    const long got = slot->meta.attach(fds, &out);
    if (got == -ENODEV && kernel_revokes_events()) return false;
    if (got == -ENOSPC && slot->streamed) return false;
    demand(got == 0, "ATTACH of new groups: " + std::to_string(got) + ", reason " +
                         std::to_string(out.reason));
    for (unsigned i = 0; i < fresh.size(); ++i) {
        slot->attached(out.first + i, fresh[i]);
        demand(slot->is(out.first + i, fresh[i]->id), "a number was another member's before");
        keep(worker, fresh[i], random);
    }
    while (slot->members() > World::kMaxMembers)
        if (const auto number = slot->take(random)) detach_one(*slot, *number);
    return true;
}

// All or nothing: the last one cannot be attached.
bool attach_refused(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const auto group = open_any(worker.world, slot->read_format, random);
    if (!group) return false;
    const int good = group->events.leader();
    const bool twice = random.one_in(2);
    const int fds[] = {good, twice ? good : slot->meta.fd()};
    perf_metagroup_attach out{};
    const long got = slot->meta.attach(fds, &out);
    if (got == -ENODEV && kernel_revokes_events()) return false;
    if (twice && got == -ENOSPC && slot->streamed) return false;
    demand(got == (twice ? -EBUSY : -EINVAL) && out.failed == 1,
           "a wrong ATTACH: " + std::to_string(got) + ", failed " + std::to_string(out.failed));
    return true;
}

bool detach(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const auto number = slot->take(random);
    if (number) detach_one(*slot, *number);
    return number.has_value();
}

bool detach_unknown(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const unsigned number = ~random.below(1'000'000);
    const long got = slot->meta.detach(number);
    demand(got == -ENOENT, "DETACH of no member: " + std::to_string(got));
    return true;
}

bool open_sibling(Worker& worker, Random& random) {
    const auto group = worker.young_group(random);
    if (!group || !group->mixes) return false;
    bool done = false;
    for (unsigned more = 1 + random.below(4); more && group->events.fds.size() <= kMaxSiblings;
         --more)
        done |= add_event(worker, *group, clock_event(group->events.read_format, random));
    return done;
}

bool close_sibling(Worker& worker, Random& random) {
    const auto group = worker.any_group(random);
    if (!group || group->events.fds.size() < 2) return false;
    auto& fds = group->events.fds;
    fds.erase(fds.begin() + 1 + random.below(fds.size() - 1));
    return true;
}

// A sibling of a PMU that is no software PMU moves a group of software events to its context.
bool regroup(Worker& worker, Random& random) {
    const auto group = worker.young_group(random);
    const Kind kind = random.one_in(2) ? Kind::core : Kind::testpmu;
    if (!group || !mixes_with_software(kind)) return false;
    const auto attr = event_of(kind, true, group->events.read_format, random);
    worker.world.events.may_move(group->id);
    group->kind += ", regrouped";
    return attr && add_event(worker, *group, *attr);
}

// A group that outgrows the rings of a stream, if one runs.
bool grow(Worker& worker, Random& random) {
    const auto group = worker.young_group(random);
    if (!group || group->events.fds.size() > kMaxSiblings || !group->mixes) return false;
    const std::size_t before = group->events.fds.size();
    for (unsigned more = 0; more < kGiant; ++more)
        if (!add_event(worker, *group, clock_event(group->events.read_format, random))) break;
    return group->events.fds.size() == before + kGiant;
}

// A pinned event that has no counter is in state ERROR, and gives nothing to read. With read_format
// 0 all others give one count.
bool read_nothing(Worker& worker, Random& random) {
    auto attr = testpmu_event(0);
    if (!attr) return false;
    attr->pinned = 1;
    const Fd event(open_event(*attr, -1, random.pick(worker.world.cpus), -1));
    const Meta meta;
    if (!event || meta.attach(std::array{event.get()})) return false;
    const Frame frame = read_framed(meta).frames.at(0);
    const bool error = frame.record.status == PERF_METAGROUP_ERROR;
    demand(frame.payload.size() == (error ? 0 : sizeof(std::uint64_t)),
           "read_format 0, status " + std::to_string(frame.record.status) + ": a payload of " +
               std::to_string(frame.payload.size()) + " bytes");
    return error;
}

// If it is a member, the meta-group alone holds it now.
bool close_leader(Worker& worker, Random& random) {
    if (worker.groups.empty()) return false;
    const auto at = worker.groups.begin() + random.below(worker.groups.size());
    auto& fds = (*at)->events.fds;
    std::move(fds.begin() + 1, fds.end(), std::back_inserter(worker.orphans));
    worker.groups.erase(at);
    if (worker.orphans.size() > kMaxSiblings) worker.orphans.clear();
    return true;
}

bool close_group(Worker& worker, Random& random) {
    if (worker.groups.empty()) return false;
    worker.groups.erase(worker.groups.begin() + random.below(worker.groups.size()));
    return true;
}

bool enable(Worker& worker, Random& random) {
    return control(worker.any_slot(random)->meta, PERF_METAGROUP_IOC_ENABLE, "ENABLE");
}

bool disable(Worker& worker, Random& random) {
    return control(worker.any_slot(random)->meta, PERF_METAGROUP_IOC_DISABLE, "DISABLE");
}

bool reset(Worker& worker, Random& random) {
    ++worker.world.resets_begun;
    const bool done = control(worker.any_slot(random)->meta, PERF_METAGROUP_IOC_RESET, "RESET");
    ++worker.world.resets_ended;
    return done;
}

bool set_format(Worker& worker, Random& random) {
    return succeed(worker.any_slot(random)->meta.set_format(random.below(2)), "SET_FORMAT");
}

bool set_mode(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    ++slot->modes_begun;
    const long got = slot->meta.set_mode(random.below(4));
    ++slot->modes_ended;
    return succeed(got, "SET_MODE");
}

}  // namespace

std::span<const Operation> member_operations() {
    static constexpr Operation all[] = {
        {"renew", 1, renew_slot},
        {"attach", 24, attach},
        {"attach, refused", 4, attach_refused},
        {"detach", 32, detach},
        {"detach, unknown", 2, detach_unknown},
        {"open siblings", 24, open_sibling},
        {"close sibling", 32, close_sibling},
        {"regroup", 6, regroup},
        {"grow", 2, grow},
        {"read nothing", 8, read_nothing},
        {"close leader", 6, close_leader},
        {"close group", 12, close_group},
        {"enable", 12, enable},
        {"disable", 6, disable},
        {"reset", 2, reset},
        {"set format", 16, set_format},
        {"set mode", 2, set_mode},
    };
    return all;
}

}  // namespace stress
