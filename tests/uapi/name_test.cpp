// SPDX-License-Identifier: MIT
// PUBLISH, JOIN, UNPUBLISH, and names in sysfs.
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>

#include "fixtures.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// A name of the only counters of testpmu, one on each CPU: no other user can have any.
struct Exclusive {
    TestpmuCounters one{1};
    std::vector<perf_event_attr> attrs{testpmu_or_skip(0)};
    std::vector<perf_event_attr> others = attrs;
    Exclusive() { others[0].config1 = 9; }

    void require_taken() const { REQUIRE(open_set(Meta(), others) == -EBUSY); }
    void require_free() const { REQUIRE(open_set(Meta(), others) == 0); }
};

void require_counting(const Meta& meta) {
    const auto cpus = online_cpus();
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.size() == cpus.size());
    for (const Frame& frame : framed.frames) {
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        REQUIRE(SetPayload(frame.payload).counts.at(0) > 0);
    }
}

std::vector<SetPayload> payloads(const Meta& meta) {
    std::vector<SetPayload> all;
    for (const Frame& frame : read_framed(meta).frames)
        all.emplace_back(frame.payload);
    return all;
}

// Events of the kernel as udev receives them.
class Uevents {
  public:
    Uevents() : socket_(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT)) {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        address.nl_groups = 1;
        REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    }

    // Waits for one that begins so.
    bool receive(const std::string& begin) const {
        std::array<char, 4096> text{};
        pollfd wait{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        while (::poll(&wait, 1, 5000) == 1) {
            const auto got = ::recv(socket_.get(), text.data(), text.size() - 1, 0);
            if (got > 0 && std::string(text.data()) == begin) return true;
        }
        return false;
    }

  private:
    Fd socket_;
};

}  // namespace

TEST_CASE_METHOD(NeedsSets, "A name keeps its events after its creator has closed the handle") {
    const Exclusive events;
    Meta creator;
    REQUIRE(open_set(creator, events.attrs) == 0);
    Name name(creator, "closed");
    creator.close();
    events.require_taken();
    const Meta meta;
    perf_metagroup_name joined{};
    REQUIRE(join(meta, "closed", &joined) == 0);
    REQUIRE(joined.first == 0);
    REQUIRE(joined.count == online_cpus().size());
    require_counting(meta);
    REQUIRE(meta.member(0).users == 2);
}

TEST_CASE_METHOD(NeedsSets, "A name keeps its events after its creator was killed") {
    const Exclusive events;
    const auto child = ::fork();
    if (child == 0) {
        const Meta creator;
        if (open_set(creator, events.attrs) || publish(creator, publish_arg("killed"))) ::_exit(1);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    events.require_taken();
    {
        const Meta meta;
        REQUIRE(join(meta, "killed") == 0);
        require_counting(meta);
    }
    REQUIRE(unpublish("killed") == 0);
    events.require_free();
}

TEST_CASE_METHOD(
    NeedsSets,
    "The events of a name are released after UNPUBLISH and by the last user that has joined") {
    const Exclusive events;
    Meta meta;
    {
        const Meta creator;
        REQUIRE(open_set(creator, events.attrs) == 0);
        const Name name(creator, "released");
        REQUIRE(join(meta, "released") == 0);
    }
    events.require_taken();
    require_counting(meta);
    meta.close();
    events.require_free();
}

TEST_CASE_METHOD(
    NeedsSets,
    "Counts and times of a user that joins start at 0, and advance like those of others") {
    const Meta creator;
    REQUIRE(open_set(creator, {clock_event(), faults()}) == 0);
    const Name name(creator, "equal");
    const auto begin = monotonic_ns();
    // Twice, so that one sweep reads both at the same time.
    const Meta meta;
    REQUIRE(join(meta, "equal") == 0);
    burn_ms(5);
    perf_metagroup_name second{};
    REQUIRE(join(meta, "equal", &second) == 0);
    const auto cpus = online_cpus().size();
    REQUIRE(second.first == cpus);
    const auto before = payloads(meta);
    const auto passed = monotonic_ns() - begin;
    touch_new_memory(256);
    const auto after = payloads(meta);
    for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
        const std::size_t other = cpu + cpus;
        REQUIRE(before[cpu].counts[0] <= passed);
        REQUIRE(before[cpu].enabled <= passed);
        REQUIRE(before[other].enabled < before[cpu].enabled);
        REQUIRE(after[cpu].enabled - before[cpu].enabled ==
                after[other].enabled - before[other].enabled);
        REQUIRE(after[cpu].counts[1] - before[cpu].counts[1] ==
                after[other].counts[1] - before[other].counts[1]);
        REQUIRE(after[cpu].ids[0] != after[other].ids[0]);
    }
}

