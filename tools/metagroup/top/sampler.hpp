// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/metagroup.hpp>
#include <vector>

#include "live_group.hpp"
#include "metrics.hpp"
#include "places.hpp"
#include "top/model.hpp"
#include "totals.hpp"

namespace tool {

// Makes frames of sweeps.
class Sampler {
  public:
    // \throws as MetaGroup::open() and Places.
    Sampler(const metagroup::MetaGroup::Options& what, By by);

    // One sweep: what was counted since the last one.
    const Frame& sample();
    // Forgets what was counted since the last sweep.
    void skip() { live_.read(); }

    const std::vector<Place>& places() const { return places_.all(); }
    // A rate for each event, then the ratios.
    std::vector<Series> series() const;
    const LiveGroup& live() const { return live_; }

  private:
    void add_row(const Totals& totals, std::size_t place);
    void count_online();

    metagroup::CpuList cpus_;
    LiveGroup live_;
    Places places_;
    Places everywhere_;
    Totals totals_;
    Totals total_;
    Metrics metrics_;
    Frame frame_;
};

}  // namespace tool
