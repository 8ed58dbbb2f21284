// SPDX-License-Identifier: MIT
#include "compare/sides.hpp"

namespace tool {

Sides::Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus,
             const std::string& device)
    : groups_({&group, 1}, cpus),
      device_(metagroup::Device::open(device)),
      payloads_(groups_.all()) {
    device_.attach(groups_.leaders());
    device_.set_format(metagroup::Format::framed);
    device_.enable();
}

bool Sides::same(std::size_t member) {
    const auto payload =
        metagroup::Payload::parse(payloads_.of(member), groups_.all()[member].read_format());
    if (!payload) return false;
    for (std::size_t event = 0; event < payload->nr(); ++event) {
        if (snapshot_[member].raw(event) != payload->value(event)) return false;
    }
    return true;
}

bool Sides::agree() {
    device_.disable();
    read_module();
    read_per_fd();
    bool all = true;
    for (std::size_t member = 0; member < groups_.all().size(); ++member)
        all &= same(member);
    device_.enable();
    return all;
}

}  // namespace tool
