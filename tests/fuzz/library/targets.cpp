// SPDX-License-Identifier: MIT
// All targets. In a program of libFuzzer METAGROUP_FUZZ_TARGET is the one that it calls, and the
// others are left out.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <metagroup/cpu_list.hpp>
#include <metagroup/delta.hpp>
#include <metagroup/error.hpp>
#include <metagroup/payload.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "deadlines.hpp"
#include "event_sources.hpp"
#include "support/fake_system.hpp"
#include "targets.hpp"
#include "unit/fake_ring.hpp"

namespace metagroup::fuzz {
namespace {

void hold_rules(const CpuList& list) {
    demand(!list.empty(), "a parsed list has a CPU");
    demand(std::ranges::adjacent_find(list.cpus(), std::greater_equal()) == list.cpus().end(),
           "the CPUs of a list ascend, each once");
    demand(*list.begin() >= 0, "no CPU is negative");
    demand(CpuList::parse(list.to_string()) == list, "a list that was written reads the same");
    demand(list.intersect(list) == list, "a list has itself in common with itself");

    std::size_t bits = 0;
    const auto mask = list.mask();
    for (const std::uint64_t word : mask)
        bits += static_cast<std::size_t>(std::popcount(word));
    demand(bits == list.size(), "a mask has a bit for each CPU");
    for (const int cpu : list) {
        const auto bit = static_cast<std::size_t>(cpu);
        demand((mask[bit / 64] >> bit % 64 & 1) == 1, "a mask has the bits of its CPUs");
        demand(list.contains(cpu), "a list contains its CPUs");
    }
}

// Any text as a list of CPUs.
void cpu_list(Bytes input) {
    static const test::FakeSystem system;
    try {
        hold_rules(detail::parse_cpu_list(as_text(input), system.paths));
    } catch (const Error& error) {
        demand(error.cause() == Cause::syntax, "a refused text is a syntax error");
        demand(std::string_view(error.what()).find(", column ") != std::string_view::npos,
               "an error names the place");
    }
}

// Any text as a list of events.
void event_list(Bytes input) {
    static const test::FakeSystem system;
    read_events(as_text(input), system.paths);
}

constexpr std::array files = {
    "pmus/pmu/type",         "pmus/pmu/format/field",       "pmus/pmu/events/event",
    "pmus/pmu/cpumask",      "pmus/pmu/events/event.scale", "pmus/pmu/events/event.unit",
    "tracing/events/a/b/id",
};

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

// Events of a system whose files say anything. The first lines of the input are files, the last is
// a list of events.
void system_files(Bytes input) {
    static test::TempTree tree;
    static const detail::SystemPaths paths{
        tree.path("pmus"), tree.path("cpus"), {tree.path("tracing")}};
    std::string_view text = as_text(input);
    for (const char* file : files)
        tree.file(file, take_line(text));
    read_events(text, paths);
}

using detail::FormatField;

std::string written(const FormatField& field) {
    std::string text = "config" + (field.config == 0 ? "" : std::to_string(field.config));
    char separator = ':';
    for (const auto& [first, last] : field.ranges) {
        text += std::exchange(separator, ',') + std::to_string(first) + "-" + std::to_string(last);
    }
    return text;
}

// The inverse of scatter(), one bit at a time.
std::uint64_t gather(const FormatField& field, std::uint64_t word) {
    std::uint64_t value = 0;
    unsigned place = 0;
    for (const auto& [first, last] : field.ranges) {
        for (unsigned bit = first; bit <= last; ++bit)
            value |= (word >> bit & 1) << place++;
    }
    return value;
}

// Any text as a format file of a PMU.
void pmu_format(Bytes input) {
    constexpr unsigned bits = 64;
    constexpr unsigned most_config = 3;
    const auto field = detail::parse_format(as_text(input));
    if (!field) return;

    demand(field->config <= most_config && !field->ranges.empty(), "a field has a place");
    for (const auto& [first, last] : field->ranges)
        demand(first <= last && last < bits, "a range lies in its word");
    demand(static_cast<unsigned>(std::popcount(field->mask())) == field->width(),
           "every bit of a field has a place of its own");
    const std::uint64_t most = field->width() == bits ? ~0ULL : (1ULL << field->width()) - 1;
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, most, most / 3}) {
        demand((field->scatter(value) & ~field->mask()) == 0, "a value stays in its field");
        demand(gather(*field, field->scatter(value)) == (value & most),
               "a value can be gathered from its bits");
    }
    const auto again = detail::parse_format(written(*field));
    demand(again && again->config == field->config && again->ranges == field->ranges,
           "a format reads the same after writing");
}

template <typename Call>
bool out_of_range(const Call& call) {
    try {
        static_cast<void>(call());
    } catch (const std::out_of_range&) {
        return true;
    }
    return false;
}