TEST_CASE_METHOD(NeedsSets, "STOP and RESET by one user of a name do not affect another") {
    const Meta creator;
    REQUIRE(open_set(creator, {clock_event()}) == 0);
    const Name name(creator, "apart");
    const Meta mine, theirs;
    REQUIRE(join(mine, "apart") == 0);
    REQUIRE(join(theirs, "apart") == 0);
    auto last = payloads(mine);
    for (const unsigned long command :
         {PERF_METAGROUP_IOC_RESET, PERF_METAGROUP_IOC_DISABLE, PERF_METAGROUP_IOC_ENABLE}) {
        REQUIRE(theirs.control(command) == 0);
        burn_ms(1);
        const auto now = payloads(mine);
        for (std::size_t i = 0; i < now.size(); ++i) {
            REQUIRE(now[i].counts[0] > last[i].counts[0]);
            REQUIRE(now[i].running == now[i].enabled);
        }
        last = now;
    }
}

TEST_CASE_METHOD(NeedsSets,
                 "A name refers to all sets of a meta-group as they were when it was published") {
    const auto cpus = online_cpus();
    const Meta creator;
    REQUIRE(open_set(creator, {faults()}, {cpus.back()}) == 0);
    const EventGroup group = open_group(0, kSetFormat, 2);
    REQUIRE(creator.attach(group) == 0);
    SetRequest second({clock_event(), faults()}, {0});
    second.arg.read_format = PERF_FORMAT_GROUP;
    REQUIRE(second.open(creator) == 0);
    const Name name(creator, "all.sets");
    REQUIRE(creator.detach(0) == 0);
    REQUIRE(open_set(creator, {faults()}) == 0);

    const Meta meta;
    perf_metagroup_name joined{};
    REQUIRE(join(meta, "all.sets", &joined) == 0);
    REQUIRE(joined.count == 2);
    REQUIRE(meta.info().members == 2);
    const auto one = meta.member(0), other = meta.member(1);
    REQUIRE(one.cpu == static_cast<unsigned>(cpus.back()));
    REQUIRE(one.events == 1);
    REQUIRE(one.read_format == kSetFormat);
    REQUIRE(other.cpu == 0);
    REQUIRE(other.events == 2);
    REQUIRE(other.read_format == PERF_FORMAT_GROUP);
}

TEST_CASE_METHOD(NeedsSets, "JOIN adds members after the existing ones") {
    const Meta creator;
    REQUIRE(open_set(creator, {faults()}, {0}) == 0);
    const Name name(creator, "behind");
    const EventGroup group = open_group(0, kSetFormat, 1);
    const Meta meta(group);
    perf_metagroup_name joined{};
    REQUIRE(join(meta, "behind", &joined) == 0);
    REQUIRE(joined.first == 1);
    REQUIRE(read_framed(meta).frames.at(1).record.member == 1);
}

TEST_CASE_METHOD(NeedsSets, "A name with FOLLOW counts again when its CPU is online") {
    const auto cpus = online_cpus();
    const auto last = static_cast<unsigned>(cpus.size() - 1);
    const Meta early;
    Meta creator;
    REQUIRE(open_following(creator, {clock_event(), faults()}) == 0);
    const Name name(creator, "follow");
    creator.close();
    REQUIRE(join(early, "follow") == 0);
    REQUIRE(name.file("state") == "ok");
    OfflineCpu offline(cpus.back());
    REQUIRE(name.file("state") == "offline");
    const Meta late;
    perf_metagroup_name joined{};
    REQUIRE(join(late, "follow", &joined) == 0);
    REQUIRE(joined.count == cpus.size());
    REQUIRE(late.member(last).status == PERF_METAGROUP_OFFLINE);
    offline.back();
    REQUIRE(wait_until([&] { return name.file("state") == "ok"; }));
    for (const Meta* meta : {&early, &late})
        REQUIRE(wait_until([&] { return meta->member(last).status == PERF_METAGROUP_OK; }));
    REQUIRE(early.member(last).users == 3);
    REQUIRE(late.member(last).generation == 1);
}

TEST_CASE_METHOD(NeedsSets,
                 "JOIN of a name without FOLLOW fails while one of its CPUs is offline") {
    Meta creator;
    REQUIRE(open_set(creator, {clock_event()}) == 0);
    const Name name(creator, "gone");
    OfflineCpu offline(online_cpus().back());
    const Meta meta;
    REQUIRE(join(meta, "gone") == -ENODEV);
    REQUIRE(meta.info().members == 0);
    REQUIRE(publish(creator, publish_arg("gone-too")) == -ENODEV);
    offline.back();
    // The name keeps the events that its CPU had.
    REQUIRE(name.file("state") == "offline");
    REQUIRE(join(meta, "gone") == 0);
    require_counting(meta);
}

