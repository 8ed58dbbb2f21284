// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <metagroup/recording.hpp>
#include <unordered_map>
#include <utility>

#include "fields.hpp"
#include "format.hpp"
#include "own_timer.hpp"
#include "perf_data.hpp"
#include "recording_features.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

using namespace detail::perf_data;
using detail::Fields;

constexpr std::uint32_t kMaxCpu = 65535;
constexpr std::uint64_t kMaxSection = 1U << 28;
constexpr const char* kRemedy =
    "record with: perf record -e '{cycles,instructions}:S' -a --clockid mono";

// The period of an event that samples itself by a timer; 0 if it does not. Other clocks may run at
// another speed than timers.
std::uint64_t timer_period(const perf_event_attr& attr) {
    constexpr std::uint64_t second = 1'000'000'000;
    if (attr.type != PERF_TYPE_SOFTWARE || attr.config != PERF_COUNT_SW_CPU_CLOCK ||
        attr.use_clockid == 0 || attr.clockid != CLOCK_MONOTONIC || attr.sample_period == 0)
        return 0;
    return attr.freq != 0 ? second / attr.sample_freq : attr.sample_period;
}

}  // namespace

struct Recording::State {
    explicit State(const std::string& path);

    [[noreturn]] void fail(const char* verb) const {
        throw Error(Cause::other, errno,
                    {.failed = detail::format("cannot {} recording \"{}\"", verb, name)});
    }
    bool has(Section section) const {
        return section.offset <= file_size && section.size <= file_size - section.offset;
    }
    std::vector<std::byte> bytes_at(Section section) const;
    void read_events();
    void check_events() const;
    void read_features();
    void read_updates();
    void start();
    bool fill(std::size_t size);
    std::optional<Fields> next_record(perf_event_header& header);
    std::size_t find(const Fields& fields, std::uint64_t id) const;
    std::optional<RecordedEntry> decode(std::uint32_t type, Fields fields) const;
    std::optional<RecordedEntry> decode_sample(Fields fields) const;
    std::optional<RecordedEntry> decode_lost(Fields fields) const;
    bool has_timer(std::size_t event) const { return !period && timers[event] > 0; }
    std::uint64_t lost_before(const RecordedEntry& sample);

    std::string name;
    detail::UniqueFd file;
    std::uint64_t file_size = 0;
    Header header{};
    std::vector<RecordedEvent> events;
    std::unordered_map<std::uint64_t, std::size_t> by_id;
    std::vector<CpuPlace> topology;
    std::optional<std::uint64_t> period;                          // between common deadlines
    std::vector<std::uint64_t> timers;                            // periods, by event
    std::map<std::pair<std::size_t, int>, detail::OwnTimer> own;  // by event and CPU
    std::optional<RecordedEntry> held;                            // behind the loss before it
    bool finished = false;
    // The bytes of the file that were read and not yet decoded are buffer[begin, end).
    std::vector<std::byte> buffer;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t at = 0;  // the offset of buffer[begin] in the file
    // The offset of the end of the data.
    std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
};

Recording::State::State(const std::string& path)
    : name(path), file(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), buffer(1U << 17) {
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) fail("open");
    file_size = static_cast<std::uint64_t>(status.st_size);
    const auto refuse = [&](const char* reason) {
        detail::refuse_recording(name, 0, reason, kRemedy);
    };
    if (!S_ISREG(status.st_mode) || file_size < sizeof(header)) refuse("not a perf.data file");
    header = Fields(name, 0, bytes_at({0, sizeof(header)})).take<Header>();
    if (header.magic == __builtin_bswap64(kMagic)) refuse("it has the other byte order");
    if (header.magic != kMagic) refuse("not a perf.data file");
    if (header.size != sizeof(header)) refuse("perf.data of a pipe is not supported");
    const bool has_features = std::ranges::any_of(header.features, [](auto word) { return word; });
    // The size is exact with the features only, which are written last.
    finished = has_features && header.data.size > 0;
    if (finished && has(header.data)) limit = header.data.offset + header.data.size;
    read_events();
    if (finished) read_features();
    for (std::size_t i = 0; i < events.size(); ++i)
        for (const std::uint64_t id : events[i].ids)
            by_id.emplace(id, i);
    read_updates();
    check_events();
    // An event that wakes its reader by bytes has a timer of its own.
    const perf_event_attr& first = events.front().attr;
    if (first.sample_type == kStreamSample && first.freq == 0 && first.sample_period > 0 &&
        first.watermark == 0)
        period = first.sample_period;
    for (const RecordedEvent& event : events)
        timers.push_back(timer_period(event.attr));
}

