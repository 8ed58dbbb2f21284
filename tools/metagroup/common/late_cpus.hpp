// SPDX-License-Identifier: MIT
// CPUs that come online while counting.
#pragma once

#include <algorithm>
#include <iterator>
#include <metagroup/cpu_list.hpp>
#include <metagroup/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tool {

class LateCpus {
  public:
    // `online`: the CPUs online when counting begins. If not all of them are counted, CPUs that
    // come online later are not expected to be counted either.
    explicit LateCpus(metagroup::CpuList counted, const metagroup::CpuList& online = online_now())
        : counted_(std::move(counted)), all_(counted_.intersect(online) == online) {}

    // The CPUs that are online now and should be counted, but are not.
    metagroup::CpuList among(const metagroup::CpuList& online = online_now()) const {
        std::vector<int> late;
        if (all_) std::ranges::set_difference(online, counted_, std::back_inserter(late));
        return metagroup::CpuList(std::move(late));
    }

    // A message; empty if there are none.
    std::string message() const {
        const metagroup::CpuList late = among();
        if (late.empty()) return "";
        return "CPU " + late.to_string() + " came online after the start: not counted";
    }

  private:
    // None if sysfs is not mounted.
    static metagroup::CpuList online_now() {
        try {
            return metagroup::CpuList::online();
        } catch (const metagroup::Error&) {
            return {};
        }
    }

    metagroup::CpuList counted_;
    bool all_;
};

}  // namespace tool
