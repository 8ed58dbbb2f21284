// SPDX-License-Identifier: MIT
// Facts about the machine, a section of the report each. Unknown facts are null.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

using Json = nlohmann::ordered_json;

// The files in which the kernel describes itself. Any of them may be missing or unreadable.
class System {
  public:
    explicit System(std::filesystem::path root = "/") : root_(std::move(root)) {}

    std::filesystem::path path(const std::string& file) const { return root_ / file; }
    bool has(const std::string& file) const;
    // The whole file without blanks at its end.
    std::optional<std::string> read(const std::string& file) const;
    // The same as a fact.
    Json text(const std::string& file) const;
    Json number(const std::string& file) const;
    // The value of the first line `name : value`.
    Json field(const std::string& file, const std::string& name) const;
    // The names in a directory, sorted.
    std::vector<std::string> list(const std::string& directory) const;

  private:
    std::filesystem::path root_;
};

Json kernel_facts(const System& system);
Json cpu_facts(const System& system);
// The privileges of this process.
Json privilege_facts(const System& system);
// The limits of open files, and the descriptors that the default events need on all CPUs.
Json limit_facts();
// The module and its device.
Json module_facts(const System& system, const std::string& device);
// An array of PMUs, with the number of counters where it can be found out.
Json pmu_facts(const System& system);

}  // namespace tool
