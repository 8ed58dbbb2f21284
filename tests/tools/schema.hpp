// SPDX-License-Identifier: MIT
// What the tool prints for programs, held against the schemas that are installed with it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace valijson {
class Schema;
}

class Schema {
  public:
    // Of what `metagroup SUBCOMMAND --json` prints.
    explicit Schema(const std::string& subcommand);
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;
    ~Schema();

    // In what the value is not so; empty if it is.
    std::string errors(const nlohmann::json& value) const;

  private:
    std::unique_ptr<valijson::Schema> schema_;
};
