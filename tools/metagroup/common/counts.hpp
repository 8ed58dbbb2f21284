// SPDX-License-Identifier: MIT
// The library's counts and table rows.
#pragma once

#include <metagroup/accumulator.hpp>
#include <metagroup/aggregation.hpp>
#include <metagroup/counts.hpp>

namespace tool {

using metagroup::Accumulator;
using metagroup::Aggregation;
using metagroup::AggrMode;
using metagroup::Column;
using metagroup::Count;
using metagroup::CountLayout;
using metagroup::Counts;
using metagroup::Intervals;
using metagroup::Mean;
using metagroup::Place;
using metagroup::Runs;

}  // namespace tool