// True if the bytes are one payload of that format: computed independently of the decoder.
bool is_payload(Bytes bytes, std::uint64_t format) {
    if ((format & ~ReadFormat::all) != 0) return false;
    const std::uint64_t nr =
        (format & ReadFormat::group) != 0 ? Input(bytes).take<std::uint64_t>() : 1;
    const std::size_t most = bytes.size() / sizeof(std::uint64_t);
    return nr > 0 && nr <= most && bytes.size() == payload_size(format, nr);
}

test::Bytes encode(const Payload& payload) {
    std::vector<test::Event> events;
    for (std::size_t i = 0; i < payload.nr(); ++i) {
        events.push_back(
            {payload.value(i), payload.id(i).value_or(0), payload.lost(i).value_or(0)});
    }
    return test::payload(payload.read_format(), events, payload.time_enabled().value_or(0),
                         payload.time_running().value_or(0));
}

// Any bytes as a payload of any read format.
void payload(Bytes input) {
    Input numbers(input);
    const std::uint64_t format = numbers.take<std::uint8_t>();
    const Bytes bytes = numbers.rest();

    const auto decoded = Payload::parse(bytes, format);
    demand(decoded.has_value() == is_payload(bytes, format), "only a payload is decoded");
    if (!decoded) return;

    const test::Bytes encoded = encode(*decoded);
    demand(std::ranges::equal(encoded, bytes), "a decoded payload encodes to the same bytes");
    for (const std::size_t beyond : {decoded->nr(), SIZE_MAX}) {
        demand(out_of_range([&] { return decoded->value(beyond); }) &&
                   out_of_range([&] { return decoded->id(beyond); }) &&
                   out_of_range([&] { return decoded->lost(beyond); }),
               "an event that is not there is an error");
    }
}

// Any bytes as a FRAMED read.
void snapshot(Bytes input) {
    decode(input);
}

void hold_contents(const SnapshotView& view, const std::vector<test::Frame>& frames) {
    demand(view.size() == frames.size(), "every frame is a record");
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const test::Frame& frame = frames[i];
        const MemberView member = view[i];
        demand(member.member() == frame.member && member.cpu() == static_cast<int>(frame.cpu) &&
                   member.time_ns() == frame.time && member.read_format() == frame.read_format,
               "a record shows what was put into it");
        demand(std::ranges::equal(member.payload_bytes(), frame.payload),
               "a payload is what was put in");
        demand(member.payload().has_value() == !frame.payload.empty(),
               "every payload can be decoded");
    }
}

// A FRAMED read as a kernel makes it, which must show what was put in; then damaged and cut off.
void damaged_snapshot(Bytes input) {
    Input numbers(input);
    const std::vector<test::Frame> frames = take_frames(numbers);
    const std::uint32_t extra = 8U * numbers.below(3);
    test::Bytes bytes = test::framed(frames, 1000, 2000, extra);
    hold_contents(SnapshotView(bytes), frames);
    decode(bytes);

    const std::size_t cut = numbers.take<std::uint8_t>();
    damage(bytes, numbers);
    bytes.resize(bytes.size() - std::min(cut, bytes.size()));
    bytes.shrink_to_fit();
    decode(bytes);
}

using Count = std::optional<std::uint64_t>;

std::optional<SnapshotView> view_of(const test::Bytes& bytes) {
    try {
        return SnapshotView(bytes);
    } catch (const std::system_error&) {
        return std::nullopt;
    }
}

bool is_difference(const Count& difference, const Count& older, const Count& newer) {
    if (!older || !newer) return !difference;
    const bool back = *newer - *older > UINT64_MAX / 2;
    return back ? !difference : difference == *newer - *older;
}

void hold_rules(const MemberDelta& delta, const std::optional<MemberView>& older) {
    const MemberView& newer = delta.newer();
    demand((delta.match() == Match::added) == !older,
           "a member without an older record has joined");
    if (delta.match() != Match::ok) {
        demand(!delta.elapsed_ns() && !delta.time_enabled() && !delta.time_running() &&
                   !delta.raw(0) && !delta.scaled(0),
               "records that do not match have no difference");
        return;
    }
    demand(older->cpu() == newer.cpu() && older->nr() == newer.nr() && newer.nr() > 0,
           "records that match are of the same events");
    demand(is_difference(delta.time_enabled(), older->time_enabled(), newer.time_enabled()) &&
               is_difference(delta.time_running(), older->time_running(), newer.time_running()) &&
               is_difference(delta.elapsed_ns(), older->time_ns(), newer.time_ns()),
           "times are differences of times");
    for (std::size_t i = 0; i < newer.nr(); ++i) {
        demand(older->id(i) == newer.id(i), "events that match have the same identifiers");
        demand(is_difference(delta.raw(i), older->raw(i), newer.raw(i)),
               "a count is the difference of the counts");
        demand(!delta.scaled(i) || delta.time_running().value_or(0) > 0,
               "only a count with a running time is scaled");
    }
    demand(!delta.raw(newer.nr()) && !delta.scaled(newer.nr()),
           "an event that is not there has no count");
}

