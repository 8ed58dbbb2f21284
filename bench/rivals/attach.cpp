// SPDX-License-Identifier: MIT
// What it takes to set a meta-group up: one ATTACH of groups that are open, on all CPUs. What
// it costs beside the time includes opening the meta-group and ending the last one.
#include "rivals/ways.hpp"

namespace bench {
namespace {

class Attach : public Rival {
  public:
    explicit Attach(const Subject& subject)
        : groups_(subject.specs(), subject.cpus()),
          leaders_(groups_.leaders()),
          device_(metagroup::Device::open()) {}

    // The last one ends with its file, which lets go of the groups.
    void wait() override { device_ = metagroup::Device::open(); }
    void sweep() override { device_.attach(leaders_); }

  private:
    measure::CpuGroups groups_;
    std::vector<int> leaders_;
    metagroup::Device device_;
};

}  // namespace

std::unique_ptr<Rival> make_attach(Subject& subject) {
    return std::make_unique<Attach>(subject);
}

}  // namespace bench
