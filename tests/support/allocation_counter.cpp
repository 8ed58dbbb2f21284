// SPDX-License-Identifier: MIT
#include "support/allocation_counter.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0};

constexpr std::size_t default_alignment = alignof(std::max_align_t);

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): this is operator new
void* try_allocate(std::size_t size, std::size_t alignment = default_alignment) noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    // aligned_alloc(3) needs a multiple of the alignment, and not 0.
    const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment;
    return std::aligned_alloc(alignment, rounded * alignment);
}

void* allocate(std::size_t size, std::size_t alignment = default_alignment) {
    if (void* memory = try_allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}

void release(void* memory) noexcept {
    std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

std::size_t number(std::align_val_t alignment) {
    return static_cast<std::size_t>(alignment);
}

}  // namespace

// All forms: a sanitizer has its own of each, and mixing them is an error to it.
using Align = std::align_val_t;
using NoThrow = std::nothrow_t;
void* operator new(std::size_t size) {
    return allocate(size);
}
void* operator new[](std::size_t size) {
    return allocate(size);
}
void* operator new(std::size_t size, Align align) {
    return allocate(size, number(align));
}
void* operator new[](std::size_t size, Align align) {
    return allocate(size, number(align));
}
void* operator new(std::size_t size, const NoThrow&) noexcept {
    return try_allocate(size);
}
void* operator new[](std::size_t size, const NoThrow&) noexcept {
    return try_allocate(size);
}
void* operator new(std::size_t size, Align align, const NoThrow&) noexcept {
    return try_allocate(size, number(align));
}
void* operator new[](std::size_t size, Align align, const NoThrow&) noexcept {
    return try_allocate(size, number(align));
}
#define METAGROUP_DELETE(...)                      \
    void operator delete(__VA_ARGS__) noexcept {   \
        release(memory);                           \
    }                                              \
    void operator delete[](__VA_ARGS__) noexcept { \
        release(memory);                           \
    }
METAGROUP_DELETE(void* memory)
METAGROUP_DELETE(void* memory, std::size_t)
METAGROUP_DELETE(void* memory, Align)
METAGROUP_DELETE(void* memory, std::size_t, Align)
METAGROUP_DELETE(void* memory, const NoThrow&)
METAGROUP_DELETE(void* memory, Align, const NoThrow&)

namespace metagroup::test {

AllocationCounter::AllocationCounter() noexcept : start_(allocations.load()) {}
std::size_t AllocationCounter::count() const noexcept {
    return allocations.load() - start_;
}

}  // namespace metagroup::test
