// SPDX-License-Identifier: MIT
/// \file
/// RecordingWriter: writes the samples of a stream to a perf.data file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/event_group.hpp>
#include <metagroup/export.hpp>
#include <metagroup/recording.hpp>
#include <metagroup/records.hpp>
#include <string>
#include <vector>

namespace metagroup {

/// Writes a file that Recording, `perf script` and `perf report` can read. If the process is
/// killed, all of them can read the data up to the last finish_round(), and Recording also the
/// rest. Move-only.
class METAGROUP_API RecordingWriter {
  public:
    struct Options {
        /// Leaders precede their siblings. The sample type, clock and period of the attributes are
        /// set to those of a stream; a timer keeps its own period.
        std::vector<RecordedEvent> events{};
        /// Time between two deadlines; 0 if the CPUs have no common deadlines, as with
        /// Backend::per_fd.
        std::uint64_t period_ns = 0;
        /// Of the leaders.
        std::uint64_t read_format = default_read_format | ReadFormat::id;
        std::vector<std::string> command{};    ///< the command line, for the file's header
        std::string version = "libmetagroup";  ///< of the program, for the file's header
    };

    /// Truncates the file if it exists. \throws std::invalid_argument if there are no events, or
    /// one has no identifiers. \throws Error naming the file.
    RecordingWriter(const std::string& path, const Options& options);
    RecordingWriter(RecordingWriter&&) noexcept;
    RecordingWriter& operator=(RecordingWriter&&) noexcept;
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;
    /// Without finish(), leaves the file as a killed process does.
    ~RecordingWriter();

    /// Appends records. \throws Error naming the file.
    void write(const Records& records);
    /// Call this each time all rings have been drained: readers sort records by time within a
    /// round. \throws Error naming the file.
    void finish_round();
    /// Appends the description of the machine; nothing may be written afterwards. \throws Error
    /// naming the file.
    void finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metagroup