std::vector<std::byte> Recording::State::bytes_at(Section section) const {
    if (!has(section))
        detail::refuse_recording(
            name, section.offset,
            detail::format("{} bytes are needed, the file has {}", section.size, file_size));
    if (section.size > kMaxSection) detail::refuse_recording(name, section.offset, "too large");
    std::vector<std::byte> bytes(section.size);
    std::size_t got = 0;
    while (got < bytes.size()) {
        const auto now = detail::uninterrupted([&] {
            return ::pread(file.get(), bytes.data() + got, bytes.size() - got,
                           static_cast<off_t>(section.offset + got));
        });
        if (now < 0) fail("read");
        if (now == 0)
            detail::refuse_recording(name, section.offset + got, "the file was truncated");
        got += static_cast<std::size_t>(now);
    }
    return bytes;
}

void Recording::State::read_events() {
    constexpr std::uint64_t least = PERF_ATTR_SIZE_VER0 + sizeof(Section);
    constexpr std::uint64_t most = 4096;
    if (header.attr_size < least || header.attr_size > most)
        detail::refuse_recording(name, offsetof(Header, attr_size), "bad size of attributes");
    const auto bytes = bytes_at(header.attrs);
    Fields fields(name, header.attrs.offset, bytes);
    while (fields.left() >= header.attr_size) {
        const auto attr = fields.take(header.attr_size - sizeof(Section));
        const auto section = fields.take<Section>();
        RecordedEvent event;
        std::memcpy(&event.attr, attr.data(), std::min(attr.size(), sizeof(event.attr)));
        const auto ids = bytes_at(section);
        Fields numbers(name, section.offset, ids);
        while (numbers.left() >= sizeof(std::uint64_t))
            event.ids.push_back(numbers.take<std::uint64_t>());
        event.leader = events.size();
        event.name = detail::format("event {}", events.size());
        events.push_back(std::move(event));
    }
}

void Recording::State::check_events() const {
    const auto refuse = [&](const RecordedEvent& event, const char* lack) {
        detail::refuse_recording(name, header.attrs.offset,
                                 detail::format("samples of {} have no {}", event.name, lack),
                                 kRemedy);
    };
    bool any = false;
    for (const RecordedEvent& event : events) {
        const std::uint64_t type = event.attr.sample_type;
        if ((type & PERF_SAMPLE_IDENTIFIER) == 0) refuse(event, "identifier");
        if ((type & PERF_SAMPLE_READ) == 0) continue;
        any = true;
        if ((type & PERF_SAMPLE_TIME) == 0) refuse(event, "time");
        if ((type & PERF_SAMPLE_CPU) == 0) refuse(event, "CPU");
        if ((event.attr.read_format & ReadFormat::id) == 0) refuse(event, "identifiers of counts");
    }
    if (!any)
        detail::refuse_recording(name, header.attrs.offset, "samples have no counts", kRemedy);
}

