// SPDX-License-Identifier: MIT
#include "schema.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

using valijson::adapters::NlohmannJsonAdapter;

Schema::Schema(const std::string& subcommand) : schema_(std::make_unique<valijson::Schema>()) {
    std::ifstream file(METAGROUP_SCHEMAS "/metagroup-" + subcommand + ".schema.json");
    REQUIRE(file);
    const nlohmann::json document = nlohmann::json::parse(file);
    valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(document), *schema_);
}

Schema::~Schema() = default;

std::string Schema::errors(const nlohmann::json& value) const {
    valijson::ValidationResults results;
    valijson::Validator().validate(*schema_, NlohmannJsonAdapter(value), &results);
    std::string text;
    for (valijson::ValidationResults::Error error; results.popError(error);) {
        for (const std::string& step : error.context)
            text += step;
        text += ": " + error.description + '\n';
    }
    return text;
}
