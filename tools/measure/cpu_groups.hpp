// SPDX-License-Identifier: MIT
// The same event groups on each of some CPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/payload.hpp>
#include <span>
#include <vector>

namespace measure {

// The payloads of groups in one buffer.
class Payloads {
  public:
    explicit Payloads(std::span<metagroup::EventGroup> groups);

    std::span<std::byte> of(std::size_t group) {
        return std::span(buffer_).subspan(group * stride_, stride_);
    }
    std::span<std::byte> all() { return buffer_; }
    std::size_t bytes() const { return buffer_.size(); }
    // Decodes all payloads. Throws std::runtime_error if one is invalid.
    std::vector<std::uint64_t> counts() const;

  private:
    std::uint64_t read_format_;
    std::size_t stride_;
    std::vector<std::byte> buffer_;
};

// The order is CPU, group on that CPU, event of that group.
class CpuGroups {
  public:
    // Opens all of `specs` on each CPU, disabled. Throws std::system_error.
    CpuGroups(std::span<const metagroup::GroupSpec> specs, metagroup::CpuList cpus);

    const metagroup::CpuList& cpus() const { return cpus_; }
    std::span<metagroup::EventGroup> all() { return groups_; }
    std::vector<int> leaders() const;

    void enable();
    void disable();

    // One read() of each leader, on all CPUs or on the one at `index` in cpus().
    void read(Payloads& payloads) { read(0, groups_.size(), payloads); }
    void read_cpu(std::size_t index, Payloads& payloads) {
        read(index * per_cpu_, per_cpu_, payloads);
    }
    // Reads and decodes all.
    std::vector<std::uint64_t> counts();

  private:
    void read(std::size_t first, std::size_t number, Payloads& payloads);

    metagroup::CpuList cpus_;
    std::size_t per_cpu_;
    std::vector<metagroup::EventGroup> groups_;
};

}  // namespace measure
