// SPDX-License-Identifier: MIT
// Makes an Error from an errno and its circumstances, or from a position in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/error.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace metagroup::detail {

/// Only for use in error texts: a second error would hide the first.
template <typename Value>
auto if_readable(const Value& value) -> std::optional<decltype(value())> {
    try {
        return value();
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Why something failed, and the remedy.
struct Diagnosis {
    Cause cause = Cause::syntax;
    std::string reason{};
    std::string remedy{};
};

/// The operation that failed.
enum class Call {
    any,
    open_event,  ///< perf_event_open(2)
    open_device,
    use_device,  ///< any other call on the open device
    attach,
    use_member,
    set_mode,
    read_device,
    start_stream,
    open_set,
    publish,
    join,
    unpublish,
    map_ring,
    map_device,
    choose_mode,  ///< with a backend that does not support it
    choose_set,   ///< with a backend that does not support it
    choose_cgroup,
    find_cgroups,
    open_cgroup,
    read_sysfs,
    read_tracefs,
};

/// The circumstances of an error besides its errno. Each call uses only some of them.
struct Circumstances {
    int cpu = -1;                   ///< of the event
    std::string group{};            ///< text of its group
    std::size_t index = 0;          ///< of the event in the group; 0 is the leader
    bool cgroup = false;            ///< counted only for a cgroup
    bool filtered = false;          ///< the event has modifiers that exclude a mode
    std::optional<int> paranoid{};  ///< kernel.perf_event_paranoid, if it can be read
    bool seccomp = false;           ///< a seccomp filter is in force
    bool user_namespace = false;    ///< the process is in one whose privileges do not count
    bool privileged = false;        ///< kernel.perf_event_paranoid does not apply to the process
    std::optional<std::string>
        online{};              ///< the online CPUs, if known and `cpu` is not one of them
    bool possible = true;      ///< the machine has `cpu`, or this is unknown
    std::size_t fd_limit = 0;  ///< RLIMIT_NOFILE, soft
    std::size_t fd_max = 0;    ///< RLIMIT_NOFILE, hard
    std::string path{};        ///< of the device or cgroup
    std::uint32_t reason = 0;  ///< PERF_METAGROUP_REASON_*, if given
    std::size_t limit = 0;     ///< members that a meta-group can have
    std::size_t bytes = 0;     ///< of the buffer or ring
    bool templates = false;    ///< the events of a set are descriptors
    std::string similar{};     ///< the remedy for an unknown set name
};

/// The error of a failed call; `failed` is Error::operation().
Error diagnose(Call call, int error, std::string failed, const Circumstances& circumstances = {});

/// Throws diagnose().
[[noreturn]] void throw_error(Call call, int error, std::string failed,
                              const Circumstances& circumstances = {});

/// An error at a byte of an event list or of a word in it. parse_events() converts it to an Error.
class SpecError : public std::runtime_error {
  public:
    /// `offset` is in bytes from the start of the text or word.
    SpecError(std::size_t offset, Diagnosis diagnosis);
    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
    [[nodiscard]] const Diagnosis& diagnosis() const noexcept { return diagnosis_; }

  private:
    std::size_t offset_;
    Diagnosis diagnosis_;
};

/// Throws an Error: `kind "text", column N: reason; remedy`.
[[noreturn]] void throw_parse_error(std::string_view kind, std::string_view text,
                                    std::size_t offset, const Diagnosis& diagnosis);

}  // namespace metagroup::detail
