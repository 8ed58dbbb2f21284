// SPDX-License-Identifier: MIT
#include "world.hpp"

#include <cstdio>
#include <iterator>
#include <utility>

#include "operations.hpp"

namespace stress {
namespace {

constexpr unsigned kMaxFailures = 10;      // that are printed
constexpr unsigned kMaxNumber = 1U << 24;  // of a member: no run attaches so many

// One for each slot. All have the id, to identify a payload.
std::uint64_t slot_format(unsigned index) {
    const std::array<std::uint64_t, World::kSlots> formats = {
        PERF_FORMAT_ID | PERF_FORMAT_GROUP | kTimes,
        PERF_FORMAT_ID | PERF_FORMAT_GROUP |
            (kernel_knows(PERF_FORMAT_LOST) ? PERF_FORMAT_LOST : 0U),
        PERF_FORMAT_ID | kTimes,
        PERF_FORMAT_ID | PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return formats.at(index);
}

}  // namespace

EventTable::Entry& EventTable::entry(std::uint64_t event) {
    Entry& entry = entries_[event % entries_.size()];
    if (entry.event != event) entry = {.event = event};
    return entry;
}

bool EventTable::belongs(std::uint64_t event, std::uint64_t leader) {
    const std::scoped_lock lock(mutex_);
    Entry& known = entry(event);
    if (!known.leader) known.leader = leader;
    return known.leader == leader;
}

void EventTable::stays_on(std::uint64_t leader, int cpu) {
    const std::scoped_lock lock(mutex_);
    entry(leader).cpu = cpu;
}

std::optional<int> EventTable::home(std::uint64_t leader) {
    const std::scoped_lock lock(mutex_);
    const int cpu = entry(leader).cpu;
    return cpu < 0 ? std::nullopt : std::optional(cpu);
}

void Slot::attached(unsigned number, const std::shared_ptr<Group>& group) {
    const std::scoped_lock lock(mutex_);
    members_[number] = group;
}

std::optional<unsigned> Slot::take(Random& random) {
    const std::scoped_lock lock(mutex_);
    if (members_.empty()) return {};
    const auto member = std::next(members_.begin(), random.below(members_.size()));
    const unsigned number = member->first;
    members_.erase(member);
    return number;
}

std::size_t Slot::members() const {
    const std::scoped_lock lock(mutex_);
    return members_.size();
}

std::map<unsigned, std::weak_ptr<Group>> Slot::all() const {
    const std::scoped_lock lock(mutex_);
    return members_;
}

bool Slot::is(unsigned number, std::uint64_t leader) {
    if (number > kMaxNumber) return false;
    const std::scoped_lock lock(mutex_);
    if (leaders_.size() <= number) leaders_.resize(number + 1);
    if (!leaders_[number]) leaders_[number] = leader;
    return leaders_[number] == leader;
}

World::World(std::uint64_t seed_of_all, std::vector<int> online)
    : seed(seed_of_all), cpus(std::move(online)) {
    for (unsigned index = 0; index < kSlots; ++index)
        renew(index);
}

std::shared_ptr<Slot> World::slot(unsigned index) {
    const std::scoped_lock lock(mutex_);
    return slots_.at(index);
}

void World::renew(unsigned index) {
    auto fresh = std::make_shared<Slot>(slot_format(index));
    const std::scoped_lock lock(mutex_);
    slots_.at(index).swap(fresh);
}

void World::fail(const std::string& what) {
    if (++failures_ > kMaxFailures) return;
    std::printf("WRONG (seed %llu): %s\n", static_cast<unsigned long long>(seed), what.c_str());
    std::fflush(stdout);
}

}  // namespace stress
