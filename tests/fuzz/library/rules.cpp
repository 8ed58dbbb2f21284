// SPDX-License-Identifier: MIT
#include "targets.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/recording.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "event_sources.hpp"

namespace metagroup::fuzz {
namespace {

std::string written(const std::vector<GroupSpec>& groups) {
    std::string text;
    for (const GroupSpec& group : groups) {
        if (!text.empty()) text += ',';
        text += to_string(group);
    }
    return text;
}

bool same_event(const EventSpec& a, const EventSpec& b) {
    return a.name == b.name && std::memcmp(&a.attr, &b.attr, sizeof(a.attr)) == 0 &&
           a.cpus == b.cpus && a.scale == b.scale && a.unit == b.unit;
}

bool same_group(const GroupSpec& a, const GroupSpec& b) {
    // Names have the modifiers that say what is counted, so a list that was written has them there.
    return to_string(a) == to_string(b) && std::ranges::equal(a.events, b.events, same_event);
}

void hold_rules(const GroupSpec& group) {
    demand(!group.events.empty(), "a group has an event");
    for (const EventSpec& event : group.events) {
        demand(!event.name.empty(), "an event has a name");
        demand(event.name.find('\0') == std::string::npos, "a name has no NUL");
        demand(event.attr.size == sizeof(event.attr), "an event has the size of its attribute");
        demand(!event.cpus || !event.cpus->empty(), "a PMU with a list of CPUs has a CPU");
        demand(std::isfinite(event.scale), "a scale is a number");
        const bool leader = &event == &group.events.front();
        demand(leader || (event.attr.pinned == 0 && event.attr.exclusive == 0),
               "only a leader is pinned or exclusive");
    }
}

// `event list "…", column N: …`
void hold_rules_of_error(std::string_view text, std::string_view message) {
    constexpr std::string_view kind = "event list \"";
    constexpr std::string_view column = "\", column ";
    std::string shown(text);
    std::ranges::replace(shown, '\0', '?');
    demand(message.starts_with(kind) && message.substr(kind.size()).starts_with(shown),
           "an error shows the text");
    const std::string_view rest = message.substr(kind.size() + text.size());
    demand(rest.starts_with(column), "an error names the place");
    std::size_t place = 0;
    std::from_chars(rest.data() + column.size(), rest.data() + rest.size(), place);
    demand(place >= 1 && place <= text.size() + 1, "the place is in the text");
}

}  // namespace

void read_events(std::string_view text, const detail::SystemPaths& paths) {
    try {
        const auto groups = detail::parse_events(text, paths);
        demand(!groups.empty(), "a list has a group");
        for (const GroupSpec& group : groups)
            hold_rules(group);
        const auto again = detail::parse_events(written(groups), paths);
        demand(std::ranges::equal(groups, again, same_group),
               "a list that was written reads the same");
    } catch (const Error& error) {
        demand(error.cause() != Cause::other, "an error has a cause");
        hold_rules_of_error(text, error.what());
    }
}

namespace {

template <typename Header>
Header header_at(Bytes bytes, std::size_t offset) {
    return Input(bytes.subspan(offset)).take<Header>();
}

void hold_rules_of_record(const MemberView& member, Bytes frame) {
    const auto record = header_at<perf_metagroup_record>(frame, 0);
    const Bytes bytes = member.payload_bytes();
    const bool fits = record.header >= sizeof(record) && record.header <= frame.size() &&
                      record.size <= frame.size() - record.header;
    demand(fits ? bytes.data() == frame.data() + record.header && bytes.size() == record.size
                : bytes.empty(),
           "a payload lies in its record, where and as long as the record says");
    demand(member.member() == record.member && member.time_ns() == record.time &&
               static_cast<std::uint32_t>(member.status()) == record.status,
           "a record shows what is in it");
    demand(!to_string(member.status()).empty(), "every status has a name");

    const auto& payload = member.payload();
    demand(!payload || payload_size(member.read_format(), member.nr()) == bytes.size(),
           "a payload is as long as its format says");
    demand(member.nr() == (payload ? payload->nr() : 0), "no payload, no events");
    for (std::size_t i = 0; i < member.nr(); ++i) {
        demand(member.raw(i) == payload->value(i), "every event of a payload has a count");
        const auto scaled = member.scaled(i);
        demand(!scaled || (member.time_enabled() && member.time_running().value_or(0) > 0),
               "only a count with a running time is scaled");
    }
    demand(!member.raw(member.nr()) && !member.scaled(member.nr()) && !member.id(member.nr()) &&
               !member.lost(member.nr()),
           "an event that is not there has no count");
}

void hold_rules(const SnapshotView& view, Bytes bytes) {
    const auto head = header_at<perf_metagroup_snapshot>(bytes, 0);
    demand(view.bytes().data() == bytes.data() && view.bytes().size() <= bytes.size(),
           "a snapshot lies in the bytes that it is made of");
    demand(view.size() == head.count, "a snapshot has as many records as its header says");

    const bool sorted = rising(view);
    std::size_t i = 0;
    std::size_t at = head.size;
    for (const MemberView& member : view) {
        const std::size_t room = view.bytes().size() - at;
        std::size_t frame = head.stride;
        if (frame == 0 && room >= sizeof(perf_metagroup_record))
            frame = header_at<perf_metagroup_record>(view.bytes(), at).frame;
        if (frame < sizeof(perf_metagroup_record) || frame > room) frame = room;
        if (room >= sizeof(perf_metagroup_record))
            hold_rules_of_record(member, view.bytes().subspan(at, frame));
        at += frame;
        demand(view[i].payload_bytes().data() == member.payload_bytes().data(),
               "walking and indexing lead to the same record");
        const auto found = view.find(member.member());
        demand(!found || found->member() == member.member(),
               "find() returns the member of that number");
        demand(!sorted || (found && found->payload_bytes().data() == member.payload_bytes().data()),
               "every member is found if their numbers rise");
        ++i;
    }
    demand(i == view.size(), "walking meets every record");
    static_cast<void>(view.skew_ns());
    try {
        static_cast<void>(view[view.size()]);
        demand(false, "a record that is not there is an error");
    } catch (const std::out_of_range&) {
    }
}

std::optional<SnapshotView> view_of(Bytes bytes) {
    try {
        return SnapshotView(bytes);
    } catch (const std::system_error& error) {
        demand(error.code().value() == EBADMSG, "bytes that are no snapshot are EBADMSG");
        return std::nullopt;
    }
}

// The buffer is larger than what was read, as it is when a snapshot is used again.
bool commit(Snapshot& snapshot, Bytes bytes) {
    constexpr std::size_t more = 64;
    std::ranges::copy(bytes, snapshot.prepare(bytes.size() + more).begin());
    try {
        snapshot.commit(bytes.size());
        return true;
    } catch (const std::system_error&) {
        demand(snapshot.empty(), "a snapshot that was refused is empty");
        return false;
    }
}

}  // namespace

std::vector<test::Frame> take_frames(Input& input) {
    constexpr std::uint8_t most_frames = 8;
    constexpr std::uint8_t most_events = 6;
    constexpr std::uint8_t formats = ReadFormat::all + 1;
    constexpr std::uint8_t statuses = PERF_METAGROUP_SKIPPED + 2;
    std::vector<test::Frame> frames(input.below(most_frames + 1));
    std::uint32_t member = 0;
    for (test::Frame& frame : frames) {
        member += 1U + input.below(4);
        frame.member = member;
        frame.cpu = input.take<std::uint8_t>();
        frame.time = input.take<std::uint16_t>();
        frame.status = input.below(statuses);
        frame.read_format = input.below(formats);
        std::vector<test::Event> events(input.below(most_events + 1));
        if (events.empty()) continue;
        for (test::Event& event : events) {
            event = {input.take<std::uint16_t>(), input.below(16), input.below(16)};
        }
        frame.payload = test::payload(frame.read_format, events, input.take<std::uint16_t>(),
                                      input.take<std::uint16_t>());
    }
    return frames;
}

void damage(test::Bytes& bytes, Input& input) {
    while (!input.empty()) {
        const std::size_t offset = input.take<std::uint16_t>() % bytes.size();
        const auto word = input.take<std::uint32_t>();
        std::memcpy(bytes.data() + offset, &word, std::min(sizeof(word), bytes.size() - offset));
    }
}

bool rising(const SnapshotView& view) {
    for (std::size_t i = 1; i < view.size(); ++i) {
        if (view[i - 1].member() >= view[i].member()) return false;
    }
    return true;
}

void decode(Bytes bytes) {
    const auto view = view_of(bytes);
    if (view) hold_rules(*view, bytes);

    Snapshot snapshot;
    demand(commit(snapshot, bytes) == view.has_value(), "a snapshot takes what a view takes");
    if (!view) return;
    const Snapshot copy = snapshot;
    const Snapshot moved = std::move(snapshot);
    demand(std::ranges::equal(copy.bytes(), view->bytes()) &&
               std::ranges::equal(moved.bytes(), view->bytes()),
           "a copy has the same bytes");
    demand(copy.bytes().data() != moved.bytes().data(), "a copy has bytes of its own");
    hold_rules(copy, copy.bytes());
}

namespace {

void hold_rules(const Recording& recording) {
    demand(!recording.events().empty(), "a recording has an event");
    for (const RecordedEvent& event : recording.events()) {
        demand(event.leader < recording.events().size(), "a leader is an event");
        demand(std::isfinite(event.scale), "a scale is a number");
    }
    demand(recording.period_ns() != std::optional<std::uint64_t>(0), "a period is a time");
}

// The number of samples, and of those lost.
std::pair<std::size_t, std::uint64_t> read(Recording& recording) {
    std::size_t samples = 0;
    std::uint64_t lost = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind == RecordedEntry::Kind::round) continue;
        demand(entry->event < recording.events().size(), "an entry is of an event");
        demand(entry->cpu >= 0, "an entry is of a CPU");
        lost += entry->lost;
        demand(entry->payload.has_value() == (entry->kind == RecordedEntry::Kind::sample),
               "a sample has counts, and a loss has none");
        if (!entry->payload) continue;
        ++samples;
        demand(entry->payload->nr() > 0, "a sample has a count");
        for (std::size_t i = 0; i < entry->payload->nr(); ++i)
            demand(entry->payload->id(i).has_value(), "a count has an identifier");
    }
    return {samples, lost};
}

}  // namespace

void recording(Bytes input) {
    static const detail::UniqueFd file(::memfd_create("recording", MFD_CLOEXEC));
    static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    demand(::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), input.data(), input.size(), 0) ==
                                                  static_cast<ssize_t>(input.size()),
           "the input can be written");
    try {
        Recording recording(path);
        hold_rules(recording);
        const auto first = read(recording);
        recording.rewind();
        demand(read(recording) == first, "a recording reads the same again");
    } catch (const Error& error) {
        demand(error.cause() == Cause::bad_recording, "only the contents are refused");
        demand(std::string_view(error.what()).find("offset 0x") != std::string_view::npos,
               "an error names the place");
    }
}

}  // namespace metagroup::fuzz
