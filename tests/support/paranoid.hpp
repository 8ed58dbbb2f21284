// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>

namespace metagroup::test {

// Sets kernel.perf_event_paranoid, and restores it. Kernels accept different levels.
class Paranoid {
  public:
    explicit Paranoid(int level_wanted) : before_(level()) { set(level_wanted); }
    ~Paranoid() { set(before_); }
    Paranoid(const Paranoid&) = delete;
    Paranoid& operator=(const Paranoid&) = delete;

    static int level() {
        int now = 2;
        std::ifstream(kFile) >> now;
        return now;
    }

  private:
    static constexpr const char* kFile = "/proc/sys/kernel/perf_event_paranoid";

    static void set(int level) { std::ofstream(kFile) << level; }

    int before_;
};

}  // namespace metagroup::test
