// SPDX-License-Identifier: MIT
#include "demo/sides.hpp"

namespace demo {

Sides::Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus)
    : groups_({&group, 1}, cpus), device_(metagroup::Device::open()), payloads_(groups_.all()) {
    device_.attach(groups_.leaders());
    device_.set_format(metagroup::Format::framed);
    device_.enable();
}

void Sides::read_per_fd() {
    groups_.read(payloads_);
}

metagroup::Payload Sides::payload(std::size_t i) {
    return metagroup::Payload::parse(payloads_.of(i), groups_.all()[i].read_format()).value();
}

}  // namespace demo
