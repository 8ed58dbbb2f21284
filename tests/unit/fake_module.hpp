// SPDX-License-Identifier: MIT
// A fake of the kernel module in the test process. The library's ioctl(2), read(2) and mmap(2) on
// the device end here. It reads real perf events, one by one.
#pragma once

#include <linux/perf_metagroup.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/device.hpp>
#include <span>
#include <string>
#include <vector>

namespace metagroup::test {

/// Sets errno, as a system call that fails, and returns what it returns.
inline int fail(int error) {
    errno = error;
    return -1;
}

/// While it lives, opening path() opens the fake device. One at a time.
class FakeModule {
  public:
    FakeModule();
    FakeModule(const FakeModule&) = delete;
    FakeModule& operator=(const FakeModule&) = delete;
    FakeModule(FakeModule&&) = delete;
    FakeModule& operator=(FakeModule&&) = delete;
    ~FakeModule();

    [[nodiscard]] static std::string path() { return "/dev/null"; }

    // Settings.
    std::uint32_t abi = PERF_METAGROUP_ABI;
    std::uint32_t max_members = 1000;
    std::uint32_t first_number = 0;   ///< of the first member
    std::size_t headroom = 0;         ///< bytes that a frame has more than needed
    std::size_t grow_after_info = 0;  ///< added to headroom after the next INFO
    int refuse_attach = -1;           ///< call of ATTACH (from 0) that fails…
    int attach_errno = 0;             ///< …with this errno…
    std::uint32_t attach_reason = 0;  ///< …and this reason, blaming index 0
    int interrupt_reads = 0;          ///< reads and sweeps that fail with EINTR first
    int fail_reads = 0;               ///< reads and sweeps that fail with EIO first
    int interrupt_calls = 0;          ///< calls of ioctl(2) that fail with EINTR first
    int map_errno = 0;                ///< mmap(2) fails with it
    int mode_errno = 0;               ///< SET_MODE fails with it
    int stream_errno = 0;             ///< STREAM fails with it
    std::uint64_t stream_lost = 0;    ///< what a stop of the stream returns
    int member_cpu = 3;               ///< of all members
    std::map<int, int> ring_fds;      ///< by CPU: what a mapping of its ring shows
    bool sets = false;                ///< it has FEATURE_SET
    int set_errno = 0;                ///< OPEN_SET fails with it on CPU 1, and SET_EVENTS…
    std::uint32_t set_failed = 0;     ///< …blames this event…
    std::uint32_t set_reason = 0;     ///< …for this reason
    int publish_errno = 0;            ///< PUBLISH fails with it
    std::uint32_t generation = 0;     ///< of the members of sets

    /// Called before a sweep, and for each record that it has read, to replace them.
    std::function<void(perf_metagroup_snapshot& header)> on_sweep;
    std::function<void(std::size_t index, perf_metagroup_record& record, std::byte* payload)>
        on_record;

    // Calls received.
    std::vector<std::size_t> batches;  ///< descriptors of each ATTACH
    std::vector<int> attached_fds;     ///< as they were passed
    int enabled = 0;                   ///< calls of ENABLE
    int disabled = 0;
    int resets = 0;
    int reads = 0;
    std::uint32_t format = PERF_METAGROUP_FORMAT_RAW;
    std::uint32_t mode = 0;
    std::vector<std::uint64_t> swept_cpus;  ///< words of the last SWEEP
    perf_metagroup_stream stream{};         ///< the last start of a stream
    bool streaming = false;
    std::vector<std::uint32_t> set_flags;  ///< of each OPEN_SET
    perf_metagroup_control operation{};    ///< the last CONTROL
    perf_metagroup_publish published{};    ///< the last PUBLISH
    perf_metagroup_events replaced{};      ///< the last SET_EVENTS

    int control(unsigned long request, void* argument);
    long read(void* buffer, std::size_t size);
    void* map(std::size_t size, std::size_t offset, int protection, int flags);
    /// The start of the last mapping.
    [[nodiscard]] perf_metagroup_map& map_head() const;

  private:
    static constexpr std::size_t max_payload = 256;
    struct Member {
        detail::UniqueFd leader{};
        std::uint32_t number = 0;
        int cpu = -1;
        std::vector<detail::UniqueFd> events{};  // of a set, which has no leader
    };
    [[nodiscard]] Member set_member(const perf_metagroup_open_set& set, int cpu) const;
    int open_set(perf_metagroup_open_set& set);
    int join(perf_metagroup_name& name);
    int get_events(perf_metagroup_events& events) const;
    int set_events(perf_metagroup_events& events);
    int control_sets(unsigned long request, void* argument);
    static std::size_t read_set(const Member& member, std::byte* payload);
    int attach(perf_metagroup_attach& attach);
    int info(perf_metagroup_info& info);
    int member(perf_metagroup_member& member);
    int for_all(unsigned long request);
    int sweep(const perf_metagroup_sweep* sweep);
    int start_or_stop(perf_metagroup_stream& argument);
    void* map_ring(std::size_t size, std::size_t offset, int protection, int flags);
    [[nodiscard]] std::size_t stride() const;
    [[nodiscard]] std::size_t snapshot_size() const;
    [[nodiscard]] std::size_t map_size() const;
    int sweep_mapped();

    std::vector<Member> members_;
    std::span<std::byte> mapped_;
    std::uint64_t sequence_ = 0;
};

/// A device of the fake module with one member, a group of cpu-clock. Skips the test if it cannot
/// be counted here.
Device device_with_member();

}  // namespace metagroup::test
