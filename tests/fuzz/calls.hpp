// SPDX-License-Identifier: MIT
// Calls, their results, and the errors that the manual page documents for them.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "arena.hpp"
#include "support/random.hpp"

namespace fuzz {

using metagroup::test::Random;

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

const char* name_of(Call call);

// Errors of right arguments, because of the state of the file, of its members or of other threads.
const Errnos& explained(Call call);

// A run that is long enough must have seen these succeed.
bool can_succeed(Call call);

// A description of what is wrong with the outcome, or null.
const char* judge(const Outcome& outcome);

using Generator = Outcome (*)(Fuzzer&, Random&);

// descriptors.cpp
Outcome open_handle(Fuzzer& fuzzer, Random& random);
Outcome close_handle(Fuzzer& fuzzer, Random& random);
Outcome dup_handle(Fuzzer& fuzzer, Random& random);
Outcome open_perf(Fuzzer& fuzzer, Random& random);
Outcome close_perf(Fuzzer& fuzzer, Random& random);
Outcome control_perf(Fuzzer& fuzzer, Random& random);

// ioctls.cpp
Outcome info(Fuzzer& fuzzer, Random& random);
Outcome attach(Fuzzer& fuzzer, Random& random);
Outcome detach(Fuzzer& fuzzer, Random& random);
Outcome set_format(Fuzzer& fuzzer, Random& random);
Outcome get_member(Fuzzer& fuzzer, Random& random);
Outcome set_mode(Fuzzer& fuzzer, Random& random);
Outcome sweep(Fuzzer& fuzzer, Random& random);
Outcome stream(Fuzzer& fuzzer, Random& random);
Outcome control(Fuzzer& fuzzer, Random& random);
Outcome no_ioctl(Fuzzer& fuzzer, Random& random);

// files.cpp
Outcome read_once(Fuzzer& fuzzer, Random& random);
Outcome read_vector(Fuzzer& fuzzer, Random& random);
Outcome read_at(Fuzzer& fuzzer, Random& random);
Outcome write_once(Fuzzer& fuzzer, Random& random);
Outcome seek(Fuzzer& fuzzer, Random& random);
Outcome poll_once(Fuzzer& fuzzer, Random& random);
Outcome add_to_epoll(Fuzzer& fuzzer, Random& random);
Outcome control_file(Fuzzer& fuzzer, Random& random);
Outcome splice_away(Fuzzer& fuzzer, Random& random);
Outcome show_fdinfo(Fuzzer& fuzzer, Random& random);
Outcome map(Fuzzer& fuzzer, Random& random);
Outcome write_to_ring(Fuzzer& fuzzer, Random& random);
Outcome unmap(Fuzzer& fuzzer, Random& random);
Outcome make_writable(Fuzzer& fuzzer, Random& random);
Outcome enlarge(Fuzzer& fuzzer, Random& random);
Outcome drop_pages(Fuzzer& fuzzer, Random& random);
Outcome peek(Fuzzer& fuzzer, Random& random);

}  // namespace fuzz
