// SPDX-License-Identifier: MIT
// One sweep of the module: as read() in both formats, and where it lies, by mmap().
#include <metagroup/mapping.hpp>
#include <stdexcept>

#include "rivals/ways.hpp"

namespace bench {
namespace {

std::vector<std::uint64_t> counts_of(const metagroup::SnapshotView& snapshot) {
    std::vector<std::uint64_t> counts;
    for (const metagroup::MemberView member : snapshot) {
        for (std::size_t event = 0; event < member.nr(); ++event)
            counts.push_back(member.raw(event).value());
    }
    return counts;
}

class Module : public Rival {
  public:
    Module(Subject& subject, metagroup::Format format)
        : subject_(subject), device_(subject.device()), format_(format) {}

    measure::CpuGroups* groups() override { return &subject_.groups(); }
    void prepare() override { device_.set_format(format_); }

    // A RAW read brings no times, but its sweep is that of a FRAMED one.
    std::optional<std::uint64_t> skew_ns() override {
        device_.set_format(metagroup::Format::framed);
        device_.read(snapshot_);
        device_.set_format(format_);
        return snapshot_.skew_ns();
    }

  protected:
    Subject& subject_;
    metagroup::Device& device_;
    metagroup::Snapshot snapshot_;

  private:
    metagroup::Format format_;
};

// The kernel keeps the snapshot as a FRAMED read returns it; the reader has a buffer of its own.
class Raw : public Module {
  public:
    explicit Raw(Subject& subject)
        : Module(subject, metagroup::Format::raw), payloads_(subject.groups().all()) {}

    void sweep() override {
        if (device_.read(payloads_.all()) != payloads_.bytes())
            throw std::runtime_error("a RAW read was not as long as all payloads together");
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::size_t> memory_bytes() const override {
        return device_.info().framed_size + payloads_.bytes();
    }

  private:
    measure::Payloads payloads_;
};

class Framed : public Module {
  public:
    explicit Framed(Subject& subject) : Module(subject, metagroup::Format::framed) {}

    void sweep() override { device_.read(snapshot_); }
    std::vector<std::uint64_t> counts() const override { return counts_of(snapshot_); }
    std::optional<std::size_t> memory_bytes() const override {
        return 2 * device_.info().framed_size;
    }
};

// Nothing is copied, and the kernel's snapshot is the only one.
class Mapped : public Module {
  public:
    explicit Mapped(Subject& subject)
        : Module(subject, metagroup::Format::framed), mapping_(device_) {}

    void sweep() override {
        device_.sweep();
        view_ = mapping_.view();
    }
    std::vector<std::uint64_t> counts() const override { return counts_of(view_); }
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        return view_.skew_ns();
    }
    std::optional<std::size_t> memory_bytes() const override { return device_.info().framed_size; }

  private:
    metagroup::Mapping mapping_;
    metagroup::SnapshotView view_;
};

// As Mapped, and CPUs that sleep are left asleep.
class Quiet : public Mapped {
  public:
    using Mapped::Mapped;

    void prepare() override { device_.set_mode({.quiet = true}); }
    void finish() override { device_.set_mode({}); }
    bool lets_sleep() const override { return true; }
};

}  // namespace

std::unique_ptr<Rival> make_raw(Subject& subject) {
    return std::make_unique<Raw>(subject);
}

std::unique_ptr<Rival> make_framed(Subject& subject) {
    return std::make_unique<Framed>(subject);
}

std::unique_ptr<Rival> make_mapped(Subject& subject) {
    return std::make_unique<Mapped>(subject);
}

std::unique_ptr<Rival> make_quiet(Subject& subject) {
    return std::make_unique<Quiet>(subject);
}

}  // namespace bench