// The difference of two snapshots, of which one may be damaged.
void delta(Bytes input) {
    Input numbers(input);
    const test::Bytes old_bytes = test::framed(take_frames(numbers), numbers.below(4));
    test::Bytes new_bytes = test::framed(take_frames(numbers), numbers.below(4));
    damage(new_bytes, numbers);
    const SnapshotView older(old_bytes);
    const auto newer = view_of(new_bytes);
    if (!newer) return;

    const Delta delta(older, *newer);
    demand(delta.size() == newer->size(), "every newer record has a difference");
    std::size_t stayed = 0;
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const auto old = older.find((*newer)[i].member());
        hold_rules(delta[i], old);
        if (old) ++stayed;
    }
    demand(delta.removed_count() <= older.size(), "only members of the older snapshot are removed");
    if (rising(*newer))
        demand(delta.removed_count() + stayed == older.size(),
               "every older member is removed or has stayed");
    demand(delta.elapsed_ns().has_value() == (newer->begin_ns() >= older.begin_ns()),
           "no time has gone by if the newer is older");
}

class AnySampler final : public detail::Sampler {
  public:
    std::uint64_t stop() override { return 0; }
};

// Two rings of a stream with any contents: nothing is read beyond them, deadlines are in order, and
// what is no record is refused.
void ring(Bytes input) {
    Input numbers(input);
    const auto order =
        numbers.below(2) == 0 ? detail::Ring::Order::forward : detail::Ring::Order::backward;
    AnySampler sampler;
    sampler.common = numbers.below(2) == 0;
    sampler.hidden = numbers.below(2);
    sampler.sources = {{1, 0, ReadFormat::group}, {2, 1, ReadFormat::total_time_enabled}};
    const std::uint64_t begin = 8ULL * numbers.take<std::uint16_t>();
    const std::uint64_t length = numbers.take<std::uint16_t>();
    const test::FakeRing first(test::FakeRing::page, begin);
    const test::FakeRing second(test::FakeRing::page, begin);
    const std::size_t half = numbers.rest().size() / 2;
    const auto fill = [&](const test::FakeRing& fake, Bytes bytes) {
        const bool forward = order == detail::Ring::Order::forward;
        fake.head().data_head = forward ? begin + length : 0 - length;
        fake.put(forward ? begin : 0 - length, {bytes.begin(), bytes.end()});
    };
    fill(first, numbers.rest().first(half));
    fill(second, numbers.rest().subspan(half));
    try {
        for (const test::FakeRing* fake : {&first, &second})
            sampler.rings.emplace_back(fake->fd(), 0, fake->bytes(), order, "a ring");
        detail::DeadlineReader reader(sampler, 1000);
        std::uint64_t last = 0;
        std::size_t samples = 0;
        for (std::uint64_t expired : {std::uint64_t{0}, std::uint64_t{5000}, UINT64_MAX}) {
            for (const Deadline& deadline : reader.read(expired)) {
                demand(deadline.time_ns() >= last, "deadlines are in order");
                demand(deadline.size() > 0, "a deadline has samples");
                last = deadline.time_ns();
                for (const Sample& sample : deadline) {
                    demand(sample.index() < 2, "a sample is of a member");
                    demand(sample.lost() == 0 || sample.nr() == 0, "a loss has no counts");
                    for (std::size_t i = 0; i < sample.nr(); ++i)
                        demand(sample.raw(i).has_value(), "every event has a count");
                    ++samples;
                }
            }
        }
        // With a loss before each.
        demand(samples <= 4 * test::FakeRing::page / detail::sample_head, "samples take space");
    } catch (const Error& error) {
        demand(error.cause() == Cause::bad_ring, "only the contents are refused");
    }
}

// The list of them, which ./run and CMake read as well: one in a line.
// clang-format off
[[maybe_unused]] constexpr Target all[] = {
    {"cpu_list", cpu_list},
    {"damaged_snapshot", damaged_snapshot},
    {"delta", delta},
    {"event_list", event_list},
    {"payload", payload},
    {"pmu_format", pmu_format},
    {"recording", recording},
    {"ring", ring},
    {"snapshot", snapshot},
    {"system_files", system_files},
};
// clang-format on

}  // namespace

#ifndef METAGROUP_FUZZ_TARGET
std::span<const Target> targets() {
    return all;
}
#endif

}  // namespace metagroup::fuzz

#ifdef METAGROUP_FUZZ_TARGET
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    metagroup::fuzz::METAGROUP_FUZZ_TARGET({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}
#endif
