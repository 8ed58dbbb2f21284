// SPDX-License-Identifier: MIT
// The machine while a method has its turn: its groups count, the CPUs that are read are idle or
// busy, and a guest is in slow motion.
#pragma once

#include <atomic>
#include <functional>
#include <metagroup/cpu_list.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "methods/method.hpp"
#include "slow_motion.hpp"

namespace bench {

class Machine {
  public:
    // The first CPU is the reader's. The others sleep or, if `busy`, run a loop without system
    // calls, so all else that they execute is a cost.
    Machine(metagroup::CpuList cpus, bool busy);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    const metagroup::CpuList& cpus() const { return cpus_; }
    bool busy() const { return busy_; }
    // Null if this is not a guest in slow motion.
    const SlowMotion* slow_motion() const { return slow_motion_ ? &*slow_motion_ : nullptr; }

    // Runs `body` with only this method's groups enabled, since counting costs time on every CPU,
    // and after a first sweep. Between turns the targets are idle and the guest runs at full speed,
    // so setup takes little time.
    void turn(Method& method, const std::function<void()>& body);
    // During a turn: runs `body` at full speed if the targets are idle. Busy ones stay slow.
    void at_full_speed(const std::function<void()>& body);

  private:
    enum State : int { sleeping, spinning, ended };
    void work(int cpu);
    void set(State state);

    metagroup::CpuList cpus_;
    bool busy_;
    std::optional<SlowMotion> slow_motion_;
    measure::CpuGroups* enabled_ = nullptr;
    std::atomic<int> state_ = sleeping;
    std::atomic<unsigned> spinning_ = 0;  // number of threads
    std::vector<std::thread> threads_;
};

}  // namespace bench
