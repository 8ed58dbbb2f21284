// SPDX-License-Identifier: MIT
// What the CPUs do that are read.
#pragma once

#include <atomic>
#include <metagroup/cpu_list.hpp>
#include <thread>
#include <vector>

namespace bench {

// An idle CPU must be woken before it can answer. Busy CPUs run a program that makes no system
// calls: what else they execute is what it costs them.
enum class Load { idle, busy };

const char* to_string(Load load);

// What a busy one executes, over and over.
void toil();

// A thread on every CPU of the list but the first, which is the monitor's.
class Targets {
  public:
    explicit Targets(const metagroup::CpuList& cpus);
    ~Targets();
    Targets(const Targets&) = delete;
    Targets& operator=(const Targets&) = delete;

    // Returns when all of them are so.
    void set(Load load);

  private:
    enum Order : int { sleep, spin, quit };
    void work(int cpu);
    void await_spinning(int number) const;

    std::atomic<int> order_ = sleep;
    std::atomic<int> spinning_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace bench
