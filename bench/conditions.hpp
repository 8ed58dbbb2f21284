// SPDX-License-Identifier: MIT
// The state of the machine while a method has its turn: its groups count, the CPUs that are read
// are idle or busy, and a guest is in slow motion.
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

// A busy CPU runs a loop without system calls, so all else that it executes is a cost.
enum class Load { idle, busy };

const char* to_string(Load load);

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

class Conditions {
  public:
    explicit Conditions(const metagroup::CpuList& cpus);

    // Runs `body` with only this method's groups enabled, since counting costs time on every CPU,
    // with the targets idle or busy, and after a first sweep. Between turns the targets are idle
    // and the guest runs at full speed, so setup takes little time.
    void turn(Method& method, Load load, const std::function<void()>& body);

    // During a turn: runs `body` at full speed if the targets are idle. Busy ones stay slow.
    void at_full_speed(const std::function<void()>& body);

    // Null if this is not a guest in slow motion.
    const SlowMotion* slow_motion() const { return slow_motion_ ? &*slow_motion_ : nullptr; }

  private:
    void enable_only(measure::CpuGroups* groups);
    void end(Method& method);

    std::optional<SlowMotion> slow_motion_;
    Targets targets_;
    Load load_ = Load::idle;
    measure::CpuGroups* enabled_ = nullptr;
};

}  // namespace bench
