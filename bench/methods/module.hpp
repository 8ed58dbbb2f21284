// SPDX-License-Identifier: MIT
// The module: one read() in either format, a sweep into mapped memory, and attaching the groups.
#pragma once

#include <metagroup/mapping.hpp>
#include <stdexcept>

#include "methods/method.hpp"

namespace bench {

inline std::vector<std::uint64_t> counts_of(const metagroup::SnapshotView& snapshot) {
    std::vector<std::uint64_t> counts;
    for (const metagroup::MemberView member : snapshot) {
        for (std::size_t event = 0; event < member.nr(); ++event)
            counts.push_back(member.raw(event).value());
    }
    return counts;
}

class Framed : public Method {
  public:
    explicit Framed(Subject& subject) : subject_(subject), device_(subject.device()) {}

    measure::CpuGroups* groups() override { return &subject_.groups(); }
    void prepare() override { device_.set_format(metagroup::Format::framed); }
    void sweep() override { device_.read(snapshot_); }
    std::vector<std::uint64_t> counts() const override { return counts_of(snapshot_); }
    std::optional<std::uint64_t> skew_ns() override {
        device_.read(snapshot_);
        return snapshot_.skew_ns();
    }

  protected:
    Subject& subject_;
    metagroup::Device& device_;

  private:
    metagroup::Snapshot snapshot_;
};

class Raw : public Framed {
  public:
    explicit Raw(Subject& subject) : Framed(subject), payloads_(subject.groups().all()) {}

    void prepare() override { device_.set_format(metagroup::Format::raw); }
    void sweep() override {
        if (device_.read(payloads_.all()) != payloads_.bytes())
            throw std::runtime_error("a RAW read was not as long as all payloads together");
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    // A RAW read returns no times; its sweep is the same as that of a FRAMED one.
    std::optional<std::uint64_t> skew_ns() override {
        Framed::prepare();
        const auto skew = Framed::skew_ns();
        prepare();
        return skew;
    }

  private:
    measure::Payloads payloads_;
};

// The kernel's snapshot is the only one; nothing is copied.
class Mapped : public Framed {
  public:
    explicit Mapped(Subject& subject) : Framed(subject), mapping_(device_) {}

    void sweep() override {
        device_.sweep();
        view_ = mapping_.view();
    }
    std::vector<std::uint64_t> counts() const override { return counts_of(view_); }
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        return view_.skew_ns();
    }

  private:
    metagroup::Mapping mapping_;
    metagroup::SnapshotView view_;
};

// Idle CPUs are not interrupted; the module does that for groups whose counts stand still in idle.
class Quiet : public Mapped {
  public:
    explicit Quiet(Subject& subject) : Mapped(subject.stable_in_idle()) {}

    void prepare() override { device_.set_mode({.quiet = true}); }
    void finish() override { device_.set_mode({}); }
};

// A new meta-group for each ATTACH: closing the old one releases its groups. Costs other than the
// time include opening and closing.
class Attach : public Method {
  public:
    explicit Attach(const Subject& subject)
        : groups_(subject.specs(), subject.cpus()),
          leaders_(groups_.leaders()),
          device_(metagroup::Device::open()) {}

    void wait() override { device_ = metagroup::Device::open(); }
    void sweep() override { device_.attach(leaders_); }

  private:
    measure::CpuGroups groups_;
    std::vector<int> leaders_;
    metagroup::Device device_;
};

}  // namespace bench
