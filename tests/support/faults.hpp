// SPDX-License-Identifier: MIT
// Faults that a kernel with CONFIG_FAULT_INJECTION makes on demand: allocations that fail, and
// copies to or from the user.
#pragma once

#include "fd.hpp"

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

}  // namespace metagroup::test
