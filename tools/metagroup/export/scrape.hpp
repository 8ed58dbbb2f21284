// SPDX-License-Identifier: MIT
// The metrics of a scrape: counts of all CPUs, and figures of the exporter itself.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Counts since the start, which never decrease: a CPU that goes offline keeps its counts, and adds
// to them when it is back.
class Counters {
  public:
    // A group on a CPU.
    struct Member {
        int cpu = -1;
        std::size_t group = 0;
        double enabled = 0;          // seconds
        double running = 0;          // seconds
        std::vector<double> values;  // by event, in its unit, estimated for the time enabled
    };

    struct Event {
        std::string name;
        std::string unit;  // seconds for clocks; empty: occurrences
        double scale = 1;
    };

    // \throws as MetaGroup::open().
    explicit Counters(metagroup::MetaGroup::Options options);

    // One sweep. \throws as MetaGroup::read().
    void sweep();

    const std::vector<Member>& members() const { return members_; }
    // By group.
    const std::vector<std::vector<Event>>& groups() const { return groups_; }
    const metagroup::CpuList& cpus() const { return live_.group().cpus(); }
    const metagroup::LiveGroup& live() const { return live_; }

  private:
    void find_members();

    metagroup::LiveGroup live_;
    std::vector<std::vector<Event>> groups_;
    std::vector<Member> members_;
    std::map<std::pair<int, std::size_t>, std::size_t> places_;  // of CPU and group, in members_
    std::vector<std::size_t> targets_;  // in members_, by member of the snapshot
};

// Makes one sweep for each scrape. Concurrent scrapes wait for each other.
class Scrape final : public prometheus::Collectable {
  public:
    // \throws as MetaGroup::open().
    Scrape(metagroup::MetaGroup::Options options, const std::string& version);

    // If the sweep fails, returns the counts of the one before and adds to the failures.
    std::vector<prometheus::MetricFamily> Collect() const override;

    std::uint64_t scrapes() const;
    const std::string& backend() const { return backend_; }

  private:
    mutable std::mutex mutex_;
    mutable Counters counters_;
    std::string backend_;
    prometheus::Registry registry_;
    prometheus::Counter& sweeps_;
    prometheus::Counter& failures_;
    prometheus::Histogram& duration_;
    prometheus::Histogram& skew_;
    prometheus::Counter& cpu_seconds_;
};

}  // namespace tool
