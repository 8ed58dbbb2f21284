// SPDX-License-Identifier: MIT
// The cheapest system call. It reads nothing: it shows what a system call itself costs, and, by
// costing the same whatever the number of CPUs, that slow motion is even.
#include <sys/syscall.h>
#include <unistd.h>

#include "rivals/ways.hpp"

namespace bench {
namespace {

class NullSyscall : public Rival {
  public:
    void sweep() override { ::syscall(SYS_getppid); }
    unsigned batch() const override { return 64; }
};

}  // namespace

std::unique_ptr<Rival> make_null_syscall(Subject&) {
    return std::make_unique<NullSyscall>();
}

}  // namespace bench
