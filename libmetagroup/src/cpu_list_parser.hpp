// SPDX-License-Identifier: MIT
// CPU lists of the system, from a directory that tests can choose.
#pragma once

#include <metagroup/cpu_list.hpp>
#include <string_view>

#include "file.hpp"

namespace metagroup::detail {

CpuList parse_cpu_list(std::string_view text, const SystemPaths& paths);
CpuList online_cpus(const SystemPaths& paths);
CpuList possible_cpus(const SystemPaths& paths);

}  // namespace metagroup::detail
