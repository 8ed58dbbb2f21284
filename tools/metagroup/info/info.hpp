// SPDX-License-Identifier: MIT
// Facts about the machine, one function per section of the report, and the report as text. Unknown
// facts are null. The kernel describes itself in the files of proc and sys below `root`; any of
// them may be missing or unreadable.
#pragma once

#include <filesystem>
#include <string>

#include "common/fact_table.hpp"

namespace tool {

Json kernel_facts(const std::filesystem::path& root = "/");
Json cpu_facts(const std::filesystem::path& root = "/");
// The privileges of this process.
Json privilege_facts(const std::filesystem::path& root = "/");
// The limits of open files, and the number of descriptors that the default events need on all CPUs.
Json limit_facts();
// The module and its device.
Json module_facts(const std::string& device, const std::filesystem::path& root = "/");
// An array of PMUs, with the number of counters if it can be determined.
Json pmu_facts(const std::filesystem::path& root = "/");

// The report as text, one paragraph per section.
std::string as_page(const Json& report);

}  // namespace tool
