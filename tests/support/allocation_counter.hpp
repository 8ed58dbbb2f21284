// SPDX-License-Identifier: MIT
// Counts calls of operator new, to prove that something does not allocate.
#pragma once

#include <cstddef>

namespace metagroup::test {

/// Counts the allocations of the whole process since it was made. Link the CMake target
/// metagroup_allocation_counter (with its objects), which replaces the global operator new.
class AllocationCounter {
  public:
    AllocationCounter() noexcept;
    [[nodiscard]] std::size_t count() const noexcept;

  private:
    std::size_t start_;
};

}  // namespace metagroup::test
