// SPDX-License-Identifier: MIT
// How counts are shown: as text for people, as CSV and JSON for programs.
#pragma once

#include <memory>
#include <string>

#include "metrics.hpp"
#include "output.hpp"
#include "places.hpp"
#include "stat/self.hpp"
#include "totals.hpp"

namespace tool {

// What all rows have in common.
struct Subject {
    const Places& places;
    const Metrics& metrics;
    std::string what;     // is counted: 'system wide', or a command
    std::string cgroup;   // that is counted; empty: all
    std::string backend;  // that reads
};

class Report {
  public:
    virtual ~Report() = default;

    // What was counted in the interval that ended so many seconds after the start.
    virtual void interval(double seconds, const Totals& totals) = 0;
    // What was counted from start to end.
    virtual void whole(double seconds, const Totals& totals) = 0;
    // What it took to read that.
    virtual void self(const Self& self) = 0;
};

std::unique_ptr<Report> make_text_report(Output& output, Subject subject);
std::unique_ptr<Report> make_csv_report(Output& output, Subject subject, std::string separator);
std::unique_ptr<Report> make_json_report(Output& output, Subject subject);

}  // namespace tool
