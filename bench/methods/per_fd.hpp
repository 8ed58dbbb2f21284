// SPDX-License-Identifier: MIT
// A read() of each leader by one thread: from its own CPU, with an interrupt for each read(), or by
// moving to each CPU first, which stops that CPU and switches threads in place of the interrupt.
#pragma once

#include <sched.h>

#include "measure/measure.hpp"
#include "methods/method.hpp"

namespace bench {

class PerFd : public Method {
  public:
    explicit PerFd(Subject& subject) : groups_(subject.groups()), payloads_(groups_.all()) {}

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

  protected:
    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
};

class Migrating : public PerFd {
  public:
    using PerFd::PerFd;

    void sweep() override {
        visit([] {});
    }
    std::optional<std::uint64_t> skew_ns() override {
        Skew skew;
        visit([&] { skew.note(monotonic_ns()); });
        return skew.ns();
    }

  private:
    // Begins and ends on the reader's CPU.
    template <typename Note>
    void visit(const Note& note) {
        const auto cpus = groups_.cpus().cpus();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            if (cpus[i] != home_) measure::bind_to_cpu(cpus[i]);
            groups_.read_cpu(i, payloads_);
            note();
        }
        if (cpus.back() != home_) measure::bind_to_cpu(home_);
    }

    int home_ = ::sched_getcpu();
};

}  // namespace bench
