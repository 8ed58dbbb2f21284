// SPDX-License-Identifier: MIT
// Arguments of calls: memory of one thread, and structures in it that are mostly right, else wrong
// in a way that is recorded.
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

}  // namespace fuzz
