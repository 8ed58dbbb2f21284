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
    other,                 ///< none of the below: see code()
    syntax,                ///< cannot parse a list of events or CPUs
    unknown_event,         ///< no such event, or its name is incomplete
    unknown_pmu,           ///< no PMU has this name
    unsupported_event,     ///< the event cannot be counted here, or not with these settings
    unsupported_group,     ///< the events cannot be counted together
    pmu_busy,              ///< other users occupy the PMU
    no_perf_permission,    ///< perf_event_open(2) is not permitted: kernel.perf_event_paranoid
    no_trace_permission,   ///< tracefs cannot be read
    no_such_cpu,           ///< this machine has no CPU with this number
    cpu_offline,           ///< the CPU is offline
    no_cgroup,             ///< the cgroup does not exist, or no cgroups are mounted
    no_sysfs,              ///< sysfs is not mounted
    too_many_files,        ///< the process or the system is out of descriptors
    no_memory,             ///< the kernel is out of memory
    no_module,             ///< the device is not available
    no_device_permission,  ///< the device cannot be opened
    wrong_module,          ///< not the device, or the module lacks a requested feature
    needs_module,          ///< the mode or origin requires the module
    too_many_members,      ///< the module's limits would be exceeded
    too_many_quiet,        ///< too many meta-groups are quiet already
    bad_descriptor,        ///< a descriptor is not of a suitable event: see reason()
    already_attached,      ///< a group to attach is already a member
    no_such_member,        ///< no member has this number
    buffer_too_small,      ///< the buffer is too small for the data
    bad_snapshot,          ///< the bytes are not a snapshot
    stream_running,        ///< the meta-group already has a running stream
    too_many_streams,      ///< too many streams are running already
    bad_ring,              ///< a ring does not contain valid records
    bad_recording,         ///< the file is not a recording, or is damaged
    no_set_permission,     ///< not permitted to open, publish, join or remove a set
    no_such_set,           ///< no set has this name
    set_exists,            ///< the name is in use
    too_many_sets,         ///< too many sets are published already
    bad_set_name,          ///< invalid set name or mode
    no_percpu,             ///< this kernel has no PERF_FORMAT_PERCPU, see Backend::percpu
};

/// An error of the system or of the user's input. Apart from it, the library throws only
/// std::invalid_argument and std::out_of_range, which are errors in the calling program. code() is
/// the errno; what() has all parts in one line. Copies share the texts.
class METAGROUP_API Error : public std::system_error {
  public:
    /// The parts of what(), without full stops.
    struct Parts {
        std::string failed{};  ///< `cannot open event "cycles" on CPU 3`
        std::string reason{};  ///< `another event has exclusive use of the PMU`; if empty, the text
                               ///< of the errno
        std::string remedy{};  ///< `stop the program that holds it`; may be empty
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
