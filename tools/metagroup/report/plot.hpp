// SPDX-License-Identifier: MIT
// A heat map of CPUs over time and lines of quantiles for each figure, as SVG or HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/aggregation.hpp"
#include "common/totals.hpp"

namespace tool {

class Plot {
  public:
    // `rows` has a place for each CPU. The time has `steps` intervals of so many seconds.
    Plot(const Aggregation& rows, const std::vector<Column>& columns, const Metrics& metrics,
         double interval, std::size_t steps);

    // The counts of an interval, and the time of its end in seconds.
    void add(double end, const Totals& totals);

    std::string svg(std::string_view title) const;
    // The picture in a page that zooms it; it loads nothing.
    std::string html(std::string_view title) const;

  private:
    // The values of a figure; negative: not known.
    struct Panel {
        std::string name;
        std::size_t column = 0;
        bool ratio = false;
        std::vector<double> values;  // by step and CPU
    };

    double value(const Panel& panel, std::size_t step, std::size_t cpu) const {
        return panel.values[step * rows_.places().size() + cpu];
    }
    double map_height() const;
    void draw(std::string& svg, const Panel& panel, double top) const;
    void draw_map(std::string& svg, const Panel& panel, double top, double highest) const;
    void draw_lines(std::string& svg, const Panel& panel, double top, double highest) const;
    void draw_times(std::string& svg, double bottom) const;

    const Aggregation& rows_;
    const Metrics& metrics_;
    double interval_;
    std::size_t steps_;
    std::vector<Panel> panels_;
};

}  // namespace tool
