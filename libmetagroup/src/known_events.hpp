// SPDX-License-Identifier: MIT
// The names of events, from a system that tests can choose.
#pragma once

#include <metagroup/known_events.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "file.hpp"
#include "pfm.hpp"

namespace metagroup::detail {

std::vector<KnownEvent> known_events(const SystemPaths& paths);

/// All names that may have been meant, also those that are refused without a unit mask.
std::vector<std::string> event_names(const SystemPaths& paths);

/// The names that several PMUs have.
std::set<std::string> shared_names(std::span<const PfmEvent> events);

}  // namespace metagroup::detail
