// SPDX-License-Identifier: MIT
#include "cpus.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace metagroup::test {
namespace {

std::string online_file(int cpu) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
}

}  // namespace

std::vector<int> listed_cpus(const std::string& path) {
    std::ifstream file(path);
    std::vector<int> cpus;
    std::string range;
    while (std::getline(file, range, ',')) {
        if (range.find_first_of("0123456789") == std::string::npos) break;  // empty, or (null)
        const auto dash = range.find('-');
        const int first = std::stoi(range);
        const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
        for (int cpu = first; cpu <= last; ++cpu)
            cpus.push_back(cpu);
    }
    return cpus;
}

std::vector<int> online_cpus() {
    return listed_cpus("/sys/devices/system/cpu/online");
}

bool is_online(int cpu) {
    for (const int one : online_cpus())
        if (one == cpu) return true;
    return false;
}

bool set_online(int cpu, bool online) {
    std::ofstream file(online_file(cpu));
    file << (online ? '1' : '0') << std::flush;
    return bool(file);
}

OfflineCpu::OfflineCpu(int cpu) : cpu_(cpu) {
    if (!set_online(cpu, false)) throw std::runtime_error("CPU hotplug does not work here");
}

OfflineCpu::~OfflineCpu() {
    back();
}

void OfflineCpu::back() {
    set_online(cpu_, true);
}

void run_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof(set), &set)) throw std::runtime_error("sched_setaffinity");
}

void run_anywhere() {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : online_cpus())
        CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof(set), &set)) throw std::runtime_error("sched_setaffinity");
}

void burn_ms(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

void touch_new_memory(std::size_t pages) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const at =
        ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    ::madvise(at, pages * page, MADV_NOHUGEPAGE);  // where there are huge pages
    for (std::size_t i = 0; i < pages; ++i)
        static_cast<volatile char*>(at)[i * page] = 1;
    ::munmap(at, pages * page);
}

BusyCpu::BusyCpu(int cpu)
    : thread_([this, cpu] {
          run_on(cpu);
          started_ = true;
          while (!stop_) {
          }
      }) {
    while (!started_)
        std::this_thread::yield();
}

BusyCpu::~BusyCpu() {
    stop_ = true;
    thread_.join();
}

std::uint64_t function_calls(int cpu) {
    std::ifstream file("/proc/interrupts");
    std::string line, name;
    std::getline(file, line);  // the CPUs that are online, a column each
    std::istringstream columns(line);
    std::size_t column = 0;
    while (columns >> name && name != "CPU" + std::to_string(cpu))
        ++column;
    while (std::getline(file, line)) {
        if (line.find("Function call interrupts") == std::string::npos) continue;
        std::istringstream fields(line);
        std::uint64_t count = 0;
        fields >> name;
        for (std::size_t i = 0; i <= column; ++i)
            fields >> count;
        if (fields) return count;
    }
    throw std::runtime_error("/proc/interrupts does not list function call interrupts");
}

}  // namespace metagroup::test
