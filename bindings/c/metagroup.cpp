// SPDX-License-Identifier: MIT
// The C interface: each function calls the C++ library and converts exceptions to errno and a
// message.
#include "metagroup.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/stream.hpp>
#include <metagroup/version.hpp>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

struct metagroup_config {
    metagroup::MetaGroup::Options options;
};

struct metagroup_group {
    metagroup::MetaGroup group;
    explicit metagroup_group(const metagroup::MetaGroup::Options& options)
        : group(metagroup::MetaGroup::open(options)) {}
};

struct metagroup_snapshot {
    metagroup::Snapshot snapshot;
};

struct metagroup_stream {
    metagroup::Stream stream;
    std::span<const metagroup::Deadline> deadlines{};
    metagroup_stream(metagroup::MetaGroup& group, const metagroup::Stream::Options& options)
        : stream(metagroup::Stream::start(group, options)) {}
};

namespace {

using metagroup::Backend;
using metagroup::EventSpec;
using metagroup::MemberView;
using metagroup::Sample;

static_assert(static_cast<int>(Backend::module) == METAGROUP_BACKEND_MODULE);
static_assert(static_cast<int>(Backend::per_fd) == METAGROUP_BACKEND_PER_FD);
static_assert(static_cast<int>(Backend::percpu) == METAGROUP_BACKEND_PERCPU);
static_assert(PERF_METAGROUP_SKIPPED == METAGROUP_SKIPPED);

// A message that is too long is truncated: reporting an error must not allocate.
thread_local std::array<char, 1024> message;

int fail(int error, const char* text) noexcept {
    (void)std::snprintf(message.data(), message.size(), "%s", text);
    errno = error;
    return -1;
}

int no_data() noexcept {
    return fail(ENODATA, "this event has no counts");
}

int no_record() noexcept {
    return fail(EINVAL, "no such record");
}

// For functions that do not return an int: their return value on error.
template <class Value>
Value no_item(Value value) noexcept {
    fail(EINVAL, "no such member, event, record, deadline or sample");
    return value;
}

// Runs `body` and returns its result, or -1 after an exception.
template <std::invocable Body>
int guard(Body&& body) noexcept try {
    return std::forward<Body>(body)();
} catch (const std::system_error& error) {
    return fail(error.code().value(), error.what());
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, "out of memory");
} catch (const std::exception& error) {
    return fail(EINVAL, error.what());
}

// \throws std::invalid_argument if `text` is NULL.
const char* checked(const char* text) {
    if (text == nullptr) throw std::invalid_argument("the string is NULL");
    return text;
}

// An object for the caller to free, or NULL.
template <class Object, class... Arguments>
Object* create(Arguments&&... arguments) noexcept {
    Object* object = nullptr;
    guard([&] {
        object = std::make_unique<Object>(std::forward<Arguments>(arguments)...).release();
        return 0;
    });
    return object;
}

std::optional<MemberView> record_of(const metagroup_snapshot& of, std::size_t i) {
    if (i >= of.snapshot.size()) return std::nullopt;
    return of.snapshot[i];
}

const Sample* sample_of(const metagroup_stream& of, std::size_t deadline, std::size_t sample) {
    if (deadline >= of.deadlines.size() || sample >= of.deadlines[deadline].size()) return nullptr;
    return &of.deadlines[deadline].samples()[sample];
}

const EventSpec* event_of(const metagroup_group& of, std::size_t member, std::size_t event) {
    if (member >= of.group.members().size() || event >= of.group.events(member).size())
        return nullptr;
    return &of.group.events(member)[event];
}

template <class Value>
int store_or_enodata(const std::optional<Value>& value, Value* to) noexcept {
    if (!value) return no_data();
    *to = *value;
    return 0;
}

}  // namespace

const char* metagroup_error_message() {
    return message.data();
}

const char* metagroup_version() {
    return METAGROUP_VERSION_STRING;
}

metagroup_config* metagroup_config_new() {
    return create<metagroup_config>();
}

void metagroup_config_free(metagroup_config* config) {
    const std::unique_ptr<metagroup_config> owner(config);
}

