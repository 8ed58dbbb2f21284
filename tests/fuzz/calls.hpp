// SPDX-License-Identifier: MIT
// Calls, their results, and the errors that the manual page documents for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

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

// Makes a call, as often as its weight says.
struct Generator {
    unsigned weight;
    Outcome (*run)(Fuzzer&, Random&);
};
std::span<const Generator> descriptor_generators();
std::span<const Generator> ioctl_generators();
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

// For ATTACH: most are perf events.
int any_descriptor(Random& random);

// Opens files of other kinds. Once, before the threads.
void open_other_files();

int other_pipe();  // the end to write to
int other_file();
int other_epoll();

}  // namespace fuzz
