// SPDX-License-Identifier: MIT
// The interface between MetaGroup and its two backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/metagroup.hpp>

#include "sampler.hpp"

namespace metagroup::detail {

class Reader {
  public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) = delete;
    Reader& operator=(Reader&&) = delete;
    virtual ~Reader() = default;

    virtual Backend backend() const noexcept = 0;
    /// Makes the group the next member, at the latest in finish().
    virtual void add(EventGroup group) = 0;
    /// Closes descriptors that are no longer needed. False if there are none.
    virtual bool release_descriptors() { return false; }
    /// Ends the adding. \return the number of the first member; the others follow.
    virtual std::uint32_t finish() = 0;
    /// Reads the members on these CPUs; null: all members.
    virtual void read(Snapshot& snapshot, const CpuList* cpus) = 0;
    /// Reads all; the view is valid until the next call.
    virtual SnapshotView sweep() = 0;
    virtual void enable() = 0;
    virtual void disable() = 0;
    virtual void reset() = 0;
    /// Bytes that a snapshot needs now.
    virtual std::size_t snapshot_size() const noexcept = 0;
    /// Starts to sample the members, which are those that were added.
    virtual std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                                   const SamplerOptions& options) = 0;
};

std::unique_ptr<Reader> make_module_reader(Device device, Mode mode, std::size_t members);
std::unique_ptr<Reader> make_per_fd_reader(bool of_cgroup);

}  // namespace metagroup::detail
