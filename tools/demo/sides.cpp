// SPDX-License-Identifier: MIT
#include "demo/sides.hpp"

namespace demo {

Sides::Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus)
    : device_(metagroup::Device::open()) {
    std::vector<int> leaders;
    for (const int cpu : cpus.cpus()) {
        groups_.push_back(metagroup::EventGroup::open(group, cpu));
        payloads_.emplace_back(groups_.back().payload_size());
        leaders.push_back(groups_.back().leader_fd());
    }
    device_.attach(leaders);
    device_.set_format(metagroup::Format::framed);
    device_.enable();
}

void Sides::read_per_fd() {
    for (std::size_t i = 0; i < groups_.size(); ++i)
        groups_[i].read(payloads_[i]);
}

metagroup::Payload Sides::payload(std::size_t i) const {
    return metagroup::Payload::parse(payloads_.at(i), groups_.at(i).read_format()).value();
}

}  // namespace demo
