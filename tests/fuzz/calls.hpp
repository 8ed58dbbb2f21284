// SPDX-License-Identifier: MIT
// Calls and their results. Arguments of calls: memory of one thread, and structures in it that are
// mostly right, else wrong in a way that is recorded.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "support/random.hpp"

namespace fuzz {

using metagroup::test::Random;

constexpr std::size_t kPage = 4096;  // and the largest structure that the kernel accepts

// A set of errno values.
class Errnos {
  public:
    static constexpr int kEnd = 134;

    Errnos(std::initializer_list<int> errors = {}) {
        for (const int error : errors)
            bits_.set(static_cast<std::size_t>(error));
    }
    bool has(int error) const { return bits_.test(static_cast<std::size_t>(error)); }
    bool empty() const { return bits_.none(); }
    Errnos& operator|=(const Errnos& others) {
        bits_ |= others.bits_;
        return *this;
    }

  private:
    std::bitset<kEnd> bits_;
};

// Memory of one thread: accessible, read-only and none.
class Arena {
  public:
    static constexpr std::size_t kSize = 512 * 1024;

    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // `size` bytes that are followed by memory that cannot be accessed: one byte too many fails.
    unsigned char* at_end(std::size_t size) const { return end_ - size; }
    // `size` bytes that are followed by `kGuard` bytes that must not be written.
    unsigned char* guarded(std::size_t size) const;
    bool guard_intact(std::size_t size) const;
    static constexpr std::size_t kGuard = 64;

    unsigned char* read_only() const { return read_only_; }                    // a page
    void fill(unsigned char* at, std::span<const unsigned char> bytes) const;  // also that page
    static std::uint64_t invalid(Random& random);  // an address without memory

  private:
    unsigned char* all_;
    unsigned char* begin_;
    unsigned char* end_;
    unsigned char* read_only_;
};

// State of one thread.
struct Fuzzer {
    Arena arena;
    struct Mapping {
        void* address = nullptr;
        std::size_t size = 0;
    };
    std::array<Mapping, 8> mappings{};

    // Members that were attached lately, and the handle of each.
    struct Member {
        int handle = -1;
        std::uint32_t number = 0;
    };
    std::array<Member, 8> members{};
};

// The place of a structure, and the errors that it must cause.
struct Placed {
    std::uint64_t address = 0;
    std::size_t size = 0;     // that the caller says it has
    std::size_t guarded = 0;  // if not 0, the bytes behind this many must not be written
    Errnos must;
};

// Puts `bytes` in memory, sometimes of another size; `least` is the smallest that the kernel
// accepts. `written`: the kernel writes to them, too.
Placed place(Fuzzer& fuzzer, Random& random, std::vector<unsigned char> bytes, std::size_t least,
             bool written);

// `value`, sometimes with an unknown flag.
template <typename Structure>
Placed place_struct(Fuzzer& fuzzer, Random& random, Structure value, std::size_t least,
                    bool written) {
    Errnos must;
    if (random.one_in(20)) {
        value.flags = 1U << random.below(32);
        must = {EINVAL};
    }
    std::vector<unsigned char> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    Placed placed = place(fuzzer, random, std::move(bytes), least, written);
    placed.must |= must;
    return placed;
}

enum class Call : std::uint8_t {
    open,
    close,
    dup,
    open_perf,
    close_perf,
    control_perf,
    info,
    attach,
    detach,
    set_format,
    get_member,
    set_mode,
    sweep,
    stream,
    open_set,
    control_sets,
    set_events,
    get_events,
    publish,
    join,
    unpublish,
    enable,
    disable,
    reset,
    no_ioctl,
    read,
    readv,
    pread,
    write,
    lseek,
    mmap,
    map_ring,
    munmap,
    mprotect,
    mremap,
    madvise,
    peek,
    poll,
    epoll,
    fcntl,
    splice,
    fdinfo,
    end
};
inline constexpr std::size_t kCalls = static_cast<std::size_t>(Call::end);

struct Outcome {
    Call call = Call::end;
    std::array<std::uint64_t, 4> arguments{};  // for messages
    long result = 0;                           // or -errno
    Errnos must{};  // not empty: it had to fail, with one of these or an explained one
    Errnos may{};   // it may also fail with one of these
    const char* broken = nullptr;  // another thing that is wrong, or null
};

const char* name_of(Call call);

// Errors of right arguments, because of the state of the file, of its members or of other threads.
const Errnos& explained(Call call);

// A run that is long enough must have seen these succeed.
bool can_succeed(Call call);

// A description of what is wrong with the outcome, or null.
const char* judge(const Outcome& outcome);

// Makes a call, as often as its weight says.
struct Generator {
    unsigned weight;
    Outcome (*run)(Fuzzer&, Random&);
};
std::span<const Generator> descriptor_generators();
std::span<const Generator> ioctl_generators();
std::span<const Generator> set_generators();
std::span<const Generator> file_generators();

// Descriptors that all threads share. A number is either closed or a file of a fixed kind, so that
// the result of a call is known although other threads open and close it.
enum class Access { read_write, read_only, write_only, path };

struct Handle {
    int number;
    Access access;
    bool readable() const { return access == Access::read_write || access == Access::read_only; }
    // A call of the module: O_PATH files have none.
    bool callable() const { return access != Access::path; }
};

Handle any_handle(Random& random);

// A member that may exist, with its handle, or any number.
struct Target {
    Handle handle;
    std::uint32_t member;
};
Target any_member(const Fuzzer& fuzzer, Random& random);

// An ioctl, and the rules of all structures.
Outcome call(Fuzzer& fuzzer, Call kind, Handle handle, unsigned long command, const Placed& placed);

// A field that must be 0 is sometimes set.
void set_reserved(std::uint32_t& reserved, Random& random, Errnos& must);

// The structure after a call.
template <typename Structure>
Structure fetch(const Placed& placed) {
    Structure value{};
    std::memcpy(&value, reinterpret_cast<const void*>(placed.address),
                std::min(sizeof(value), placed.size));
    return value;
}

// Ends all names that a run has left: they hold the module.
void end_names();

// For ATTACH: most are perf events.
int any_descriptor(Random& random);

// Opens files of other kinds. Once, before the threads.
void open_other_files();

int other_pipe();  // the end to write to
int other_file();
int other_epoll();

}  // namespace fuzz
