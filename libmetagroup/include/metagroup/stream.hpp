// SPDX-License-Identifier: MIT
/// \file
/// Stream: samples the counts of all CPUs at common deadlines, without a system call for each.
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

/// One member at one deadline: its counts, or a number of lost deadlines. A view, valid until the
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
    /// 0 if this sample has counts. Otherwise it has none, and this is the number of deadlines
    /// without counts of this member: those that precede this one, or this one itself.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    /// Number of events; 0 if the sample has no counts.
    [[nodiscard]] std::size_t nr() const noexcept {
        return payload_ ? payload_->nr() - hidden_ : 0;
    }
    /// The count of event `i` of the member's group, as the kernel returned it; no value if there
    /// is no such event. With Backend::per_fd, counts start at 0 with the stream.
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
    /// The payload: the bytes that read(2) of the leader returns. With Backend::per_fd the leader
    /// is the timer: its value comes first here, and is hidden by all other functions.
    [[nodiscard]] std::span<const std::byte> payload_bytes() const noexcept { return bytes_; }

  private:
    friend class detail::DeadlineReader;
    Sample() = default;

    std::size_t index_ = 0;
    int cpu_ = -1;
    std::uint32_t hidden_ = 0;  // values before those of the group
    std::uint64_t time_ = 0;
    std::uint64_t lost_ = 0;
    std::span<const std::byte> bytes_;
    std::optional<Payload> payload_;
};

/// The samples of all CPUs for one deadline. A view, like Sample.
class METAGROUP_API Deadline {
  public:
    /// CLOCK_MONOTONIC in nanoseconds; a multiple of the period.
    [[nodiscard]] std::uint64_t time_ns() const noexcept { return time_; }
    /// The samples, CPU by CPU, each in the order of writing. Never empty.
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

/// A stream: CPUs read their own members at common deadlines and write the counts to rings in
/// memory. The reader gets the samples of all CPUs, deadline by deadline, without interrupting CPUs
/// or copying data. Destruction stops the stream. In a child process of fork(2) it has ended and
/// has no data. Move-only; one thread at a time may use it.
///
/// Backend::module: deadlines are multiples of the period on CLOCK_MONOTONIC, the same on all CPUs
/// (PERF_METAGROUP_IOC_STREAM). Idle CPUs of quiet meta-groups and offline CPUs do not sample. If a
/// PMU moves a member to another CPU, the ring of that CPU is read after 100 ms or two periods,
/// whichever is longer.
///
/// Backend::per_fd: each member is opened a second time, in a group led by a timer (`cpu-clock`).
/// This needs a second set of hardware counters, and counts start at 0 with the stream. Each timer
/// has its own phase: its first sample is assigned to the last multiple of the period, and the
/// others follow from it. A deadline without a sample counts as lost: because the ring is full,
/// because the timer is late or throttled (kernel.perf_event_max_sample_rate), or while the group
/// is not on the PMU.
class METAGROUP_API Stream {
  public:
    struct Options {
        /// Time between two deadlines, from 10 us to 60 s.
        std::chrono::nanoseconds period = std::chrono::milliseconds(1);
        /// Size in bytes of the ring of each CPU (Backend::per_fd: of each member): a power of two,
        /// from a page to 64 MiB. A sample takes 32 bytes plus its payload.
        std::size_t ring_size = std::size_t{256} << 10U;
        /// wait() returns once a ring has this many bytes of data; 0 for half of `ring_size`.
        std::size_t watermark = 0;
        /// When a ring is full, overwrite the oldest samples. Samples can then be read only after
        /// stop().
        bool overwrite = false;
    };

    /// Why wait() returned.
    enum class Wake {
        data,     ///< a ring has reached the watermark, or read() left some samples
        timeout,  ///< no ring has; read() returns what is available
        ended,    ///< the stream has stopped; read() returns the rest
    };

    /// Starts sampling all members. A meta-group can have one stream at a time, which should not
    /// outlive it.
    /// \throws std::invalid_argument if an option is out of range.
    /// \throws Error: Cause::stream_running, too_many_streams, buffer_too_small (a ring cannot hold
    ///         the samples of one deadline), wrong_module (the module is too old)...
    static Stream start(MetaGroup& group, const Options& options);

    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&& other) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream();

    /// Waits until data is ready; a negative timeout waits forever. With Options::overwrite, waits
    /// only for the end of the stream. \throws Error.
    Wake wait(std::chrono::nanoseconds timeout);

    /// The oldest complete deadlines, in order; at most a few hundred samples, so call it until it
    /// returns none. Valid until the next call of any function, which releases the space in the
    /// rings. Does not allocate unless samples were late or are very large.
    ///
    /// A deadline is complete once every ring has a sample or loss for it or for a later one. CPUs
    /// that were idle or offline have neither, so it is also complete two periods and 10 ms after
    /// its time, or when a ring is half full. A sample that arrives even later is returned with the
    /// next deadline: see Sample::time_ns(). After stop() all deadlines are complete.
    /// \throws Error (Cause::bad_ring) if a ring does not contain valid records.
    [[nodiscard]] std::span<const Deadline> read() &;
    std::span<const Deadline> read() && = delete;

    /// The records in the rings, ring by ring, for RecordingWriter; up to three Records per ring.
    /// An alternative to read(), with the same lifetime. With Options::overwrite there are none
    /// before stop().
    /// \throws Error (Cause::bad_ring) if a ring does not contain valid records.
    [[nodiscard]] std::span<const Records> read_records() &;
    std::span<const Records> read_records() && = delete;
    /// The events of those records, for RecordingWriter. With Backend::per_fd, the leader of each
    /// group is its timer.
    [[nodiscard]] std::vector<RecordedEvent> events() const;
    /// The descriptors to poll, for programs that wait for others as well: when one is ready,
    /// wait() returns.
    [[nodiscard]] std::span<const pollfd> poll_fds() const noexcept;

    /// Releases the ring space of the data that read() returned, before the next call does.
    void release() noexcept;

    /// Stops sampling. Data in the rings can still be read. \return total number of lost deadlines
    /// that read() does not report, of all CPUs (Backend::per_fd: of all members).
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