int metagroup_config_add_events(metagroup_config* config, const char* events) {
    return guard([&] {
        auto groups = metagroup::parse_events(checked(events));
        config->options.groups.insert(config->options.groups.end(),
                                      std::make_move_iterator(groups.begin()),
                                      std::make_move_iterator(groups.end()));
        return 0;
    });
}

int metagroup_config_set_cpus(metagroup_config* config, const char* cpus) {
    return guard([&] {
        config->options.cpus = metagroup::CpuList::parse(checked(cpus));
        return 0;
    });
}

int metagroup_config_set_cgroup(metagroup_config* config, const char* cgroup) {
    return guard([&] {
        config->options.cgroup = checked(cgroup);
        return 0;
    });
}

int metagroup_config_set_backend(metagroup_config* config, metagroup_backend backend) {
    if (backend > METAGROUP_BACKEND_PERCPU) return fail(EINVAL, "no such backend");
    config->options.backend = static_cast<Backend>(backend);
    return 0;
}

int metagroup_config_set_mode(metagroup_config* config, bool quiet, bool skip_isolated) {
    config->options.mode = {.quiet = quiet, .skip_isolated = skip_isolated};
    return 0;
}

int metagroup_config_set_disabled(metagroup_config* config, bool disabled) {
    config->options.start_disabled = disabled;
    return 0;
}

metagroup_group* metagroup_group_open(const metagroup_config* config) {
    return create<metagroup_group>(config->options);
}

void metagroup_group_close(metagroup_group* group) {
    const std::unique_ptr<metagroup_group> owner(group);
}

metagroup_backend metagroup_group_get_backend(const metagroup_group* group) {
    return static_cast<metagroup_backend>(group->group.backend());
}

size_t metagroup_group_get_size(const metagroup_group* group) {
    return group->group.members().size();
}

int metagroup_group_get_group(const metagroup_group* group, size_t member) {
    const auto members = group->group.members();
    if (member >= members.size()) return fail(EINVAL, "no such member");
    return static_cast<int>(members[member].group);
}

size_t metagroup_group_get_event_count(const metagroup_group* group, size_t member) {
    return member < group->group.members().size() ? group->group.events(member).size()
                                                  : no_item(std::size_t{0});
}

const char* metagroup_group_get_event_name(const metagroup_group* group, size_t member,
                                           size_t event) {
    const EventSpec* spec = event_of(*group, member, event);
    return spec ? spec->name.c_str() : no_item<const char*>(nullptr);
}

const char* metagroup_group_get_event_unit(const metagroup_group* group, size_t member,
                                           size_t event) {
    const EventSpec* spec = event_of(*group, member, event);
    return spec ? spec->unit.c_str() : no_item<const char*>(nullptr);
}

double metagroup_group_get_event_scale(const metagroup_group* group, size_t member, size_t event) {
    const EventSpec* spec = event_of(*group, member, event);
    return spec ? spec->scale : no_item(1.0);
}

int metagroup_group_enable(metagroup_group* group) {
    return guard([&] { return group->group.enable(), 0; });
}

int metagroup_group_disable(metagroup_group* group) {
    return guard([&] { return group->group.disable(), 0; });
}

int metagroup_group_reset(metagroup_group* group) {
    return guard([&] { return group->group.reset(), 0; });
}

metagroup_snapshot* metagroup_snapshot_new() {
    return create<metagroup_snapshot>();
}

void metagroup_snapshot_free(metagroup_snapshot* snapshot) {
    const std::unique_ptr<metagroup_snapshot> owner(snapshot);
}

int metagroup_group_read(metagroup_group* group, metagroup_snapshot* snapshot) {
    return guard([&] { return group->group.read(snapshot->snapshot), 0; });
}

size_t metagroup_snapshot_get_size(const metagroup_snapshot* snapshot) {
    return snapshot->snapshot.size();
}

uint64_t metagroup_snapshot_get_begin_ns(const metagroup_snapshot* snapshot) {
    return snapshot->snapshot.begin_ns();
}

uint64_t metagroup_snapshot_get_end_ns(const metagroup_snapshot* snapshot) {
    return snapshot->snapshot.end_ns();
}

int metagroup_snapshot_get_cpu(const metagroup_snapshot* snapshot, size_t record) {
    const auto found = record_of(*snapshot, record);
    return found ? found->cpu() : no_record();
}

