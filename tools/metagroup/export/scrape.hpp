// SPDX-License-Identifier: MIT
// The metrics of a scrape: counts of events, and figures of the exporter itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/metagroup.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "common/late_cpus.hpp"
#include "export/counters.hpp"
#include "export/exposition.hpp"
#include "export/labels.hpp"

namespace tool {

// A family for each unit, then times, and the states of counters, which are added up by the labels
// of `sums`. Counters that have not counted yet have no value: 0 would be one.
void add_events(Exposition& page, const std::map<std::string, Counters::Event>& events,
                const Labels& labels, const Labels& sums);

// Makes one sweep for each scrape. Concurrent scrapes wait for each other.
class Scrape {
  public:
    // \throws as Counters and Labels.
    Scrape(metagroup::MetaGroup::Options options, const std::vector<std::string>& labels,
           std::string version);

    // If the sweep fails, returns the counts of the one before and adds to the failures.
    std::string page(Format format);

    // Time series of events.
    std::size_t series() const;
    std::uint64_t scrapes() const { return sweeps_ + failures_; }
    const std::string& backend() const { return backend_; }

  private:
    void sweep();
    void add_online(Exposition& page) const;
    void add_exporter(Exposition& page) const;

    std::mutex mutex_;
    Counters counters_;
    metagroup::CpuList cpus_;
    LateCpus late_;
    std::string said_;  // of late CPUs
    Labels labels_;
    Labels sums_;  // the same without `cpu`
    std::string backend_;
    std::string version_;
    std::chrono::system_clock::time_point start_ = std::chrono::system_clock::now();
    std::uint64_t sweeps_ = 0;
    std::uint64_t failures_ = 0;
    Times duration_;
    Times skew_;
};

}  // namespace tool
