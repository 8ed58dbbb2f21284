// SPDX-License-Identifier: MIT
#include "recording_layout.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "fields.hpp"
#include "format.hpp"
#include "recording_features.hpp"
#include "system.hpp"

namespace metagroup::detail {
namespace {

using namespace perf_data;

constexpr std::uint64_t kMaxSection = 1U << 28;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr const char* kRemedy =
    "record with: perf record -e '{cycles,instructions}:S' -a --clockid mono";

Header read_header(const RecordingFile& file) {
    const auto refuse = [&](const char* reason) {
        refuse_recording(file.name(), 0, reason, kRemedy);
    };
    if (file.size() < sizeof(Header)) refuse("not a perf.data file");
    const auto bytes = file.bytes_at({0, sizeof(Header)});
    const auto header = Fields(file.name(), 0, bytes).take<Header>();
    if (header.magic == __builtin_bswap64(kMagic)) refuse("it has the opposite byte order");
    if (header.magic != kMagic) refuse("not a perf.data file");
    if (header.size != sizeof(header)) refuse("perf.data written to a pipe is not supported");
    if (header.data.offset > file.size())
        refuse_recording(file.name(), header.data.offset,
                         "the data begins after the end of the file");
    return header;
}

}  // namespace

// Without O_NONBLOCK, opening a FIFO waits for a writer.
RecordingFile::RecordingFile(const std::string& path)
    : name_(path), file_(open_file(path == "-" ? "/dev/stdin" : path, O_RDONLY | O_NONBLOCK)) {
    struct stat status {};
    if (!file_ || ::fstat(file_.get(), &status) != 0)
        throw Error(Cause::other, errno, {.failed = format("cannot open recording \"{}\"", name_)});
    if (!S_ISREG(status.st_mode))
        refuse_recording(name_, 0, "not a regular file, and it is not read sequentially",
                         "name a perf.data file, or redirect standard input from one");
    size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t RecordingFile::read(std::uint64_t offset, std::span<std::byte> to) const {
    interruption_point();
    const auto got = uninterrupted(
        [&] { return ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset)); });
    if (got < 0)
        throw Error(Cause::other, errno, {.failed = format("cannot read recording \"{}\"", name_)});
    return static_cast<std::size_t>(got);
}

std::vector<std::byte> RecordingFile::bytes_at(Section section) const {
    if (!has(section))
        refuse_recording(name_, section.offset,
                         format("{} bytes needed, the file has {}", section.size, size_));
    if (section.size > kMaxSection) refuse_recording(name_, section.offset, "too large");
    std::vector<std::byte> bytes(section.size);
    for (std::size_t got = 0; got < bytes.size();) {
        const std::size_t more = read(section.offset + got, std::span(bytes).subspan(got));
        if (more == 0) refuse_recording(name_, section.offset + got, "the file was truncated");
        got += more;
    }
    return bytes;
}

std::uint64_t RecordingFile::end_of_contents(std::uint64_t begin) const {
    std::vector<std::byte> bytes(1U << 16);
    for (std::uint64_t end = size_; end > begin;) {
        const std::size_t size = std::min<std::uint64_t>(bytes.size(), end - begin);
        end -= size;
        const auto piece = std::span(bytes).first(read(end, std::span(bytes).first(size)));
        const auto last = std::find_if(piece.rbegin(), piece.rend(),
                                       [](std::byte byte) { return byte != std::byte{0}; });
        if (last == piece.rend()) continue;
        const auto used = end - begin + static_cast<std::uint64_t>(piece.rend() - last);
        return std::min(begin + (used + kWord - 1) / kWord * kWord, size_);
    }
    return begin;
}

RecordingLayout::RecordingLayout(const RecordingFile& file) {
    const Header header = read_header(file);
    begin = header.data.offset;
    read_events(file, header);
    // Features are written last: if present, the size of the data is exact.
    const bool has_features = std::ranges::any_of(header.features, [](auto word) { return word; });
    finished = has_features && header.data.size > 0 && file.has(header.data);
    // Otherwise the size predates the last records, and after a crash zeros may follow these.
    end = finished ? begin + header.data.size : file.end_of_contents(begin);
    if (finished) read_features(file, header);
    check_events(file, header);
}

