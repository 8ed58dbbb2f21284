// SPDX-License-Identifier: MIT
#include "metagroup/payload.hpp"

#include <cstring>
#include <random>

#include "helpers.hpp"
#include "metagroup/snapshot.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {

constexpr std::uint64_t formats = 32;
constexpr std::size_t most_events = 8;

std::vector<Event> some_events(std::size_t count) {
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < count; ++i)
        events.push_back({100 + i, 200 + i, 300 + i});
    return events;
}

}  // namespace

TEST_CASE("Every read format decodes to the encoded values") {
    const auto format = GENERATE(range(std::uint64_t{0}, formats));
    const auto count = GENERATE(range(std::size_t{1}, most_events + 1));
    CAPTURE(format, count);
    const Bytes bytes = payload(format, some_events(count), 5000, 4000);
    REQUIRE(bytes.size() == payload_size(format, count));
    const auto decoded = Payload::parse(bytes, format);
    REQUIRE(decoded);
    const bool group = (format & ReadFormat::group) != 0;
    REQUIRE(decoded->nr() == (group ? count : 1));
    const auto if_in_format = [&](std::uint64_t bit, std::uint64_t value) {
        return (format & bit) != 0 ? std::optional(value) : std::nullopt;
    };
    CHECK(decoded->time_enabled() == if_in_format(ReadFormat::total_time_enabled, 5000));
    CHECK(decoded->time_running() == if_in_format(ReadFormat::total_time_running, 4000));
    for (std::size_t i = 0; i < decoded->nr(); ++i) {
        CHECK(decoded->value(i) == 100 + i);
        CHECK(decoded->id(i) == if_in_format(ReadFormat::id, 200 + i));
        CHECK(decoded->lost(i) == if_in_format(ReadFormat::lost, 300 + i));
    }
    CHECK_THROWS_AS(decoded->value(decoded->nr()), std::out_of_range);
    CHECK_THROWS_AS(decoded->id(decoded->nr()), std::out_of_range);
    CHECK_THROWS_AS(decoded->lost(decoded->nr()), std::out_of_range);
}

TEST_CASE("A payload with a wrong length is refused in every read format") {
    const auto format = GENERATE(range(std::uint64_t{0}, formats));
    CAPTURE(format);
    const Bytes whole = payload(format, some_events(3), 1, 1);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // A block of exactly that size, so that a sanitizer sees the first byte beyond it.
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(Payload::parse(cut, format));
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    CHECK_FALSE(Payload::parse(longer, format));
    longer.resize(whole.size() + sizeof(std::uint64_t));
    CHECK_FALSE(Payload::parse(longer, format));
}

TEST_CASE("A number of events that does not fit into the bytes is refused") {
    const auto nr = GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3},
                             std::uint64_t{1} << 61, std::uint64_t{1} << 63, UINT64_MAX);
    Bytes bytes = payload(ReadFormat::group, some_events(2));
    std::memcpy(bytes.data(), &nr, sizeof(nr));
    CHECK_FALSE(Payload::parse(bytes, ReadFormat::group));
}

TEST_CASE("A payload without events is refused") {
    CHECK_FALSE(Payload::parse(payload(ReadFormat::group, {}), ReadFormat::group));
}

TEST_CASE("A read format with an unknown bit is refused, whatever the other bits are") {
    const auto known = GENERATE(range(std::uint64_t{0}, formats));
    CAPTURE(known);
    const Bytes bytes = payload(known, some_events(2), 1, 1);
    REQUIRE(Payload::parse(bytes, known));
    for (unsigned bit = 5; bit < 64; ++bit) {
        CAPTURE(bit);
        CHECK_FALSE(Payload::parse(bytes, known | std::uint64_t{1} << bit));
    }
}

TEST_CASE("A record whose read format has an unknown bit has no counts") {
    const auto bit = GENERATE(range(5U, 32U));
    Frame known;
    known.payload = payload(ReadFormat::group, some_events(2));
    Frame unknown = known;
    unknown.read_format |= 1U << bit;
    const Bytes bytes = framed({known, unknown});
    const SnapshotView view(bytes);
    REQUIRE(view.size() == 2);
    CHECK(view[0].raw(0) == 100);
    CHECK(view[1].status() == Status::ok);
    CHECK_FALSE(view[1].payload());
    CHECK_FALSE(view[1].raw(0));
    CHECK(view[1].nr() == 0);
}

