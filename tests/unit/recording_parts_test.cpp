// SPDX-License-Identifier: MIT
// Recordings of other writers, and such as lack a part.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <metagroup/recording.hpp>
#include <metagroup/recording_writer.hpp>
#include <tuple>

#include "helpers.hpp"
#include "support/perf_data_builder.hpp"
#include "support/synthetic_stream.hpp"
#include "support/temp_tree.hpp"

using namespace metagroup::test;
using namespace metagroup;
using Kind = RecordedEntry::Kind;

namespace {

constexpr std::uint64_t ms = PerfDataBuilder::ms;

// All that an entry says, but for rounds.
using Said =
    std::tuple<Kind, std::uint64_t, int, std::size_t, std::uint64_t, std::vector<std::uint64_t>>;

std::vector<Said> read_all(const std::string& path) {
    std::vector<Said> all;
    Recording recording(path);
    while (const auto entry = recording.next()) {
        if (entry->kind == Kind::round) continue;
        std::vector<std::uint64_t> counts;
        for (std::size_t i = 0; entry->payload && i < entry->payload->nr(); ++i)
            counts.push_back(entry->payload->value(i));
        all.emplace_back(entry->kind, entry->time_ns, entry->cpu, entry->event, entry->lost,
                         counts);
    }
    return all;
}

std::uint64_t lost(const std::string& path, int cpu) {
    std::uint64_t sum = 0;
    for (const auto& [kind, time, at, event, lost, counts] : read_all(path))
        if (at == cpu) sum += lost;
    return sum;
}

std::string remarks_of(const std::string& path) {
    Recording recording(path);
    while (recording.next()) {
    }
    std::string all;
    for (const std::string& remark : recording.remarks())
        all += remark + '\n';
    return all;
}

// {1,11} on CPU 0, {2,12} on CPU 1.
struct Parts {
    Parts() {
        file.event({1, 2}).attr.sample_period = ms;
        file.event({11, 12});
    }
    void samples(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            file.sample(i * ms, 0, {{100 * i, 1}, {i, 11}});
            file.sample(i * ms, 1, {{100 * i, 2}, {i, 12}});
            file.round();
        }
    }
    // With a feature, so that it is finished.
    void write() {
        if (file.features.empty()) append(file.features[3], std::uint32_t{0});
        file.write(path);
    }

    TempTree tree;
    std::string path = tree.path("recording");
    PerfDataBuilder file;
};

}  // namespace

TEST_CASE("Units, scales and names are found after other records") {
    Parts world;
    append(world.file.data, perf_event_header{PerfDataBuilder::thread_map, 0, 16});
    append(world.file.data, std::uint64_t{0});
    world.file.update(PerfDataBuilder::name, 11, "energy");
    world.file.update(PerfDataBuilder::unit, 11, "Joules");
    world.file.set_scale(11, 0.25);
    world.samples(1, 3);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[1].name == "energy");
    CHECK(recording.events()[1].unit == "Joules");
    CHECK(recording.events()[1].scale == 0.25);
    CHECK(recording.remarks().empty());
}

TEST_CASE("A clock of perf counts nanoseconds, whatever unit perf shows") {
    Parts world;
    world.file.events[0].attr.type = PERF_TYPE_SOFTWARE;
    world.file.events[0].attr.config = PERF_COUNT_SW_TASK_CLOCK;
    world.file.update(PerfDataBuilder::unit, 1, "msec");
    world.file.set_scale(1, 1e-6);
    world.samples(1, 3);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[0].unit.empty());
    CHECK(recording.events()[0].scale == 1);
}

TEST_CASE("A scale that cannot be used is left out, and reported") {
    Parts world;
    world.file.set_scale(1, GENERATE(1e300, -1.0, 0.0, std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity()));
    world.samples(1, 3);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[0].scale == 1);
    CHECK_THAT(remarks_of(world.path), ContainsSubstring("the scale of \"event 0\" is ignored"));
    CHECK(read_all(world.path).size() == 4);
}

