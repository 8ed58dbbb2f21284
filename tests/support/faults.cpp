// SPDX-License-Identifier: MIT
#include "faults.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace metagroup::test {
namespace {

// The file is missing if the kernel lacks the parameter.
void set(const char* parameter, const char* value) {
    std::ofstream(std::string("/sys/kernel/debug/") + parameter) << value;
}

Fd open_own(const char* name) {
    Fd file(::open((std::string("/proc/thread-self/") + name).c_str(), O_RDWR | O_CLOEXEC));
    if (!file) throw std::system_error(errno, std::generic_category(), name);
    return file;
}

// The write copies from user memory and can fail by the fault itself, which is then the last.
void write_own(const Fd& file, const char* value, std::size_t size) {
    for (int tries = 0; tries < 2; ++tries)
        if (::pwrite(file.get(), value, size, 0) == static_cast<ssize_t>(size)) return;
    throw std::system_error(errno, std::generic_category(), "fault injection");
}

}  // namespace

bool prepare_faults() {
    if (::access("/proc/thread-self/fail-nth", W_OK) ||
        ::access("/sys/kernel/debug/failslab", X_OK))
        return false;
    // By default only allocations fail that must not wait, and not the small ones.
    set("failslab/ignore-gfp-wait", "N");
    set("fail_page_alloc/ignore-gfp-wait", "N");
    set("fail_page_alloc/ignore-gfp-highmem", "N");
    set("fail_page_alloc/min-order", "0");
    set("fail_page_alloc/task-filter", "Y");
    for (const char* silent :
         {"failslab/verbose", "fail_page_alloc/verbose", "fail_usercopy/verbose"})
        set(silent, "0");
    return true;
}

Fault::Fault(unsigned nth) : file_(open_own("fail-nth")) {
    const std::string text = std::to_string(nth);
    write_own(file_, text.data(), text.size());
}

bool Fault::struck() {
    if (!armed_) return struck_;
    // 0 is left after the fault. If this read fails by it, nothing else did.
    char left[16] = "";
    struck_ = ::pread(file_.get(), left, sizeof(left) - 1, 0) > 0 && std::atoi(left) == 0;
    write_own(file_, "0", 1);
    armed_ = false;
    return struck_;
}

NoPages::NoPages() : file_(open_own("make-it-fail")) {
    // Limited, in case the thread needs a page after all.
    set("fail_page_alloc/times", "1000");
    set("fail_page_alloc/probability", "100");
    write_own(file_, "1", 1);
}

void NoPages::end() {
    if (!file_) return;
    write_own(file_, "0", 1);
    file_.reset();
    set("fail_page_alloc/probability", "0");
}

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
