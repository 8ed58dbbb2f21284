// SPDX-License-Identifier: MIT
/// \file
/// Stream: the counts of all CPUs at common deadlines, without a system call for each.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/export.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/payload.hpp>
#include <metagroup/recording.hpp>
#include <metagroup/records.hpp>
#include <optional>
#include <span>
#include <vector>

namespace metagroup {

namespace detail {
class DeadlineReader;
}

/// One member at one deadline: its counts, or a number of deadlines lost. A view: valid until the
/// next call of any function of its Stream.
class METAGROUP_API Sample {
  public:
    /// Index of the member in MetaGroup::members().
    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    /// The CPU that wrote it.
    [[nodiscard]] int cpu() const noexcept { return cpu_; }
    /// When the CPU began to read its members: CLOCK_MONOTONIC in nanoseconds. For a loss, when it
    /// was noticed.
    [[nodiscard]] std::uint64_t time_ns() const noexcept { return time_; }
    /// 0 if this has counts. Else the number of deadlines of this member that have no counts: those
    /// that precede this one, or this one itself. There are no counts here then.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    /// Number of events; 0 if it has no counts.
    [[nodiscard]] std::size_t nr() const noexcept {
        return payload_ ? payload_->nr() - hidden_ : 0;
    }
    /// The count of event `i` of the member's group, as the kernel gave it; no value if there is no
    /// such event. In Backend::per_fd it counts from the start of the stream.
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept {
        if (i >= nr()) return std::nullopt;
        return payload_->value(i + hidden_);
    }
    /// The kernel's identifier of event `i`; no value if there is none.
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const {
        return i < nr() ? payload_->id(i + hidden_) : std::nullopt;
    }
    /// Nanoseconds for which the member was enabled; no value if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept {
        return payload_ ? payload_->time_enabled() : std::nullopt;
    }
    /// Nanoseconds for which the member was on the PMU; no value if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept {
        return payload_ ? payload_->time_running() : std::nullopt;
    }
    /// The bytes that read(2) of the leader would have returned. In Backend::per_fd the leader is
    /// the timer: its value comes first here, and in no other function.
    [[nodiscard]] std::span<const std::byte> payload_bytes() const noexcept { return bytes_; }

  private:
    friend class detail::DeadlineReader;
    Sample() = default;

    std::size_t index_ = 0;
    int cpu_ = -1;
    std::uint32_t hidden_ = 0;  // values that come before those of the group
    std::uint64_t time_ = 0;
    std::uint64_t lost_ = 0;
    std::span<const std::byte> bytes_;
    std::optional<Payload> payload_;
};

/// The samples of all CPUs for one deadline. A view, as Sample.
class METAGROUP_API Deadline {
  public:
    /// CLOCK_MONOTONIC in nanoseconds; a multiple of the period.
    [[nodiscard]] std::uint64_t time_ns() const noexcept { return time_; }
    /// CPU by CPU, in the order in which each wrote them. Never empty.
    [[nodiscard]] std::span<const Sample> samples() const noexcept {
        return std::span(*all_).subspan(first_, count_);
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] auto begin() const noexcept { return samples().begin(); }
    [[nodiscard]] auto end() const noexcept { return samples().end(); }

  private:
    friend class detail::DeadlineReader;
    Deadline() = default;

