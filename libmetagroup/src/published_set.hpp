// SPDX-License-Identifier: MIT
// Published sets, with a system that tests can replace.
#pragma once

#include <metagroup/published_set.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "system.hpp"

namespace metagroup::detail {

std::vector<PublishedSet> published_sets(const SystemPaths& paths);
std::optional<PublishedSet> published_set(std::string_view name, const SystemPaths& paths);

}  // namespace metagroup::detail