int metagroup_snapshot_get_status(const metagroup_snapshot* snapshot, size_t record) {
    const auto found = record_of(*snapshot, record);
    return found ? static_cast<int>(found->status()) : no_record();
}

uint64_t metagroup_snapshot_get_time_ns(const metagroup_snapshot* snapshot, size_t record) {
    const auto found = record_of(*snapshot, record);
    return found ? found->time_ns() : no_item(std::uint64_t{0});
}

int metagroup_snapshot_get_count(const metagroup_snapshot* snapshot, size_t record, size_t event,
                                 uint64_t* count) {
    const auto found = record_of(*snapshot, record);
    return found ? store_or_enodata(found->raw(event), count) : no_record();
}

int metagroup_snapshot_get_times(const metagroup_snapshot* snapshot, size_t record,
                                 uint64_t* enabled, uint64_t* running) {
    const auto found = record_of(*snapshot, record);
    if (!found) return no_record();
    return store_or_enodata(found->time_enabled(), enabled) ||
                   store_or_enodata(found->time_running(), running)
               ? -1
               : 0;
}

int metagroup_snapshot_get_difference(const metagroup_snapshot* older,
                                      const metagroup_snapshot* newer, size_t record, size_t event,
                                      double* count) {
    if (record >= newer->snapshot.size()) return no_record();
    return store_or_enodata(
        metagroup::Delta(older->snapshot, newer->snapshot)[record].scaled(event), count);
}

metagroup_stream* metagroup_stream_start(metagroup_group* group, uint64_t period_ns,
                                         size_t ring_size) {
    metagroup::Stream::Options options{.period = std::chrono::nanoseconds(period_ns)};
    if (ring_size != 0) options.ring_size = ring_size;
    return create<metagroup_stream>(group->group, options);
}

void metagroup_stream_free(metagroup_stream* stream) {
    const std::unique_ptr<metagroup_stream> owner(stream);
}

int metagroup_stream_wait(metagroup_stream* stream, int64_t timeout_ns) {
    stream->deadlines = {};  // releases them
    return guard([&] {
        const auto wake = stream->stream.wait(std::chrono::nanoseconds(timeout_ns));
        if (wake == metagroup::Stream::Wake::ended) return 2;
        return wake == metagroup::Stream::Wake::data ? 1 : 0;
    });
}

int metagroup_stream_read(metagroup_stream* stream) {
    stream->deadlines = {};
    return guard([&] {
        stream->deadlines = stream->stream.read();
        return static_cast<int>(stream->deadlines.size());
    });
}

int metagroup_stream_stop(metagroup_stream* stream) {
    stream->deadlines = {};
    return guard([&] { return stream->stream.stop(), 0; });
}

uint64_t metagroup_stream_get_time_ns(const metagroup_stream* stream, size_t deadline) {
    return deadline < stream->deadlines.size() ? stream->deadlines[deadline].time_ns()
                                               : no_item(std::uint64_t{0});
}

size_t metagroup_stream_get_size(const metagroup_stream* stream, size_t deadline) {
    return deadline < stream->deadlines.size() ? stream->deadlines[deadline].size()
                                               : no_item(std::size_t{0});
}

int metagroup_stream_get_member(const metagroup_stream* stream, size_t deadline, size_t sample) {
    const Sample* found = sample_of(*stream, deadline, sample);
    return found ? static_cast<int>(found->index()) : no_record();
}

int metagroup_stream_get_cpu(const metagroup_stream* stream, size_t deadline, size_t sample) {
    const Sample* found = sample_of(*stream, deadline, sample);
    return found ? found->cpu() : no_record();
}

uint64_t metagroup_stream_get_lost(const metagroup_stream* stream, size_t deadline, size_t sample) {
    const Sample* found = sample_of(*stream, deadline, sample);
    return found ? found->lost() : no_item(std::uint64_t{0});
}

int metagroup_stream_get_count(const metagroup_stream* stream, size_t deadline, size_t sample,
                               size_t event, uint64_t* count) {
    const Sample* found = sample_of(*stream, deadline, sample);
    return found ? store_or_enodata(found->raw(event), count) : no_record();
}