TEST_CASE("A payload needs no alignment") {
    Bytes bytes = payload(ReadFormat::all, some_events(4), 5, 6);
    bytes.insert(bytes.begin(), std::byte{1});
    const auto decoded = Payload::parse(std::span(bytes).subspan(1), ReadFormat::all);
    REQUIRE(decoded);
    CHECK(decoded->value(3) == 103);
    CHECK(decoded->lost(3) == 303);
}

TEST_CASE("Random bytes are refused or decoded, never read beyond the end") {
    std::mt19937_64 random(20240229);  // NOLINT: the same numbers in every run
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random() % 100);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random() % 4);
        // Small numbers of events often, or nearly nothing would be decoded.
        if (bytes.size() >= sizeof(std::uint64_t)) {
            const std::uint64_t nr = random() % 12;
            std::memcpy(bytes.data(), &nr, sizeof(nr));
        }
        const std::uint64_t format = random() % 40;
        const auto decoded = Payload::parse(bytes, format);
        if (!decoded) continue;
        std::uint64_t sum =
            decoded->time_enabled().value_or(0) + decoded->time_running().value_or(0);
        for (std::size_t i = 0; i < decoded->nr(); ++i) {
            sum += decoded->value(i) + decoded->id(i).value_or(0) + decoded->lost(i).value_or(0);
        }
        CHECK(bytes.size() == payload_size(format, decoded->nr()));
        static_cast<void>(sum);
    }
}

namespace {

Bytes two_members(std::uint32_t extra = 0) {
    return framed({{5, 0, 1100, payload(timed, {{10}, {20}}, 400, 200), timed},
                   {9, 1, 1500, payload(timed, {{30}}, 400, 400), timed}},
                  1000, 2000, extra);
}

int refusal(const Bytes& bytes) {
    try {
        static_cast<void>(snapshot(bytes));
    } catch (const Error& error) {
        CHECK(error.cause() == Cause::bad_snapshot);
        return error.code().value();
    }
    return 0;
}

template <typename Header>
Bytes with_header(Bytes bytes, std::size_t offset, void (*change)(Header&)) {
    Header header{};
    std::memcpy(&header, bytes.data() + offset, sizeof(header));
    change(header);
    std::memcpy(bytes.data() + offset, &header, sizeof(header));
    return bytes;
}

using Head = perf_metagroup_snapshot;
using Record = perf_metagroup_record;

}  // namespace

TEST_CASE("A snapshot shows its records in order") {
    const Snapshot shot = snapshot(two_members());
    REQUIRE(shot.size() == 2);
    CHECK(shot.sequence() == 7);
    CHECK(shot.begin_ns() == 1000);
    CHECK(shot.end_ns() == 2000);
    CHECK(shot.skew_ns() == 400);
    const MemberView first = shot[0];
    CHECK(first.member() == 5);
    CHECK(first.cpu() == 0);
    CHECK(first.status() == Status::ok);
    CHECK(first.time_ns() == 1100);
    CHECK(first.nr() == 2);
    CHECK(first.raw(0) == 10);
    CHECK(first.raw(1) == 20);
    CHECK(first.time_enabled() == 400);
    CHECK(first.time_running() == 200);
    CHECK(shot[1].raw(0) == 30);
}

TEST_CASE("Records can be iterated and found by member") {
    const Snapshot shot = snapshot(two_members());
    std::vector<std::uint32_t> members;
    for (const MemberView& member : shot)
        members.push_back(member.member());
    CHECK(members == std::vector<std::uint32_t>{5, 9});
    REQUIRE(shot.find(9));
    CHECK(shot.find(9)->cpu() == 1);
    CHECK_FALSE(shot.find(4));
    CHECK_FALSE(shot.find(6));
    CHECK_FALSE(shot.find(10));
}

