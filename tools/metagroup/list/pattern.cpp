// SPDX-License-Identifier: MIT
#include "list/pattern.hpp"

#include <fnmatch.h>

#include <utility>

namespace tool {

Pattern::Pattern(std::string text) {
    if (text == "hw")
        pmu_ = "hardware";
    else if (text == "sw")
        pmu_ = "software";
    else
        glob_ = text.find_first_of("*?[") == text.npos ? "*" + text + "*" : std::move(text);
}

bool Pattern::fits(const std::string& text) const {
    return ::fnmatch(glob_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

bool Pattern::matches(const metagroup::KnownEvent& event) const {
    if (!pmu_.empty()) return event.pmu == pmu_;
    return fits(event.name) || fits(event.pmu) || fits(event.description);
}

}  // namespace tool
