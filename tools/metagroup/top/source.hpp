// SPDX-License-Identifier: MIT
// The updates of the model: from sweeps, or from a recording.
#pragma once

#include <chrono>
#include <deque>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <string>
#include <vector>

#include "common/aggregation.hpp"
#include "common/replay.hpp"
#include "common/totals.hpp"
#include "top/model.hpp"

namespace tool {

// The columns of the model: a rate for each event, then the ratios.
class Figures {
  public:
    explicit Figures(std::vector<Column> columns);

    std::vector<Series> series() const;
    // The cells of all places and of their total.
    void fill(std::vector<Cell>& cells, const Totals& totals);

  private:
    void add_row(std::vector<Cell>& cells, const Totals& totals, std::size_t place) const;

    std::vector<Column> columns_;
    Metrics metrics_;
    Totals total_;
};

class Source {
  public:
    virtual ~Source() = default;

    // The counts since the last update; nullptr at the end of a recording.
    virtual const Update* sample() = 0;
    // Drops the counts since the last update.
    virtual void skip() = 0;
    virtual const std::vector<Place>& places() const = 0;
    virtual std::vector<Series> series() const = 0;
    virtual std::string name() const = 0;
    // The time of the last sweep, or the position in the recording.
    virtual std::string progress() const = 0;
    virtual std::string problem() const = 0;  // empty: none
};

class Sampler : public Source {
  public:
    // \throws as LiveGroup::open() and Aggregation.
    Sampler(const metagroup::MetaGroup::Options& options, AggrMode mode);

    const Update* sample() override;
    void skip() override { live_.read(); }
    const std::vector<Place>& places() const override { return rows_.places(); }
    std::vector<Series> series() const override { return figures_.series(); }
    std::string name() const override;
    std::string progress() const override;
    std::string problem() const override { return live_.problem(); }

  private:
    void count_online();

    metagroup::CpuList cpus_;
    metagroup::LiveGroup live_;
    Aggregation rows_;
    Totals totals_;
    Figures figures_;
    Update update_;
};

class Player : public Source {
  public:
    // \throws as Replay.
    Player(const Replay::Options& options, AggrMode mode, std::chrono::nanoseconds interval);

    const Update* sample() override;
    void skip() override {}
    const std::vector<Place>& places() const override { return replay_.rows().places(); }
    std::vector<Series> series() const override { return figures_.series(); }
    std::string name() const override { return name_; }
    std::string progress() const override;
    std::string problem() const override;

  private:
    struct Interval {
        double end;  // seconds
        Totals totals;
    };

    std::string name_;
    Replay replay_;
    Figures figures_;
    std::deque<Interval> ahead_;
    double now_ = 0;  // seconds
    bool ended_ = false;
    Update update_;
};

}  // namespace tool
