// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <metagroup/recording_writer.hpp>
#include <stdexcept>
#include <utility>

#include "format.hpp"
#include "machine.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

using namespace detail::perf_data;

constexpr perf_event_header kRound{kFinishedRound, 0, sizeof(perf_event_header)};

std::vector<RecordedEvent> with_attributes_of_stream(const RecordingWriter::Options& options) {
    std::vector<RecordedEvent> events = options.events;
    if (events.empty()) throw std::invalid_argument("a recording needs events");
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].ids.empty() || events[i].leader > i)
            throw std::invalid_argument("event " + events[i].name +
                                        " of a recording needs identifiers and a leader before it");
        perf_event_attr& attr = events[i].attr;
        attr.size = sizeof(attr);
        attr.sample_type = kStreamSample;
        attr.read_format = options.read_format;
        attr.freq = 0;
        if (options.period_ns > 0 || events[i].leader != i) {
            attr.sample_period = events[i].leader == i ? options.period_ns : 0;
            attr.watermark = 0;
        }
        attr.sample_id_all = 1;
        attr.use_clockid = 1;
        attr.clockid = CLOCK_MONOTONIC;
    }
    return events;
}

// Describes an event in records, which are available if the process is killed.
void put_updates(Bytes& data, const RecordedEvent& event) {
    const auto put = [&](Update what, const Bytes& value) {
        const std::size_t size = sizeof(perf_event_header) + 2 * sizeof(std::uint64_t);
        data.put(
            perf_event_header{kEventUpdate, 0, static_cast<std::uint16_t>(size + value.size())});
        data.put(what);
        data.put(event.ids.front());
        data.put(value.view());
    };
    const auto text = [](std::string_view value) {
        constexpr std::size_t longest = 32768;
        Bytes bytes;
        bytes.put_padded(value.substr(0, longest), sizeof(std::uint64_t));
        return bytes;
    };
    put(Update::name, text(event.name));
    if (!event.unit.empty()) put(Update::unit, text(event.unit));
    if (event.reading) put(Update::reading, {});
    if (event.scale == 1) return;
    Bytes scale;
    scale.put(event.scale);
    put(Update::scale, scale);
}

}  // namespace

struct RecordingWriter::State {
    State(const std::string& path, const Options& given);

    void append(std::span<const std::byte> bytes);
    void write_header();
    [[noreturn]] void fail() const {
        throw Error(Cause::other, errno, {.failed = "cannot write recording \"" + name + '"'});
    }

    std::string name;
    Options options;
    detail::UniqueFd file;
    Header header{};
    ClockPair begin = clocks_now();
    std::vector<CpuPlace> places = read_topology();                // CPUs may go offline
    std::pair<std::uint64_t, std::uint64_t> times{UINT64_MAX, 0};  // first and last sample
};

RecordingWriter::State::State(const std::string& path, const Options& given)
    : name(path), options(given) {
    options.events = with_attributes_of_stream(given);
    // The counts of all CPUs must not be readable by all users.
    file = detail::open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!file) fail();
    header.magic = kMagic;
    header.size = sizeof(header);
    header.attr_size = sizeof(perf_event_attr) + sizeof(Section);
    header.attrs = {sizeof(header), options.events.size() * header.attr_size};
    Bytes head;
    Bytes ids;
    const std::uint64_t ids_begin = header.attrs.offset + header.attrs.size;
    for (const RecordedEvent& event : options.events) {
        head.put(event.attr);
        head.put(Section{ids_begin + ids.size(), event.ids.size() * sizeof(std::uint64_t)});
        ids.put(std::as_bytes(std::span(event.ids)));
    }
    head.put(ids.view());
    header.data.offset = sizeof(header) + head.size();
    append(std::as_bytes(std::span(&header, 1)));
    append(head.view());
    Bytes updates;
    for (const RecordedEvent& event : options.events)
        put_updates(updates, event);
    append(updates.view());
    header.data.size = updates.size();
}

void RecordingWriter::State::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto done =
            detail::uninterrupted([&] { return ::write(file.get(), bytes.data(), bytes.size()); });
        if (done < 0) fail();
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

void RecordingWriter::State::write_header() {
    // So few bytes are written completely.
    const auto done =
        detail::uninterrupted([&] { return ::pwrite(file.get(), &header, sizeof(header), 0); });
    if (done < 0) fail();
}

RecordingWriter::RecordingWriter(const std::string& path, const Options& options)
    : state_(std::make_unique<State>(path, options)) {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

void RecordingWriter::write(const Records& records) {
    State& state = *state_;
    state.append(records.bytes());
    state.header.data.size += records.bytes().size();
    if (records.last_ns() == 0) return;
    state.times.first = std::min(state.times.first, records.first_ns());
    state.times.second = std::max(state.times.second, records.last_ns());
}

void RecordingWriter::finish_round() {
    write(Records(std::as_bytes(std::span(&kRound, 1))));
    state_->write_header();
}

void RecordingWriter::finish() {
    State& state = *state_;
    if (state.times.first > state.times.second) state.times = {0, 0};
    Features features;
    describe_machine(features, state.places);
    describe_recording(features, state.options, state.begin, state.times);
    Bytes sections;
    Bytes contents;
    const std::uint64_t end = state.header.data.offset + state.header.data.size;
    const std::uint64_t begin = end + features.size() * sizeof(Section);
    for (const auto& [feature, bytes] : features) {
        const auto bit = static_cast<unsigned>(feature);
        state.header.features[bit / 64] |= std::uint64_t{1} << bit % 64;
        sections.put(Section{begin + contents.size(), bytes.size()});
        contents.put(bytes.view());
    }
    try {
        state.append(sections.view());
        state.append(contents.view());
    } catch (...) {
        // Bytes after the data would be taken for records.
        static_cast<void>(::ftruncate(state.file.get(), static_cast<off_t>(end)) == 0);
        throw;
    }
    state.write_header();
}

}  // namespace metagroup
