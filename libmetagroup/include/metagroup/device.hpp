// SPDX-License-Identifier: MIT
/// \file
/// Device: one handle of /dev/perf_metagroup.
#pragma once

#include <linux/perf_metagroup.h>

#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <span>
#include <string>
#include <vector>

namespace metagroup {

/// How read() of a handle answers.
enum class Format : std::uint32_t {
    raw = PERF_METAGROUP_FORMAT_RAW,        ///< the payloads, one after the other
    framed = PERF_METAGROUP_FORMAT_FRAMED,  ///< a snapshot header and records
};

/// Which CPUs sweeps leave alone.
struct Mode {
    /// Do not wake CPUs that sleep: their records, Status::idle, are of when they fell asleep.
    bool quiet = false;
    /// Do not interrupt CPUs isolated by nohz_full= or isolcpus=: their records are Status::spared.
    bool spare_isolated = false;
    friend bool operator==(const Mode&, const Mode&) = default;
};

/// What the kernel knows of one member, without a sweep.
struct MemberInfo {
    std::uint32_t member = 0;        ///< its number
    int cpu = -1;                    ///< its CPU
    Status status = Status::stale;   ///< its state now
    std::uint64_t read_format = 0;   ///< of the leader
    std::size_t payload = 0;         ///< bytes of payload now
    std::vector<std::uint64_t> ids;  ///< identifiers of its events, the leader's first
};

/// A thin owner of one handle: each function is one system call of linux/perf_metagroup.h, where
/// the meaning and all errors are described. Errors are std::system_error with the kernel's errno.
/// Move-only; the meta-group ends with its last descriptor.
class METAGROUP_API Device {
  public:
    /// Opens the device: a new, empty meta-group, which reads in Format::raw.
    /// \throws Error that says what is missing: module, permission…
    static Device open(const std::string& path = PERF_METAGROUP_DEVICE);
    /// Takes over a descriptor, for example one that another process passed on.
    /// \throws std::system_error if it is none of this device, Error if its module is of another
    ///         ABI.
    explicit Device(detail::UniqueFd fd);

    /// Limits and present size of the meta-group.
    [[nodiscard]] perf_metagroup_info info() const;
    /// Makes the leaders behind these descriptors members, all or none. They may be closed then;
    /// those of siblings must stay open.
    /// \return number of the first; the others follow.
    /// \throws std::system_error; the text names the descriptor to blame and what is wrong with it.
    std::uint32_t attach(std::span<const int> leader_fds);
    /// Lets go of one member.
    void detach(std::uint32_t member);
    /// Enables all members, siblings included.
    void enable();
    /// Disables all members, siblings included.
    void disable();
    /// Sets all counts to 0; not the times, as with PERF_EVENT_IOC_RESET.
    void reset();
    /// Chooses how read() answers.
    void set_format(Format format);
    /// Chooses the CPUs that sweeps leave alone. \throws std::system_error; EUSERS if there are too
    /// many quiet meta-groups already.
    void set_mode(Mode mode);
    /// What is known of one member.
    [[nodiscard]] MemberInfo member(std::uint32_t member) const;
    /// One sweep. Does not allocate. Begins again if a signal came (EINTR).
    /// \return bytes read.
    /// \throws std::system_error; ENOSPC if the buffer is too small, see info().
    std::size_t read(std::span<std::byte> buffer);
    /// One sweep in Format::framed into a snapshot. Allocates only if a group has grown.
    void read(Snapshot& snapshot);
    /// The same, but members on other CPUs are neither read nor in the snapshot. The mask is that
    /// of CpuList::mask(); no words: all CPUs.
    void read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask);
    /// One sweep that copies nothing: see Mapping. Begins again if a signal came.
    void sweep();
    /// The descriptor, for poll loops and passing on; -1 if moved from.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    template <typename Call>
    void read_whole(Snapshot& snapshot, const Call& call);

    detail::UniqueFd fd_;
};

}  // namespace metagroup
