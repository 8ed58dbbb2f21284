// SPDX-License-Identifier: MIT
#include "export/scrape.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <system_error>
#include <utility>

#include "cpu_use.hpp"
#include "export/counters.hpp"
#include "export/families.hpp"

namespace tool {
namespace {

// Seconds: from the fastest sweep of few CPUs to one that something is wrong with.
const prometheus::Histogram::BucketBoundaries kTimes{5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                     5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1};

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

}  // namespace

class Scrape::State {
  public:
    State(metagroup::MetaGroup::Options what, const std::string& version)
        : counters_(std::move(what)),
          backend_(metagroup::to_string(counters_.live().group().backend())) {
        info("metagroup_backend_info", "Who reads the counters.", {{"backend", backend_}});
        info("metagroup_build_info", "The program.", {{"version", version}});
    }

    std::vector<prometheus::MetricFamily> collect() {
        const std::lock_guard lock(mutex_);
        try {
            counters_.sweep();
            note_sweep();
        } catch (const std::system_error& error) {
            std::fprintf(stderr, "metagroup: %s\n", error.what());
            failures_.Increment();
        }
        cpu_seconds_.Increment(seconds(static_cast<std::uint64_t>(cpu_time().count())) -
                               cpu_seconds_.Value());
        std::vector<prometheus::MetricFamily> all = families_of(counters_);
        auto own = registry_.Collect();
        std::ranges::move(own, std::back_inserter(all));
        return all;
    }

    std::uint64_t scrapes() const {
        return static_cast<std::uint64_t>(sweeps_.Value() + failures_.Value());
    }
    const std::string& backend() const { return backend_; }

  private:
    void note_sweep() {
        const metagroup::Snapshot& newest = counters_.live().newest();
        sweeps_.Increment();
        duration_.Observe(seconds(newest.end_ns() - newest.begin_ns()));
        skew_.Observe(seconds(newest.skew_ns()));
    }

    prometheus::Counter& counter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add({});
    }
    prometheus::Histogram& times(const char* name, const char* help) {
        return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add({},
                                                                                          kTimes);
    }
    void info(const char* name, const char* help, const prometheus::Labels& labels) {
        prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels).Set(1);
    }

    std::mutex mutex_;
    Counters counters_;
    std::string backend_;
    prometheus::Registry registry_;
    prometheus::Counter& sweeps_ =
        counter("metagroup_sweeps_total", "Sweeps that were made, one for each scrape.");
    prometheus::Counter& failures_ =
        counter("metagroup_sweep_failures_total", "Sweeps that failed; counts stay as they were.");
    prometheus::Histogram& duration_ =
        times("metagroup_sweep_duration_seconds", "Time that a sweep over all CPUs took.");
    prometheus::Histogram& skew_ =
        times("metagroup_sweep_skew_seconds", "Newest minus oldest reading in a sweep.");
    prometheus::Counter& cpu_seconds_ =
        counter("process_cpu_seconds_total", "CPU time that this program used.");
};

Scrape::Scrape(metagroup::MetaGroup::Options what, const std::string& version)
    : state_(std::make_unique<State>(std::move(what), version)) {}

Scrape::~Scrape() = default;

std::vector<prometheus::MetricFamily> Scrape::Collect() const {
    return state_->collect();
}

std::uint64_t Scrape::scrapes() const {
    return state_->scrapes();
}

const std::string& Scrape::backend() const {
    return state_->backend();
}

}  // namespace tool
