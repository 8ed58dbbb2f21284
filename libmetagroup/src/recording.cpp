// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <metagroup/recording.hpp>
#include <numeric>
#include <utility>

#include "fields.hpp"
#include "format.hpp"
#include "perf_data.hpp"
#include "recording_decoder.hpp"
#include "recording_layout.hpp"

namespace metagroup {

using detail::Fields;

// An event has an identifier for each CPU that counts it.
CpuList counting_cpus(const RecordedEvent& event, const CpuList& sampled, const CpuList& all) {
    std::vector<int> cpus(sampled.begin(), sampled.end());
    for (const int cpu : all) {
        if (cpus.size() >= event.ids.size()) break;
        if (!sampled.contains(cpu)) cpus.push_back(cpu);
    }
    std::ranges::sort(cpus);
    return CpuList(std::move(cpus));
}

struct Recording::State {
    explicit State(const std::string& path);

    void start();
    void read_descriptions();
    bool fill(std::size_t size);
    std::optional<Fields> next_record(perf_event_header& header);

    detail::RecordingFile file;
    detail::RecordingLayout layout;
    detail::RecordDecoder decoder;
    std::optional<RecordedEntry> held;  // after the loss that precedes it
    // buffer[begin, end) has the bytes that were read but not yet decoded.
    std::vector<std::byte> buffer;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t at = 0;  // file offset of buffer[begin]
};

Recording::State::State(const std::string& path)
    : file(path), layout(file), decoder(layout), buffer(1U << 17) {
    read_descriptions();
    start();
}

void Recording::State::start() {
    at = layout.begin;
    begin = end = 0;
    decoder.start();
    held.reset();
}

// Event descriptions precede the first sample; the samples show the groups.
void Recording::State::read_descriptions() {
    constexpr std::uint64_t most = 16U << 20;  // bytes, from the first sample on
    perf_event_header record{};
    std::uint64_t first = UINT64_MAX;
    start();
    while (const auto fields = next_record(record)) {
        if (record.type == PERF_RECORD_SAMPLE) first = std::min(first, at);
        const bool sampled = first != UINT64_MAX;
        if (sampled && (decoder.knows_groups() || at - first > most)) return;
        if (!sampled || record.type == PERF_RECORD_SAMPLE) decoder.learn(record.type, *fields);
    }
}

// Reads until that many bytes are available. \return false if the data end before.
bool Recording::State::fill(std::size_t size) {
    if (end - begin >= size) return true;
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(begin),
              buffer.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin());
    end -= begin;
    begin = 0;
    while (end < size) {
        const std::size_t most = std::min<std::uint64_t>(
            buffer.size() - end, layout.end - std::min(layout.end, at + end));
        const std::size_t got = file.read(at + end, std::span(buffer).subspan(end, most));
        if (got == 0) return false;
        end += got;
    }
    return true;
}

std::optional<Fields> Recording::State::next_record(perf_event_header& record) {
    const bool has_header = fill(sizeof(record));
    if (has_header) std::memcpy(&record, buffer.data() + begin, sizeof(record));
    const bool has_size = has_header && record.size >= sizeof(record);
    if (!has_size || !fill(record.size)) {
        // If the writer was killed or the disk was full, the file may end with anything.
        if (!layout.finished || at >= layout.end) return std::nullopt;
        detail::refuse_recording(file.name(), at,
                                 has_header && !has_size
                                     ? detail::format("a record of {} bytes", record.size)
                                     : "the last record is incomplete");
    }
    Fields fields(file.name(), at, std::span(buffer).subspan(begin, record.size));
    fields.take(sizeof(record));
    begin += record.size;
    at += record.size;
    return fields;
}

Recording::Recording(const std::string& path) : state_(std::make_unique<State>(path)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

std::span<const RecordedEvent> Recording::events() const& noexcept {
    return state_->layout.events;
}
std::optional<std::size_t> Recording::event_of(std::uint64_t id) const noexcept {
    const auto found = state_->layout.by_id.find(id);
    if (found == state_->layout.by_id.end()) return std::nullopt;
    return found->second;
}
std::optional<std::uint64_t> Recording::period_ns() const noexcept {
    return state_->decoder.period();
}
bool Recording::finished() const noexcept {
    return state_->layout.finished;
}
std::span<const CpuPlace> Recording::topology() const& noexcept {
    return state_->layout.topology;
}

CpuList Recording::cpus() const {
    // An event with an identifier for each CPU of the machine was open on all of them.
    std::vector<int> all(topology().size());
    std::iota(all.begin(), all.end(), 0);
    const bool on_all = std::ranges::any_of(events(), [&](const RecordedEvent& event) {
        return (event.attr.sample_type & PERF_SAMPLE_READ) != 0 && event.ids.size() == all.size();
    });
    return on_all ? CpuList(std::move(all)) : CpuList();
}
std::vector<std::string> Recording::remarks() const {
    return state_->decoder.remarks();
}

std::optional<RecordedEntry> Recording::next() {
    if (state_->held) return std::exchange(state_->held, std::nullopt);
    perf_event_header record{};
    while (const auto fields = state_->next_record(record)) {
        auto entry = state_->decoder.decode(record.type, *fields);
        if (!entry) continue;
        const std::uint64_t lost = state_->decoder.lost_before(*entry);
        if (lost == 0) return entry;
        state_->held = entry;
        return RecordedEntry{.kind = RecordedEntry::Kind::lost,
                             .time_ns = entry->time_ns,
                             .cpu = entry->cpu,
                             .event = entry->event,
                             .lost = lost};
    }
    return std::nullopt;
}

void Recording::rewind() {
    state_->start();
}

}  // namespace metagroup
