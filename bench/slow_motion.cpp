// SPDX-License-Identifier: MIT
#include "slow_motion.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <metagroup/detail/unique_fd.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "slowmo/page.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

unsigned number_in(const fs::path& file) {
    std::ifstream stream(file);
    unsigned number = 0;
    stream >> std::hex >> std::showbase >> number;
    return number;
}

std::optional<fs::path> find_device() {
    const fs::path devices = "/sys/bus/pci/devices";
    if (!fs::exists(devices)) return {};
    for (const fs::directory_entry& device : fs::directory_iterator(devices)) {
        if (number_in(device.path() / "vendor") == SLOWMO_PCI_VENDOR &&
            number_in(device.path() / "device") == SLOWMO_PCI_DEVICE)
            return device.path();
    }
    return {};
}

std::uint64_t load(const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

void store(std::uint64_t& word, std::uint64_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

// Addresses of kernel functions; 0 for unknown ones.
std::map<std::string, std::uint64_t> addresses_of(std::initializer_list<const char*> names) {
    std::map<std::string, std::uint64_t> found;
    for (const char* name : names)
        found[name] = 0;
    std::ifstream symbols("/proc/kallsyms");
    std::uint64_t address = 0;
    std::string kind;
    std::string name;
    std::string rest;
    while (symbols >> std::hex >> address >> kind >> name && std::getline(symbols, rest)) {
        const auto wanted = found.find(name);
        if (wanted != found.end()) wanted->second = address;
    }
    return found;
}

}  // namespace

void SlowMotion::Unmap::operator()(slowmo_page* page) const {
    ::munmap(page, sizeof(*page));
}

std::optional<SlowMotion> SlowMotion::find(void (*spin)()) {
    const auto device = find_device();
    if (!device) return {};
    std::ofstream(*device / "enable") << 1;
    const std::string bar = *device / ("resource" + std::to_string(SLOWMO_PCI_BAR));
    const metagroup::detail::UniqueFd fd(::open(bar.c_str(), O_RDWR | O_CLOEXEC));
    void* memory =
        fd ? ::mmap(nullptr, sizeof(slowmo_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
           : MAP_FAILED;
    if (memory == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(),
                                "cannot map the slow-motion page " + bar + " (are you root?)");
    SlowMotion found{std::unique_ptr<slowmo_page, Unmap>(static_cast<slowmo_page*>(memory))};
    if (load(found.page_->magic) != SLOWMO_MAGIC || found.page_->version != SLOWMO_VERSION)
        throw std::runtime_error(bar + " is not a slow-motion page of version " +
                                 std::to_string(SLOWMO_VERSION) +
                                 ": rebuild the plugin and this program from the same source");
    store(found.page_->spin, reinterpret_cast<std::uint64_t>(spin));
    return found;
}

void SlowMotion::start() {
    // The plugin counts ticks separately: see page.h.
    if (load(page_->tick_begin) == 0) {
        const auto tick = addresses_of({"sysvec_apic_timer_interrupt", "irqentry_exit"});
        store(page_->tick_begin, tick.at("sysvec_apic_timer_interrupt"));
        store(page_->tick_end, tick.at("irqentry_exit"));
    }
    __atomic_store_n(&page_->throttle, 1, __ATOMIC_RELAXED);
}

void SlowMotion::stop() {
    __atomic_store_n(&page_->throttle, 0, __ATOMIC_RELAXED);
}

std::uint64_t SlowMotion::kernel_instructions(int cpu) const {
    return load(page_->cpus[cpu].kernel_insns);
}

std::uint64_t SlowMotion::user_instructions(int cpu) const {
    return load(page_->cpus[cpu].user_insns);
}

std::uint64_t SlowMotion::tick_instructions(int cpu) const {
    return load(page_->cpus[cpu].tick_insns);
}

std::uint64_t SlowMotion::late_ns(int cpu) const {
    return load(page_->cpus[cpu].late_ns);
}

std::uint64_t SlowMotion::rate() const {
    return load(page_->rate);
}

Lateness::Lateness(const SlowMotion& slow_motion, const metagroup::CpuList& cpus)
    : slow_motion_(slow_motion),
      cpus_(cpus),
      begin_(read()),
      start_(std::chrono::steady_clock::now()) {}

double Lateness::fraction() const {
    const std::vector<std::uint64_t> end = read();
    std::uint64_t max = 0;
    for (std::size_t i = 0; i < end.size(); ++i)
        max = std::max(max, end[i] - begin_[i]);
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start_;
    return static_cast<double>(max) / elapsed.count();
}

std::vector<std::uint64_t> Lateness::read() const {
    std::vector<std::uint64_t> late;
    for (const int cpu : cpus_)
        late.push_back(slow_motion_.late_ns(cpu));
    return late;
}

}  // namespace bench
