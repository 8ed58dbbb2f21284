// SPDX-License-Identifier: MIT
#pragma once

#include <prometheus/collectable.h>

#include <cstdint>
#include <memory>
#include <metagroup/metagroup.hpp>
#include <string>
#include <vector>

namespace tool {

// Makes one sweep for each scrape, one after the other.
class Scrape final : public prometheus::Collectable {
  public:
    // \throws as MetaGroup::open().
    Scrape(metagroup::MetaGroup::Options what, const std::string& version);
    ~Scrape() override;
    Scrape(const Scrape&) = delete;
    Scrape& operator=(const Scrape&) = delete;

    // If the sweep fails, the counts are those of the one before, and the failure is counted.
    std::vector<prometheus::MetricFamily> Collect() const override;

    std::uint64_t scrapes() const;
    const std::string& backend() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace tool
