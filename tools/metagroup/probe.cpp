// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <cerrno>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <stdexcept>
#include <system_error>

namespace tool {

bool can_count(const std::string& group) {
    using metagroup::CpuList;
    try {
        const metagroup::GroupSpec spec = metagroup::parse_events(group).front();
        const CpuList cpus = spec.events.front().cpus.value_or(CpuList::online());
        metagroup::EventGroup::open(spec, cpus.empty() ? 0 : *cpus.begin());
        return true;
    } catch (const std::invalid_argument&) {
        return false;  // no such name here
    } catch (const std::system_error& error) {
        switch (error.code().value()) {
            case ENOENT:
            case ENODEV:
            case EOPNOTSUPP:
            case EINVAL:
                return false;
            default:
                return true;
        }
    }
}

}  // namespace tool
