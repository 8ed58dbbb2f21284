// SPDX-License-Identifier: MIT
// Opening the same events on all CPUs, and closing them: by descriptors that are attached, or as a
// set of the module.
#pragma once

#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <metagroup/detail/unique_fd.hpp>

#include "methods/method.hpp"
#include "methods/reference.hpp"

namespace bench {

inline std::vector<perf_event_attr> attrs_of(const Subject& subject) {
    std::vector<perf_event_attr> attrs;
    for (const metagroup::EventSpec& event : subject.specs().front().events)
        attrs.push_back(event.attr);
    return attrs;
}

// A group on each CPU, attached and enabled.
class Descriptors {
  public:
    explicit Descriptors(const Subject& subject)
        : attrs_(attrs_of(subject)), cpus_(subject.cpus()) {
        for (perf_event_attr& attr : attrs_)
            attr.read_format = PERF_FORMAT_GROUP;
        attrs_.front().disabled = 1;
    }

    void open() {
        std::vector<int> leaders;
        for (const int cpu : cpus_) {
            for (std::size_t i = 0; i < attrs_.size(); ++i) {
                const int leader = i == 0 ? -1 : leaders.back();
                const long fd = ::syscall(SYS_perf_event_open, &attrs_[i], -1, cpu, leader,
                                          PERF_FLAG_FD_CLOEXEC);
                if (fd < 0) fail(errno, "perf_event_open");
                events_.emplace_back(static_cast<int>(fd));
                if (i == 0) leaders.push_back(static_cast<int>(fd));
            }
        }
        device_ = metagroup::Device::open();
        device_->attach(leaders);
        device_->enable();
    }
    void close() {
        device_.reset();
        events_.clear();
    }

  private:
    std::vector<perf_event_attr> attrs_;
    metagroup::CpuList cpus_;
    std::vector<metagroup::detail::UniqueFd> events_;
    std::optional<metagroup::Device> device_;
};

class Set {
  public:
    explicit Set(const Subject& subject) : attrs_(attrs_of(subject)) {
        for (const int cpu : subject.cpus()) {
            const auto number = static_cast<unsigned>(cpu);
            cpus_.resize(std::max<std::size_t>(cpus_.size(), number / 64 + 1));
            cpus_[number / 64] |= std::uint64_t{1} << number % 64;
        }
    }

    void open() {
        perf_metagroup_open_set arg{};
        arg.size = sizeof(arg);
        arg.events = reinterpret_cast<std::uintptr_t>(attrs_.data());
        arg.nr_events = static_cast<__u32>(attrs_.size());
        arg.stride = sizeof(perf_event_attr);
        arg.cpus = reinterpret_cast<std::uintptr_t>(cpus_.data());
        arg.nr_words = static_cast<__u32>(cpus_.size());
        arg.read_format = PERF_FORMAT_GROUP;
        device_ = metagroup::Device::open();
        if (::ioctl(device_->fd(), PERF_METAGROUP_IOC_OPEN_SET, &arg) < 0) fail(errno, "OPEN_SET");
    }
    void close() { device_.reset(); }

  private:
    std::vector<perf_event_attr> attrs_;
    std::vector<std::uint64_t> cpus_;
    std::optional<metagroup::Device> device_;
};

// The time is that of opening. Costs other than the time include closing.
template <class Events>
class Opening : public Method {
  public:
    explicit Opening(const Subject& subject) : events_(subject) {}

    void wait() override { events_.close(); }
    void sweep() override { events_.open(); }
    void finish() override { events_.close(); }

  private:
    Events events_;
};

// A set whose events another set has opened already.
class OpeningShared : public Opening<Set> {
  public:
    explicit OpeningShared(const Subject& subject) : Opening(subject), other_(subject) {}

    void prepare() override { other_.open(); }
    void finish() override {
        Opening::finish();
        other_.close();
    }

  private:
    Set other_;
};

// The same events, opened by each CPU for itself (floor/metagroup_floor.ko), and no members.
class OpeningBare : public Floor {
  public:
    explicit OpeningBare(const Subject& subject) : Floor(subject), attrs_(attrs_of(subject)) {}

    void wait() override { open(0); }
    void sweep() override { open(attrs_.size()); }
    void finish() override { open(0); }

  private:
    void open(std::size_t events) const {
        const metagroup_floor_events arg{
            .attrs = reinterpret_cast<std::uintptr_t>(attrs_.data()),
            .nr_events = static_cast<__u32>(events),
            .stride = sizeof(perf_event_attr),
        };
        control(METAGROUP_FLOOR_IOC_OPEN, reinterpret_cast<long>(&arg));
    }

    std::vector<perf_event_attr> attrs_;
};

// The time is that of closing.
template <class Events>
class Closing : public Method {
  public:
    explicit Closing(const Subject& subject) : events_(subject) {}

    void wait() override { events_.open(); }
    void sweep() override { events_.close(); }
    // Nothing stays open that another method would share.
    void finish() override { events_.close(); }

  private:
    Events events_;
};

}  // namespace bench
