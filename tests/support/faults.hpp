// SPDX-License-Identifier: MIT
// Faults that a kernel with CONFIG_FAULT_INJECTION makes on demand: allocations that fail, and
// copies to or from the user; and memory that is slow.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "perf.hpp"

namespace metagroup::test {

// False if the kernel injects no faults. Else every allocation may fail from now on.
bool prepare_faults();

// A fault of the nth allocation or copy, from 1, of the calling thread while this lives.
class Fault {
  public:
    explicit Fault(unsigned nth);
    ~Fault() { struck(); }
    Fault(const Fault&) = delete;
    Fault& operator=(const Fault&) = delete;

    bool struck();  // ends the injection

  private:
    Fd file_;
    bool armed_ = true;
    bool struck_ = false;
};

// No page for the calling thread while this lives; not even for its own page faults, so it must not
// touch memory for the first time.
class NoPages {
  public:
    NoPages();
    ~NoPages() { end(); }
    NoPages(const NoPages&) = delete;
    NoPages& operator=(const NoPages&) = delete;

    void end();

  private:
    Fd file_;
};

// A page of memory that is missing: a thread that accesses it waits until it is served.
class SlowPage {
  public:
    static constexpr std::size_t kSize = 4096;

    static bool available();  // not without userfaultfd(2)

    SlowPage();
    ~SlowPage();
    SlowPage(const SlowPage&) = delete;
    SlowPage& operator=(const SlowPage&) = delete;

    void* at() const { return page_; }

    bool touched(std::chrono::milliseconds patience) const;  // true once for each thread that waits
    void serve(std::span<const std::byte> content = {});     // zeros behind it
    void take_away();                                        // it is missing again
    void destroy();  // a touch is a fault now, also one that waits

  private:
    Fd fd_;
    void* page_;
};

}  // namespace metagroup::test
