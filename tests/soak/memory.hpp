// SPDX-License-Identifier: MIT
// Memory of the kernel and of this process, and whether it grows.
#pragma once

#include <array>
#include <vector>

namespace soak {

class Memory {
  public:
    // To be called at regular times.
    void sample();

    // By how much each kind grows in the time that was sampled, from the slope of the line that
    // fits best. The first third is warm-up. False if one grows by more than is tolerated.
    bool judge() const;

  private:
    struct Kind {
        const char* file;
        const char* field;
        double tolerated;  // kB
    };
    // Slabs are filled and emptied in pages as others use them, too.
    static constexpr std::array<Kind, 3> kKinds = {{{"/proc/meminfo", "SUnreclaim:", 512},
                                                    {"/proc/meminfo", "VmallocUsed:", 256},
                                                    {"/proc/self/status", "VmRSS:", 256}}};
    using Sample = std::array<double, kKinds.size()>;  // kB
    std::vector<Sample> samples_;
};

}  // namespace soak
