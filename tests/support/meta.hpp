// SPDX-License-Identifier: MIT
// /dev/perf_metagroup by bare system calls: its reads and its mapped snapshot, taken apart.
#pragma once

#include <linux/perf_metagroup.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "perf.hpp"

namespace metagroup::test {

// Result of a call: 0 or more, or -errno.
class Meta {
  public:
    Meta();                                       // throws if the device cannot be opened
    explicit Meta(Fd fd) : fd_(std::move(fd)) {}  // of a handle that was passed

    // With members: each argument is an EventGroup or a vector of them.
    template <typename... Groups>
    requires(sizeof...(Groups) > 0 &&
             !(std::is_same_v<Groups, Fd> || ...)) explicit Meta(const Groups&... groups)
        : Meta() {
        (must(attach(groups)), ...);
    }

    int fd() const { return fd_.get(); }
    void close() { fd_.reset(); }

    long ioctl(unsigned long command, void* arg) const;
    long attach(std::span<const int> fds, perf_metagroup_attach* out = nullptr) const;
    long attach(const EventGroup& group, perf_metagroup_attach* out = nullptr) const;
    long attach(const std::vector<EventGroup>& groups) const;
    long detach(unsigned member) const;
    long set_format(unsigned format) const;
    long member(perf_metagroup_member& arg) const;
    perf_metagroup_member member(unsigned number) const;
    perf_metagroup_info info() const;
    long control(unsigned long command) const;
    long set_mode(unsigned long mode) const;

    long sweep() const;  // all CPUs, no copy
    long sweep(perf_metagroup_sweep arg) const;
    long sweep_on(const std::vector<int>& cpus) const;     // no copy
    Bytes sweep_copy(const std::vector<int>& cpus) const;  // must succeed

    long read(void* buffer, std::size_t size) const;
    Bytes read() const;  // with a buffer that is large enough; must succeed

  private:
    static void must(long result);  // throws
    Bytes room() const;             // for a read, and more

    Fd fd_;
};

// All users may open the device while this lives, as with a udev rule.
class OpenDevice {
  public:
    OpenDevice();
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;
};

// One FRAMED read, taken apart by the rules of the ABI and checked on the way.
struct Frame {
    perf_metagroup_record record;
    Bytes payload;
    Bytes header = {};  // record.header bytes
};

struct Framed {
    perf_metagroup_snapshot head;
    std::vector<Frame> frames;

    Bytes payloads() const;  // concatenated
};

// `swept`: the last sweep brought all records up to date. In a mapping, others may be there.
Framed take_apart(const Bytes& bytes, bool swept = true);
Framed read_framed(const Meta& meta);

// The handle's fdinfo, and a number there.
std::string fdinfo(const Meta& meta);
std::uint64_t fdinfo(const Meta& meta, const std::string& name);

// The mask of SWEEP, as short as possible, and an argument with a mask and perhaps a buffer.
std::vector<__u64> cpu_words(const std::vector<int>& cpus);
perf_metagroup_sweep sweep_of(std::span<const __u64> cpus, std::span<unsigned char> buffer = {});

// A mapped snapshot, read by the protocol of the ABI.
class Mapping {
  public:
    // All that there is now, or `size` bytes. Throws if mmap(2) fails.
    explicit Mapping(const Meta& meta, std::size_t size = 0, int flags = MAP_SHARED);
    ~Mapping() { unmap(); }
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;

    const unsigned char* bytes() const { return bytes_; }
    std::size_t size() const { return size_; }
    void unmap();

    unsigned version() const;
    bool moved() const;

    // The FRAMED bytes of the last sweep. Nothing if they are not within what was mapped.
    std::optional<Bytes> copy() const;
    Framed framed() const;  // of a copy, which must be there

  private:
    const perf_metagroup_map& head() const;

    unsigned char* bytes_ = nullptr;
    std::size_t size_ = 0;
};

// 0 or -errno.
long try_to_map(int fd, std::size_t size, int protection, int flags, off_t offset = 0);

// Invariants of the snapshots of one meta-group, in the order in which they are read. All members
// have PERF_FORMAT_GROUP and both times as read_format.
class SnapshotCheck {
  public:
    // Throws std::runtime_error if one does not hold: the sequence and the numbers of members rise,
    // a payload is as long as its number of events says, no group runs for longer than it was
    // enabled, and no count and no time goes back.
    void check(const Framed& framed);

    unsigned idle() const { return idle_; }  // records with status IDLE so far

  private:
    struct Last {
        std::uint64_t time = 0, enabled = 0, running = 0, count = 0;
    };
    std::uint64_t sequence_ = 0;
    std::map<unsigned, Last> last_;
    unsigned idle_ = 0;
};

}  // namespace metagroup::test