// Those that are there: the file may have been cut short.
void Recording::State::read_features() {
    std::array<Section, 256> sections{};
    std::uint64_t offset = limit;
    finished = has(header.data);
    for (unsigned bit = 0; bit < sections.size(); ++bit) {
        if ((header.features[bit / 64] >> bit % 64 & 1U) == 0) continue;
        const Section entry{offset, sizeof(Section)};
        finished = finished && has(entry);
        if (!has(entry)) break;
        const auto bytes = bytes_at(entry);
        sections[bit] = Fields(name, offset, bytes).take<Section>();
        finished = finished && has(sections[bit]);
        offset += sizeof(Section);
    }
    const auto read = [&](Feature feature, auto&& decoder) {
        const Section section = sections[static_cast<unsigned>(feature)];
        if (section.size == 0 || !has(section)) return;
        const auto bytes = bytes_at(section);
        decoder(Fields(name, section.offset, bytes));
    };
    read(Feature::event_desc, [&](Fields fields) { detail::read_event_names(fields, events); });
    read(Feature::group_desc, [&](Fields fields) { detail::read_groups(fields, events); });
    std::size_t cpus = 0;
    read(Feature::nrcpus, [&](Fields fields) { cpus = fields.take<std::uint32_t>(); });
    read(Feature::cpu_topology,
         [&](Fields fields) { topology = detail::read_cpu_topology(fields, cpus); });
    read(Feature::numa_topology, [&](Fields fields) { detail::read_nodes(fields, topology); });
}

// They are before the samples.
void Recording::State::read_updates() {
    perf_event_header record{};
    for (start();;) {
        auto fields = next_record(record);
        if (!fields || record.type != kEventUpdate) break;
        const auto what = fields->take<Update>();
        const auto found = by_id.find(fields->take<std::uint64_t>());
        if (found == by_id.end()) continue;
        RecordedEvent& event = events[found->second];
        if (what == Update::name) event.name = fields->take_padded(fields->left());
        if (what == Update::unit) event.unit = fields->take_padded(fields->left());
        if (what == Update::scale) event.scale = fields->take<double>();
        if (!std::isfinite(event.scale)) fields->refuse("a scale that is no number");
    }
    start();
}

void Recording::State::start() {
    at = header.data.offset;
    begin = end = 0;
    own.clear();
    held.reset();
    if (at > file_size) detail::refuse_recording(name, at, "the data begin behind the end");
}

// Reads until there are so many bytes. \return false if the data end before.
bool Recording::State::fill(std::size_t size) {
    if (end - begin >= size) return true;
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(begin),
              buffer.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin());
    end -= begin;
    begin = 0;
    while (end < size) {
        const std::size_t most = std::min<std::uint64_t>(buffer.size() - end, limit - (at + end));
        const auto got = detail::uninterrupted([&] {
            return ::pread(file.get(), buffer.data() + end, most, static_cast<off_t>(at + end));
        });
        if (got < 0) fail("read");
        if (got == 0) return false;
        end += static_cast<std::size_t>(got);
    }
    return true;
}

std::optional<Fields> Recording::State::next_record(perf_event_header& record) {
    const bool has_header = fill(sizeof(record));
    if (has_header) {
        std::memcpy(&record, buffer.data() + begin, sizeof(record));
        if (record.size < sizeof(record))
            detail::refuse_recording(name, at, detail::format("a record of {} bytes", record.size));
    }
    if (!has_header || !fill(record.size)) {
        if (finished && at < limit)
            detail::refuse_recording(name, at, "the last record is not whole");
        return std::nullopt;
    }
    Fields fields(name, at, std::span(buffer).subspan(begin, record.size));
    fields.take(sizeof(record));
    begin += record.size;
    at += record.size;
    return fields;
}

std::size_t Recording::State::find(const Fields& fields, std::uint64_t id) const {
    const auto found = by_id.find(id);
    if (found == by_id.end()) fields.refuse(detail::format("no event has the identifier {}", id));
    return found->second;
}

