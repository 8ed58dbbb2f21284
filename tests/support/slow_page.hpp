// SPDX-License-Identifier: MIT
// A page of memory that is missing: a thread that accesses it waits until it is served.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "fd.hpp"

namespace metagroup::test {

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
