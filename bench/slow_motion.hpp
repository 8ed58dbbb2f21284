// SPDX-License-Identifier: MIT
// The guest's side of slow motion, where time is the number of instructions on the critical path.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <optional>
#include <vector>

struct slowmo_page;

namespace bench {

struct InstructionCount {
    std::uint64_t kernel = 0;
    std::uint64_t user = 0;
    // In timer interrupts. Not part of `kernel` in slow motion, else always 0.
    std::uint64_t tick = 0;
};

class SlowMotion {
  public:
    // Nothing if this is not such a guest. Throws std::system_error if the page that the host
    // shares with it cannot be used. A CPU that enters `spin` is taken to execute nothing else
    // until an interrupt; null if there is no such function.
    static std::optional<SlowMotion> find(void (*spin)());

    void start();
    void stop();

    InstructionCount instructions(int cpu) const;
    // By how much the CPU got ahead of CPUs that the host did not run.
    std::uint64_t late_ns(int cpu) const;
    // Instructions per second of each CPU.
    std::uint64_t rate() const;

  private:
    struct Unmap {
        void operator()(slowmo_page* page) const;
    };
    explicit SlowMotion(std::unique_ptr<slowmo_page, Unmap> page) : page_(std::move(page)) {}

    std::unique_ptr<slowmo_page, Unmap> page_;
};

// By what fraction of the time since construction the host was late, on the CPU with the maximum.
class Lateness {
  public:
    Lateness(const SlowMotion& slow_motion, const metagroup::CpuList& cpus);

    double fraction() const;

  private:
    const SlowMotion& slow_motion_;
    const metagroup::CpuList& cpus_;
    std::vector<std::uint64_t> begin_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace bench
