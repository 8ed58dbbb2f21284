// SPDX-License-Identifier: MIT
// Sampler: the timers and rings of a stream, of either backend.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <metagroup/device.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/recording.hpp>
#include <span>
#include <vector>

#include "ring.hpp"

namespace metagroup::detail {

struct SamplerOptions {
    std::uint64_t period = 0;  ///< ns
    std::size_t ring_size = 0;
    std::size_t watermark = 0;
    bool overwrite = false;
};

/// The members to sample.
struct SamplerSubject {
    std::span<const MetaGroup::Member> members;
    std::span<const GroupSpec> groups;
    std::uint64_t read_format = 0;
    int cgroup = -1;  ///< descriptor of its directory
};

/// The member that records with an identifier are of.
struct Origin {
    std::uint64_t id = 0;
    std::size_t index = 0;          ///< of the member
    std::uint64_t read_format = 0;  ///< of the payload
    bool seen = false;              ///< it has a record since follow_members()
};

/// Samples while it lives and was not stopped.
class Sampler {
  public:
    Sampler() = default;
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;
    Sampler(Sampler&&) = delete;
    Sampler& operator=(Sampler&&) = delete;
    virtual ~Sampler() = default;

    /// Stops it; the rings stay. \return deadlines lost that no ring reports.
    virtual std::uint64_t stop() = 0;
    /// Maps the rings of CPUs to which members were moved that were not seen.
    virtual void follow_members() {}

    std::deque<Ring> rings{};  ///< which keep their places
    std::vector<Origin> origins{};
    std::vector<RecordedEvent> events{};  ///< of the samples
    std::vector<pollfd> polled{};
    std::uint64_t first = 0;   ///< the first deadline
    std::uint32_t hidden = 0;  ///< values in a payload that come before those of the group
    bool common = false;       ///< all rings have the same deadlines: multiples of the period
    bool running = false;

  protected:
    /// Fills in `events`, whose identifiers add_ids() adds.
    void describe(std::span<const GroupSpec> groups);
    /// Of a group on one more CPU.
    void add_ids(std::size_t group, std::span<const std::uint64_t> ids);

  private:
    std::vector<std::size_t> leaders_{};  // by group: index in events
};

std::shared_ptr<Sampler> start_module_sampler(const Device& device, const SamplerSubject& subject,
                                              const SamplerOptions& options);
std::shared_ptr<Sampler> start_per_fd_sampler(const SamplerSubject& subject,
                                              const SamplerOptions& options);

}  // namespace metagroup::detail
