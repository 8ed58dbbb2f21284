// SPDX-License-Identifier: MIT
// The calls for other modules, which examples/kernel/ makes.
#include <linux/capability.h>

#include <chrono>
#include <sstream>

#include "fixtures.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kTracing = "/sys/kernel/tracing/";

// metagroup_ipc.ko with cpu-clock in place of instructions, and context switches in place of
// cycles; it reads 20 times per second.
struct Consumer {
    Consumer() { REQUIRE(load() == 0); }
    ~Consumer() { unload(); }
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    static int load() {
        const metagroup::detail::UniqueFd file(
            ::open("/lib/modules/metagroup_ipc.ko", O_RDONLY | O_CLOEXEC));
        if (!file) SKIP("metagroup_ipc.ko is not there: tests/vm/run --build examples/kernel");
        return error_of(
            ::syscall(SYS_finit_module, file.get(), "type=1 instructions=0 cycles=3 period=50", 0));
    }
    static int unload() {
        return error_of(::syscall(SYS_delete_module, "metagroup_ipc", O_NONBLOCK));
    }
};

struct Line {
    std::string event;
    int cpu = -1;
    std::uint64_t clock = 0, switches = 0;
};

// The events of the consumer within half a second.
std::vector<Line> trace() {
    const std::string enable = std::string(kTracing) + "events/metagroup_ipc/enable";
    std::ofstream(std::string(kTracing) + "trace") << '\n';
    std::ofstream(enable) << '1' << std::flush;
    std::this_thread::sleep_for(500ms);
    std::ofstream(enable) << '0' << std::flush;
    std::vector<Line> lines;
    std::ifstream stream(std::string(kTracing) + "trace");
    for (std::string text; std::getline(stream, text);) {
        const auto at = text.find("metagroup_ipc");
        if (at == std::string::npos) continue;
        Line& line = lines.emplace_back();
        std::istringstream words(text.substr(at));
        std::getline(words, line.event, ':');
        words.ignore(sizeof(" cpu"), '=');
        words >> line.cpu;
        words.ignore(sizeof(" instructions"), '=');
        words >> line.clock;
        words.ignore(sizeof(" cycles"), '=');
        words >> line.switches;
        REQUIRE(words);
    }
    return lines;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "Another module reads the counters of all CPUs with one call") {
    const Consumer consumer;
    std::map<int, std::uint64_t> clocks;
    for (const Line& line : trace())
        if (line.event == "metagroup_ipc") clocks[line.cpu] += line.clock;
    const auto cpus = online_cpus();
    REQUIRE(clocks.size() == cpus.size());
    // cpu-clock is wall-clock time on each CPU, idle or not.
    for (const int cpu : cpus) {
        CAPTURE(cpu);
        REQUIRE(clocks[cpu] > 50'000'000);
        REQUIRE(clocks[cpu] < 60'000'000'000);
    }
}

TEST_CASE_METHOD(NeedsSets, "Another module reads the counters of its own CPU") {
    const Consumer consumer;
    std::size_t costs = 0;
    for (const Line& line : trace()) {
        if (line.event != "metagroup_ipc_cost") continue;
        ++costs;
        REQUIRE(line.clock > 0);
        REQUIRE(line.clock < 10'000'000'000);
    }
    REQUIRE(costs > 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "Another module opens events for a task that may not open them itself") {
    if (::access("/lib/modules/metagroup_ipc.ko", F_OK)) SKIP("metagroup_ipc.ko is not there");
    const Paranoid paranoid(2);
    const int error = in_child([] {
        // Neither CAP_PERFMON nor CAP_SYS_ADMIN.
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        std::array<__user_cap_data_struct, 2> sets{};
        sets[0].effective = sets[0].permitted = 1U << CAP_SYS_MODULE;
        if (::syscall(SYS_capset, &header, sets.data())) return 255;
        const Fd event(open_event(software_event(PERF_COUNT_SW_CPU_CLOCK, 0), -1, 0, -1));
        return event ? 254 : Consumer::load();
    });
    Consumer::unload();
    REQUIRE(error == 0);
}

TEST_CASE_METHOD(NeedsSets, "Another module shares its counters with the sets of user space") {
    const Consumer consumer;
    const Meta meta;
    REQUIRE(open_set(meta, {software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0)}) == 0);
    REQUIRE(meta.member(0).users == 2);
    REQUIRE(Consumer::unload() == 0);
    REQUIRE(meta.member(0).users == 1);
}

TEST_CASE_METHOD(NeedsSets, "The module cannot be unloaded while another one uses it") {
    const Consumer consumer;
    REQUIRE(error_of(::syscall(SYS_delete_module, "perf_metagroup", O_NONBLOCK)) == EWOULDBLOCK);
    REQUIRE(Consumer::unload() == 0);
}

TEST_CASE_METHOD(NeedsSets, "The events of another module follow CPU hotplug") {
    const Consumer consumer;
    const int last = online_cpus().back();
    { const OfflineCpu offline(last); }
    std::uint64_t clock = 0;
    for (int i = 0; i < 20 && clock == 0; ++i)
        for (const Line& line : trace())
            if (line.event == "metagroup_ipc" && line.cpu == last) clock += line.clock;
    REQUIRE(clock > 0);
}
