// SPDX-License-Identifier: MIT
#include "slow_motion.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
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

// Empty if there is none.
fs::path find_device() {
    std::error_code no_pci;
    for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", no_pci)) {
        if (number_in(device.path() / "vendor") == SLOWMO_PCI_VENDOR &&
            number_in(device.path() / "device") == SLOWMO_PCI_DEVICE)
            return device.path();
    }
    return {};
}

std::uint64_t load(const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

template <typename Word>
void store(Word& word, Word value) {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

// The plugin counts ticks separately: see page.h.
void find_tick(slowmo_page& page) {
    std::ifstream symbols("/proc/kallsyms");
    std::uint64_t address = 0;
    std::string kind;
    std::string name;
    std::string rest;
    while (symbols >> std::hex >> address >> kind >> name && std::getline(symbols, rest)) {
        if (name == "sysvec_apic_timer_interrupt") store(page.tick_begin, address);
        if (name == "irqentry_exit") store(page.tick_end, address);
    }
}

}  // namespace

void SlowMotion::Unmap::operator()(slowmo_page* page) const {
    ::munmap(page, sizeof(*page));
}

std::optional<SlowMotion> SlowMotion::find(void (*spin)()) {
    const fs::path device = find_device();
    if (device.empty()) return {};
    std::ofstream(device / "enable") << 1;
    const std::string bar = device / ("resource" + std::to_string(SLOWMO_PCI_BAR));
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
    if (load(page_->tick_begin) == 0) find_tick(*page_);
    store(page_->throttle, 1U);
}

void SlowMotion::stop() {
    store(page_->throttle, 0U);
}

InstructionCount SlowMotion::instructions(int cpu) const {
    const slowmo_cpu& counts = page_->cpus[cpu];
    return {.kernel = load(counts.kernel_insns),
            .user = load(counts.user_insns),
            .tick = load(counts.tick_insns)};
}

std::uint64_t SlowMotion::late_ns(int cpu) const {
    return load(page_->cpus[cpu].late_ns);
}

std::uint64_t SlowMotion::rate() const {
    return load(page_->rate);
}

Lateness::Lateness(const SlowMotion& slow_motion, const metagroup::CpuList& cpus)
    : slow_motion_(slow_motion), cpus_(cpus) {
    for (const int cpu : cpus)
        begin_.push_back(slow_motion.late_ns(cpu));
}

double Lateness::fraction() const {
    std::uint64_t max = 0;
    for (std::size_t i = 0; i < begin_.size(); ++i)
        max = std::max(max, slow_motion_.late_ns(cpus_.cpus()[i]) - begin_[i]);
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start_;
    return static_cast<double>(max) / elapsed.count();
}

}  // namespace bench
