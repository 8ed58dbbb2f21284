// SPDX-License-Identifier: MIT
// Memory of one thread: good, and bad in all ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/random.hpp"

namespace fuzz {

using metagroup::test::Random;

class Arena {
  public:
    static constexpr std::size_t kSize = 512 * 1024;

    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // `size` bytes that are followed by memory that cannot be accessed: one byte too many fails.
    unsigned char* at_end(std::size_t size) const { return end_ - size; }
    // `size` bytes that are followed by `kGuard` bytes to be found as they were.
    unsigned char* guarded(std::size_t size) const;
    bool guard_intact(std::size_t size) const;
    static constexpr std::size_t kGuard = 64;

    unsigned char* read_only() const { return read_only_; }                    // a page
    void fill(unsigned char* at, std::span<const unsigned char> bytes) const;  // that one, too
    static std::uint64_t nowhere(Random& random);  // an address where nothing is

    // How many bytes can be read, or written, from there on.
    std::size_t accessible(std::uint64_t address, bool to_write) const;

  private:
    unsigned char* all_;
    unsigned char* begin_;
    unsigned char* end_;
    unsigned char* read_only_;
};

}  // namespace fuzz