TEST_CASE("Names and units have no characters that control a terminal") {
    Parts world;
    world.file.update(PerfDataBuilder::name, 1, "a\x1b[31m\x7f\nb");
    world.file.update(PerfDataBuilder::unit, 1, "\xc2\x9b m \xc2\xb5J");
    world.samples(1, 2);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[0].name == "a?[31m??b");
    CHECK(recording.events()[0].unit == "? m \xc2\xb5J");
}

TEST_CASE("Without a usable list of groups, leaders are found from samples") {
    Parts world;
    SECTION("missing") {}
    SECTION("more events in groups than exist") {
        Bytes& groups = world.file.features[PerfDataBuilder::group_desc];
        append(groups, std::uint32_t{1});
        PerfDataBuilder::put_text(groups, "g");
        append(groups, std::uint32_t{0});
        append(groups, std::uint32_t{3});
    }
    SECTION("truncated") {
        append(world.file.features[PerfDataBuilder::group_desc], std::uint32_t{7});
    }
    world.samples(1, 3);
    world.write();
    Recording recording(world.path);
    CHECK(recording.events()[0].leader == 0);
    CHECK(recording.events()[1].leader == 0);
    CHECK(recording.remarks().size() ==
          (world.file.features.contains(PerfDataBuilder::group_desc) ? 1 : 0));
    CHECK(read_all(world.path).size() == 4);
}

TEST_CASE("A group whose first sample is late gets its leader") {
    Parts world;
    world.file.event({3});
    world.file.event({13});
    world.samples(1, 1000);
    world.file.sample(1000 * ms, 0, {{5, 3}, {6, 13}});
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[3].leader == 2);
}

TEST_CASE("An event that the first sample of its group lacks is in the group") {
    Parts world;
    world.file.sample(ms, 0, {{5, 1}});
    world.samples(2, 4);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.events()[1].leader == 0);
}

TEST_CASE("A recording of a task is refused: its counts are not those of CPUs") {
    Parts world;
    Bytes index;
    append(index, std::uint64_t{1});
    for (const std::uint64_t word :
         {std::uint64_t{1}, std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1234}})
        append(index, word);
    world.file.record(PerfDataBuilder::id_index, index);
    world.samples(1, 3);
    world.write();
    CHECK_THROWS_WITH(Recording(world.path), ContainsSubstring("record with -a"));
}

TEST_CASE("A topology that cannot be decoded is ignored") {
    Parts world;
    append(world.file.features[PerfDataBuilder::nrcpus], std::uint32_t{2});
    append(world.file.features[PerfDataBuilder::nrcpus], std::uint32_t{2});
    Bytes& topology = world.file.features[PerfDataBuilder::cpu_topology];
    for (int list = 0; list < 2; ++list) {
        append(topology, std::uint32_t{1});
        PerfDataBuilder::put_text(topology, "0-1");
    }
    std::string said;
    SECTION("only lists, as written by an old perf") {}
    SECTION("fewer CPUs than the machine") {
        append(topology, std::uint64_t{0});
        said = "the topology of the CPUs cannot be used: offset 0x";
    }
    world.samples(1, 3);
    world.write();
    const Recording recording(world.path);
    CHECK(recording.topology().empty());
    CHECK_THAT(remarks_of(world.path), ContainsSubstring(said));
    CHECK(remarks_of(world.path).empty() == said.empty());
    CHECK(read_all(world.path).size() == 4);
}

TEST_CASE("Samples with unknown identifiers are left out, counted and reported") {
    Parts world;
    world.samples(1, 3);
    world.file.sample(3 * ms, 1, {{300, 77}, {3, 78}});
    world.file.sample(4 * ms, 1, {{400, 79}, {4, 80}});
    world.file.lost(PERF_RECORD_LOST_SAMPLES, 5, 5 * ms, 1, 77);
    world.file.lost(PERF_RECORD_LOST, 5, 5 * ms, 1, 77);
    world.samples(6, 7);
    world.write();
    CHECK(read_all(world.path).size() == 6);
    CHECK_THAT(remarks_of(world.path),
               ContainsSubstring("4 records were skipped") && ContainsSubstring("77"));
}

