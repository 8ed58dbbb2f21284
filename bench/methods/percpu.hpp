// SPDX-License-Identifier: MIT
// PERF_FORMAT_PERCPU, which the patches in upstream/ add to the kernel: an event on all CPUs behind
// one descriptor.
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/payload.hpp>

#include "methods/method.hpp"

namespace bench {

inline constexpr std::uint64_t format_percpu = 1U << 5;

// Groups of their own: those of the subject are of one CPU each.
class PercpuGroups {
  public:
    explicit PercpuGroups(const Subject& subject) : specs_(subject.specs()) {}

    void open() {
        for (const metagroup::GroupSpec& spec : specs_) {
            int leader = -1;
            for (const metagroup::EventSpec& event : spec.events) {
                perf_event_attr attr = event.attr;
                attr.read_format = metagroup::default_read_format | format_percpu;
                attr.disabled = leader < 0;
                const long fd =
                    ::syscall(SYS_perf_event_open, &attr, -1, -1, leader, PERF_FLAG_FD_CLOEXEC);
                if (fd < 0) fail(errno, "perf_event_open with PERF_FORMAT_PERCPU");
                events_.emplace_back(static_cast<int>(fd));
                if (leader < 0) leaders_.push_back(leader = static_cast<int>(fd));
            }
        }
    }
    void close() {
        leaders_.clear();
        events_.clear();
    }
    const std::vector<int>& leaders() const { return leaders_; }
    void control(unsigned long request) {
        for (const int leader : leaders_) {
            if (::ioctl(leader, request, 0) != 0) fail(errno, "ioctl of a perf event");
        }
    }

  private:
    std::vector<metagroup::GroupSpec> specs_;
    std::vector<metagroup::detail::UniqueFd> events_;
    std::vector<int> leaders_;
};

class Percpu : public Method {
  public:
    explicit Percpu(const Subject& subject) : groups_(subject) {
        groups_.open();
        for (const metagroup::GroupSpec& spec : subject.specs()) {
            const std::size_t record =
                16 + metagroup::payload_size(metagroup::default_read_format, spec.events.size());
            buffers_.emplace_back(16 + (subject.cpus().size() + 1) * (record + 256));
        }
        sizes_.resize(buffers_.size());
    }

    void prepare() override { groups_.control(PERF_EVENT_IOC_ENABLE); }
    void finish() override { groups_.control(PERF_EVENT_IOC_DISABLE); }
    void sweep() override {
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            sizes_[i] = ::read(groups_.leaders()[i], buffers_[i].data(), buffers_[i].size());
            if (sizes_[i] <= 0) fail(errno, "reading an event on all CPUs");
        }
    }
    std::vector<std::uint64_t> counts() const override {
        std::vector<std::uint64_t> counts;
        for_each_record([&](std::uint64_t, std::span<const std::byte> bytes) {
            const auto payload = metagroup::Payload::parse(bytes, metagroup::default_read_format);
            if (!payload) throw std::runtime_error("a record of an event on all CPUs is invalid");
            for (std::size_t event = 0; event < payload->nr(); ++event)
                counts.push_back(payload->value(event));
        });
        return counts;
    }
    // The events have no other reader: counts only rise.
    std::vector<std::uint64_t> counts_by_read() override {
        sweep();
        return counts();
    }
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        std::vector<std::uint64_t> times;
        for_each_record(
            [&](std::uint64_t time, std::span<const std::byte>) { times.push_back(time); });
        const auto [oldest, newest] = std::ranges::minmax(times);
        return newest - oldest;
    }

  private:
    template <typename Function>
    void for_each_record(Function function) const {
        for (const std::vector<std::byte>& buffer : buffers_) {
            const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.data());
            const std::uint64_t nr = words[0], size = words[1];
            for (std::uint64_t i = 0; i < nr; ++i) {
                const auto record = std::span(buffer).subspan(16 + i * size, size);
                const auto* word = reinterpret_cast<const std::uint64_t*>(record.data());
                if (word[0] >> 32 != 0) throw std::runtime_error("a CPU could not be read");
                const std::size_t bytes =
                    metagroup::payload_size(metagroup::default_read_format, word[2]);
                function(word[1], record.subspan(16, bytes));
            }
        }
    }

    PercpuGroups groups_;
    std::vector<std::vector<std::byte>> buffers_;
    std::vector<ssize_t> sizes_;
};

// To compare with open_fds: descriptors on all CPUs are one for each event.
class OpenPercpu {
  public:
    explicit OpenPercpu(const Subject& subject) : groups_(subject) {}
    void open() {
        groups_.open();
        groups_.control(PERF_EVENT_IOC_ENABLE);
    }
    void close() { groups_.close(); }

  private:
    PercpuGroups groups_;
};

}  // namespace bench
