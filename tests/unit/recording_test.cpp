// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <map>
#include <metagroup/counts.hpp>
#include <metagroup/detail/own_timer.hpp>
#include <metagroup/recording.hpp>
#include <metagroup/recording_writer.hpp>
#include <random>

#include "helpers.hpp"
#include "support/synthetic_stream.hpp"
#include "support/temp_tree.hpp"

using namespace metagroup::test;
using namespace metagroup;
using Kind = RecordedEntry::Kind;

namespace {

std::map<Kind, std::uint64_t> count(Recording& recording) {
    std::map<Kind, std::uint64_t> found;
    while (const auto entry = recording.next())
        ++found[entry->kind];
    return found;
}

template <typename Number>
void overwrite(const std::string& path, std::uint64_t offset, Number number) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Where the header of a file has it.
constexpr std::uint64_t kAttrSize = 16;
constexpr std::uint64_t kDataOffset = 40;
constexpr std::uint64_t kDataSize = 48;

std::uint64_t word_at(const std::string& path, std::uint64_t offset) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    std::uint64_t word = 0;
    file.read(reinterpret_cast<char*>(&word), sizeof(word));
    return word;
}

struct World {
    TempTree tree;
    std::string path = tree.path("recording");
    SyntheticStream stream{};
};

}  // namespace

TEST_CASE("A recording has the events, the samples and the lost samples that were written") {
    World world;
    world.stream.write_file(world.path, 100);
    Recording recording(world.path);
    CHECK(recording.finished());
    CHECK(recording.period_ns() == SyntheticStream::period);
    REQUIRE(recording.events().size() == 2);
    CHECK(recording.events()[0].name == "cycles");
    CHECK(recording.events()[1].name == "instructions");
    CHECK(recording.events()[1].leader == 0);
    CHECK(recording.event_of(SyntheticStream::instructions_id(1)) == 1U);
    CHECK_FALSE(recording.event_of(1));

    const auto first = recording.next();
    REQUIRE(first);
    CHECK(first->kind == Kind::sample);
    CHECK(first->cpu == 0);
    CHECK(first->time_ns == SyntheticStream::time(0, 0));
    CHECK(first->payload.value().value(1) == 2 * SyntheticStream::cycles(0, 0));
    recording.rewind();
    CHECK(count(recording) ==
          std::map<Kind, std::uint64_t>{{Kind::sample, 198}, {Kind::lost, 1}, {Kind::round, 10}});
    CHECK_FALSE(recording.next());
}

TEST_CASE("A recording has unit, scale and topology") {
    World world;
    auto options = world.stream.options();
    options.events[1].unit = "Joules";
    options.events[1].scale = 0.25;
    RecordingWriter writer(world.path, options);
    writer.finish();
    const Recording recording(world.path);
    CHECK(recording.events()[1].unit == "Joules");
    CHECK(recording.events()[1].scale == 0.25);
    REQUIRE_FALSE(recording.topology().empty());
    CHECK(recording.topology()[0].socket >= 0);
    CHECK(recording.topology()[0].node >= -1);
}

TEST_CASE("A recording has what its events are, even if its writer was killed") {
    World world;
    auto options = world.stream.options();
    options.events[0].attr.type = PERF_TYPE_SOFTWARE;
    options.events[0].attr.config = PERF_COUNT_SW_CPU_CLOCK;
    const bool time = GENERATE(false, true);
    if (time) options.events[0].unit = "ns";
    options.events[1].reading = !time;
    RecordingWriter writer(world.path, options);
    if (GENERATE(false, true)) writer.finish();
    const Recording recording(world.path);
    CHECK(recording.events()[0].on_one_cpu == time);
    CHECK(recording.events()[0].unit == (time ? "ns" : ""));
    CHECK(column_of(recording.events()[0]).clock != time);
    CHECK_FALSE(recording.events()[0].reading);
    CHECK(recording.events()[1].reading != time);
    CHECK(column_of(recording.events()[1]).reading != time);
    CHECK(recording.remarks().empty());
}

TEST_CASE("An event is counted on CPUs without samples if it has more identifiers than samples") {
    const RecordedEvent event{.ids = {1, 2}};
    const CpuList all({0, 1, 2});
    CHECK(counting_cpus(event, CpuList({1, 2}), all) == CpuList({1, 2}));
    CHECK(counting_cpus(event, CpuList({1}), all) == CpuList({0, 1}));
    CHECK(counting_cpus(event, all, all) == all);
    CHECK(counting_cpus({.ids = {1, 2, 3, 4}}, CpuList({2}), all) == all);
}

