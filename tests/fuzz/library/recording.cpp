// SPDX-License-Identifier: MIT
#include <metagroup/recording.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rules.hpp"

namespace metagroup::fuzz {
namespace {

void hold_rules(const Recording& recording) {
    demand(!recording.events().empty(), "a recording has an event");
    for (const RecordedEvent& event : recording.events()) {
        demand(event.leader < recording.events().size(), "a leader is an event");
        demand(std::isfinite(event.scale), "a scale is a number");
    }
    demand(recording.period_ns() != std::optional<std::uint64_t>(0), "a period is a time");
}

// The number of samples, and of those lost.
std::pair<std::size_t, std::uint64_t> read(Recording& recording) {
    std::size_t samples = 0;
    std::uint64_t lost = 0;
    while (const auto entry = recording.next()) {
        if (entry->kind == RecordedEntry::Kind::round) continue;
        demand(entry->event < recording.events().size(), "an entry is of an event");
        demand(entry->cpu >= 0, "an entry is of a CPU");
        lost += entry->lost;
        demand(entry->payload.has_value() == (entry->kind == RecordedEntry::Kind::sample),
               "a sample has counts, and a loss has none");
        if (!entry->payload) continue;
        ++samples;
        demand(entry->payload->nr() > 0, "a sample has a count");
        for (std::size_t i = 0; i < entry->payload->nr(); ++i)
            demand(entry->payload->id(i).has_value(), "a count has an identifier");
    }
    return {samples, lost};
}

}  // namespace

void recording(Bytes input) {
    static const detail::UniqueFd file(::memfd_create("recording", MFD_CLOEXEC));
    static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    demand(::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), input.data(), input.size(), 0) ==
                                                  static_cast<ssize_t>(input.size()),
           "the input can be written");
    try {
        Recording recording(path);
        hold_rules(recording);
        const auto first = read(recording);
        recording.rewind();
        demand(read(recording) == first, "a recording reads the same again");
    } catch (const Error& error) {
        demand(error.cause() == Cause::bad_recording, "only the contents are refused");
        demand(std::string_view(error.what()).find("offset 0x") != std::string_view::npos,
               "an error names the place");
    }
}

}  // namespace metagroup::fuzz
