// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <metagroup/topology.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format.hpp"
#include "system.hpp"

namespace metagroup::detail::perf_data {
namespace {

const std::string kCpus = "/sys/devices/system/cpu";
const std::string kNodes = "/sys/devices/system/node";

std::uint64_t now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// The value after the first `name`, as in /proc/cpuinfo and meminfo; empty if there is none.
std::string value_in(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == text.npos) return "";
    text = text.substr(text.find(':', at) + 1);
    text = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::string(text);
}

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// The CPUs of each of the `parts` of the machine, in the order of their first CPU.
template <typename Part>
void put_lists(Bytes& bytes, const std::vector<CpuPlace>& places, const Part& part) {
    std::vector<std::pair<CpuPlace, std::vector<int>>> lists;
    for (std::size_t cpu = 0; cpu < places.size(); ++cpu) {
        if (part(places[cpu]) == CpuPlace{}) continue;
        auto list = std::ranges::find(lists, part(places[cpu]),
                                      &std::pair<CpuPlace, std::vector<int>>::first);
        if (list == lists.end()) list = lists.insert(list, {part(places[cpu]), {}});
        list->second.push_back(static_cast<int>(cpu));
    }
    bytes.put(static_cast<std::uint32_t>(lists.size()));
    for (const auto& [place, cpus] : lists)
        bytes.put_text(CpuList(cpus).to_string());
}

// The topology at the start of a recording, or at its end for CPUs that were offline at the start.
std::vector<CpuPlace> all_places(const std::vector<CpuPlace>& at_begin) {
    std::vector<CpuPlace> places = read_topology();
    places.resize(static_cast<std::size_t>(CpuList::possible().cpus().back()) + 1);
    for (std::size_t cpu = 0; cpu < std::min(places.size(), at_begin.size()); ++cpu)
        if (at_begin[cpu] != CpuPlace{}) places[cpu] = at_begin[cpu];
    return places;
}

void describe_cpus(Features& features, const std::vector<CpuPlace>& places) {
    Bytes& count = features[Feature::nrcpus];
    count.put(static_cast<std::uint32_t>(places.size()));
    count.put(static_cast<std::uint32_t>(CpuList::online().size()));

    // -1 if the CPU was offline throughout, as perf writes it.
    Bytes& topology = features[Feature::cpu_topology];
    put_lists(topology, places, [](const CpuPlace& at) { return CpuPlace{.socket = at.socket}; });
    put_lists(topology, places, [](const CpuPlace& at) {
        return CpuPlace{.socket = at.socket, .die = at.die, .core = at.core};
    });
    for (const CpuPlace& place : places) {
        topology.put(place.core);
        topology.put(place.socket);
    }
    put_lists(topology, places, [](const CpuPlace& at) {
        return at.die < 0 ? CpuPlace{} : CpuPlace{.socket = at.socket, .die = at.die};
    });
    for (const CpuPlace& place : places)
        topology.put(place.die);
}

void describe_nodes(Features& features, const std::vector<CpuPlace>& places) {
    std::uint32_t count = 0;
    Bytes nodes;
    for (const std::string& name : list_directory(kNodes)) {
        if (!name.starts_with("node")) continue;
        const auto memory = read_file(detail::format("{}/{}/meminfo", kNodes, name));
        if (!memory) continue;
        const auto node = static_cast<std::uint32_t>(number(std::string_view(name).substr(4)));
        std::vector<int> cpus;
        for (std::size_t cpu = 0; cpu < places.size(); ++cpu)
            if (places[cpu].node == static_cast<int>(node)) cpus.push_back(static_cast<int>(cpu));
        ++count;
        nodes.put(node);
        nodes.put(number(value_in(*memory, "MemTotal")));
        nodes.put(number(value_in(*memory, "MemFree")));
        nodes.put_text(cpus.empty() ? "" : CpuList(cpus).to_string());
    }
    if (count == 0) return;
    features[Feature::numa_topology].put(count);
    features[Feature::numa_topology].put(nodes.view());
}

// As in perf: vendor, family, model and stepping, or the identification register on arm64.
std::string cpuid(const std::string& info) {
    const std::string vendor = value_in(info, "vendor_id");
    if (!vendor.empty())
        return detail::format("{},{},{},{}", vendor, value_in(info, "cpu family"),
                              value_in(info, "model\t"), value_in(info, "stepping"));
    return read_file(kCpus + "/cpu0/regs/identification/midr_el1").value_or("");
}

}  // namespace

ClockPair clocks_now() {
    return {now(CLOCK_REALTIME), now(CLOCK_MONOTONIC)};
}

void describe_machine(Features& features, const std::vector<CpuPlace>& at_begin) {
    const auto put = [&](Feature feature, const std::string& text) {
        if (!text.empty()) features[feature].put_text(text);
    };
    utsname system{};
    if (::uname(&system) == 0) {
        put(Feature::hostname, &system.nodename[0]);
        put(Feature::osrelease, &system.release[0]);
        put(Feature::arch, &system.machine[0]);
    }
    const std::string info = read_file("/proc/cpuinfo").value_or("");
    put(Feature::cpudesc, value_in(info, "model name"));
    put(Feature::cpuid, cpuid(info));
    features[Feature::total_mem].put(
        number(value_in(read_file("/proc/meminfo").value_or(""), "MemTotal")));
    const std::vector<CpuPlace> places = all_places(at_begin);
    describe_cpus(features, places);
    describe_nodes(features, places);
}

void describe_recording(Features& features, const RecordingWriter::Options& options,
                        const ClockPair& begin,
                        const std::pair<std::uint64_t, std::uint64_t>& times) {
    features[Feature::version].put_text(options.version);
    Bytes& command = features[Feature::cmdline];
    command.put(static_cast<std::uint32_t>(options.command.size()));
    for (const std::string& word : options.command)
        command.put_text(word);

    Bytes& events = features[Feature::event_desc];
    events.put(static_cast<std::uint32_t>(options.events.size()));
    events.put(static_cast<std::uint32_t>(sizeof(perf_event_attr)));
    for (const RecordedEvent& event : options.events) {
        events.put(event.attr);
        events.put(static_cast<std::uint32_t>(event.ids.size()));
        events.put_text(event.name);
        events.put(std::as_bytes(std::span(event.ids)));
    }

    Bytes groups;
    std::uint32_t group_count = 0;
    for (std::size_t i = 0; i < options.events.size(); ++i) {
        const auto members = std::ranges::count(options.events, i, &RecordedEvent::leader);
        if (members < 2) continue;
        ++group_count;
        groups.put_text("");  // perf derives a name from those of the events
        groups.put(static_cast<std::uint32_t>(i));
        groups.put(static_cast<std::uint32_t>(members));
    }
    if (group_count > 0) {
        features[Feature::group_desc].put(group_count);
        features[Feature::group_desc].put(groups.view());
    }

    features[Feature::sample_time].put(times);
    timespec resolution{};
    ::clock_getres(CLOCK_MONOTONIC, &resolution);
    features[Feature::clockid].put(static_cast<std::uint64_t>(resolution.tv_nsec));
    Bytes& clock = features[Feature::clock_data];
    clock.put(std::uint32_t{1});  // version
    clock.put(static_cast<std::uint32_t>(CLOCK_MONOTONIC));
    clock.put(begin);
}

}  // namespace metagroup::detail::perf_data
