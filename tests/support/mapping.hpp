// SPDX-License-Identifier: MIT
// A mapped snapshot, read by the protocol of the ABI.
#pragma once

#include <sys/mman.h>

#include <optional>

#include "meta.hpp"

namespace metagroup::test {

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

}  // namespace metagroup::test
