// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>

#include <algorithm>
#include <metagroup/error.hpp>
#include <stdexcept>

#include "methods/method.hpp"

namespace bench {
namespace {

bool is_of_core_pmu(const metagroup::EventSpec& event) {
    return event.attr.type == PERF_TYPE_HARDWARE || event.attr.type == PERF_TYPE_HW_CACHE ||
           event.attr.type == PERF_TYPE_RAW;
}

// tests/testpmu has a core PMU for guests, which have none of their own.
metagroup::EventSpec test_pmu_event() try {
    return metagroup::parse_events("metagroup_core/config=0/").front().events.front();
} catch (const metagroup::Error&) {
    throw std::runtime_error(
        "these events count while the CPU is idle: use events of the core PMU, as in "
        "--group-events={cycles,instructions}, or load metagroup_testpmu.ko");
}

}  // namespace

Subject& Subject::stable_in_idle() {
    const bool stable = std::ranges::all_of(specs_, [](const metagroup::GroupSpec& spec) {
        return std::ranges::all_of(spec.events, is_of_core_pmu);
    });
    if (stable) return *this;
    if (!stable_in_idle_) {
        const metagroup::EventSpec event = test_pmu_event();
        std::vector<metagroup::GroupSpec> specs;
        for (const metagroup::GroupSpec& spec : specs_)
            specs.push_back({.events = std::vector(spec.events.size(), event)});
        stable_in_idle_ = std::make_unique<Subject>(specs, cpus(), sampling_period_);
    }
    return *stable_in_idle_;
}

Subject& Subject::without_reader() {
    if (cpus().size() < 2) return *this;
    if (!without_reader_) {
        const auto others = cpus().cpus().subspan(1);
        without_reader_ = std::make_unique<Subject>(
            specs_, metagroup::CpuList({others.begin(), others.end()}), sampling_period_);
    }
    return *without_reader_;
}

metagroup::Device& Subject::device() {
    if (!device_) {
        metagroup::Device device = metagroup::Device::open();
        device.attach(groups_.leaders());
        device_ = std::move(device);
    }
    return *device_;
}

}  // namespace bench
