// SPDX-License-Identifier: MIT
#include "recording_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "calls.hpp"

namespace metagroup::python {

void CountColumn::fill(std::size_t rows) {
    if (values.size() == rows) return;
    while (missing.size() < values.size())
        missing.push(false);
    while (values.size() < rows) {
        values.push(0);
        missing.push(true);
    }
}

void CountColumn::put(std::size_t row, std::uint64_t count) {
    if (values.size() > row) {  // two samples at the same time: keep the later one
        values.back() = count;
        return;
    }
    fill(row);
    values.push(count);
    if (missing.size() > 0) missing.push(false);
}

RecordingTable::RecordingTable(Recording& recording)
    : events(recording.events().size()),
      enabled(events.size()),
      running(events.size()),
      sampled(events.size()),
      recording_(recording) {}

bool RecordingTable::step() {
    const auto entry = recording_.next();
    if (!entry) {
        finish();
        return false;
    }
    if (entry->kind == RecordedEntry::Kind::round) end_round(std::exchange(complete_, newest_));
    if (entry->kind == RecordedEntry::Kind::lost) lost += entry->lost;
    if (entry->kind == RecordedEntry::Kind::sample) add(*entry);
    return true;
}

void RecordingTable::add(const RecordedEntry& sample) {
    const std::size_t begin = values_.size();
    for (std::size_t i = 0; i < sample.payload->nr(); ++i) {
        const auto event = recording_.event_of(sample.payload->id(i).value());
        if (event && leaders.try_emplace(*event, sample.event).first->second == sample.event)
            values_.push_back({static_cast<std::uint32_t>(*event), sample.payload->value(i)});
    }
    newest_ = std::max(newest_, sample.time_ns);
    std::vector<int>& cpus_of_group = sampled[sample.event];
    const auto place = std::ranges::lower_bound(cpus_of_group, sample.cpu);
    if (place == cpus_of_group.end() || *place != sample.cpu)
        cpus_of_group.insert(place, sample.cpu);
    const std::uint64_t on = sample.payload->time_enabled().value_or(sample.time_ns);
    samples_.push_back({sample.time_ns, sample.cpu, sample.event, on,
                        sample.payload->time_running().value_or(on), begin, values_.size()});
}

void RecordingTable::end_round(std::uint64_t complete) {
    const auto later = std::stable_partition(
        samples_.begin(), samples_.end(), [&](const Sample& one) { return one.time < complete; });
    // A round may have all samples of the recording.
    std::uint64_t steps = 0;
    const auto pause = [&] {
        if (++steps % (1U << 16) == 0) check_signals();
    };
    std::sort(samples_.begin(), later, [&](const Sample& a, const Sample& b) {
        pause();
        return std::tie(a.time, a.cpu, a.begin) < std::tie(b.time, b.cpu, b.begin);
    });
    std::for_each(samples_.begin(), later, [&](const Sample& one) {
        pause();
        put(one);
    });
    samples_.erase(samples_.begin(), later);
    std::vector<Value> kept;
    for (Sample& one : samples_) {
        const std::size_t begin = kept.size();
        kept.insert(kept.end(), values_.begin() + static_cast<std::ptrdiff_t>(one.begin),
                    values_.begin() + static_cast<std::ptrdiff_t>(one.end));
        one.begin = begin;
        one.end = kept.size();
    }
    values_.swap(kept);
}

void RecordingTable::put(const Sample& sample) {
    if (times.size() == 0 || times.back() < sample.time) times.push(sample.time);
    const auto time = static_cast<std::int32_t>(times.size() - 1);
    const std::int16_t cpu = code_of(sample.cpu);
    const bool same = cpu_codes.size() > 0 && time_codes.back() == time && cpu_codes.back() == cpu;
    if (!same) {
        time_codes.push(time);
        cpu_codes.push(cpu);
    }
    const std::size_t row = cpu_codes.size() - 1;
    enabled[sample.leader].put(row, sample.enabled);
    running[sample.leader].put(row, sample.running);
    for (std::size_t i = sample.begin; i < sample.end; ++i)
        events[values_[i].event].put(row, values_[i].count);
}

std::int16_t RecordingTable::code_of(int cpu) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at >= codes_.size()) codes_.resize(at + 1, -1);
    if (codes_[at] >= 0) return codes_[at];
    if (cpus.size() > INT16_MAX) throw std::length_error("the recording has too many CPUs");
    codes_[at] = static_cast<std::int16_t>(cpus.size());
    cpus.push_back(cpu);
    return codes_[at];
}

void RecordingTable::finish() {
    end_round(UINT64_MAX);
    for (auto* const columns : {&events, &enabled, &running})
        for (CountColumn& column : *columns)
            if (column.values.size() > 0) column.fill(cpu_codes.size());
    const std::vector<int> by_code = cpus;
    std::ranges::sort(cpus);
    std::vector<std::int16_t> ranks;
    for (const int cpu : by_code)
        ranks.push_back(
            static_cast<std::int16_t>(std::ranges::lower_bound(cpus, cpu) - cpus.begin()));
    for (std::size_t row = 0; row < cpu_codes.size(); ++row) {
        std::int16_t& code = cpu_codes.data()[row];
        code = ranks[static_cast<std::size_t>(code)];
    }
}

}  // namespace metagroup::python
