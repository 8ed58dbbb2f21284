// SPDX-License-Identifier: MIT
// The metrics of a scrape: event counts, and metrics of the exporter itself.
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

// Adds a family for each unit, then times, then the states of counters, added up by the labels of
// `sums`. Counters that have not counted yet have no value, rather than 0.
void add_events(Exposition& page, const std::map<std::string, Counters::Event>& events,
                const Labels& labels, const Labels& sums);

// Makes one sweep per scrape. Concurrent scrapes wait for each other.
class Scrape {
  public:
    // \throws as Counters and Labels.
    Scrape(metagroup::MetaGroup::Options options, const std::vector<std::string>& labels,
           std::string version);

    // If the sweep fails, returns the previous counts and increments the failures.
    std::string page(Format format);

    // Number of event time series.
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
    std::string said_;  // the last message about late CPUs
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
