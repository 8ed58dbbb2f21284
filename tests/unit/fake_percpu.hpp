// SPDX-License-Identifier: MIT
// A fake of a kernel with the patches in upstream/: an event on all CPUs is one real event on each.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/detail/unique_fd.hpp>

namespace metagroup::test {

/// While it lives, the library's perf_event_open(2) for all CPUs succeeds. One at a time.
class FakePercpu {
  public:
    static constexpr std::uint64_t format_percpu = 1U << 5;

    FakePercpu();
    FakePercpu(const FakePercpu&) = delete;
    FakePercpu& operator=(const FakePercpu&) = delete;
    FakePercpu(FakePercpu&&) = delete;
    FakePercpu& operator=(FakePercpu&&) = delete;
    ~FakePercpu();
    [[nodiscard]] static FakePercpu* installed() noexcept;

    // Settings.
    int open_errno = 0;           ///< perf_event_open(2) fails with it…
    int after_opens = 0;          ///< …after so many calls
    std::map<int, int> errors;    ///< by CPU: -errno in its record
    std::size_t padding = 0;      ///< bytes after a payload, in addition to those that align it
    std::uint64_t more_nr = 0;    ///< added to the number of records: it is wrong then
    std::uint64_t counts = 0;     ///< added to each first word of a payload
    bool reversed = false;        ///< records are in descending order of CPUs
    std::uint64_t more_size = 0;  ///< added to the size of a record: it is wrong then

    // Calls received.
    int reads = 0;

    [[nodiscard]] bool owns(int fd) const;
    long open(const perf_event_attr& attr, int leader);
    ssize_t read(int fd, std::byte* buffer, std::size_t size);
    int control(int fd, unsigned long request, void* argument);

  private:
    struct Event {
        std::map<int, detail::UniqueFd> others;  // by CPU; the first has the descriptor
        int first_cpu = -1;
        dev_t device = 0;
    };
    std::map<int, Event> events_;  // by the descriptor of the first CPU
};

}  // namespace metagroup::test
