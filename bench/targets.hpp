// SPDX-License-Identifier: MIT
// The threads that keep the CPUs that are read idle or busy.
#pragma once

#include <atomic>
#include <metagroup/cpu_list.hpp>
#include <thread>
#include <vector>

namespace bench {

// A busy CPU runs a loop without system calls, so all else that it executes is a cost.
enum class Load { idle, busy };

const char* to_string(Load load);

// The body of that loop. The slow-motion plugin knows its address.
void spin();

// A thread on each CPU of the list but the first, which is the reader's.
class Targets {
  public:
    explicit Targets(const metagroup::CpuList& cpus);
    ~Targets();
    Targets(const Targets&) = delete;
    Targets& operator=(const Targets&) = delete;

    // Returns when all of them are in that state.
    void set(Load load);

  private:
    enum State : int { sleeping, spinning, ended };
    void work(int cpu);

    std::atomic<int> state_ = sleeping;
    std::atomic<int> spinning_ = 0;  // number of threads
    std::vector<std::thread> threads_;
};

}  // namespace bench
