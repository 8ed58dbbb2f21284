// SPDX-License-Identifier: MIT
// The PMUs in sysfs.
#include <fmt/format.h>

#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/known_events.hpp>
#include <metagroup/payload.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <vector>

#include "info/facts.hpp"

namespace tool {
namespace {

using metagroup::CpuList;
using metagroup::EventGroup;
using metagroup::EventSpec;
using metagroup::GroupSpec;

// Opening alone says too much: arm64 leaves the leader out when it checks the size of a group.
bool counts(const EventSpec& event, std::size_t times, int cpu) {
    try {
        auto group = EventGroup::open(GroupSpec{std::vector<EventSpec>(times, event)}, cpu);
        group.enable();
        std::vector<std::byte> bytes(group.payload_size());
        const std::size_t got = group.read(bytes);
        const auto payload =
            metagroup::Payload::parse(std::span(bytes).first(got), group.read_format());
        return payload && payload->time_running().value_or(0) > 0;
    } catch (const std::system_error&) {
        return false;
    }
}

// The largest group of one event that is counted now: those that others hold are missing. Null if
// there is no end, as with clocks, or no beginning.
Json largest_group(const std::string& name) {
    constexpr std::size_t endless = 32;
    const EventSpec event = metagroup::parse_events(name).front().events.front();
    const CpuList cpus = event.cpus.value_or(CpuList::online());
    const int cpu = cpus.empty() ? 0 : *cpus.begin();
    if (!counts(event, 1, cpu) || counts(event, endless, cpu)) return nullptr;
    std::size_t size = 1;
    while (counts(event, size + 1, cpu))
        ++size;
    return size;
}

Json counters(const std::vector<std::string>& events) {
    for (const std::string& name : events) {
        Json size = largest_group(name);
        if (!size.is_null()) return size;
    }
    return nullptr;
}

Json capabilities(const System& system, const std::string& directory) {
    Json told = Json::object();
    for (const std::string& name : system.list(directory))
        told[name] = system.text(fmt::format("{}/{}", directory, name));
    return told;
}

}  // namespace

Json pmu_facts(const System& system) {
    const std::string devices = "sys/bus/event_source/devices/";
    const auto known = metagroup::known_events();
    Json pmus = Json::array();
    for (const std::string& name : system.list(devices)) {
        std::vector<std::string> events;
        for (const metagroup::KnownEvent& event : known) {
            if (event.source == "sysfs" && event.pmu == name) events.push_back(event.name);
        }
        const std::string directory = devices + name;
        const auto mask = system.read(directory + "/cpumask");
        const auto cpus = mask ? mask : system.read(directory + "/cpus");
        pmus.push_back({{"pmu", name},
                        {"type", system.number(directory + "/type")},
                        {"cpus", cpus.value_or("all")},
                        {"events", events.size()},
                        {"counters", counters(events)},
                        {"caps", capabilities(system, directory + "/caps")}});
    }
    return pmus;
}

}  // namespace tool
