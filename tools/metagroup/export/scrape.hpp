// SPDX-License-Identifier: MIT
// The metrics of a scrape: event counts, and metrics of the exporter itself.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <metagroup/metagroup.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "common/late_cpus.hpp"
#include "export/counters.hpp"
#include "export/labels.hpp"
#include "export/server.hpp"

namespace tool {

// Converts the Prometheus text format to OpenMetrics.
std::string to_open_metrics(const std::string& text);

// Makes one sweep per scrape. Concurrent scrapes wait for each other.
class Scrape {
  public:
    // \throws as Counters and Labels.
    Scrape(metagroup::MetaGroup::Options options, const std::vector<std::string>& labels,
           const std::string& version);

    // If the sweep fails, returns the previous counts and increments the failures.
    std::string page(Format format);

    // Number of event time series.
    std::size_t series() const;
    std::uint64_t scrapes() const;
    const std::string& backend() const { return backend_; }

  private:
    std::mutex mutex_;
    Counters counters_;
    metagroup::CpuList cpus_;
    LateCpus late_;
    std::string said_;  // the last message about late CPUs
    Labels labels_;
    std::string backend_;
    prometheus::Registry registry_;
    prometheus::Counter& sweeps_;
    prometheus::Counter& failures_;
    prometheus::Counter& unread_;
    prometheus::Histogram& duration_;
    prometheus::Histogram& skew_;
    prometheus::Counter& cpu_seconds_;
    prometheus::Gauge& uncounted_;
};

}  // namespace tool