TEST_CASE_METHOD(NeedsSets, "The files of a name in sysfs describe it") {
    const auto cpus = online_cpus();
    const Meta creator;
    REQUIRE(open_set(creator, {clock_event(), faults()}) == 0);
    REQUIRE(open_set(creator, {faults()}, {0}) == 0);
    std::string first;
    {
        const Name name(creator, "Described-1_a", 0440, 12);
        REQUIRE(name.file("state") == "ok");
        REQUIRE(name.file("uid") == "0");
        REQUIRE(name.file("gid") == "12");
        REQUIRE(name.file("mode") == "0440");
        REQUIRE(listed_cpus(kNames + name.text() + "/cpus") == cpus);
        REQUIRE(name.file("events") == std::to_string(2 * cpus.size() + 1));
        REQUIRE(name.file("users") == "0");
        REQUIRE(name.file("sweeps") == "0");
        first = name.file("id");
        REQUIRE_FALSE(first.empty());
        {
            const Meta one, two;
            REQUIRE(one.sweep() == 0);
            REQUIRE(join(one, name.text()) == 0);
            REQUIRE(join(one, name.text()) == 0);
            REQUIRE(join(two, name.text()) == 0);
            REQUIRE(name.file("users") == "2");
            for (const Meta* meta : {&one, &one, &two})
                REQUIRE(meta->sweep() == 0);
            REQUIRE(name.file("sweeps") == "3");
        }
        REQUIRE(name.file("users") == "0");
        REQUIRE(name.file("sweeps") == "3");
        REQUIRE_FALSE(std::filesystem::exists("/dev/" + name.text()));
    }
    REQUIRE_FALSE(std::filesystem::exists(std::string(kNames) + "Described-1_a"));
    const Name again(creator, "Described-1_a", 0, 4);
    REQUIRE(again.file("id") != first);
    REQUIRE(again.file("mode") == "0000");
}

TEST_CASE_METHOD(NeedsSets,
                 "The state of a name with many events is not determined again at each read") {
    const Meta creator, small;
    const std::vector<perf_event_attr> many(64, faults());
    for (unsigned set = 0; set < creator.info().max_events_per_cpu / many.size(); ++set)
        REQUIRE(open_set(creator, many) == 0);
    REQUIRE(open_set(small, {faults()}) == 0);
    const Name name(creator, "many"), other(small, "one");
    const auto time_of_reads = [&](const Name& of) {
        return time_of([&] {
            for (int i = 0; i < 200; ++i)
                REQUIRE(of.file("state") == "ok");
        });
    };
    // Asking all events takes much longer than the rest of a read.
    auto of_many = time_of_reads(name), of_one = time_of_reads(other);
    for (int round = 0; round < 2; ++round) {
        of_many = std::min(of_many, time_of_reads(name));
        of_one = std::min(of_one, time_of_reads(other));
    }
    REQUIRE(of_many < 3 * of_one);
}

TEST_CASE_METHOD(NeedsSets, "A uevent is sent when a name is added, and when it is removed") {
    const Uevents events;
    const Meta creator;
    REQUIRE(open_set(creator, {faults()}) == 0);
    const std::string path = "@/devices/virtual/perf_metagroup/heard";
    Name name(creator, "heard");
    REQUIRE(events.receive("add" + path));
    name.end();
    REQUIRE(events.receive("remove" + path));
}

TEST_CASE_METHOD(NeedsSets, "The module cannot be unloaded while a name exists") {
    const auto references = [] {
        int count = -1;
        std::ifstream("/sys/module/perf_metagroup/refcnt") >> count;
        return count;
    };
    const int before = references();
    std::optional<Name> name;
    {
        const Meta creator;
        REQUIRE(open_set(creator, {faults()}) == 0);
        name.emplace(creator, "holds");
    }
    REQUIRE(references() == before + 1);
    REQUIRE(::syscall(SYS_delete_module, "perf_metagroup", O_NONBLOCK) == -1);
    REQUIRE(errno == EWOULDBLOCK);
    name.reset();
    REQUIRE(references() == before);
}

TEST_CASE_METHOD(NeedsSets,
                 "Names can be added and removed while others join them and read their files") {
    const std::string text = "contended";
    std::atomic<unsigned> joined = 0, published = 0, shown = 0;
    const auto publisher = [&] {
        const Meta creator;
        if (open_following(creator, {clock_event(), faults()})) throw std::runtime_error("set");
        const long got = publish(creator, publish_arg(text, 0444));
        if (got && got != -EEXIST) throw std::runtime_error("PUBLISH " + std::to_string(got));
        published += got == 0;
        const long ended = unpublish(text);
        if (ended && ended != -ENOENT) throw std::runtime_error("UNPUBLISH");
    };
    const auto user = [&] {
        const Meta meta;
        const long got = join(meta, text);
        if (got && got != -ENOENT) throw std::runtime_error("JOIN " + std::to_string(got));
        if (got) return;
        ++joined;
        for (const Frame& frame : read_framed(meta).frames)
            if (frame.record.status != PERF_METAGROUP_OK) throw std::runtime_error("status");
    };
    const auto reader = [&] {
        for (const char* file : {"id", "state", "cpus", "events", "users", "sweeps"})
            shown += !name_file(text, file).empty();
    };
    Background publishing(publisher), more_publishing(publisher), joining(user), reading(reader);
    repeat_for(
        long_time(std::chrono::seconds(16)), [] { std::this_thread::sleep_for(10ms); },
        [&] { return published > 20 && joined > 5 && shown > 20; });
    for (Background* thread : {&publishing, &more_publishing, &joining, &reading})
        thread->stop();
    unpublish(text);
    REQUIRE(std::filesystem::is_empty(kNames));
}
