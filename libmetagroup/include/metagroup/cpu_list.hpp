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
#include <utility>
#include <vector>

namespace metagroup {

/// A set of CPU numbers, ascending, each once.
class METAGROUP_API CpuList {
  public:
    /// An empty list.
    CpuList() = default;

    /// The given CPUs, in any order.
    /// \throws std::invalid_argument if a number is negative or a duplicate.
    explicit CpuList(std::vector<int> cpus);

    /// Parses `0-3,8`, or one of the words `all`, `online` (both: the CPUs online now) and
    /// `possible`. The CPUs need not exist on this machine.
    /// \throws Error (Cause::syntax) naming text, column, word and remedy; also for an empty list,
    ///         a descending range and a duplicate CPU. Cause::no_sysfs if a word was used and sysfs
    ///         is not mounted.
    static CpuList parse(std::string_view text);

    /// The CPUs online now, from /sys/devices/system/cpu/online.
    /// \throws Error (Cause::no_sysfs) if sysfs is not mounted.
    static CpuList online();

    /// The CPUs that may ever be online, from /sys/devices/system/cpu/possible.
    /// \throws Error (Cause::no_sysfs) if sysfs is not mounted.
    static CpuList possible();

    /// The numbers, ascending. Valid until the list is destroyed or assigned to. On a temporary
    /// list, moves the vector out.
    [[nodiscard]] std::span<const int> cpus() const& noexcept { return cpus_; }
    [[nodiscard]] std::vector<int> cpus() && { return std::move(cpus_); }
    [[nodiscard]] std::size_t size() const noexcept { return cpus_.size(); }
    [[nodiscard]] bool empty() const noexcept { return cpus_.empty(); }
    [[nodiscard]] bool contains(int cpu) const noexcept;
    [[nodiscard]] auto begin() const& noexcept { return cpus_.begin(); }
    [[nodiscard]] auto end() const& noexcept { return cpus_.end(); }
    auto begin() const&& = delete;
    auto end() const&& = delete;

    /// One bit per CPU: CPU n is bit n % 64 of word n / 64. An empty list has one zero word, since
    /// the kernel takes zero words to mean all CPUs. Does not allocate.
    [[nodiscard]] std::span<const std::uint64_t> mask() const& noexcept;
    std::span<const std::uint64_t> mask() const&& = delete;

    /// The CPUs that are in both lists.
    [[nodiscard]] CpuList intersect(const CpuList& other) const;

    /// The list as parse() reads it, ranges joined: `0-3,8`. Empty for no CPU.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const CpuList&, const CpuList&) = default;

  private:
    std::vector<int> cpus_;
    std::vector<std::uint64_t> words_;  // none for an empty list
};

}  // namespace metagroup
