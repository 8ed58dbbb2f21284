// SPDX-License-Identifier: MIT
// Streams by bare system calls: STREAM, the mapped rings, and their records taken apart.
#pragma once

#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "meta.hpp"
#include "settings.hpp"

namespace metagroup::test {

inline constexpr std::size_t kRingPage = 4096;

// Emulated CPUs stand still for milliseconds.
inline constexpr std::chrono::milliseconds kPeriod(2);
constexpr std::uint64_t periods(std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(time / kPeriod);
}

// One record of a ring. A sample has a payload, lost samples have a number.
struct RingRecord {
    int cpu = -1;
    std::uint64_t id = 0;
    std::uint64_t time = 0;
    std::uint64_t lost = 0;
    Bytes payload;

    bool is_sample() const { return lost == 0; }
};

// The ring of one CPU, mapped.
class MappedRing {
  public:
    // Throws if mmap(2) fails.
    MappedRing(const Meta& meta, const perf_metagroup_stream& stream, int cpu);
    ~MappedRing();
    MappedRing(MappedRing&& other) noexcept;
    MappedRing& operator=(MappedRing&&) = delete;

    perf_event_mmap_page& page() const { return *static_cast<perf_event_mmap_page*>(memory_); }
    std::uint64_t head() const { return __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE); }
    Bytes copy(std::uint64_t from, std::size_t size) const;  // over the end of the ring

    // All records that are there, which are released. Throws at one that is not well formed.
    std::vector<RingRecord> drain();
    // In overwrite mode: from the newest to the oldest that is whole.
    std::vector<RingRecord> newest_first() const;

  private:
    RingRecord record_at(std::uint64_t index, perf_event_header& header) const;

    void* memory_ = nullptr;
    std::size_t data_ = 0;
};

// A running stream and the rings of the CPUs that had members when it was started.
class RunningStream {
  public:
    RunningStream(const Meta& meta, std::chrono::nanoseconds period,
                  std::size_t ring_size = 64 * kRingPage, unsigned flags = 0);

    const perf_metagroup_stream& arg() const { return arg_; }
    std::uint64_t period() const { return arg_.period; }
    bool overwrites() const { return arg_.flags & PERF_METAGROUP_STREAM_OVERWRITE; }
    MappedRing& ring(int cpu) { return rings_.at(cpu); }
    const std::map<int, MappedRing>& rings() const { return rings_; }
    void map(int cpu);
    std::map<int, std::vector<RingRecord>> drain();
    // Until `time` has passed. Rings are drained all the time.
    std::map<int, std::vector<RingRecord>> run(std::chrono::nanoseconds time);
    std::uint64_t stop();  // lost deadlines that no ring reports

  private:
    const Meta* meta_;
    perf_metagroup_stream arg_{};
    std::map<int, MappedRing> rings_;
};

perf_metagroup_stream stream_of(std::chrono::nanoseconds period,
                                std::size_t ring_size = 64 * kRingPage, unsigned flags = 0);
long start_stream(const Meta& meta, perf_metagroup_stream& arg);
long stop_stream(const Meta& meta, std::uint64_t* lost = nullptr);

// 0 or -errno. All of the ring, or `size` bytes.
long try_to_map_ring(const Meta& meta, const perf_metagroup_stream& arg, int cpu,
                     std::size_t size = 0, int flags = MAP_SHARED);

// `next` is the first deadline of a member that neither has a sample nor is counted as lost.
// Returns that after the member's next record. Throws if the record is of another deadline: no
// deadline may be missing, and no time may be a period or more after its deadline.
std::uint64_t next_deadline(const RingRecord& record, std::uint64_t next, std::uint64_t period);

// The same for all records of a member, from the deadline `first`. Returns the number of deadlines.
std::uint64_t check_deadlines(const std::vector<RingRecord>& records, std::uint64_t id,
                              std::uint64_t first, std::uint64_t period);

}  // namespace metagroup::test
