// SPDX-License-Identifier: MIT
// The parts of a perf.data file other than records: header, attributes, identifiers, features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/recording.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "perf_data.hpp"

namespace metagroup::detail {

/// A regular file. All errors name it.
class RecordingFile {
  public:
    explicit RecordingFile(const std::string& path);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool has(perf_data::Section section) const {
        return section.offset <= size_ && section.size <= size_ - section.offset;
    }
    /// Reads up to that many bytes, like pread(2).
    std::size_t read(std::uint64_t offset, std::span<std::byte> to) const;
    /// All bytes of the section, which must be within the file.
    [[nodiscard]] std::vector<std::byte> bytes_at(perf_data::Section section) const;
    /// The end of the last nonzero word at or after `begin`.
    [[nodiscard]] std::uint64_t end_of_contents(std::uint64_t begin) const;

  private:
    std::string name_;
    UniqueFd file_;
    std::uint64_t size_ = 0;
};

struct RecordingLayout {
    explicit RecordingLayout(const RecordingFile& file);

    std::vector<RecordedEvent> events{};
    std::unordered_map<std::uint64_t, std::size_t> by_id{};  ///< indices in `events`
    std::vector<CpuPlace> topology{};
    std::uint64_t begin = 0;  ///< offsets of the records
    std::uint64_t end = 0;
    bool finished = false;               ///< all bytes up to `end` are records
    std::vector<std::string> remarks{};  ///< features that cannot be decoded

  private:
    void read_events(const RecordingFile& file, const perf_data::Header& header);
    void check_events(const RecordingFile& file, const perf_data::Header& header) const;
    void read_features(const RecordingFile& file, const perf_data::Header& header);
};

/// The text with control characters replaced, safe for a terminal.
std::string printable(std::string text);

}  // namespace metagroup::detail
