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
    std::vector<std::uint64_t> ids{};  ///< the kernel's identifiers, one per CPU
    std::size_t leader = 0;            ///< index of the leader of its group
    double scale = 1.0;                ///< as EventSpec::scale
    std::string unit{};                ///< as EventSpec::unit
    bool on_one_cpu = false;           ///< as EventSpec::on_one_cpu
    bool reading = false;              ///< as EventSpec::reading

    /// True for the timer that leads each group in a recording made by Backend::per_fd; the user
    /// did not name it.
    [[nodiscard]] bool is_timer() const noexcept { return name == "timer" && attr.watermark != 0; }
};

/// The CPUs that count an event, among `all` CPUs of a recording. `sampled` have samples of its
/// group. Their number is right; if not all CPUs count the event, which ones lack samples is
/// unknown.
METAGROUP_API CpuList counting_cpus(const RecordedEvent& event, const CpuList& sampled,
                                    const CpuList& all);

/// One record of a recording.
struct RecordedEntry {
    enum class Kind {
        sample,  ///< counts of a group on a CPU
        lost,   ///< samples missing here: those that the kernel or recorder reports, and if a timer
                ///< samples (cpu-clock, on CLOCK_MONOTONIC), its deadlines without a sample
        round,  ///< later records are not older than the records before the last round
    };
    Kind kind = Kind::round;
    std::uint64_t time_ns = 0;  ///< on the clock of the recording
    int cpu = -1;
    std::size_t event = 0;             ///< the leader
    std::uint64_t lost = 0;            ///< number of samples
    std::optional<Payload> payload{};  ///< of a sample, as read(2) of the leader returns it
};

/// Reads a recording sequentially. The file may be damaged: every error names file, offset and
/// reason. Records and descriptions that cannot be decoded are skipped: see remarks(). A file that
/// is incomplete because its writer was killed, the disk was full or it was truncated is read up to
/// its last complete record. Move-only.
class METAGROUP_API Recording {
  public:
    /// \throws Error: Cause::bad_recording if the file is not a recording with READ samples.
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
    /// deadlines, such as those of `perf record`.
    [[nodiscard]] std::optional<std::uint64_t> period_ns() const noexcept;
    /// False if the writer did not finish the file, or if the file was truncated.
    [[nodiscard]] bool finished() const noexcept;
    /// By CPU number; empty if the file has no topology.
    [[nodiscard]] std::span<const CpuPlace> topology() const& noexcept;
    std::span<const CpuPlace> topology() const&& = delete;
    /// The CPUs of a recording of all CPUs, including those without a sample; empty if unknown.
    [[nodiscard]] CpuList cpus() const;
    /// For each kind of data skipped so far, a sentence without its full stop.
    [[nodiscard]] std::vector<std::string> remarks() const;

    /// The next sample, lost samples or round; no value at the end. A payload is valid until the
    /// next call. \throws Error: Cause::bad_recording if the rest of the file cannot be read.
    std::optional<RecordedEntry> next();
    /// Makes next() start again with the first entry.
    void rewind();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metagroup
