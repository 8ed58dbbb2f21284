// SPDX-License-Identifier: MIT
#include "record/timing.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tool {
namespace {

std::uint64_t number_at(std::span<const std::byte> record, std::size_t offset) {
    std::uint64_t number = 0;
    if (record.size() >= offset + sizeof(number))
        std::memcpy(&number, record.data() + offset, sizeof(number));
    return number;
}

}  // namespace

Timing::Timing(std::uint64_t period, std::size_t apart)
    : period_(period), deadlines_(std::bit_ceil(apart)) {}

void Timing::add(std::span<const std::byte> records) {
    while (!records.empty()) {
        perf_event_header header{};
        std::memcpy(&header, records.data(), std::min(records.size(), sizeof(header)));
        const auto record = records.first(std::min<std::size_t>(header.size, records.size()));
        if (record.empty()) return;
        if (header.type == PERF_RECORD_SAMPLE)
            add_sample(number_at(record, 16));
        else if (header.type == PERF_RECORD_LOST_SAMPLES)
            lost_ += number_at(record, 8);
        else if (header.type == PERF_RECORD_LOST)  // behind an identifier
            lost_ += number_at(record, 16);
        records = records.subspan(record.size());
    }
}

void Timing::add_sample(std::uint64_t time) {
    ++samples_;
    if (period_ == 0) return;
    const std::uint64_t number = time / period_;
    lateness_.add(time - number * period_);
    Deadline& deadline = deadlines_[number & (deadlines_.size() - 1)];
    if (deadline.number != number || deadline.samples == 0) {
        end(deadline);
        deadline = {number, time, time, 1};
        return;
    }
    deadline.first = std::min(deadline.first, time);
    deadline.last = std::max(deadline.last, time);
    ++deadline.samples;
}

void Timing::end(const Deadline& deadline) {
    if (deadline.samples > 1) skew_.add(deadline.last - deadline.first);
}

void Timing::finish() {
    for (const Deadline& deadline : deadlines_)
        end(deadline);
}

}  // namespace tool