TEST_CASE("A recording of a killed writer ends with its last complete record") {
    World world;
    RecordingWriter writer(world.path, world.stream.options());
    world.stream.write(writer, 100);
    Bytes more;
    SyntheticStream::sample(more, 0, 100);
    writer.write(Records(more));
    SECTION("unchanged") {}
    SECTION("without the size of the data") {
        overwrite<std::uint64_t>(world.path, kDataSize, 0);
    }
    SECTION("with a partial record") {
        std::ofstream(world.path, std::ios::app) << std::string(24, '\x7f');
    }
    Recording recording(world.path);
    CHECK_FALSE(recording.finished());
    CHECK(recording.events()[1].name == "instructions");
    CHECK(count(recording)[Kind::sample] == 199);
}

TEST_CASE("A truncated recording is read up to its last complete record") {
    World world;
    world.stream.write_file(world.path, 100);
    const std::uint64_t data = word_at(world.path, kDataOffset);
    const std::uint64_t features = data + word_at(world.path, kDataSize);
    const std::uint64_t whole = std::filesystem::file_size(world.path);
    std::uint64_t samples = 198;
    SECTION("within its last feature") {
        std::filesystem::resize_file(world.path, whole - 1);
    }
    SECTION("within the table of features") {
        std::filesystem::resize_file(world.path, features + 20);
    }
    SECTION("at the end of the data") {
        std::filesystem::resize_file(world.path, features);
    }
    SECTION("within its last sample, which an empty record follows") {
        std::filesystem::resize_file(world.path, features - 12);
        samples = 197;
    }
    SECTION("before its first sample") {
        std::filesystem::resize_file(world.path, data);
        samples = 0;
    }
    Recording recording(world.path);
    CHECK_FALSE(recording.finished());
    CHECK(count(recording)[Kind::sample] == samples);
}

TEST_CASE("Deadlines of a timer without a sample are lost, whatever the kernel reports") {
    World world;
    auto options = world.stream.options();
    options.period_ns = 0;
    perf_event_attr& timer = options.events[0].attr;
    make_timer(timer);
    timer.sample_period = SyntheticStream::period;
    RecordingWriter writer(world.path, options);
    Bytes records;
    for (const std::uint64_t deadline : {10, 11, 14, 15, 20})
        SyntheticStream::sample(records, 0, deadline);
    // One of four. The kernel has the identifier in front, too.
    append(records, perf_event_header{PERF_RECORD_LOST, 0, 48});
    for (const std::uint64_t word :
         {SyntheticStream::cycles_id(0), std::uint64_t{1}, SyntheticStream::time(0, 20),
          std::uint64_t{0}, SyntheticStream::cycles_id(0)})
        append(records, word);
    for (const std::uint64_t deadline : {3, 4})
        SyntheticStream::sample(records, 1, deadline);
    writer.write(Records(records));
    writer.finish();
    Recording recording(world.path);
    CHECK_FALSE(recording.period_ns());
    for (int round = 0; round < 2; ++round) {
        std::vector<std::uint64_t> lost;
        std::uint64_t samples = 0;
        while (const auto entry = recording.next()) {
            if (entry->kind == Kind::lost) lost.push_back(entry->lost);
            if (entry->kind == Kind::lost) CHECK(entry->cpu == 0);
            if (entry->kind == Kind::sample) ++samples;
        }
        CHECK(lost == std::vector<std::uint64_t>{2, 4});
        CHECK(samples == 7);
        recording.rewind();
    }
}

