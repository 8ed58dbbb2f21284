// SPDX-License-Identifier: MIT
// libpfm4: the events of CPUs by the names in their manuals.
#pragma once

#include <linux/perf_event.h>

#include <string>
#include <string_view>
#include <vector>

namespace metagroup::detail {

/// What libpfm4 says of a name.
enum class PfmVerdict {
    ok,         ///< the attribute is filled in
    not_found,  ///< no event of a PMU of this machine
    refused,    ///< it knows the event, but not what stands behind it
};

struct PfmAnswer {
    PfmVerdict verdict = PfmVerdict::not_found;
    std::string message;  ///< why it was refused, with the remedy
};

/// Asks libpfm4 for an event with its unit masks and libpfm4's own modifiers.
PfmAnswer pfm_encode(std::string_view event, perf_event_attr& attr);

struct PfmEvent {
    std::string pmu;
    std::string name;
    std::string description;
};

/// All events of the PMUs of this machine. Some of them pfm_encode() refuses without a unit mask.
std::vector<PfmEvent> pfm_events();

/// What pfm_encode() understands of `event`: the event itself, and it with each of its unit masks.
std::vector<PfmEvent> pfm_variants(const PfmEvent& event);

}  // namespace metagroup::detail
