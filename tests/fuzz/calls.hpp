// SPDX-License-Identifier: MIT
// Calls, their results, and the errors that the manual page documents for them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "arguments.hpp"

namespace fuzz {

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

const char* name_of(Call call);

// Errors of right arguments, because of the state of the file, of its members or of other threads.
const Errnos& explained(Call call);

// A run that is long enough must have seen these succeed.
bool can_succeed(Call call);

// A description of what is wrong with the outcome, or null.
const char* judge(const Outcome& outcome);

using Generator = Outcome (*)(Fuzzer&, Random&);

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

// For ATTACH: most are perf events.
int any_descriptor(Random& random);

// Opens files of other kinds. Once, before the threads.
void open_other_files();

int other_pipe();  // the end to write to
int other_file();
int other_epoll();

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
