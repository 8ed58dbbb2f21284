// SPDX-License-Identifier: MIT
// A read() of each leader, one after the other, from the monitor's CPU: what one does today.
#include "rivals/skew.hpp"
#include "rivals/ways.hpp"

namespace bench {
namespace {

class PerFd : public Rival {
  public:
    explicit PerFd(measure::CpuGroups& groups) : groups_(groups), payloads_(groups.all()) {}

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override { groups_.read(payloads_); }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::uint64_t> skew_ns() override {
        Skew skew;
        for (std::size_t i = 0; i < groups_.cpus().size(); ++i) {
            groups_.read_cpu(i, payloads_);
            skew.note(monotonic_ns());
        }
        return skew.ns();
    }
    std::optional<std::size_t> memory_bytes() const override { return payloads_.bytes(); }

  private:
    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
};

}  // namespace

std::unique_ptr<Rival> make_per_fd(Subject& subject) {
    return std::make_unique<PerFd>(subject.groups());
}

}  // namespace bench
