// SPDX-License-Identifier: MIT
#include "measure/cpu_groups.hpp"

#include <stdexcept>
#include <utility>

namespace measure {

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
