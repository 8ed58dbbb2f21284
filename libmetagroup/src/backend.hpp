// SPDX-License-Identifier: MIT
// Each backend has a reader for MetaGroup and samplers for Stream.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <metagroup/metagroup.hpp>
#include <metagroup/recording.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "diagnostics.hpp"
#include "format.hpp"
#include "ring.hpp"
#include "system.hpp"

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

/// Maps the identifier in a record to its member.
struct SampleSource {
    std::uint64_t id = 0;
    std::size_t index = 0;          ///< of the member
    std::uint64_t read_format = 0;  ///< of the payload
    bool seen = false;              ///< had a record since follow_members()
    SampleSource* next = nullptr;   ///< the source of the record after its last one
};

/// Samples until it is stopped or destroyed.
class Sampler {
  public:
    Sampler() = default;
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;
    Sampler(Sampler&&) = delete;
    Sampler& operator=(Sampler&&) = delete;
    virtual ~Sampler() {
        for (Ring& ring : rings)
            if (inherited()) ring.forget();
    }

    /// True in a child process, to which fork(2) gives the descriptors but not the rings.
    [[nodiscard]] bool inherited() const noexcept { return forks() != forks_; }
    /// Stops sampling; the rings are kept. \return lost deadlines that no ring reports.
    virtual std::uint64_t stop() = 0;
    /// Maps the rings of CPUs to which members not seen since the last call were moved.
    virtual void follow_members() {}

    std::deque<Ring> rings{};  ///< a deque: their addresses are stable
    std::vector<SampleSource> sources{};
    std::vector<RecordedEvent> events{};  ///< of the samples
    std::vector<pollfd> poll_fds{};
    std::uint64_t first = 0;   ///< the first deadline
    std::uint32_t hidden = 0;  ///< values in a payload before those of the group
    bool common = false;       ///< all rings have the same deadlines: multiples of the period
    bool running = false;

  protected:
    /// Fills in `events`; add_ids() adds their identifiers.
    void describe(std::span<const GroupSpec> groups) {
        for (const GroupSpec& group : groups) {
            leaders_.push_back(events.size());
            for (const EventSpec& event : group.events)
                events.push_back({.name = event.name,
                                  .attr = event.attr,
                                  .leader = leaders_.back(),
                                  .scale = event.scale,
                                  .unit = event.unit,
                                  .on_one_cpu = event.on_one_cpu,
                                  .reading = event.reading});
        }
    }
    /// Adds the identifiers of a group on another CPU.
    void add_ids(std::size_t group, std::span<const std::uint64_t> ids) {
        const std::size_t begin = leaders_[group];
        const std::size_t end = group + 1 < leaders_.size() ? leaders_[group + 1] : events.size();
        // Another owner of the leader's descriptor may have appended siblings.
        for (std::size_t i = 0; i < std::min(ids.size(), end - begin); ++i)
            events[begin + i].ids.push_back(ids[i]);
    }

  private:
    std::vector<std::size_t> leaders_{};  // by group: index in events
    unsigned forks_ = forks();            // when it was made
};

class Reader {
  public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) = delete;
    Reader& operator=(Reader&&) = delete;
    virtual ~Reader() = default;

    virtual Backend backend() const noexcept = 0;
    /// Makes the group the next member, now or in finish(). Not for readers that open their members
    /// themselves.
    virtual void add(EventGroup group) {
        static_cast<void>(group);
        throw std::logic_error("this reader opens its members itself");
    }
    /// Closes descriptors that are no longer needed. \return false if there are none.
    virtual bool release_descriptors() { return false; }
    /// Ends adding. \return the number of the first member; the others follow.
    virtual std::uint32_t finish() = 0;
    /// Reads the members on these CPUs; all members if null.
    virtual void read(Snapshot& snapshot, const CpuList* cpus) = 0;
    /// Reads all members; the view is valid until the next call.
    virtual SnapshotView sweep() = 0;
    virtual void enable() = 0;
    virtual void disable() = 0;
    virtual void reset() = 0;
    /// For sets, which only the module supports.
    virtual void publish(const std::string& name, unsigned mode, std::optional<std::uint32_t> gid) {
        static_cast<void>(mode);
        static_cast<void>(gid);
        throw_error(Call::choose_set, EOPNOTSUPP,
                    detail::format("cannot publish set \"{}\"", name));
    }
    [[nodiscard]] virtual MemberInfo member(std::uint32_t number) const {
        return {.member = number};
    }
    /// Bytes that a snapshot currently needs.
    virtual std::size_t snapshot_size() const noexcept = 0;
    /// Starts sampling the members, which must be those that were added.
    virtual std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                                   const SamplerOptions& options) = 0;
};

std::unique_ptr<Reader> make_module_reader(Device device, Mode mode, std::size_t members);
std::unique_ptr<Reader> make_per_fd_reader(bool of_cgroup);
/// Opens each group once on all CPUs. Throws Error if that is not possible on this kernel.
std::unique_ptr<Reader> make_percpu_reader(std::span<const GroupSpec> groups,
                                           std::span<const MetaGroup::Member> members,
                                           std::uint64_t read_format);

/// Each member opened again, as a group led by a timer.
std::shared_ptr<Sampler> make_per_fd_sampler(const SamplerSubject& subject,
                                             const SamplerOptions& options);

}  // namespace metagroup::detail
