// SPDX-License-Identifier: MIT
/// \file
/// CpuList: the CPUs that events are opened on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/export.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// A set of CPU numbers, ascending, each once.
class METAGROUP_API CpuList {
  public:
    /// No CPU.
    CpuList() = default;

    /// The given CPUs, in any order.
    /// \throws std::invalid_argument if a number is negative or stands twice.
    explicit CpuList(std::vector<int> cpus);

    /// Reads a list as people write it: `0-3,8`, or one of the words `all` and `online` (the
    /// CPUs online now) and `possible`. Numbers are not checked against this machine; opening is.
    /// \throws std::invalid_argument naming text, column, word and remedy; also for an empty
    ///         list, a range that runs backwards and a CPU that stands twice.
    /// \throws std::system_error if a word was used and sysfs cannot be read.
    static CpuList parse(std::string_view text);

    /// The CPUs online now, from /sys/devices/system/cpu/online.
    /// \throws std::system_error if sysfs cannot be read.
    static CpuList online();

    /// The CPUs that may ever be online, from /sys/devices/system/cpu/possible.
    /// \throws std::system_error if sysfs cannot be read.
    static CpuList possible();

    /// The numbers, ascending. Valid while the list lives and is not assigned to.
    [[nodiscard]] std::span<const int> cpus() const noexcept { return cpus_; }
    [[nodiscard]] std::size_t size() const noexcept { return cpus_.size(); }
    [[nodiscard]] bool empty() const noexcept { return cpus_.empty(); }
    [[nodiscard]] bool contains(int cpu) const noexcept;
    [[nodiscard]] auto begin() const noexcept { return cpus_.begin(); }
    [[nodiscard]] auto end() const noexcept { return cpus_.end(); }

    /// One bit per CPU: CPU n is bit n % 64 of word n / 64. No words for no CPU.
    [[nodiscard]] std::vector<std::uint64_t> mask() const;

    /// The CPUs that are in both lists.
    [[nodiscard]] CpuList intersect(const CpuList& other) const;

    /// The list as parse() reads it, ranges joined: `0-3,8`. Empty for no CPU.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const CpuList&, const CpuList&) = default;

  private:
    std::vector<int> cpus_;
};

}  // namespace metagroup
