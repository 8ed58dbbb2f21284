// SPDX-License-Identifier: MIT
/// \file
/// Interruption: lets a signal end a call of the library.
#pragma once

#include <metagroup/export.hpp>

namespace metagroup {

/// Without one, calls that a signal interrupts continue. With one, they call a function on the
/// thread that constructed it, until it is destroyed: when a system call was interrupted, and now
/// and then while many events are looked up and opened. If that function throws, the call ends with
/// its exception, as after any other error; if it returns, the call continues.
/// A sweep that waits for another CPU cannot be interrupted.
class METAGROUP_API Interruption {
  public:
    using Check = void (*)();
    explicit Interruption(Check check) noexcept;
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;
    ~Interruption();

  private:
    Check before_;
};

}  // namespace metagroup