TEST_CASE("Damaged samples are left out, counted and reported") {
    Parts world;
    world.samples(1, 3);
    world.file.record(PERF_RECORD_SAMPLE, Bytes(8, std::byte{1}));
    world.file.sample(3 * ms, 70000, {{300, 1}, {3, 11}});
    world.samples(4, 5);
    world.write();
    CHECK(read_all(world.path).size() == 6);
    CHECK_THAT(remarks_of(world.path), ContainsSubstring("1 damaged records were skipped") &&
                                           ContainsSubstring("offset 0x") &&
                                           ContainsSubstring("CPU 70000"));
}

TEST_CASE("Counts in a read format with an unknown bit are not read from a recording") {
    const auto bit = GENERATE(range(5U, 64U));
    Parts world;
    world.samples(1, 3);
    world.file.events.front().attr.read_format |= std::uint64_t{1} << bit;
    world.write();
    CHECK(read_all(world.path).empty());
    CHECK_THAT(remarks_of(world.path), ContainsSubstring("counts that cannot be decoded"));
}

TEST_CASE("Losses of a ring count, whichever event reports them") {
    Parts world;
    world.file.event({21, 22}, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    world.samples(1, 3);
    world.file.lost(PERF_RECORD_LOST, 30, 3 * ms, 1, 2);
    world.file.lost(PERF_RECORD_LOST, 7, 4 * ms, 1, 22);
    world.write();
    CHECK(lost(world.path, 0) == 0);
    CHECK(lost(world.path, 1) == 37);
    const Said last = read_all(world.path).back();
    CHECK(std::get<3>(last) == 0);
}

TEST_CASE("The sums that perf record adds at the end are not counted as further losses") {
    Parts world;
    Bytes index;
    append(index, std::uint64_t{2});
    for (const std::uint64_t cpu : {0, 1})
        for (const std::uint64_t word : {cpu + 1, std::uint64_t{0}, cpu, ~std::uint64_t{0}})
            append(index, word);
    world.file.record(PerfDataBuilder::id_index, index);
    world.samples(1, 3);
    world.file.lost(PERF_RECORD_LOST, 30, 3 * ms, 1, 2);
    // Neither time nor CPU.
    world.file.lost(PERF_RECORD_LOST_SAMPLES, 40, 0, 0, 2);
    world.write();
    CHECK(lost(world.path, 0) == 0);
    CHECK(lost(world.path, 1) == 40);
    for (const Said& said : read_all(world.path))
        CHECK(std::get<1>(said) > 0);
}

TEST_CASE("A timer period of perf below the kernel's minimum causes no losses") {
    Parts world;
    perf_event_attr& timer = world.file.events[0].attr;
    make_timer(timer);
    timer.sample_period = 5000;
    for (std::uint64_t i = 1; i < 100; ++i)
        world.file.sample(i * 10'000, 0, {{i, 1}});
    world.write();
    CHECK(lost(world.path, 0) == 0);
}

TEST_CASE("Losses after the last sample of a timer are taken from the recorder") {
    Parts world;
    make_timer(world.file.events[0].attr);
    for (const std::uint64_t i : {1, 2, 5})
        world.file.sample(i * ms, 0, {{i, 1}});
    world.file.lost(PERF_RECORD_LOST, 1, 5 * ms, 0, 1);  // of two
    world.file.lost(PERF_RECORD_LOST_SAMPLES, 9, 5 * ms, 0, 1);
    world.file.lost(PERF_RECORD_LOST_SAMPLES, 4, 5 * ms, 1, 2);  // it has no samples
    world.write();
    CHECK(lost(world.path, 0) == 11);
    CHECK(lost(world.path, 1) == 4);
}

TEST_CASE("A FIFO is refused without waiting") {
    const TempTree tree;
    const std::string path = tree.path("fifo");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_THAT(error_from([&] { Recording recording(path); }).reason(),
               ContainsSubstring("not a regular file"));
}

// A crash may leave zeros where the last records were to be.
TEST_CASE("An unfinished recording is read up to its last complete record wherever it ends") {
    Parts world;
    const bool finished = GENERATE(false, true);
    {
        const SyntheticStream stream{};
        RecordingWriter writer(world.path, stream.options());
        stream.write(writer, 60);
        if (finished) writer.finish();
    }
    std::ifstream file(world.path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(file), {});
    const std::vector<Said> all = read_all(world.path);
    std::uint64_t data = 0;
    std::uint64_t size = 0;
    std::memcpy(&data, &whole[40], sizeof(data));
    std::memcpy(&size, &whole[48], sizeof(size));
    // The records whose end is not behind a byte.
    auto expected = [&, at = data, records = std::size_t{0}](std::size_t end) mutable {
        perf_event_header record{};
        for (; at < data + size; at += record.size) {
            std::memcpy(&record, &whole[at], sizeof(record));
            if (at + record.size > end) break;
            if (record.type == PERF_RECORD_SAMPLE || record.type == PERF_RECORD_LOST_SAMPLES)
                ++records;
        }
        return records;
    };
    const std::size_t first = data + size - 2048;
    for (std::size_t end = first; end < whole.size(); ++end) {
        const std::vector<Said> left(all.begin(),
                                     all.begin() + static_cast<std::ptrdiff_t>(expected(end)));
        CAPTURE(finished, end);
        std::filesystem::resize_file(world.path, end);
        REQUIRE(read_all(world.path) == left);
        REQUIRE_FALSE(Recording(world.path).finished());
        std::filesystem::resize_file(world.path, whole.size() + 8192);
        // The header is the oldest part of a file, and is written last.
        std::fstream header(world.path, std::ios::in | std::ios::out | std::ios::binary);
        header.seekp(72);
        header.write(std::string(32, '\0').data(), 32);
        header.close();
        const auto padded = read_all(world.path);
        // The last word of a record may end in zeros.
        REQUIRE(padded.size() >= left.size());
        REQUIRE(padded.size() <= left.size() + 1);
        REQUIRE(std::equal(padded.begin(), padded.end(), all.begin()));
        std::ofstream(world.path, std::ios::binary | std::ios::trunc) << whole;
    }
}

TEST_CASE("A small file with damaged sizes takes little memory and time") {
    Parts world;
    const auto begin = std::chrono::steady_clock::now();
    SECTION("identifiers that events share") {
        for (std::uint64_t i = 0; i < 6500; ++i)
            world.file.event({i + 100});
        world.file.ids_overlap = true;
        world.write();
        CHECK_THAT(error_from([&] { Recording recording(world.path); }).reason(),
                   ContainsSubstring("more identifiers than the file"));
    }
    SECTION("many events in many lists") {
        constexpr std::uint32_t events = 20'000;
        for (std::uint32_t i = 0; i < events; ++i)
            world.file.event({i + 100});
        Bytes& names = world.file.features[PerfDataBuilder::event_desc];
        append(names, std::uint32_t{10 * events});
        append(names, std::uint32_t{0});
        for (std::uint32_t i = 0; i < 10 * events; ++i) {
            append(names, std::uint32_t{1});
            append(names, std::uint32_t{0});
            append(names, std::uint64_t{i + 1'000'000});
        }
        Bytes& groups = world.file.features[PerfDataBuilder::group_desc];
        append(groups, std::uint32_t{10 * events});
        for (std::uint32_t i = 0; i < 10 * events; ++i) {
            append(groups, std::uint32_t{0});
            append(groups, std::uint32_t{0});
            append(groups, events);
        }
        world.samples(1, 2);
        world.write();
        CHECK(read_all(world.path).size() == 2);
    }
    // Minutes, if a list were searched for each entry of another; a busy host is slow, too.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}
