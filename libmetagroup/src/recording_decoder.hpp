// SPDX-License-Identifier: MIT
// Decodes the records of a perf.data file to entries of a Recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/detail/own_timer.hpp>
#include <metagroup/recording.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fields.hpp"
#include "recording_layout.hpp"

namespace metagroup::detail {

class RecordDecoder {
  public:
    /// The layout must outlive this.
    explicit RecordDecoder(RecordingLayout& layout);

    [[nodiscard]] std::optional<std::uint64_t> period() const { return period_; }

    /// Completes the events from records before the samples, and from the first samples.
    void learn(std::uint32_t type, Fields fields);
    /// True if samples have shown the leader of every event.
    [[nodiscard]] bool knows_groups() const { return ungrouped_ == 0; }

    /// Starts again with the first record.
    void start();
    /// The entry for the next record. No value if it has none because of its type, or because it is
    /// skipped: see remarks(). \throws Error if the records of the file cannot be decoded at all.
    std::optional<RecordedEntry> decode(std::uint32_t type, Fields fields);
    /// The number of deadlines without a sample before this sample of a timer.
    std::uint64_t lost_before(const RecordedEntry& sample);
    /// A sentence for each kind of record that was skipped.
    [[nodiscard]] std::vector<std::string> remarks() const;

  private:
    struct SampleId {
        std::uint64_t time = 0;
        int cpu = -1;
    };
    std::optional<std::size_t> find(std::uint64_t id);
    void read_update(Fields fields);
    void read_cpus(Fields fields);
    void read_group(Fields fields);
    void put_in_group(std::size_t event, std::size_t leader);
    void remark(std::string text);
    std::optional<RecordedEntry> decode_any(std::uint32_t type, Fields fields);
    std::optional<RecordedEntry> decode_sample(Fields fields);
    std::optional<RecordedEntry> decode_lost(Fields fields);
    std::optional<RecordedEntry> decode_lost_samples(Fields fields);
    std::optional<RecordedEntry> total_lost(std::uint64_t id, std::uint64_t lost);
    static SampleId take_sample_id(Fields& fields, std::uint64_t type);
    /// The event whose samples are missing if the ring of `event` was full.
    [[nodiscard]] std::optional<std::size_t> sampled_beside(std::size_t event) const;
    OwnTimer& timer_of(std::size_t event, int cpu);
    bool has_timer(std::size_t event) const { return !period_ && timers_[event] > 0; }

    RecordingLayout& layout_;
    std::optional<std::uint64_t> period_;                  // between common deadlines
    std::vector<std::uint64_t> timers_;                    // periods, by event
    std::vector<bool> in_group_;                           // by event
    std::size_t ungrouped_ = 0;                            // events
    std::unordered_map<std::uint64_t, int> cpus_;          // by identifier
    bool of_task_ = false;                                 // a counter is not bound to a CPU
    std::map<std::pair<std::size_t, int>, OwnTimer> own_;  // by event and CPU
    std::map<int, std::uint64_t>
        reported_;               // losses reported by rings and not yet included in a total; by CPU
    std::uint64_t newest_ = 0;   // ns
    std::uint64_t unknown_ = 0;  // records
    std::uint64_t first_unknown_ = 0;  // identifier
    std::uint64_t damaged_ = 0;        // records
    std::string first_damage_;
};

}  // namespace metagroup::detail
