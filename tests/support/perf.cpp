// SPDX-License-Identifier: MIT
#include "perf.hpp"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
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

const std::string kTestpmuParameters = "/sys/module/metagroup_testpmu/parameters/";

void set_testpmu(const char* parameter, const std::string& value) {
    std::ofstream file(kTestpmuParameters + parameter);
    file << value << std::flush;
    if (!file) throw std::runtime_error(std::string("metagroup_testpmu refuses ") + parameter);
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

std::optional<perf_event_attr> testpmu_event(std::uint64_t read_format) {
    return pmu_event("metagroup_test", 0, read_format);
}

std::optional<perf_event_attr> testpmu_core_event(std::uint64_t read_format) {
    return pmu_event("metagroup_core", 0, read_format);
}

std::optional<perf_event_attr> testpmu_scope_event(std::uint64_t read_format) {
    return pmu_event("metagroup_scope", 0, read_format);
}

void testpmu_set_counters(unsigned counters) {
    set_testpmu("counters", std::to_string(counters));
}

bool testpmu_idle_is_probed() {
    std::ifstream file(kTestpmuParameters + "idle_probed");
    bool probed = false;
    if (!(file >> probed)) throw std::runtime_error("metagroup_testpmu has no idle_probed");
    return probed;
}

void testpmu_set_update_time(unsigned microseconds) {
    set_testpmu("update_us", std::to_string(microseconds));
}

void testpmu_set_read_error(int error) {
    set_testpmu("read_error", std::to_string(error));
}

void testpmu_set_read_failures(unsigned one_in) {
    set_testpmu("read_failures", std::to_string(one_in));
}

void testpmu_move(int from, int to) {
    set_testpmu("move", std::to_string(from) + " " + std::to_string(to));
}

bool kernel_revokes_events() {
    utsname system{};
    ::uname(&system);
    int major = 0, minor = 0;
    if (std::sscanf(system.release, "%d.%d", &major, &minor) != 2)
        throw std::runtime_error(system.release);
    return major > 6 || (major == 6 && minor >= 15);
}

void testpmu_set_registered(bool registered) {
    set_testpmu("registered", registered ? "1" : "0");
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
