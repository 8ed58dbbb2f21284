// SPDX-License-Identifier: MIT
#include "recording_decoder.hpp"

#include <algorithm>
#include <ctime>
#include <metagroup/counts.hpp>

#include "format.hpp"

namespace metagroup::detail {
namespace {

using namespace perf_data;

constexpr std::uint32_t kMaxCpu = 65535;
constexpr std::string_view kTimeUnit = "ns";  // of duration_time

// The period of an event that samples with a timer; 0 for others. Other clocks may run at a
// different speed than timers.
std::uint64_t timer_period(const perf_event_attr& attr) {
    constexpr std::uint64_t second = 1'000'000'000;
    constexpr std::uint64_t shortest = 10'000;  // of the kernel's timer
    if (attr.type != PERF_TYPE_SOFTWARE || attr.config != PERF_COUNT_SW_CPU_CLOCK ||
        attr.use_clockid == 0 || attr.clockid != CLOCK_MONOTONIC || attr.sample_period == 0)
        return 0;
    return std::max<std::uint64_t>(attr.freq != 0 ? second / attr.sample_freq : attr.sample_period,
                                   shortest);
}

bool has_counts(const RecordedEvent& event) {
    return (event.attr.sample_type & PERF_SAMPLE_READ) != 0;
}

}  // namespace

RecordDecoder::RecordDecoder(RecordingLayout& layout)
    : layout_(layout), in_group_(layout.events.size()) {
    ungrouped_ = static_cast<std::size_t>(std::ranges::count_if(layout.events, has_counts));
    // An event that wakes its reader after a number of bytes has its own timer.
    const perf_event_attr& first = layout.events.front().attr;
    if (first.sample_type == kStreamSample && first.freq == 0 && first.sample_period > 0 &&
        first.watermark == 0)
        period_ = first.sample_period;
    for (const RecordedEvent& event : layout.events)
        timers_.push_back(timer_period(event.attr));
}

void RecordDecoder::learn(std::uint32_t type, Fields fields) {
    try {
        if (type == kEventUpdate) read_update(fields);
        if (type == kIdIndex) read_cpus(fields);
        if (type == PERF_RECORD_SAMPLE) read_group(fields);
    } catch (const Error& error) {
        // decode() counts damaged samples.
        if (type != PERF_RECORD_SAMPLE) remark(error.reason());
    }
    if (of_task_)
        fields.refuse("the counts of a task, which include those on other CPUs; record with -a");
}

void RecordDecoder::read_update(Fields fields) {
    constexpr double least = 1e-30;
    const auto what = fields.take<Update>();
    const auto found = layout_.by_id.find(fields.take<std::uint64_t>());
    if (found == layout_.by_id.end()) return;
    RecordedEvent& event = layout_.events[found->second];
    std::string text;
    if (what == Update::name || what == Update::unit)
        text = printable(fields.take_padded(fields.left()));
    // perf shows clocks in milliseconds. In this library they have no unit and count nanoseconds of
    // a CPU, unless they count those that pass.
    const bool clock = is_clock(event.attr);
    if (clock && what == Update::unit) event.on_one_cpu = text == kTimeUnit;
    if (what == Update::name) event.name = text;
    if (what == Update::unit && (!clock || event.on_one_cpu)) event.unit = text;
    if (what == Update::reading) event.reading = true;
    if (what != Update::scale || clock) return;
    const auto scale = fields.take<double>();
    if (scale >= least && scale <= 1 / least)
        event.scale = scale;
    else
        remark(format("the scale of \"{}\" is ignored: {}", event.name, scale));
}

void RecordDecoder::read_cpus(Fields fields) {
    struct Entry {
        std::uint64_t id, index, cpu, tid;
    };
    fields.take<std::uint64_t>();  // their number
    while (fields.left() >= sizeof(Entry)) {
        const auto entry = fields.take<Entry>();
        const auto event = layout_.by_id.find(entry.id);
        if (event == layout_.by_id.end()) continue;
        if (entry.cpu <= kMaxCpu) cpus_[entry.id] = static_cast<int>(entry.cpu);
        of_task_ |= entry.cpu == UINT64_MAX && has_counts(layout_.events[event->second]);
    }
}

// The description of groups is written last and may be missing. A sample has the identifiers of its
// group.
void RecordDecoder::read_group(Fields fields) {
    const auto sample = decode_sample(fields);
    if (!sample) return;
    put_in_group(sample->event, sample->event);
    for (std::size_t i = 0; i < sample->payload->nr(); ++i) {
        const auto member = layout_.by_id.find(sample->payload->id(i).value());
        if (member != layout_.by_id.end()) put_in_group(member->second, sample->event);
    }
}

void RecordDecoder::put_in_group(std::size_t event, std::size_t leader) {
    if (in_group_[event]) return;
    in_group_[event] = true;
    layout_.events[event].leader = leader;
    if (has_counts(layout_.events[event])) --ungrouped_;
}

// Limits the memory: a file may have any number of faults.
void RecordDecoder::remark(std::string text) {
    constexpr std::size_t most = 20;
    if (layout_.remarks.size() < most) layout_.remarks.push_back(std::move(text));
}

void RecordDecoder::start() {
    own_.clear();
    reported_.clear();
    newest_ = unknown_ = damaged_ = 0;
}

std::optional<RecordedEntry> RecordDecoder::decode(std::uint32_t type, Fields fields) {
    if (type == kCompressed || type == kCompressed2)
        fields.refuse("compressed data is not supported: record without -z");
    if (type == kAuxtrace) fields.refuse("AUX data is not supported");
    try {
        return decode_any(type, fields);
    } catch (const Error& error) {
        if (damaged_++ == 0) first_damage_ = error.reason();
        return std::nullopt;
    }
}

std::optional<RecordedEntry> RecordDecoder::decode_any(std::uint32_t type, Fields fields) {
    switch (type) {
        case PERF_RECORD_SAMPLE: {
            auto sample = decode_sample(fields);
            if (sample) newest_ = std::max(newest_, sample->time_ns);
            return sample;
        }
        case PERF_RECORD_LOST:
            return decode_lost(fields);
        case PERF_RECORD_LOST_SAMPLES:
            return decode_lost_samples(fields);
        case kFinishedRound:
            return RecordedEntry{};
        default:
            return std::nullopt;
    }
}

std::optional<std::size_t> RecordDecoder::find(std::uint64_t id) {
    const auto found = layout_.by_id.find(id);
    if (found != layout_.by_id.end()) return found->second;
    if (unknown_++ == 0) first_unknown_ = id;
    return std::nullopt;
}

std::optional<RecordedEntry> RecordDecoder::decode_sample(Fields fields) {
    const auto event = find(fields.take<std::uint64_t>());
    if (!event || !has_counts(layout_.events[*event])) return std::nullopt;
    RecordedEntry entry{.kind = RecordedEntry::Kind::sample, .event = *event};
    const std::uint64_t type = layout_.events[*event].attr.sample_type;
    const std::uint64_t format = layout_.events[*event].attr.read_format;
    const auto skip = [&](std::uint64_t bit) {
        if ((type & bit) != 0) fields.take(sizeof(std::uint64_t));
    };
    skip(PERF_SAMPLE_IP);
    skip(PERF_SAMPLE_TID);
    entry.time_ns = fields.take<std::uint64_t>();
    skip(PERF_SAMPLE_ADDR);
    skip(PERF_SAMPLE_ID);
    skip(PERF_SAMPLE_STREAM_ID);
    const auto cpu = fields.take<std::uint32_t>();
    if (cpu > kMaxCpu) fields.refuse(detail::format("CPU {}", cpu));
    entry.cpu = static_cast<int>(cpu);
    fields.take(sizeof(std::uint32_t));
    skip(PERF_SAMPLE_PERIOD);
    std::uint64_t nr = 1;
    if ((format & ReadFormat::group) != 0) nr = Fields(fields).take<std::uint64_t>();
    // Bounds nr before it is multiplied by anything.
    if (nr > fields.left()) fields.refuse(detail::format("a group of {} events", nr));
    entry.payload = Payload::parse(fields.take(payload_size(format, nr)), format);
    if (!entry.payload) fields.refuse("counts that cannot be decoded");
    return entry;
}

// Written by the kernel when the ring was full.
std::optional<RecordedEntry> RecordDecoder::decode_lost(Fields fields) {
    const auto writer = find(fields.take<std::uint64_t>());
    const auto lost = fields.take<std::uint64_t>();
    if (!writer || fields.left() == 0) return std::nullopt;  // no sample_id_all
    const SampleId id_of_sample = take_sample_id(fields, layout_.events[*writer].attr.sample_type);
    reported_[id_of_sample.cpu] += lost;
    const auto event = sampled_beside(*writer);
    if (!event) return std::nullopt;
    return RecordedEntry{
        RecordedEntry::Kind::lost, id_of_sample.time, id_of_sample.cpu, *event, lost, {}};
}

std::optional<RecordedEntry> RecordDecoder::decode_lost_samples(Fields fields) {
    const auto lost = fields.take<std::uint64_t>();
    if (fields.left() < sizeof(std::uint64_t)) return std::nullopt;  // no sample_id_all
    Fields last = fields;
    last.take(last.left() - sizeof(std::uint64_t));
    const auto id = last.take<std::uint64_t>();
    const auto event = find(id);
    if (!event || !has_counts(layout_.events[*event])) return std::nullopt;
    const SampleId id_of_sample = take_sample_id(fields, layout_.events[*event].attr.sample_type);
    if (id_of_sample.time == 0) return total_lost(id, lost);
    if (has_timer(*event)) timer_of(*event, id_of_sample.cpu).report(lost);
    return RecordedEntry{
        RecordedEntry::Kind::lost, id_of_sample.time, id_of_sample.cpu, *event, lost, {}};
}

// On exit, perf record writes how many samples each event has lost, without time or CPU. The rings
// have already reported most of them.
std::optional<RecordedEntry> RecordDecoder::total_lost(std::uint64_t id, std::uint64_t lost) {
    const auto cpu = cpus_.find(id);
    const std::size_t event = layout_.by_id.at(id);
    if (cpu == cpus_.end() || has_timer(event)) return std::nullopt;
    std::uint64_t& reported = reported_[cpu->second];
    const std::uint64_t known = std::min(reported, lost);
    reported -= known;
    if (lost == known) return std::nullopt;
    return RecordedEntry{RecordedEntry::Kind::lost, newest_, cpu->second, event, lost - known, {}};
}

RecordDecoder::SampleId RecordDecoder::take_sample_id(Fields& fields, std::uint64_t type) {
    const auto skip = [&](std::uint64_t bit) {
        if ((type & bit) != 0) fields.take(sizeof(std::uint64_t));
    };
    SampleId id_of_sample;
    skip(PERF_SAMPLE_TID);
    if ((type & PERF_SAMPLE_TIME) != 0) id_of_sample.time = fields.take<std::uint64_t>();
    skip(PERF_SAMPLE_ID);
    skip(PERF_SAMPLE_STREAM_ID);
    const auto cpu = (type & PERF_SAMPLE_CPU) != 0 ? fields.take<std::uint32_t>() : UINT32_MAX;
    if (cpu > kMaxCpu) fields.refuse(detail::format("CPU {}", cpu));
    id_of_sample.cpu = static_cast<int>(cpu);
    return id_of_sample;
}

// The next event that writes reports the loss, possibly one without counts. The losses of timers
// are found from the times of their samples.
std::optional<std::size_t> RecordDecoder::sampled_beside(std::size_t event) const {
    if (has_counts(layout_.events[event]))
        return has_timer(event) ? std::nullopt : std::optional(event);
    for (std::size_t i = 0; i < layout_.events.size(); ++i)
        if (has_counts(layout_.events[i]) && layout_.events[i].leader == i && !has_timer(i))
            return i;
    return std::nullopt;
}

std::uint64_t RecordDecoder::lost_before(const RecordedEntry& sample) {
    if (sample.kind != RecordedEntry::Kind::sample || !has_timer(sample.event)) return 0;
    return timer_of(sample.event, sample.cpu).add(sample.time_ns);
}

OwnTimer& RecordDecoder::timer_of(std::size_t event, int cpu) {
    return own_.try_emplace({event, cpu}, timers_[event]).first->second;
}

std::vector<std::string> RecordDecoder::remarks() const {
    std::vector<std::string> remarks = layout_.remarks;
    if (unknown_ > 0)
        remarks.push_back(
            format("{} records were skipped because no event has their identifiers, the first of "
                   "which is {}",
                   unknown_, first_unknown_));
    if (damaged_ > 0)
        remarks.push_back(
            format("{} damaged records were skipped, the first at {}", damaged_, first_damage_));
    return remarks;
}

}  // namespace metagroup::detail
