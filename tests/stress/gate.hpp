// SPDX-License-Identifier: MIT
// A place where all threads can be made to stand still.
#pragma once

#include <condition_variable>
#include <mutex>

namespace stress {

class Gate {
  public:
    // A thread that comes by now and then, for as long as this lives.
    class Visitor {
      public:
        explicit Visitor(Gate& gate);
        ~Visitor();
        Visitor(const Visitor&) = delete;
        Visitor& operator=(const Visitor&) = delete;
        void pass();  // waits while the gate is closed

      private:
        Gate& gate_;
    };

    void close();  // returns when all visitors wait
    void open();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    unsigned visitors_ = 0, waiting_ = 0;
};

}  // namespace stress
