// SPDX-License-Identifier: MIT
#include <array>
#include <metagroup/metagroup.hpp>

#include "backend.hpp"
#include "format.hpp"
#include "system.hpp"

namespace metagroup {

struct MetaGroup::State {
    std::vector<GroupSpec> groups;
    std::vector<Member> members;
    std::string reason;
    std::unique_ptr<detail::Reader> reader;
    // For streams.
    std::uint64_t read_format = 0;
    detail::UniqueFd cgroup;
    std::weak_ptr<detail::Sampler> sampler;
};

namespace {

// The CPUs of the list on which every event of the group can be counted.
CpuList cpus_of(const GroupSpec& group, const CpuList& wanted) {
    CpuList cpus = wanted;
    for (const EventSpec& event : group.events) {
        if (!event.cpus) continue;
        cpus = cpus.intersect(*event.cpus);
        if (cpus.empty())
            throw Error(Cause::unsupported_event, EINVAL,
                        {detail::format("cannot count group {} on CPUs {}", to_string(group),
                                        wanted.to_string()),
                         detail::format("event \"{}\" is counted on CPUs {} only", event.name,
                                        event.cpus->to_string()),
                         "add one of them"});
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

std::unique_ptr<detail::Reader> choose(const MetaGroup::Options& options, std::size_t members,
                                       std::string& reason) {
    const bool needs_module = options.backend == Backend::module || options.mode != Mode{};
    reason = "requested";
    if (options.backend == Backend::per_fd) {
        if (needs_module)
            detail::throw_error(detail::Call::choose_mode, EOPNOTSUPP,
                                "cannot sweep without interrupting every CPU");
        return detail::make_per_fd_reader(!options.cgroup.empty());
    }
    try {
        Device device = Device::open(options.device);
        if (options.backend == Backend::automatic) reason = options.device + " is there";
        return detail::make_module_reader(std::move(device), options.mode, members);
    } catch (const Error& error) {
        // Too many members is not a missing module: falling back would hide the limit.
        if (needs_module || error.cause() == Cause::too_many_members) throw;
        reason = error.what();
    }
    return detail::make_per_fd_reader(!options.cgroup.empty());
}

// If no descriptor is left, the reader may release some.
EventGroup open_group(const GroupSpec& spec, int cpu, std::uint64_t read_format, int cgroup,
                      detail::Reader& reader) {
    for (;;) {
        try {
            return EventGroup::open(spec, cpu, read_format, cgroup);
        } catch (const Error& error) {
            if (error.code().value() != EMFILE || !reader.release_descriptors()) throw;
        }
    }
}

}  // namespace

std::string_view to_string(Backend backend) noexcept {
    static constexpr std::array<std::string_view, 3> names = {"automatic", "module", "per_fd"};
    const auto number = static_cast<std::size_t>(backend);
    return number < names.size() ? names[number] : "unknown";
}

MetaGroup MetaGroup::open(const Options& options) {
    if (options.groups.empty())
        throw std::invalid_argument("a meta-group needs at least one event group");
    if (options.cpus && options.cpus->empty())
        throw std::invalid_argument("a meta-group needs at least one CPU");
    auto state = std::make_unique<State>();
    state->groups = options.groups;
    state->members = plan(state->groups, options.cpus ? *options.cpus : CpuList::online());
    state->reader = choose(options, state->members.size(), state->reason);
    state->read_format = options.read_format;
    if (!options.cgroup.empty()) state->cgroup = detail::open_cgroup(options.cgroup);
    for (const Member& member : state->members)
        state->reader->add(open_group(state->groups[member.group], member.cpu, options.read_format,
                                      state->cgroup.get(), *state->reader));
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
    state_->reader->read(snapshot, nullptr);
}
void MetaGroup::read(Snapshot& snapshot, const CpuList& cpus) {
    state_->reader->read(snapshot, &cpus);
}
SnapshotView MetaGroup::sweep() & {
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
    return state_->reader->backend();
}
const std::string& MetaGroup::backend_reason() const& noexcept {
    return state_->reason;
}
std::string MetaGroup::backend_reason() && {
    return std::move(state_->reason);
}
std::span<const MetaGroup::Member> MetaGroup::members() const& noexcept {
    return state_->members;
}
std::span<const GroupSpec> MetaGroup::groups() const& noexcept {
    return state_->groups;
}

std::span<const EventSpec> MetaGroup::events(std::size_t i) const& {
    if (i >= state_->members.size())
        throw std::out_of_range(
            detail::format("member {} of a meta-group of {}", i, state_->members.size()));
    return state_->groups[state_->members[i].group].events;
}

std::size_t MetaGroup::snapshot_size() const noexcept {
    return state_->reader->snapshot_size();
}

// One at a time in both backends.
std::shared_ptr<detail::Sampler> MetaGroup::start_sampler(const detail::SamplerOptions& options) {
    const auto before = state_->sampler.lock();
    if (before && before->running)
        detail::throw_error(detail::Call::start_stream, EBUSY, "cannot start a stream");
    auto sampler = state_->reader->start_sampler(
        {state_->members, state_->groups, state_->read_format, state_->cgroup.get()}, options);
    state_->sampler = sampler;
    return sampler;
}

}  // namespace metagroup
