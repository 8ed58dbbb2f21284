// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <vector>

#include "common/aggregation.hpp"
#include "common/totals.hpp"
#include "top/model.hpp"

namespace tool {

// Turns sweeps into updates of the model.
class Sampler {
  public:
    // \throws as LiveGroup::open() and Aggregation.
    Sampler(const metagroup::MetaGroup::Options& options, AggrMode mode);

    // One sweep: the counts since the last one.
    const Update& sample();
    // Drops the counts since the last sweep.
    void skip() { live_.read(); }

    const std::vector<Place>& places() const { return rows_.places(); }
    // A rate for each event, then the ratios.
    std::vector<Series> series() const;
    const metagroup::LiveGroup& live() const { return live_; }

  private:
    void add_row(const Totals& totals, std::size_t place);
    void count_online();

    metagroup::CpuList cpus_;
    metagroup::LiveGroup live_;
    Aggregation rows_;
    Aggregation everywhere_;
    Totals totals_;
    Totals total_;
    Metrics metrics_;
    Update update_;
};

}  // namespace tool