TEST_CASE("Larger headers of a later kernel are skipped by their size") {
    const Snapshot shot = snapshot(two_members(24));
    REQUIRE(shot.size() == 2);
    CHECK(shot[0].raw(1) == 20);
    CHECK(shot[1].raw(0) == 30);
}

TEST_CASE("A missing event has no value, a missing record is an error") {
    const Snapshot shot = snapshot(two_members());
    CHECK_FALSE(shot[1].raw(1));
    CHECK_FALSE(shot[1].scaled(1));
    CHECK_FALSE(shot[0].id(0));
    CHECK_FALSE(shot[0].lost(0));
    CHECK_THROWS_AS(shot[2], std::out_of_range);
}

TEST_CASE("A scaled count is an estimate for the time enabled") {
    const Snapshot shot = snapshot(two_members());
    CHECK(shot[0].scaled(0) == 20.0);
    CHECK(shot[1].scaled(0) == 30.0);
}

TEST_CASE("An event that was never on the PMU has no scaled count") {
    CHECK_FALSE(scale_count(0, 100, 0));
    CHECK_FALSE(scale_count(5, 0, 0));
    CHECK(scale_count(0, 100, 50) == 0.0);
    CHECK(scale_count(UINT64_MAX, 2, 1) == 2.0 * 18446744073709551616.0);
}

TEST_CASE("A count without times cannot be scaled") {
    const auto group = static_cast<std::uint32_t>(ReadFormat::group);
    const Snapshot shot = snapshot(framed({{0, 0, 1, payload(group, {{10}}), group}}));
    CHECK(shot[0].raw(0) == 10);
    CHECK_FALSE(shot[0].scaled(0));
    CHECK_FALSE(shot[0].time_running());
}

TEST_CASE(
    "A member without payload has a status but no counts, and the other members are complete") {
    const Snapshot shot = snapshot(framed({{0, 0, 0, {}, timed, PERF_METAGROUP_ERROR},
                                           {1, 1, 1500, payload(timed, {{30}}, 1, 1), timed}}));
    CHECK(shot[0].status() == Status::error);
    CHECK(shot[0].nr() == 0);
    CHECK_FALSE(shot[0].payload());
    CHECK_FALSE(shot[0].raw(0));
    CHECK(shot[1].raw(0) == 30);
    CHECK(shot.skew_ns() == 0);
}

TEST_CASE("A payload that contradicts its read format is ignored") {
    const Snapshot shot = snapshot(framed({{0, 0, 1, payload(timed, {{1}}), 0x3f}}));
    CHECK_FALSE(shot[0].payload());
    CHECK(shot[0].payload_bytes().size() == 32);
}

TEST_CASE("An empty meta-group gives a snapshot without records") {
    const Snapshot shot = snapshot(framed({}));
    CHECK(shot.empty());
    CHECK(shot.skew_ns() == 0);
    CHECK(shot.sequence() == 7);
    CHECK(shot.begin() == shot.end());
}

TEST_CASE("Invalid framed reads are refused and leave the snapshot empty") {
    const Bytes good = two_members();
    CHECK(refusal(good) == 0);
    CHECK(refusal({}) == EBADMSG);
    CHECK(refusal(Bytes(good.begin(), good.begin() + 63)) == EBADMSG);
    CHECK(refusal(Bytes(good.begin(), good.end() - 1)) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.size = 0; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.size = 0xffffffff; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.count = 3; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.count = 0xffffffff; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.bytes = 0; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { ++h.bytes; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.stride = 31; })) == EBADMSG);
    CHECK(refusal(with_header<Head>(good, 0, [](Head& h) { h.stride = 0xffffffff; })) == EBADMSG);
    Snapshot shot = snapshot(good);
    shot.prepare(1);
    const Error error = error_from([&] { shot.commit(8); });
    CHECK(error.cause() == Cause::bad_snapshot);
    CHECK_THAT(error.remedy(), ContainsSubstring("framed"));
    CHECK_THROWS_AS(shot.commit(shot.capacity() + 1), Error);
    CHECK(shot.empty());
    CHECK(shot.bytes().empty());
}

