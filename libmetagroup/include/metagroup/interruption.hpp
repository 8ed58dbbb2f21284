// SPDX-License-Identifier: MIT
/// \file
/// Interruption: lets a signal interrupt library calls.
#pragma once

#include <metagroup/export.hpp>

namespace metagroup {

/// By default, library calls continue after a signal. While this object exists, calls on the thread
/// that constructed it run `check` when a system call was interrupted, and periodically while many
/// events are looked up and opened, and while a recording is read. If `check` throws, the call
/// fails with that exception as after any other error; if it returns, the call continues. A sweep
/// that waits for another CPU cannot be interrupted.
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
