// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <metagroup/metagroup.hpp>
#include <metagroup/topology.hpp>
#include <set>
#include <utility>

#include "backend.hpp"
#include "format.hpp"
#include "sets.hpp"
#include "system.hpp"

namespace metagroup {

struct MetaGroup::State {
    std::vector<GroupSpec> groups;
    std::vector<Member> members;
    CpuList cpus;
    std::string reason;
    EventOrigin origin = EventOrigin::groups;
    std::string origin_reason = "requested";
    std::unique_ptr<detail::Reader> reader;
    // For streams.
    std::uint64_t read_format = 0;
    detail::UniqueFd cgroup;
    std::weak_ptr<detail::Sampler> sampler;

    bool open_sets(std::optional<Device>& device, std::span<const CpuList> places,
                   const Options& options);
    void open_groups(std::optional<Device> device, std::span<const CpuList> places,
                     const Options& options);
    void open_members(std::optional<Device> device, const Options& options);
    void join(Device device, const Options& options);
    void use(Device device, const Options& options);
};

namespace {

// The first CPU of each package. A CPU whose package is unknown counts as a package of its own.
CpuList first_of_packages(const CpuList& cpus) {
    const std::vector<CpuPlace> topology = read_topology();
    std::set<int> packages;
    std::vector<int> first;
    for (const int cpu : cpus) {
        const auto at = static_cast<std::size_t>(cpu);
        const int package = at < topology.size() ? topology[at].socket : -1;
        if (package < 0 || packages.insert(package).second) first.push_back(cpu);
    }
    return CpuList(first);
}

// The CPUs in the list that can count every event of the group.
CpuList cpus_of(const GroupSpec& group, const CpuList& wanted) {
    CpuList cpus = wanted;
    for (const EventSpec& event : group.events) {
        if (event.per_package) cpus = first_of_packages(cpus);
        if (event.on_one_cpu) cpus = CpuList({cpus.cpus().front()});
        if (!event.cpus) continue;
        cpus = cpus.intersect(*event.cpus);
        if (cpus.empty())
            throw Error(Cause::unsupported_event, EINVAL,
                        {detail::format("cannot count group {} on CPUs {}", to_string(group),
                                        wanted.to_string()),
                         detail::format("event \"{}\" can be counted only on CPUs {}", event.name,
                                        event.cpus->to_string()),
                         "add one of them"});
    }
    return cpus;
}

// CPU by CPU, so that the records of one CPU are adjacent. `places` has the CPUs of each group.
std::vector<MetaGroup::Member> plan(std::span<const CpuList> places, const CpuList& cpus) {
    std::vector<MetaGroup::Member> members;
    for (const int cpu : cpus) {
        for (std::size_t group = 0; group < places.size(); ++group) {
            if (places[group].contains(cpu)) members.push_back({0, cpu, group});
        }
    }
    return members;
}

// No value for the backends that do not use the module.
std::optional<Device> open_device(const MetaGroup::Options& options, std::string& reason) {
    const bool of_module = options.origin == EventOrigin::set || !options.set.empty();
    const bool needs_module =
        options.backend == Backend::module || options.mode != Mode{} || of_module;
    reason = "requested";
    if (options.backend == Backend::per_fd || options.backend == Backend::percpu) {
        if (of_module)
            detail::throw_error(detail::Call::choose_set, EOPNOTSUPP, "cannot open a set");
        if (needs_module)
            detail::throw_error(detail::Call::choose_mode, EOPNOTSUPP,
                                "cannot sweep without interrupting every CPU");
        return std::nullopt;
    }
    try {
        std::optional<Device> device = Device::open(options.device);
        if (options.backend == Backend::automatic) reason = options.device + " is available";
        return device;
    } catch (const Error& error) {
        if (needs_module) throw;
        reason = error.what();
    }
    return std::nullopt;
}

// The reader may be able to release descriptors if none is left.
EventGroup open_group(const GroupSpec& spec, int cpu, std::uint64_t read_format, int cgroup,
                      detail::Reader& reader) {
    detail::interruption_point();
    for (;;) {
        try {
            return EventGroup::open(spec, cpu, read_format, cgroup);
        } catch (const Error& error) {
            if (error.code().value() != EMFILE || !reader.release_descriptors()) throw;
        }
    }
}

// A published set determines these options.
void refuse_options_of_sets(const MetaGroup::Options& options) {
    const char* const refused =
        !options.groups.empty()                      ? "groups"
        : options.cpus                               ? "cpus"
        : !options.cgroup.empty()                    ? "cgroup"
        : options.read_format != default_read_format ? "read_format"
        : options.origin == EventOrigin::groups || options.origin == EventOrigin::set ? "origin"
                                                                                      : nullptr;
    if (refused != nullptr)
        throw std::invalid_argument(
            detail::format("set \"{}\" cannot be joined with option \"{}\"", options.set, refused));
}

}  // namespace

std::string_view to_string(Backend backend) noexcept {
    static constexpr std::array<std::string_view, 4> names = {"automatic", "module", "per-fd",
                                                              "percpu"};
    const auto number = static_cast<std::size_t>(backend);
    return number < names.size() ? names[number] : "unknown";
}

std::string_view to_string(EventOrigin origin) noexcept {
    static constexpr std::array<std::string_view, 4> names = {"automatic", "groups", "set", "name"};
    const auto number = static_cast<std::size_t>(origin);
    return number < names.size() ? names[number] : "unknown";
}

// \return false to open groups instead; they report errors in the events.
bool MetaGroup::State::open_sets(std::optional<Device>& device, std::span<const CpuList> places,
                                 const Options& options) {
    if (options.origin == EventOrigin::groups) return false;
    const bool wanted = options.origin == EventOrigin::set;
    if (!wanted && !options.follow) {
        origin_reason = "sets pin counters and are opened only on request";
        return false;
    }
    origin_reason = device ? detail::why_not_sets(options, *device) : reason;
    if (wanted && !origin_reason.empty())
        throw Error(Cause::unsupported_event, EOPNOTSUPP,
                    {"cannot open a set", origin_reason, "open event groups"});
    if (!origin_reason.empty()) return false;
    try {
        members = detail::open_sets(*device, options, places);
    } catch (const Error& error) {
        if (wanted) throw;
        origin_reason = error.what();
        device = Device::open(options.device);  // a new meta-group, without the sets opened so far
        return false;
    }
    origin = EventOrigin::set;
    origin_reason = wanted ? "requested" : "a set follows CPUs that come online";
    use(std::move(*device), options);
    return true;
}

// Makes the reader for members that the device already has.
void MetaGroup::State::use(Device device, const Options& options) {
    reader = detail::make_module_reader(std::move(device), options.mode, members.size());
    reader->finish();
    if (!options.start_disabled) return;
    // They have been counting since they were opened.
    reader->disable();
    reader->reset();
}

void MetaGroup::State::open_groups(std::optional<Device> device, std::span<const CpuList> places,
                                   const Options& options) {
    members = plan(places, cpus);
    if (options.backend == Backend::percpu) {
        if (!options.cgroup.empty())
            detail::throw_error(detail::Call::choose_cgroup, EOPNOTSUPP,
                                "cannot count a cgroup by one event on all CPUs");
        reader = detail::make_percpu_reader(groups, members, read_format);
    } else {
        open_members(std::move(device), options);
    }
    std::uint32_t number = reader->finish();
    for (Member& member : members)
        member.number = number++;
    if (!options.start_disabled) reader->enable();
}

void MetaGroup::State::open_members(std::optional<Device> device, const Options& options) {
    reader = device ? detail::make_module_reader(std::move(*device), options.mode, members.size())
                    : detail::make_per_fd_reader(!options.cgroup.empty());
    if (!options.cgroup.empty()) cgroup = detail::open_cgroup(options.cgroup);
    for (const Member& member : members)
        reader->add(open_group(groups[member.group], member.cpu, options.read_format, cgroup.get(),
                               *reader));
}

void MetaGroup::State::join(Device device, const Options& options) {
    detail::JoinedSet joined = detail::join_set(device, options.set);
    groups = std::move(joined.groups);
    members = std::move(joined.members);
    read_format = joined.read_format;
    origin = EventOrigin::name;
    std::set<int> numbers;
    for (const Member& member : members)
        numbers.insert(member.cpu);
    cpus = CpuList({numbers.begin(), numbers.end()});
    use(std::move(device), options);
}

MetaGroup MetaGroup::open(const Options& options) {
    auto state = std::make_unique<State>();
    if (!options.set.empty()) {
        refuse_options_of_sets(options);
        state->join(std::move(*open_device(options, state->reason)), options);
        return MetaGroup(std::move(state));
    }
    if (options.origin == EventOrigin::name)
        throw std::invalid_argument("EventOrigin::name requires the name of a set");
    if (options.groups.empty())
        throw std::invalid_argument("a meta-group needs at least one event group");
    if (std::ranges::any_of(options.groups, [](const auto& group) { return group.events.empty(); }))
        throw std::invalid_argument("a group needs at least one event");
    if (options.cpus && options.cpus->empty())
        throw std::invalid_argument("a meta-group needs at least one CPU");
    state->groups = divide_weak(options.groups);
    state->cpus = options.cpus ? *options.cpus : CpuList::online();
    state->read_format = options.read_format;
    std::vector<CpuList> places;
    for (const GroupSpec& group : state->groups)
        places.push_back(cpus_of(group, state->cpus));
    std::optional<Device> device = open_device(options, state->reason);
    if (!state->open_sets(device, places, options))
        state->open_groups(std::move(device), places, options);
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
EventOrigin MetaGroup::origin() const noexcept {
    return state_->origin;
}
const std::string& MetaGroup::origin_reason() const& noexcept {
    return state_->origin_reason;
}
std::string MetaGroup::origin_reason() && {
    return std::move(state_->origin_reason);
}
const CpuList& MetaGroup::cpus() const& noexcept {
    return state_->cpus;
}
void MetaGroup::publish(const std::string& name, unsigned mode, std::optional<std::uint32_t> gid) {
    state_->reader->publish(name, mode, gid);
}
std::string MetaGroup::reopen_error(std::size_t i) const {
    const std::span<const EventSpec> its = events(i);
    if (state_->origin == EventOrigin::groups) return {};
    const MemberInfo info = state_->reader->member(state_->members[i].number);
    if (info.error == 0) return {};
    const bool by_perf = info.reason == PERF_METAGROUP_REASON_REFUSED;
    const std::string what = info.failed < its.size()
                                 ? detail::format("event \"{}\"", its[info.failed].name)
                                 : std::string("the events");
    return detail::diagnose(by_perf ? detail::Call::open_event : detail::Call::open_set, info.error,
                            detail::format("cannot reopen {} on CPU {}", what, info.cpu),
                            {.cpu = info.cpu, .reason = info.reason})
        .what();
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

// Both backends allow one at a time.
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
