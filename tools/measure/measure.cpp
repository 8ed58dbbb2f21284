// SPDX-License-Identifier: MIT
#include "measure/measure.hpp"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <metagroup/event_spec.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace measure {
namespace {

metagroup::detail::UniqueFd open_event(perf_event_attr& attr, int thread, const std::string& what) {
    const long fd = ::syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "counting " + what);
    return metagroup::detail::UniqueFd(static_cast<int>(fd));
}

}  // namespace

void bind_to_cpu(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
        throw std::system_error(errno, std::generic_category(),
                                "cannot bind the thread to CPU " + std::to_string(cpu));
    }
}

void EventCounter::start() {
    for (const auto& fd : fds_)
        ::ioctl(fd.get(), PERF_EVENT_IOC_RESET, 0);
    for (const auto& fd : fds_)
        ::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

std::uint64_t EventCounter::stop() {
    std::uint64_t sum = 0;
    std::for_each(fds_.rbegin(), fds_.rend(),
                  [](const auto& fd) { ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0); });
    for (const auto& fd : fds_) {
        std::uint64_t count = 0;
        if (::read(fd.get(), &count, sizeof(count)) != static_cast<ssize_t>(sizeof(count)))
            throw std::system_error(errno, std::generic_category(), "reading a perf event");
        sum += count;
    }
    return sum;
}

// The event of the calling thread is the last: it starts last and stops first, and so counts only
// the call that stops it.
SyscallCounter::SyscallCounter() {
    const std::string name = "raw_syscalls:sys_enter";
    perf_event_attr attr = metagroup::parse_events(name).front().events.front().attr;
    attr.disabled = 1;
    const int self = ::gettid();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        const int thread = std::stoi(task.path().filename());
        if (thread != self) fds_.push_back(open_event(attr, thread, name));
    }
    fds_.push_back(open_event(attr, self, name));
}

std::uint64_t SyscallCounter::stop() {
    const std::uint64_t sum = EventCounter::stop();
    return sum == 0 ? 0 : sum - 1;
}

KernelCallCounter::KernelCallCounter(const std::vector<std::string>& functions) {
    std::ifstream type("/sys/bus/event_source/devices/kprobe/type");
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    if (!(type >> attr.type))
        throw std::system_error(ENOENT, std::generic_category(),
                                "counting calls of kernel functions needs the PMU kprobe");
    attr.disabled = 1;
    for (const std::string& function : functions) {
        attr.kprobe_func = reinterpret_cast<std::uint64_t>(function.c_str());
        fds_.push_back(open_event(attr, 0, "calls of " + function + "() in the kernel"));
    }
}

std::uint64_t interprocessor_interrupts() {
    // x86: "CAL: 1 2 Function call interrupts"; arm64: "IPI1: 1 2 Function call interrupts"
    constexpr std::array<std::string_view, 3> kinds{
        "Function call interrupts", "Rescheduling interrupts", "IRQ work interrupts"};
    std::ifstream file("/proc/interrupts");
    std::string line;
    bool found = false;
    std::uint64_t sum = 0;
    while (std::getline(file, line)) {
        if (std::ranges::none_of(kinds, [&](auto kind) { return line.ends_with(kind); })) continue;
        found = true;
        std::istringstream fields(line);
        std::string name;
        fields >> name;
        for (std::uint64_t one = 0; fields >> one;)
            sum += one;
    }
    if (!found) throw std::runtime_error("/proc/interrupts does not list function call interrupts");
    return sum;
}

CpuGroups::CpuGroups(std::span<const metagroup::GroupSpec> specs, metagroup::CpuList cpus)
    : cpus_(std::move(cpus)), per_cpu_(specs.size()) {
    for (const int cpu : cpus_) {
        for (const metagroup::GroupSpec& spec : specs)
            groups_.push_back(metagroup::EventGroup::open(spec, cpu));
    }
}

std::vector<int> CpuGroups::leaders() const {
    std::vector<int> fds;
    for (const metagroup::EventGroup& group : groups_)
        fds.push_back(group.leader_fd());
    return fds;
}

void CpuGroups::enable() {
    for (metagroup::EventGroup& group : groups_)
        group.enable();
}

void CpuGroups::disable() {
    for (metagroup::EventGroup& group : groups_)
        group.disable();
}

void CpuGroups::read(std::size_t first, std::size_t number, Payloads& payloads) {
    for (std::size_t i = first; i < first + number; ++i)
        groups_[i].read(payloads.of(i));
}

std::vector<std::uint64_t> CpuGroups::counts() {
    Payloads payloads(groups_);
    read(payloads);
    return payloads.counts();
}

Payloads::Payloads(std::span<metagroup::EventGroup> groups)
    : read_format_(groups.front().read_format()),
      stride_(groups.front().payload_size()),
      buffer_(groups.size() * stride_) {}

std::vector<std::uint64_t> Payloads::counts() const {
    std::vector<std::uint64_t> counts;
    for (std::size_t at = 0; at < buffer_.size(); at += stride_) {
        const auto payload =
            metagroup::Payload::parse(std::span(buffer_).subspan(at, stride_), read_format_);
        if (!payload) throw std::runtime_error("invalid payload of an event group");
        for (std::size_t event = 0; event < payload->nr(); ++event)
            counts.push_back(payload->value(event));
    }
    return counts;
}

}  // namespace measure
