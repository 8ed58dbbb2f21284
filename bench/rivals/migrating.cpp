// SPDX-License-Identifier: MIT
// The monitor moves to each CPU and read()s its groups there, without an interrupt: moving costs a
// stop of the CPU, a switch of threads and two wakeups instead. It ends where it began.
#include "measure/affinity.hpp"
#include "rivals/skew.hpp"
#include "rivals/ways.hpp"

namespace bench {
namespace {

class Migrating : public Rival {
  public:
    explicit Migrating(measure::CpuGroups& groups) : groups_(groups), payloads_(groups.all()) {}

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override {
        visit([] {});
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::uint64_t> skew_ns() override {
        Skew skew;
        visit([&] { skew.note(monotonic_ns()); });
        return skew.ns();
    }
    std::optional<std::size_t> memory_bytes() const override { return payloads_.bytes(); }

  private:
    // The monitor's own CPU is the first, where it already is.
    template <typename Note>
    void visit(const Note& note) {
        const auto cpus = groups_.cpus().cpus();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            if (i > 0) measure::bind_to_cpu(cpus[i]);
            groups_.read_cpu(i, payloads_);
            note();
        }
        if (cpus.size() > 1) measure::bind_to_cpu(cpus.front());
    }

    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
};

}  // namespace

std::unique_ptr<Rival> make_migrating(Subject& subject) {
    return std::make_unique<Migrating>(subject.groups());
}

}  // namespace bench
