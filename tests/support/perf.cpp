// SPDX-License-Identifier: MIT
#include "perf.hpp"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "cpus.hpp"

namespace metagroup::test {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Clocks first: they count on an idle CPU too.
constexpr std::array<std::uint64_t, 4> kConfigs = {
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_COUNT_SW_PAGE_FAULTS};

bool can_open(const perf_event_attr& attr) {
    return bool(Fd(open_event(attr, -1, online_cpus().front(), -1)));
}

}  // namespace

perf_event_attr software_event(std::uint64_t config, std::uint64_t read_format) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = config;
    attr.read_format = read_format;
    return attr;
}

int open_event(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd) {
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC));
}

void EventGroup::add(const perf_event_attr& attr, int cpu) {
    Fd fd(open_event(attr, -1, cpu, fds.empty() ? -1 : leader()));
    if (!fd) fail("perf_event_open");
    fds.push_back(std::move(fd));
}

Bytes EventGroup::read() const {
    Bytes bytes(16 * 1024);
    const ssize_t got = ::read(leader(), bytes.data(), bytes.size());
    if (got < 0) fail("read of an event group");
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

void EventGroup::control(unsigned long request) const {
    if (::ioctl(leader(), request, PERF_IOC_FLAG_GROUP)) fail("ioctl of an event group");
}

std::uint64_t EventGroup::id(std::size_t index) const {
    std::uint64_t id = 0;
    if (::ioctl(fds.at(index).get(), PERF_EVENT_IOC_ID, &id)) fail("PERF_EVENT_IOC_ID");
    return id;
}

EventGroup open_group(int cpu, std::uint64_t read_format, int events, bool disabled) {
    EventGroup group;
    group.read_format = read_format;
    for (int i = 0; i < events; ++i) {
        perf_event_attr attr =
            software_event(kConfigs.at(static_cast<std::size_t>(i) % kConfigs.size()), read_format);
        attr.disabled = disabled && i == 0;
        group.add(attr, cpu);
    }
    return group;
}

std::vector<EventGroup> open_everywhere(std::uint64_t read_format, int events, bool disabled) {
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.push_back(open_group(cpu, read_format, events, disabled));
    return groups;
}

bool kernel_knows(std::uint64_t read_format) {
    return can_open(software_event(PERF_COUNT_SW_DUMMY, read_format));
}

perf_event_attr hardware_event(std::uint64_t config, std::uint64_t read_format) {
    perf_event_attr attr = software_event(config, read_format);
    attr.type = PERF_TYPE_HARDWARE;
    return attr;
}

bool has_cycles() {
    return can_open(hardware_event(PERF_COUNT_HW_CPU_CYCLES, 0));
}

bool has_instructions() {
    return can_open(hardware_event(PERF_COUNT_HW_INSTRUCTIONS, 0));
}

std::optional<perf_event_attr> pmu_event(const std::string& pmu, std::uint64_t config,
                                         std::uint64_t read_format) {
    std::ifstream file("/sys/bus/event_source/devices/" + pmu + "/type");
    perf_event_attr attr = software_event(config, read_format);
    if (!(file >> attr.type)) return {};
    return attr;
}

std::optional<perf_event_attr> tracepoint_event(const std::string& name,
                                                std::uint64_t read_format) {
    std::ifstream file("/sys/kernel/tracing/events/" + name + "/id");
    perf_event_attr attr = software_event(0, read_format);
    attr.type = PERF_TYPE_TRACEPOINT;
    if (!(file >> attr.config)) return {};
    return attr;
}

std::vector<std::uint64_t> words(const Bytes& bytes) {
    std::vector<std::uint64_t> all(bytes.size() / 8);
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

Bytes concatenated(std::initializer_list<Bytes> payloads) {
    Bytes all;
    for (const Bytes& one : payloads)
        all.insert(all.end(), one.begin(), one.end());
    return all;
}

Bytes concatenated(const std::vector<EventGroup>& groups) {
    Bytes all;
    for (const EventGroup& group : groups)
        all = concatenated({all, group.read()});
    return all;
}

}  // namespace metagroup::test