TEST_CASE("A sample of a timer that comes early corrects the phase of its deadlines") {
    detail::OwnTimer timer(1000);
    CHECK(timer.add(10'900) == 0);  // late by 900
    CHECK(timer.add(11'000) == 0);
    CHECK(timer.add(12'999) == 0);
    CHECK(timer.add(13'001) == 0);
    CHECK(timer.add(16'001) == 2);
}

TEST_CASE("Errors of recordings name file, offset and reason") {
    World world;
    world.stream.write_file(world.path, 10);
    const auto check = [&](const char* reason) {
        const Error error = error_from([&] {
            Recording recording(world.path);
            count(recording);
        });
        CHECK(error.cause() == Cause::bad_recording);
        CHECK_THAT(error.operation(), ContainsSubstring(world.path));
        CHECK_THAT(error.reason(), ContainsSubstring("offset 0x") && ContainsSubstring(reason));
    };
    const std::uint64_t data = word_at(world.path, kDataOffset);
    SECTION("not a recording") {
        overwrite<char>(world.path, 0, 'X');
        check("not a perf.data file");
    }
    SECTION("the opposite byte order") {
        overwrite(world.path, 0, __builtin_bswap64(0x32454c4946524550));
        check("byte order");
    }
    SECTION("a directory") {
        world.path = world.tree.path();
        check("not a regular file");
    }
    SECTION("attributes that are too small") {
        overwrite<std::uint64_t>(world.path, kAttrSize, 8);
        check("size of attributes");
    }
    SECTION("a record without a size") {
        overwrite<std::uint16_t>(world.path, data + 6, 0);
        check("a record of 0 bytes");
    }
    SECTION("compressed data, of an older perf or a newer one") {
        overwrite<std::uint32_t>(world.path, word_at(world.path, kDataOffset), GENERATE(81, 83));
        check("compressed");
    }
    SECTION("a last record that ends after the data") {
        const std::uint64_t end = data + word_at(world.path, kDataSize);
        overwrite<std::uint16_t>(world.path, end - 2, 16);  // the size of an empty record
        check("incomplete");
    }
    SECTION("samples without counts") {
        constexpr std::uint64_t sample_type = 104 + 24;  // of the first attribute
        overwrite<std::uint64_t>(world.path, sample_type, PERF_SAMPLE_IDENTIFIER);
        overwrite<std::uint64_t>(world.path, sample_type + sizeof(perf_event_attr) + 16,
                                 PERF_SAMPLE_IDENTIFIER);
        check("have no counts");
    }
}

TEST_CASE("A file that does not exist is an error that names it") {
    CHECK_THAT(error_from([] { Recording("/no/such/file"); }).what(),
               ContainsSubstring("/no/such/file") && ContainsSubstring("No such file"));
    CHECK_THAT(
        error_from([] { RecordingWriter("/no/such/file", SyntheticStream{}.options()); }).what(),
        ContainsSubstring("/no/such/file"));
}

TEST_CASE("A recording keeps all its samples if its description does not fit on the disk") {
    World world;
    RecordingWriter writer(world.path, world.stream.options());
    world.stream.write(writer, 100);
    const std::uint64_t data = std::filesystem::file_size(world.path);
    struct rlimit before {};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit full{data + GENERATE(0U, 10U, 100U, 1000U), before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &full);
    const Error error = error_from([&] { writer.finish(); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK_THAT(error.operation(), ContainsSubstring(world.path));
    CHECK(std::filesystem::file_size(world.path) == data);
    Recording recording(world.path);
    CHECK_FALSE(recording.finished());
    CHECK(count(recording)[Kind::sample] == 198);
}

TEST_CASE("A writer refuses what no reader accepts") {
    World world;
    CHECK_THROWS_AS(RecordingWriter(world.path, {}), std::invalid_argument);
    auto options = world.stream.options();
    options.events[1].ids.clear();
    CHECK_THROWS_AS(RecordingWriter(world.path, options), std::invalid_argument);
}

// The sanitizers check this, too.
TEST_CASE("A damaged recording is either read or refused") {
    World world;
    world.stream.write_file(world.path, 20);
    std::ifstream file(world.path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(file), {});
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = whole;
        for (int i = 0; i < 3; ++i) {
            // The header is hit as often as all else.
            const std::size_t room = random() % 2 == 0 ? 512 : damaged.size();
            damaged[random() % room] = static_cast<char>(random());
        }
        if (random() % 4 == 0) damaged.resize(random() % damaged.size());
        std::ofstream(world.path, std::ios::binary | std::ios::trunc) << damaged;
        try {
            Recording recording(world.path);
            while (const auto entry = recording.next())
                if (entry->payload) CHECK(entry->payload->nr() > 0);
        } catch (const Error& error) {
            CHECK(error.cause() == Cause::bad_recording);
            ++refused;
        }
    }
    CHECK(refused > 200);
}

TEST_CASE("A path with a NUL is not that of the file before it") {
    TempTree tree;
    const std::string path = tree.file("a", "").path("a") + std::string("\0b", 2);
    CHECK(error_from([&] { Recording{path}; }).code().value() == ENOENT);
}
