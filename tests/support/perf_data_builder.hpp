// SPDX-License-Identifier: MIT
// Builds perf.data files by hand, as perf record writes them and as it does not.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/frame_builder.hpp"

namespace metagroup::test {

struct PerfDataBuilder {
    /// Numbers of the format, which perf.data-file-format.txt of the kernel's source describes.
    static constexpr unsigned nrcpus = 7, event_desc = 12, cpu_topology = 13, group_desc = 17;
    static constexpr std::uint32_t finished_round = 68, id_index = 69, thread_map = 73,
                                   event_update = 78;
    static constexpr std::uint64_t unit = 0, scale = 1, name = 2;

    static constexpr std::uint64_t format = default_read_format | ReadFormat::id;
    static constexpr std::uint64_t sample_type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
    static constexpr std::uint64_t ms = 1'000'000;

    struct Event {
        perf_event_attr attr{};
        std::vector<std::uint64_t> ids{};
    };

    /// An event with counts in its samples.
    Event& event(std::vector<std::uint64_t> ids, std::uint64_t type = sample_type) {
        Event& added = events.emplace_back();
        added.ids = std::move(ids);
        added.attr.type = PERF_TYPE_HARDWARE;
        added.attr.size = sizeof(added.attr);
        added.attr.sample_type = type;
        added.attr.read_format = format;
        added.attr.sample_id_all = 1;
        added.attr.use_clockid = 1;
        added.attr.clockid = CLOCK_MONOTONIC;
        return added;
    }

    void record(std::uint32_t type, const Bytes& contents) {
        append(data, perf_event_header{
                         type, 0,
                         static_cast<std::uint16_t>(sizeof(perf_event_header) + contents.size())});
        put(data, contents);
    }
    void round() { record(finished_round, {}); }
    /// Of the leader of `group`, whose counts it has.
    void sample(std::uint64_t time, int cpu, const std::vector<test::Event>& group) {
        sample(time, cpu, group, time, time);
    }
    void sample(std::uint64_t time, int cpu, const std::vector<test::Event>& group,
                std::uint64_t enabled, std::uint64_t running) {
        Bytes contents;
        append(contents, group.front().id);
        append(contents, time);
        append(contents, static_cast<std::uint64_t>(cpu));
        put(contents, payload(format, group, enabled, running));
        record(PERF_RECORD_SAMPLE, contents);
    }
    /// LOST has the identifier in front, too.
    void lost(std::uint32_t type, std::uint64_t count, std::uint64_t time, int cpu,
              std::uint64_t id) {
        Bytes contents;
        if (type == PERF_RECORD_LOST) append(contents, id);
        append(contents, count);
        append(contents, time);
        append(contents, static_cast<std::uint64_t>(cpu));
        append(contents, id);
        record(type, contents);
    }
    void update(std::uint64_t what, std::uint64_t id, std::string_view text) {
        Bytes contents;
        append(contents, what);
        append(contents, id);
        put(contents, text);
        contents.resize((contents.size() + 8) / 8 * 8);
        record(event_update, contents);
    }
    void set_scale(std::uint64_t id, double number) {
        Bytes contents;
        append(contents, scale);
        append(contents, id);
        append(contents, number);
        record(event_update, contents);
    }

    /// Without features, the writer has not finished.
    void write(const std::string& path) const {
        constexpr std::uint64_t header_size = 104;
        constexpr std::uint64_t attr_size = sizeof(perf_event_attr) + 16;
        Bytes attrs;
        Bytes ids;
        for (const Event& event : events) {
            append(attrs, event.attr);
            append(attrs, header_size + events.size() * attr_size + ids.size());
            append(attrs, event.ids.size() * sizeof(std::uint64_t));
            for (const std::uint64_t id : event.ids)
                append(ids, id);
        }
        const std::uint64_t begin = header_size + attrs.size() + ids.size();
        const std::array<std::uint64_t, 2> all{0, begin};
        for (std::size_t i = 0; ids_overlap && i < events.size(); ++i)
            std::memcpy(&attrs[i * attr_size + sizeof(perf_event_attr)], all.data(), sizeof(all));
        std::uint64_t bits = 0;
        Bytes sections;
        Bytes contents;
        for (const auto& [bit, bytes] : features) {
            bits |= std::uint64_t{1} << bit;
            append(sections, begin + data.size() + 16 * features.size() + contents.size());
            append(sections, bytes.size());
            put(contents, bytes);
        }
        Bytes file;
        for (const std::uint64_t word :
             {std::uint64_t{0x32454c4946524550}, header_size, attr_size, header_size,
              std::uint64_t{attrs.size()}, begin, std::uint64_t{data.size()}, std::uint64_t{0},
              std::uint64_t{0}, bits, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}})
            append(file, word);
        for (const Bytes* part :
             std::initializer_list<const Bytes*>{&attrs, &ids, &data, &sections, &contents})
            put(file, *part);
        std::ofstream(path, std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(file.data()),
                   static_cast<std::streamsize>(file.size()));
    }

    static void put(Bytes& bytes, const Bytes& more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    static void put(Bytes& bytes, std::string_view text) {
        for (const char letter : text)
            append(bytes, letter);
    }
    /// As features have it: length, text.
    static void put_text(Bytes& bytes, std::string_view text) {
        append(bytes, static_cast<std::uint32_t>(64));
        put(bytes, text);
        bytes.resize(bytes.size() + 64 - text.size());
    }

    std::vector<Event> events{};
    bool ids_overlap = false;  ///< damaged: the identifiers of each event are half of the file
    Bytes data{};
    std::map<unsigned, Bytes> features{};
};

}  // namespace metagroup::test
