// SPDX-License-Identifier: MIT
// Facts as JSON and as text. Unknown facts are null.
#pragma once

#include <cstddef>
#include <metagroup/published_set.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tool {

using Json = nlohmann::ordered_json;

constexpr std::size_t kReportWidth = 80;  // even on wider terminals, since reports are pasted

// The name of a fact in text.
std::string words(std::string name);

// One line per fact of an object.
std::string text_of(const Json& section);

// An array of objects with the same facts: one row per object.
std::string table_of(const Json& rows);

Json set_fact(const metagroup::PublishedSet& set);
// An array of all published sets.
Json set_facts();

}  // namespace tool
