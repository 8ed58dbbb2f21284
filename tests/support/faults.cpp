// SPDX-License-Identifier: MIT
#include "faults.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
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

}  // namespace metagroup::test
