// SPDX-License-Identifier: MIT
// The page of an exporter, read by the rules of the text formats of Prometheus.
#pragma once

#include <map>
#include <string>

#include "export/accept.hpp"

struct Series {
    std::string type;   // of its family
    std::string value;  // as it is written
};
using MetricsPage = std::map<std::string, Series>;  // by name and labels, as they are written

// \throws std::runtime_error that has the first line that breaks a rule, and the rule.
MetricsPage read_page(const std::string& text, tool::Format format);
