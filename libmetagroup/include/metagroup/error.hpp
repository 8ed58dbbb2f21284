// SPDX-License-Identifier: MIT
/// \file
/// Error: the failed operation, its reason and the remedy.
#pragma once

#include <memory>
#include <metagroup/export.hpp>
#include <string>
#include <system_error>

namespace metagroup {

/// The kind of an Error, for programs that act on it. The errno is ambiguous: a missing module,
/// event and cgroup are all ENOENT.
enum class Cause {
    other,                 ///< none of these: see code()
    syntax,                ///< a list of events or CPUs cannot be parsed
    unknown_event,         ///< no such event, or its name is not complete
    unknown_pmu,           ///< there is no PMU of this name
    unsupported_event,     ///< the event cannot be counted here, or not that way
    unsupported_group,     ///< the events cannot be counted together
    pmu_busy,              ///< other users occupy the PMU
    no_perf_permission,    ///< perf_event_open(2) is not permitted: kernel.perf_event_paranoid
    no_trace_permission,   ///< tracefs cannot be read
    no_such_cpu,           ///< this machine has no CPU of this number
    cpu_offline,           ///< the CPU is offline
    no_cgroup,             ///< there is no such cgroup, or no cgroups are mounted
    no_sysfs,              ///< sysfs is not mounted
    too_many_files,        ///< no descriptor is left, in the process or in the system
    no_memory,             ///< the kernel has no memory left
    no_module,             ///< the device is not there
    no_device_permission,  ///< the device cannot be opened
    wrong_module,          ///< not the device, or of a module that lacks a requested feature
    needs_module,          ///< the mode cannot be had without the module
    too_many_members,      ///< the module's limits would be exceeded
    too_many_quiet,        ///< no more meta-groups can be quiet
    bad_descriptor,        ///< a descriptor to attach is not the leader of a group on a CPU
    already_attached,      ///< a group to attach is a member of a meta-group
    no_such_member,        ///< there is no member of this number
    buffer_too_small,      ///< the buffer does not hold what is read
    bad_snapshot,          ///< the bytes are not a snapshot
    stream_running,        ///< the meta-group has a stream that has not stopped
    too_many_streams,      ///< no more streams can run
    bad_ring,              ///< the bytes of a ring are not records
    bad_recording,         ///< the file is not a recording, or damaged
    no_set_permission,     ///< a set may not be opened, published, joined or removed
    no_such_set,           ///< no set has this name
    set_exists,            ///< a set has this name already
    too_many_sets,         ///< no more sets can have names
    bad_set_name,          ///< the module takes no such name or mode
};

/// An error of the system or of the user's input. The library throws nothing else but
/// std::invalid_argument and std::out_of_range, which are errors of the calling program. code() is
/// the errno, what() is all parts in one line. Copies share the texts.
class METAGROUP_API Error : public std::system_error {
  public:
    /// The parts of what(); none ends with a full stop.
    struct Parts {
        std::string failed{};  ///< `cannot open event "cycles" on CPU 3`
        std::string reason{};  ///< `another event has exclusive use of the PMU`; empty: the text of
                               ///< the errno
        std::string remedy{};  ///< `end the program that holds it`; may be empty
    };

    Error(Cause cause, int error, Parts parts);

    /// `failed: reason; remedy`
    [[nodiscard]] const char* what() const noexcept override;
    [[nodiscard]] Cause cause() const noexcept { return cause_; }
    [[nodiscard]] const std::string& operation() const& noexcept;
    [[nodiscard]] const std::string& reason() const& noexcept;
    [[nodiscard]] const std::string& remedy() const& noexcept;
    [[nodiscard]] std::string operation() const&& { return operation(); }
    [[nodiscard]] std::string reason() const&& { return reason(); }
    [[nodiscard]] std::string remedy() const&& { return remedy(); }

  private:
    struct Texts;
    Error(Cause cause, int error, std::shared_ptr<const Texts> texts);

    Cause cause_;
    std::shared_ptr<const Texts> texts_;
};

}  // namespace metagroup
