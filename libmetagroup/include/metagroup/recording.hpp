// SPDX-License-Identifier: MIT
/// \file
/// Recording: a perf.data file with the samples of a stream, or of `perf record -e '{a,b}:S' -a`.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/export.hpp>
#include <metagroup/payload.hpp>
#include <metagroup/topology.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace metagroup {

/// One event of a recording, on all CPUs.
struct RecordedEvent {
    std::string name{};
    perf_event_attr attr{};
    std::vector<std::uint64_t> ids{};  ///< the kernel's identifiers, one for each CPU
    std::size_t leader = 0;            ///< index of the leader of its group
    double scale = 1.0;                ///< as EventSpec::scale
    std::string unit{};                ///< as EventSpec::unit

    /// True for the timer that leads each group of a recording by Backend::per_fd: it is not an
    /// event that the user named.
    [[nodiscard]] bool is_timer() const noexcept { return name == "timer" && attr.watermark != 0; }
};

/// One record of a recording.
struct RecordedEntry {
    enum class Kind {
        sample,  ///< counts of a group on a CPU
        lost,    ///< samples that are missing there: those that kernel or recorder report, and if
                 ///< a timer samples (cpu-clock, on CLOCK_MONOTONIC), its deadlines without one
        round,   ///< later records are not older than the records before the last round
    };
    Kind kind = Kind::round;
    std::uint64_t time_ns = 0;  ///< on the clock of the recording
    int cpu = -1;
    std::size_t event = 0;             ///< the leader
    std::uint64_t lost = 0;            ///< number of samples
    std::optional<Payload> payload{};  ///< of a sample, as read(2) of the leader would return it
};

/// Reads a recording sequentially. The file may be damaged: every error names file, offset and
/// reason. Records and descriptions that cannot be decoded are left out: see remarks(). A file
/// whose writer was killed or whose disk was full, or that was cut short, is read up to its last
/// whole record.
/// Move-only.
class METAGROUP_API Recording {
  public:
    /// \throws Error: Cause::bad_recording if the file is no recording with READ samples.
    explicit Recording(const std::string& path);
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

    [[nodiscard]] std::span<const RecordedEvent> events() const& noexcept;
    std::span<const RecordedEvent> events() const&& = delete;
    /// Index in events(); no value if the identifier is unknown.
    [[nodiscard]] std::optional<std::size_t> event_of(std::uint64_t id) const noexcept;
    /// Nanoseconds between two deadlines of a stream; no value if the samples have no common
    /// deadlines, as those of `perf record`.
    [[nodiscard]] std::optional<std::uint64_t> period_ns() const noexcept;
    /// False if the writer did not finish the file, or if the file was cut short.
    [[nodiscard]] bool finished() const noexcept;
    /// By CPU number; empty if the file has no topology.
    [[nodiscard]] std::span<const CpuPlace> topology() const& noexcept;
    std::span<const CpuPlace> topology() const&& = delete;
    /// The CPUs of a recording of all CPUs, also those without a sample; empty if not known.
    [[nodiscard]] CpuList cpus() const;
    /// A sentence, without its full stop, on each kind of data that was left out so far.
    [[nodiscard]] std::vector<std::string> remarks() const;

    /// The next sample, lost samples or round; no value at the end. A payload is valid until the
    /// next call. \throws Error: Cause::bad_recording if the rest of the file cannot be read.
    std::optional<RecordedEntry> next();
    /// The next call of next() returns the first entry.
    void rewind();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metagroup
