// SPDX-License-Identifier: MIT

#include <cerrno>
#include <metagroup/device.hpp>
#include <metagroup/metagroup.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "backend.hpp"
#include "cgroup.hpp"
#include "formatted.hpp"

namespace metagroup {

struct MetaGroup::State {
    std::vector<GroupSpec> groups;
    std::vector<Member> members;
    Backend backend = Backend::per_fd;
    std::string reason;
    std::unique_ptr<detail::Reader> reader;
};

namespace {

// The CPUs of the list on which every event of the group can be counted.
CpuList cpus_of(const GroupSpec& group, const CpuList& wanted) {
    CpuList cpus = wanted;
    for (const EventSpec& event : group.events) {
        if (!event.cpus) continue;
        cpus = cpus.intersect(*event.cpus);
        if (cpus.empty()) {
            throw std::invalid_argument(detail::formatted(
                "group {} has no CPU: event \"{}\" is counted on CPUs {} only, asked "
                "for were {}; add one of them",
                to_string(group), event.name, event.cpus->to_string(), wanted.to_string()));
        }
    }
    return cpus;
}

// CPU by CPU, so that the records of one CPU stand together.
std::vector<MetaGroup::Member> plan(const std::vector<GroupSpec>& groups, const CpuList& cpus) {
    std::vector<CpuList> places;
    places.reserve(groups.size());
    for (const GroupSpec& group : groups)
        places.push_back(cpus_of(group, cpus));
    std::vector<MetaGroup::Member> members;
    for (const int cpu : cpus) {
        for (std::size_t group = 0; group < groups.size(); ++group) {
            if (places[group].contains(cpu)) members.push_back({0, cpu, group});
        }
    }
    return members;
}

struct Choice {
    Backend backend;
    std::string reason;
    std::unique_ptr<detail::Reader> reader;
};

Choice choose(const MetaGroup::Options& options, std::size_t members) {
    const bool needs_module = options.backend == Backend::module || options.mode != Mode{};
    if (options.backend == Backend::per_fd) {
        if (needs_module) {
            throw std::system_error(EOPNOTSUPP, std::generic_category(),
                                    "quiet and sparing sweeps need the module: without it every "
                                    "CPU is interrupted; do not ask for Backend::per_fd");
        }
        return {Backend::per_fd, "asked for", detail::make_per_fd_reader()};
    }
    std::string missing;
    try {
        Device device = Device::open(options.device);
        return {Backend::module,
                options.backend == Backend::module
                    ? std::string("asked for")
                    : detail::formatted("{} is there", options.device),
                detail::make_module_reader(std::move(device), options.mode, members)};
    } catch (const std::system_error& error) {
        // Too many members is not a missing module: falling back would hide the limit.
        if (needs_module || error.code().value() == E2BIG) throw;
        missing = error.what();
    }
    return {Backend::per_fd, std::move(missing), detail::make_per_fd_reader()};
}

// Where descriptors run out, the reader is asked for those that it can do without.
EventGroup open_group(const GroupSpec& spec, int cpu, std::uint64_t read_format, int cgroup,
                      detail::Reader& reader) {
    for (;;) {
        try {
            return EventGroup::open(spec, cpu, read_format, cgroup);
        } catch (const std::system_error& error) {
            if (error.code().value() != EMFILE || !reader.release_descriptors()) throw;
        }
    }
}

}  // namespace

std::string_view to_string(Backend backend) noexcept {
    switch (backend) {
        case Backend::automatic:
            return "automatic";
        case Backend::module:
            return "module";
        case Backend::per_fd:
            return "per_fd";
    }
    return "unknown";
}

MetaGroup MetaGroup::open(const Options& options) {
    if (options.groups.empty()) {
        throw std::invalid_argument("a meta-group needs at least one event group");
    }
    auto state = std::make_unique<State>();
    state->groups = options.groups;
    state->members = plan(state->groups, options.cpus.empty() ? CpuList::online() : options.cpus);
    Choice choice = choose(options, state->members.size());
    state->backend = choice.backend;
    state->reason = std::move(choice.reason);
    state->reader = std::move(choice.reader);
    detail::UniqueFd cgroup;
    if (!options.cgroup.empty()) cgroup = detail::open_cgroup(options.cgroup);
    for (const Member& member : state->members) {
        state->reader->add(open_group(state->groups[member.group], member.cpu, options.read_format,
                                      cgroup.get(), *state->reader));
    }
    std::uint32_t number = state->reader->finish();
    for (Member& member : state->members)
        member.number = number++;
    if (!options.start_disabled) state->reader->enable();
    return MetaGroup(std::move(state));
}

MetaGroup::MetaGroup(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
MetaGroup::MetaGroup(MetaGroup&&) noexcept = default;
MetaGroup& MetaGroup::operator=(MetaGroup&&) noexcept = default;
MetaGroup::~MetaGroup() = default;

void MetaGroup::read(Snapshot& snapshot) {
    state_->reader->read(snapshot, {});
}
void MetaGroup::read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) {
    state_->reader->read(snapshot, cpu_mask);
}
SnapshotView MetaGroup::sweep() {
    return state_->reader->sweep();
}
void MetaGroup::enable() {
    state_->reader->enable();
}
void MetaGroup::disable() {
    state_->reader->disable();
}
void MetaGroup::reset() {
    state_->reader->reset();
}

Backend MetaGroup::backend() const noexcept {
    return state_->backend;
}
const std::string& MetaGroup::backend_reason() const noexcept {
    return state_->reason;
}
std::span<const MetaGroup::Member> MetaGroup::members() const noexcept {
    return state_->members;
}
std::span<const GroupSpec> MetaGroup::groups() const noexcept {
    return state_->groups;
}

std::span<const EventSpec> MetaGroup::events(std::size_t i) const {
    if (i >= state_->members.size()) {
        throw std::out_of_range(
            detail::formatted("member {} of a meta-group of {}", i, state_->members.size()));
    }
    return state_->groups[state_->members[i].group].events;
}

std::size_t MetaGroup::snapshot_size() const noexcept {
    return state_->reader->snapshot_size();
}

}  // namespace metagroup
