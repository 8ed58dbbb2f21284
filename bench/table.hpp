// SPDX-License-Identifier: MIT
// The results as a person reads them.
#pragma once

#include <string>

#include "reporter.hpp"

namespace bench {

void print_heading();
// One line. What is not known is a dash.
void print_result(const std::string& name, const Result& result);
void print_skipped(const std::string& name, const std::string& why);

}  // namespace bench
