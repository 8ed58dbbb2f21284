// SPDX-License-Identifier: MIT
// The counts of a recording as a table: one row per time and CPU, one column per event.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/recording.hpp>
#include <new>
#include <utility>
#include <vector>

namespace metagroup::python {

/// An array that grows without copying and uses only the memory that was written.
template <typename Number>
class NumberColumn {
  public:
    NumberColumn() = default;
    NumberColumn(NumberColumn&& other) noexcept { swap(other); }
    NumberColumn& operator=(NumberColumn&& other) noexcept {
        swap(other);
        return *this;
    }
    NumberColumn(const NumberColumn&) = delete;
    NumberColumn& operator=(const NumberColumn&) = delete;
    ~NumberColumn() {
        if (data_ != nullptr) ::munmap(data_, capacity_ * sizeof(Number));
    }

    void push(Number number) {
        if (size_ == capacity_) grow();
        data_[size_++] = number;
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Number* data() { return data_; }
    [[nodiscard]] Number& back() { return data_[size_ - 1]; }

  private:
    void swap(NumberColumn& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    void grow() {
        const std::size_t more = capacity_ > 0 ? 2 * capacity_ : std::size_t{8192};
        void* const moved = data_ == nullptr
                                ? ::mmap(nullptr, more * sizeof(Number), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                : ::mremap(data_, capacity_ * sizeof(Number), more * sizeof(Number),
                                           MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) throw std::bad_alloc();
        data_ = static_cast<Number*>(moved);
        capacity_ = more;
    }

    Number* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// The counts of one event. Rows without a count have 0.
struct CountColumn {
    void put(std::size_t row, std::uint64_t count);
    /// Fills up to that many rows.
    void fill(std::size_t rows);

    NumberColumn<std::uint64_t> values;
    NumberColumn<bool> missing;  ///< one per value, or empty if no count is missing
};

class RecordingTable {
  public:
    explicit RecordingTable(Recording& recording);

    /// Adds the next entry. \return false at the end, when the table is complete. Checks for
    /// signals: the caller does not hold the interpreter's lock.
    bool step();

    NumberColumn<std::uint64_t> times;           ///< ascending, each once
    NumberColumn<std::int32_t> time_codes;       ///< by row: index in `times`
    std::vector<int> cpus;                       ///< ascending
    NumberColumn<std::int16_t> cpu_codes;        ///< by row: index in `cpus`
    std::vector<CountColumn> events;             ///< by event
    std::map<std::size_t, std::size_t> leaders;  ///< by event: whose samples have its counts
    std::vector<CountColumn> enabled;            ///< by leader: ns; the time if the file has none
    std::vector<CountColumn> running;            ///< by leader
    std::vector<std::vector<int>> sampled;       ///< by leader: CPUs, ascending
    std::uint64_t lost = 0;

  private:
    struct Value {
        std::uint32_t event;
        std::uint64_t count;
    };
    struct Sample {
        std::uint64_t time;
        std::int32_t cpu;
        std::size_t leader;
        std::uint64_t enabled, running;
        std::size_t begin, end;  // in values_
    };
    void add(const RecordedEntry& sample);
    void end_round(std::uint64_t complete);
    void put(const Sample& sample);
    std::int16_t code_of(int cpu);
    void finish();

    Recording& recording_;
    std::vector<std::int16_t> codes_;  // by CPU; -1 if it has none
    // Samples come ring by ring: older ones may follow these.
    std::vector<Sample> samples_;
    std::vector<Value> values_;
    std::uint64_t newest_ = 0;
    std::uint64_t complete_ = 0;  // no sample to come is older
};

}  // namespace metagroup::python
