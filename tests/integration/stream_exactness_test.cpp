// SPDX-License-Identifier: MIT
// A stream over many records, while members come and go and a CPU goes offline and comes back: no
// count and no deadline is missing. METAGROUP_EXACT_RECORDS says how many records, 100000 by
// default.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <metagroup/stream.hpp>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <vector>

#include "support/background.hpp"
#include "support/cpus.hpp"
#include "support/random.hpp"
#include "support/stream.hpp"

using namespace metagroup;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kPeriod = 1'000'000;

// The first deadline from `time` on.
std::uint64_t deadline_from(std::uint64_t time) {
    return (time + kPeriod - 1) / kPeriod * kPeriod;
}

std::uint64_t deadlines_between(std::uint64_t begin, std::uint64_t end) {
    return begin < end ? (deadline_from(end) - deadline_from(begin)) / kPeriod : 0;
}

template <typename Number>
Number number(std::span<const std::byte> bytes, std::size_t at) {
    Number value{};
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

void demand(bool condition, const char* otherwise) {
    if (!condition) throw std::runtime_error(otherwise);
}

// When CPUs were offline.
struct Absences {
    struct Absence {
        std::uint64_t begin, end;
    };
    std::unordered_map<int, std::vector<Absence>> of;

    // Deadlines in [begin, end) that the CPU may lack.
    std::uint64_t deadlines(int cpu, std::uint64_t begin, std::uint64_t end) const {
        const auto found = of.find(cpu);
        std::uint64_t sum = 0;
        if (found != of.end())
            for (const Absence& absence : found->second)
                sum +=
                    deadlines_between(std::max(begin, absence.begin), std::min(end, absence.end));
        return sum;
    }
};

// The samples of one member, added up and checked.
class Member {
  public:
    Member(int cpu, std::uint64_t read_format, std::size_t events, std::uint64_t since)
        : cpu_(cpu),
          read_format_(read_format),
          since_(since),
          last_(2 + events),
          sums_(last_.size()),
          swept_(last_.size()) {}

    int cpu() const { return cpu_; }
    std::uint64_t last_time() const { return last_time_; }
    // The first deadline that is neither a sample nor counted as lost.
    std::uint64_t open() const { return next_ + lost_ * kPeriod; }

    void detached() { until_ = test::monotonic_ns(); }
    bool is_detached() const { return until_ != UINT64_MAX; }

    void lose(std::uint64_t deadlines) { lost_ += deadlines; }

    void sample(std::uint64_t time, std::span<const std::byte> bytes, const Absences& absences) {
        demand(time >= last_time_, "a sample is older than the one before");
        demand(time <= until_, "a member was sampled after it was detached");
        const std::uint64_t deadline = time / kPeriod * kPeriod;
        if (last_time_ == 0) {
            demand(deadline - lost_ * kPeriod <= since_, "the first deadline is missing");
        } else {
            demand(deadline >= open(), "a deadline was lost, and there is a sample of it");
            demand((deadline - open()) / kPeriod <= absences.deadlines(cpu_, next_, deadline),
                   "a deadline is neither a sample nor counted as lost");
        }
        next_ = deadline + kPeriod;
        lost_ = 0;
        last_time_ = time;
        const auto payload = Payload::parse(bytes, read_format_);
        demand(payload.has_value(), "a sample is no payload");
        // Hotplug dissolves groups.
        for (std::size_t i = 0; i < std::min(2 + payload->nr(), last_.size()); ++i) {
            const std::uint64_t count = i == 0   ? payload->time_enabled().value()
                                        : i == 1 ? payload->time_running().value()
                                                 : payload->value(i - 2);
            demand(count >= last_[i], "a count went back");
            sums_[i] += count - std::exchange(last_[i], count);
        }
    }

    // At a quiet point: the differences of the stream and of the sweeps since the last one.
    void compare(const MemberView& sweep) {
        if (sweep.status() != Status::offline)
            REQUIRE(sweep.time_enabled().value() > swept_.front());
        for (std::size_t i = 0; i < std::min(2 + sweep.nr(), last_.size()); ++i) {
            const std::uint64_t count = i == 0   ? sweep.time_enabled().value()
                                        : i == 1 ? sweep.time_running().value()
                                                 : sweep.raw(i - 2).value();
            CAPTURE(cpu_, i, count, swept_[i], to_string(sweep.status()));
            REQUIRE(std::exchange(sums_[i], 0) == count - std::exchange(swept_[i], count));
        }
    }

  private:
    int cpu_;
    std::uint64_t read_format_;
    std::uint64_t since_;               // its first deadline is not later
    std::uint64_t until_ = UINT64_MAX;  // when it was detached
    std::uint64_t next_ = 0;            // deadline after that of the last sample
    std::uint64_t lost_ = 0;            // since then
    std::uint64_t last_time_ = 0;
    // Times, and the counts: of the last sample; their differences; of the last sweep.
    std::vector<std::uint64_t> last_, sums_, swept_;
};

// A stream, and another descriptor of its meta-group.
class ExactWorld {
  public:
    ExactWorld()
        : group_(open()),
          stream_(Stream::start(group_, {.period = std::chrono::nanoseconds(kPeriod),
                                         .ring_size = std::size_t{4} << 20U})),
          device_(::fcntl(stream_.poll_fds().front().fd, F_DUPFD_CLOEXEC, 0)) {
        for (std::size_t i = 0; i < group_.members().size(); ++i)
            add(group_.members()[i].number, group_.events(i).size(), stream_.first_ns());
    }

    std::uint64_t samples() const { return samples_; }

    // Counts for some time, while members come and go.
    void run(std::chrono::milliseconds time) {
        device_.enable();
        for (const auto end = std::chrono::steady_clock::now() + time;
             std::chrono::steady_clock::now() < end;) {
            change_members();
            std::this_thread::sleep_for(20ms);
            drain();
        }
    }

    void lose_a_cpu_for(std::chrono::milliseconds time) {
        const int cpu = test::online_cpus().back();
        absences_.of[cpu].push_back({test::monotonic_ns(), UINT64_MAX});
        test::OfflineCpu offline(cpu);
        run(time);
        offline.back();
        absences_.of[cpu].back().end = test::monotonic_ns();
    }

    // Stops all counters, and compares.
    void quiet_point() {
        device_.disable();
        const std::uint64_t disabled = test::monotonic_ns();
        Snapshot sweep;
        group_.read(sweep);
        wait_for_samples_since(disabled);
        REQUIRE(sweep.size() == numbers_.size());
        for (const MemberView member : sweep)
            members_.at(numbers_.at(member.member())).compare(member);
    }

    // Deadlines that were lost since the last sample of each CPU are in the rings, or returned.
    void stop() {
        const std::uint64_t before = test::monotonic_ns();
        const std::uint64_t lost = stream_.stop();
        const std::uint64_t after = test::monotonic_ns();
        drain();
        std::uint64_t least = 0, most = 0;
        for (std::size_t i = 0; i < group_.members().size(); i += kGroups) {
            const Member& member = members_.at(numbers_.at(group_.members()[i].number));
            least += deadlines_between(member.open(), before);
            most += deadlines_between(member.open(), after);
        }
        CAPTURE(least, lost, most);
        REQUIRE(least <= lost);
        REQUIRE(lost <= most);
    }

  private:
    static constexpr std::size_t kGroups = 24;  // on each CPU
    static constexpr std::size_t kGuests = 12;  // members that come and go

    static MetaGroup open() {
        MetaGroup::Options options;
        const auto two = parse_events("{cpu-clock,context-switches},page-faults");
        for (std::size_t i = 0; i < kGroups; ++i)
            options.groups.push_back(two[i % two.size()]);
        options.backend = Backend::module;
        options.origin =
            metagroup::EventOrigin::groups;  // a stopped set hides that a CPU is offline
        options.start_disabled = true;
        return MetaGroup::open(options);
    }

    void add(std::uint32_t number, std::size_t events, std::uint64_t since) {
        const MemberInfo info = device_.member(number);
        numbers_.emplace(number, info.ids.front());
        members_.emplace(info.ids.front(), Member(info.cpu, info.read_format, events, since));
    }

    // One more, whose counts begin with 0, and one less.
    void change_members() {
        static const auto spec = parse_events("{cpu-clock,page-faults}").front();
        auto cpus = test::online_cpus();
        guests_.push_back({EventGroup::open(spec, random_.pick(cpus)), 0});
        auto& [group, number] = guests_.back();
        const int leader = group.leader_fd();
        number = device_.attach(std::span(&leader, 1));
        add(number, spec.events.size(), deadline_from(test::monotonic_ns()));
        group.enable();
        if (guests_.size() <= kGuests) return;
        const auto gone = numbers_.extract(guests_.front().number);
        device_.detach(gone.key());
        members_.at(gone.mapped()).detached();
        guests_.pop_front();
    }

    void drain() {
        for (const Records& records : stream_.read_records())
            records.for_each([this](std::uint32_t type, std::span<const std::byte> record) {
                add(type, record);
            });
    }

    void add(std::uint32_t type, std::span<const std::byte> record) {
        const bool lost = type == PERF_RECORD_LOST_SAMPLES;
        demand(lost || type == PERF_RECORD_SAMPLE, "a record is of another type");
        Member& member = members_.at(number<std::uint64_t>(record, lost ? 32 : Records::id_at));
        demand(number<int>(record, 24) == member.cpu(), "a record is of another CPU");
        if (lost) return member.lose(number<std::uint64_t>(record, 8));
        ++samples_;
        member.sample(number<std::uint64_t>(record, Records::time_at), record.subspan(32),
                      absences_);
    }

    void wait_for_samples_since(std::uint64_t time) {
        const std::uint64_t limit = time + 60'000'000'000;
        const auto has_sample = [&](const auto& entry) {
            return entry.second.is_detached() || entry.second.last_time() > time;
        };
        do {
            demand(test::monotonic_ns() < limit, "a member has no samples any more");
            std::this_thread::sleep_for(5ms);
            drain();
        } while (!std::ranges::all_of(members_, has_sample));
    }

    struct Guest {
        EventGroup group;
        std::uint32_t number;
    };

    test::Random random_{1};
    Absences absences_;
    MetaGroup group_;
    Stream stream_;
    Device device_;
    std::deque<Guest> guests_;
    std::unordered_map<std::uint32_t, std::uint64_t> numbers_;  // of members: identifiers
    std::unordered_map<std::uint64_t, Member> members_;         // by identifier
    std::uint64_t samples_ = 0;
};

}  // namespace

TEST_CASE("A stream misses no count and no deadline while everything else changes", "[exact]") {
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    const char* const wanted = std::getenv("METAGROUP_EXACT_RECORDS");
    const std::uint64_t records = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 100'000;
    const test::MaxStreamPercent no_limit(100);
    ExactWorld world;
    while (world.samples() < records) {
        world.run(500ms);
        world.quiet_point();
        world.lose_a_cpu_for(200ms);
        world.run(200ms);
        world.quiet_point();
    }
    world.stop();
}