TEST_CASE("Damaged framed reads are refused or decoded, never read beyond the end") {
    std::mt19937_64 random(4711);  // NOLINT: the same numbers in every run
    const Bytes good = two_members();
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(good.begin(),
                    good.begin() + static_cast<std::ptrdiff_t>(random() % (good.size() + 1)));
        for (int hits = 0; hits < 3 && !bytes.empty(); ++hits) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        try {
            const Snapshot shot = snapshot(bytes);
            std::uint64_t sum = shot.skew_ns();
            for (const MemberView& member : shot) {
                for (const std::byte byte : member.payload_bytes())
                    sum += static_cast<unsigned>(byte);
                sum += member.raw(0).value_or(0) + shot.find(member.member()).has_value();
            }
            static_cast<void>(sum);
        } catch (const Error& error) {
            REQUIRE(error.code().value() == EBADMSG);
        }
    }
}

TEST_CASE("A buffer that is large enough is reused without allocating") {
    const Bytes bytes = two_members();
    Snapshot shot = snapshot(bytes);
    const AllocationCounter allocations;
    const auto buffer = shot.prepare(bytes.size());
    std::copy(bytes.begin(), bytes.end(), buffer.begin());
    shot.commit(bytes.size());
    std::uint64_t sum = shot.skew_ns();
    for (const MemberView& member : shot)
        sum += member.raw(0).value_or(0);
    CHECK(allocations.count() == 0);
    CHECK(sum == 440);
}

TEST_CASE("Copies of a snapshot are independent and moving leaves an empty one") {
    std::optional<Snapshot> original(snapshot(two_members()));
    const Snapshot copy = *original;
    const Snapshot moved = std::move(*original);
    CHECK(original->empty());
    CHECK_THROWS_AS((*original)[0], std::out_of_range);
    original.reset();
    CHECK(copy[1].raw(0) == 30);
    CHECK(moved[1].raw(0) == 30);
    CHECK(copy[0].payload_bytes().data() != moved[0].payload_bytes().data());
    std::optional<Snapshot> second(copy);
    const Snapshot other = *second;
    second.reset();
    CHECK(other[0].raw(0) == 10);
}

TEST_CASE("A view shows a record that contradicts the header as one without payload") {
    using Damage = void (*)(Record&);
    const Bytes bytes =
        with_header<Record>(two_members(), sizeof(Head),
                            GENERATE(Damage([](Record& r) { r.size += 64; }),  // in the next frame
                                     Damage([](Record& r) { r.size = 1000; }),
                                     Damage([](Record& r) { r.size = 0xffffffff; }),
                                     Damage([](Record& r) { r.header = 31; }),
                                     Damage([](Record& r) { r.header = 0xfff0; })));
    const SnapshotView view(bytes);
    REQUIRE(view.size() == 2);
    CHECK(view[0].payload_bytes().empty());
    CHECK_FALSE(view[0].payload());
    CHECK(view[1].raw(0) == 30);
}

TEST_CASE("A view of more memory than the snapshot needs shows the snapshot") {
    Bytes bytes = two_members();
    const std::size_t used = bytes.size();
    bytes.resize(used + 4096);
    const SnapshotView view(bytes);
    CHECK(view.size() == 2);
    CHECK(view.bytes().size() == used);
}

TEST_CASE("Skew excludes members of CPUs that were not woken") {
    const Bytes bytes = with_header<Record>(two_members(), sizeof(Head), [](Record& record) {
        record.status = PERF_METAGROUP_IDLE;
        record.time = 7;
    });
    const Snapshot shot = snapshot(bytes);
    CHECK(shot.skew_ns() == 0);
    CHECK(shot[0].status() == Status::idle);
}

TEST_CASE("Every status has a name, even one of a later kernel") {
    CHECK(to_string(Status::ok) == "ok");
    CHECK(to_string(Status::inactive) == "inactive");
    CHECK(to_string(Status::off) == "off");
    CHECK(to_string(Status::error) == "error");
    CHECK(to_string(Status::stale) == "stale");
    CHECK(to_string(Status::offline) == "offline");
    CHECK(to_string(Status::revoked) == "revoked");
    CHECK(to_string(Status::idle) == "idle");
    CHECK(to_string(Status::skipped) == "skipped");
    CHECK(to_string(Status{99}) == "unknown");
}