void RecordingLayout::read_events(const RecordingFile& file, const Header& header) {
    constexpr std::uint64_t least = PERF_ATTR_SIZE_VER0 + sizeof(Section);
    constexpr std::uint64_t most = 4096;
    if (header.attr_size < least || header.attr_size > most)
        refuse_recording(file.name(), offsetof(Header, attr_size), "bad size of attributes");
    const auto bytes = file.bytes_at(header.attrs);
    std::uint64_t left = file.size();  // for identifiers, which events do not share
    for (Fields fields(file.name(), header.attrs.offset, bytes);
         fields.left() >= header.attr_size;) {
        const auto attr = fields.take(header.attr_size - sizeof(Section));
        const auto section = fields.take<Section>();
        if (section.size > left) fields.refuse("the events have more identifiers than the file");
        left -= section.size;
        RecordedEvent event;
        std::memcpy(&event.attr, attr.data(), std::min(attr.size(), sizeof(event.attr)));
        const auto ids = file.bytes_at(section);
        for (Fields numbers(file.name(), section.offset, ids); numbers.left() >= kWord;) {
            event.ids.push_back(numbers.take<std::uint64_t>());
            by_id.emplace(event.ids.back(), events.size());
        }
        event.leader = events.size();
        event.name = format("event {}", events.size());
        events.push_back(std::move(event));
    }
}

void RecordingLayout::check_events(const RecordingFile& file, const Header& header) const {
    const auto refuse = [&](const RecordedEvent& event, const char* lack) {
        refuse_recording(file.name(), header.attrs.offset,
                         format("samples of {} have no {}", event.name, lack), kRemedy);
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
    if (!any) refuse_recording(file.name(), header.attrs.offset, "samples have no counts", kRemedy);
}

// Samples can be read without any features.
void RecordingLayout::read_features(const RecordingFile& file, const Header& header) {
    std::array<Section, 256> sections{};
    std::uint64_t offset = end;
    for (unsigned bit = 0; bit < sections.size(); ++bit) {
        if ((header.features[bit / 64] >> bit % 64 & 1U) == 0) continue;
        const Section entry{offset, sizeof(Section)};
        finished = finished && file.has(entry);
        if (!file.has(entry)) break;
        const auto bytes = file.bytes_at(entry);
        sections[bit] = Fields(file.name(), offset, bytes).take<Section>();
        finished = finished && file.has(sections[bit]);
        offset += sizeof(Section);
    }
    const auto read = [&](Feature feature, const char* what, auto&& decoder) {
        const Section section = sections[static_cast<unsigned>(feature)];
        if (section.size == 0 || !file.has(section)) return;
        try {
            const auto bytes = file.bytes_at(section);
            decoder(Fields(file.name(), section.offset, bytes));
        } catch (const Error& error) {
            if (error.cause() != Cause::bad_recording) throw;
            remarks.push_back(format("{} cannot be used: {}", what, error.reason()));
        }
    };
    read(Feature::event_desc, "the list of names",
         [&](Fields fields) { read_event_names(fields, by_id, events); });
    read(Feature::group_desc, "the list of groups",
         [&](Fields fields) { read_groups(fields, events); });
    std::size_t cpus = 0;
    read(Feature::nrcpus, "the number of CPUs",
         [&](Fields fields) { cpus = fields.take<std::uint32_t>(); });
    read(Feature::cpu_topology, "the topology of the CPUs",
         [&](Fields fields) { topology = read_cpu_topology(fields, cpus); });
    read(Feature::numa_topology, "the list of nodes",
         [&](Fields fields) { read_nodes(fields, topology); });
}

std::string printable(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        if (byte < 0x20 || byte == 0x7f) text[i] = '?';
        // U+0080 to U+009F in UTF-8.
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) text.replace(i, 2, "?");
    }
    return text;
}

}  // namespace metagroup::detail