std::optional<RecordedEntry> Recording::State::decode(std::uint32_t type, Fields fields) const {
    switch (type) {
        case PERF_RECORD_SAMPLE:
            return decode_sample(fields);
        case PERF_RECORD_LOST:
            fields.take(sizeof(std::uint64_t));  // an identifier, which is behind it, too
            [[fallthrough]];
        case PERF_RECORD_LOST_SAMPLES:
            return decode_lost(fields);
        case kFinishedRound:
            return RecordedEntry{};
        case kCompressed:
        case kCompressed2:
            fields.refuse("compressed data are not supported: record without -z");
        case kAuxtrace:
            fields.refuse("AUX data are not supported");
        default:
            return std::nullopt;
    }
}

std::optional<RecordedEntry> Recording::State::decode_sample(Fields fields) const {
    RecordedEntry entry{.kind = RecordedEntry::Kind::sample};
    entry.event = find(fields, fields.take<std::uint64_t>());
    const std::uint64_t type = events[entry.event].attr.sample_type;
    const std::uint64_t format = events[entry.event].attr.read_format;
    if ((type & PERF_SAMPLE_READ) == 0) return std::nullopt;
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
    // Bounded before it is multiplied by anything.
    if (nr > fields.left()) fields.refuse(detail::format("a group of {} events", nr));
    entry.payload = Payload::parse(fields.take(payload_size(format, nr)), format);
    if (!entry.payload) fields.refuse("counts that cannot be decoded");
    return entry;
}

std::optional<RecordedEntry> Recording::State::decode_lost(Fields fields) const {
    RecordedEntry entry{.kind = RecordedEntry::Kind::lost};
    entry.lost = fields.take<std::uint64_t>();
    if (fields.left() < sizeof(std::uint64_t)) return std::nullopt;  // no sample_id_all
    Fields last = fields;
    last.take(last.left() - sizeof(std::uint64_t));
    entry.event = find(fields, last.take<std::uint64_t>());
    const std::uint64_t type = events[entry.event].attr.sample_type;
    if ((type & PERF_SAMPLE_READ) == 0) return std::nullopt;
    if (has_timer(entry.event)) return std::nullopt;  // next() finds all losses
    if ((type & PERF_SAMPLE_TID) != 0) fields.take(sizeof(std::uint64_t));
    entry.time_ns = fields.take<std::uint64_t>();
    if ((type & PERF_SAMPLE_ID) != 0) fields.take(sizeof(std::uint64_t));
    if ((type & PERF_SAMPLE_STREAM_ID) != 0) fields.take(sizeof(std::uint64_t));
    const auto cpu = fields.take<std::uint32_t>();
    if (cpu > kMaxCpu) fields.refuse(detail::format("CPU {}", cpu));
    entry.cpu = static_cast<int>(cpu);
    return entry;
}

// Deadlines of a timer.
std::uint64_t Recording::State::lost_before(const RecordedEntry& sample) {
    if (sample.kind != RecordedEntry::Kind::sample || !has_timer(sample.event)) return 0;
    return own.try_emplace({sample.event, sample.cpu}, timers[sample.event])
        .first->second.add(sample.time_ns);
}

Recording::Recording(const std::string& path) : state_(std::make_unique<State>(path)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

std::span<const RecordedEvent> Recording::events() const& noexcept {
    return state_->events;
}
std::optional<std::size_t> Recording::event_of(std::uint64_t id) const noexcept {
    const auto found = state_->by_id.find(id);
    if (found == state_->by_id.end()) return std::nullopt;
    return found->second;
}
std::optional<std::uint64_t> Recording::period_ns() const noexcept {
    return state_->period;
}
bool Recording::finished() const noexcept {
    return state_->finished;
}
std::span<const CpuPlace> Recording::topology() const& noexcept {
    return state_->topology;
}

std::optional<RecordedEntry> Recording::next() {
    if (state_->held) return std::exchange(state_->held, std::nullopt);
    perf_event_header record{};
    while (const auto fields = state_->next_record(record)) {
        auto entry = state_->decode(record.type, *fields);
        if (!entry) continue;
        const std::uint64_t lost = state_->lost_before(*entry);
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
