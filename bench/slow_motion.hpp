// SPDX-License-Identifier: MIT
// A guest in slow motion (bench/slowmo/): its time is the number of instructions on the critical
// path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

struct slowmo_page;

namespace bench {

class SlowMotion {
  public:
    // Nothing if this is not such a guest. Throws std::system_error if it is and the page that
    // its host shares with it cannot be used. A CPU that calls `toil` over and over is taken to do
    // nothing else until it is interrupted.
    static std::optional<SlowMotion> find(void (*toil)());

    void start();
    void stop();

    std::uint64_t kernel_instructions(int cpu) const;
    std::uint64_t user_instructions(int cpu) const;
    // In the timer's interrupt; the others are none of these.
    std::uint64_t tick_instructions(int cpu) const;
    // How far the CPU got ahead of others that the host did not run.
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

}  // namespace bench
