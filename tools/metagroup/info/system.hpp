// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

using Json = nlohmann::ordered_json;

// The files in which the kernel describes itself. None need be there, or be readable.
class System {
  public:
    explicit System(std::filesystem::path root = "/") : root_(std::move(root)) {}

    std::filesystem::path path(const std::string& file) const { return root_ / file; }
    // All of the file without blanks at its end.
    std::optional<std::string> read(const std::string& file) const;
    // The same as it is told: null if it cannot be read.
    Json text(const std::string& file) const;
    Json number(const std::string& file) const;
    // The names in a directory, sorted.
    std::vector<std::string> list(const std::string& directory) const;
    bool has(const std::string& file) const;

  private:
    std::filesystem::path root_;
};

}  // namespace tool
