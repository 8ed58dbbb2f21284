// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/random.hpp"

namespace fuzz {

using metagroup::test::Random;

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

}  // namespace fuzz
