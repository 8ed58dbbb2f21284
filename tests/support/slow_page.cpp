// SPDX-License-Identifier: MIT
#include "slow_page.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace metagroup::test {
namespace {

void succeed(long result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

Fd open_userfaultfd() {
    return Fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
}

uffdio_range range_of(const void* page) {
    return {reinterpret_cast<std::uintptr_t>(page), SlowPage::kSize};
}

}  // namespace

bool SlowPage::available() {
    return bool(open_userfaultfd());
}

SlowPage::SlowPage()
    : fd_(open_userfaultfd()),
      page_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    succeed(page_ == MAP_FAILED ? -1 : 0, "a page");
    uffdio_api api{};
    api.api = UFFD_API;
    succeed(::ioctl(fd_.get(), UFFDIO_API, &api), "UFFDIO_API");
    uffdio_register missing{};
    missing.range = range_of(page_);
    missing.mode = UFFDIO_REGISTER_MODE_MISSING;
    succeed(::ioctl(fd_.get(), UFFDIO_REGISTER, &missing), "UFFDIO_REGISTER");
}

SlowPage::~SlowPage() {
    ::munmap(page_, kSize);
}

bool SlowPage::touched(std::chrono::milliseconds patience) const {
    pollfd wait{fd_.get(), POLLIN, 0};
    uffd_msg message{};
    return ::poll(&wait, 1, static_cast<int>(patience.count())) > 0 &&
           ::read(fd_.get(), &message, sizeof(message)) == sizeof(message);
}

void SlowPage::serve(std::span<const std::byte> content) {
    alignas(kSize) std::array<std::byte, kSize> source{};
    std::memcpy(source.data(), content.data(), content.size());
    uffdio_copy copy{};
    copy.dst = reinterpret_cast<std::uintptr_t>(page_);
    copy.src = reinterpret_cast<std::uintptr_t>(source.data());
    copy.len = kSize;
    succeed(::ioctl(fd_.get(), UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

void SlowPage::take_away() {
    succeed(::madvise(page_, kSize, MADV_DONTNEED), "MADV_DONTNEED");
}

void SlowPage::destroy() {
    // The address stays taken, or other memory could appear there.
    const void* const same =
        ::mmap(page_, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    succeed(same == page_ ? 0 : -1, "no page");
    uffdio_range range = range_of(page_);
    succeed(::ioctl(fd_.get(), UFFDIO_WAKE, &range), "UFFDIO_WAKE");
}

}  // namespace metagroup::test