    std::uint64_t time_ = 0;
    const std::vector<Sample>* all_ = nullptr;  // grows while it is filled
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

/// CPUs that read their own members at common deadlines, and write the counts into rings in memory.
/// The reader sees the rings of all CPUs, deadline by deadline; it interrupts none of them, and
/// copies nothing. Ends with this object. Move-only; one thread at a time may use it.
///
/// Backend::module: deadlines are multiples of the period on CLOCK_MONOTONIC, the same on all CPUs
/// (PERF_METAGROUP_IOC_STREAM). Idle CPUs of quiet meta-groups and offline CPUs have none. The ring
/// of a CPU to which a PMU has moved a member is read from 100 ms after it, or two periods.
///
/// Backend::per_fd: each member is opened once more, as a group that a timer (`cpu-clock`) leads.
/// So hardware counters are needed a second time, and counts begin with the stream. Each timer has
/// a phase of its own: its first sample is put to the last multiple of the period, and the others
/// accordingly. All deadlines without a sample are lost: if the ring is full, if the
/// timer is late or throttled (kernel.perf_event_max_sample_rate), or while the group is not on the
/// PMU.
class METAGROUP_API Stream {
  public:
    struct Options {
        /// Time between two deadlines, from 10 us to 60 s.
        std::chrono::nanoseconds period = std::chrono::milliseconds(1);
        /// Bytes in the ring of each CPU (Backend::per_fd: of each member): a power of two, from a
        /// page to 64 MiB. A sample takes 32 bytes and its payload.
        std::size_t ring_size = std::size_t{256} << 10U;
        /// Bytes in a ring from which wait() returns; 0 for half of `ring_size`.
        std::size_t watermark = 0;
        /// Keep the newest samples, not the oldest, when a ring is full. They can be read after
        /// stop().
        bool overwrite = false;
    };

    /// Why wait() returned.
    enum class Wake {
        data,     ///< a ring has samples up to the watermark, or read() left some
        timeout,  ///< none has; read() returns what there is
        ended,    ///< the stream has stopped; read() returns the rest
    };

    /// Starts to sample all members. A meta-group has one stream at a time, which should not
    /// outlive it.
    /// \throws std::invalid_argument if an option is out of its range.
    /// \throws Error: Cause::stream_running, too_many_streams, buffer_too_small (a ring does not
    ///         hold the samples of one deadline), wrong_module (it is too old)...
    static Stream start(MetaGroup& group, const Options& options);

    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&& other) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream();

    /// Waits until read() is worth it. A negative timeout is none. With Options::overwrite it waits
    /// for the end only. \throws Error.
    Wake wait(std::chrono::nanoseconds timeout);

    /// The oldest deadlines that are complete, in their order; not more than some hundred samples,
    /// so call it until it returns none. Valid until the next call of any function, which gives the
    /// space in the rings back. Does not allocate, unless samples came late or are very large.
    ///
    /// A deadline is complete if every ring has a sample or loss for it, or for a later one. CPUs
    /// that were idle or offline have neither. So it is complete, too, two periods and 10 ms after
    /// its time, or when a ring is half full. A sample that is later than that is in the next
    /// deadline that is returned: see Sample::time_ns(). After stop() all are complete.
    /// \throws Error (Cause::bad_ring) if a ring does not hold records.
    [[nodiscard]] std::span<const Deadline> read() &;
    std::span<const Deadline> read() && = delete;

    /// The records in the rings, ring by ring, for RecordingWriter; up to three pieces of each. For
    /// use instead of read(), with the same lifetime. With Options::overwrite there are none before
    /// stop().
    /// \throws Error (Cause::bad_ring) if a ring does not hold records.
    [[nodiscard]] std::span<const Records> read_records() &;
    std::span<const Records> read_records() && = delete;
    /// The events of those records, for RecordingWriter. Backend::per_fd: each group has its timer
    /// as leader.
    [[nodiscard]] std::vector<RecordedEvent> events() const;
    /// For programs that wait for other descriptors, too: when one of these is ready, wait() has a
    /// reason to return.
    [[nodiscard]] std::span<const pollfd> poll_fds() const noexcept;

    /// Gives the space of what read() returned back to the CPUs, earlier than the next call.
    void release() noexcept;

    /// Stops sampling. What is in the rings can still be read.
    /// \return number of deadlines lost that read() does not show, of all CPUs added up
    ///         (Backend::per_fd: of all members).
    /// \throws Error.
    std::uint64_t stop();

    /// Nanoseconds between two deadlines.
    [[nodiscard]] std::uint64_t period_ns() const noexcept;
    /// The first deadline: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t first_ns() const noexcept;

  private:
    struct State;
    explicit Stream(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}  // namespace metagroup
