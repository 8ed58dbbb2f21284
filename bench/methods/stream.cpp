// SPDX-License-Identifier: MIT
// Each CPU reads its own members when its timer expires and writes the samples into a ring that the
// reader has mapped: a stream of the module. All CPUs have the same deadlines, and the reader wakes
// once per batch of them.
//
// The time of a sweep is that of draining one deadline of all CPUs; see sampling.cpp.
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <bit>
#include <cerrno>
#include <system_error>

#include "methods/method.hpp"
#include "ring.hpp"

namespace bench {
namespace {

// Deadlines for which the reader wakes once.
constexpr unsigned kDeadlines = 64;

// The words before the payload of a sample.
struct Head {
    perf_event_header header;
    std::uint64_t id, time, cpu;
};

class Stream : public Method {
  public:
    explicit Stream(Subject& subject)
        : subject_(subject),
          device_(subject.device()),
          payloads_(subject.groups().all()),
          last_(subject.groups().all().size()) {}

    measure::CpuGroups* groups() override { return &subject_.groups(); }
    void prepare() override { resume(); }
    void finish() override { pause(); }
    void pause() override {
        rings_.clear();
        control({});
    }
    void resume() override {
        const std::size_t groups = subject_.specs().size();
        const std::size_t sample = sizeof(Head) + payloads_.of(0).size();
        perf_metagroup_stream stream{};
        stream.period = static_cast<std::uint64_t>(subject_.sampling_period().count());
        stream.watermark = kDeadlines * groups * sample;
        stream.ring_size = std::bit_ceil(std::max<std::size_t>(4 * stream.watermark, 4096));
        stream = control(stream);
        period_ = stream.period;
        for (const int cpu : subject_.cpus())
            rings_.emplace_back(device_.fd(), stream.map_stride,
                                stream.map_offset + static_cast<unsigned>(cpu) * stream.map_stride);
    }

    unsigned samples() const override { return kDeadlines; }
    bool wait_sleeps() const override { return true; }
    bool uses_timers() const override { return true; }
    // Samples are used where they are until then: a ring with them would be above its watermark.
    void wait() override {
        for (Ring& ring : rings_)
            ring.release();
        pollfd fd{.fd = device_.fd(), .events = POLLIN, .revents = 0};
        if (::poll(&fd, 1, -1) < 0)
            throw std::system_error(errno, std::generic_category(), "poll of a stream");
    }
    void sweep() override {
        const std::size_t groups = subject_.specs().size();
        std::size_t first = 0;
        for (Ring& ring : rings_) {
            std::size_t group = 0;
            ring.visit([&](const perf_event_header& header, std::uint64_t where) {
                if (header.type != PERF_RECORD_SAMPLE) return;
                last_[first + group] = where;
                if (++group == groups) group = 0;
            });
            first += groups;
        }
    }
    std::vector<std::uint64_t> counts() const override {
        for (std::size_t i = 0; i < last_.size(); ++i)
            ring_of(i).copy(last_[i] + sizeof(Head), payloads_.of(i));
        return payloads_.counts();
    }

    // Of the last deadline, unless a CPU has not reached it yet.
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        Skew skew;
        std::uint64_t deadline = 0;
        for (std::size_t i = 0; i < last_.size(); ++i) {
            std::uint64_t time = 0;
            ring_of(i).copy(last_[i] + offsetof(Head, time),
                            std::as_writable_bytes(std::span(&time, 1)));
            if (deadline != 0 && time / period_ != deadline) return {};
            deadline = time / period_;
            skew.note(time);
        }
        return skew.ns();
    }
    std::optional<std::size_t> memory_bytes() const override {
        return payloads_.bytes() + rings_.size() * rings_.front().bytes();
    }

  private:
    perf_metagroup_stream control(perf_metagroup_stream stream) {
        stream.size = sizeof(stream);
        if (::ioctl(device_.fd(), PERF_METAGROUP_IOC_STREAM, &stream) != 0)
            throw std::system_error(errno, std::generic_category(), "PERF_METAGROUP_IOC_STREAM");
        return stream;
    }

    const Ring& ring_of(std::size_t member) const {
        return rings_[member / subject_.specs().size()];
    }

    Subject& subject_;
    metagroup::Device& device_;
    mutable measure::Payloads payloads_;
    std::vector<std::uint64_t> last_;  // where the last sample of each group is in its ring
    std::vector<Ring> rings_;
    std::uint64_t period_ = 1;
};

}  // namespace

std::unique_ptr<Method> make_stream(Subject& subject) {
    return std::make_unique<Stream>(subject);
}

}  // namespace bench
