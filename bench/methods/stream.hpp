// SPDX-License-Identifier: MIT
// Each CPU reads its own members when its timer expires and writes the samples into a ring that the
// reader has mapped: a stream of the module. All CPUs have the same deadlines, and the reader wakes
// once per batch of them.
//
// The time of a sweep is that of draining one deadline of all CPUs; see sampling.hpp.
#pragma once

#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <metagroup/metagroup.hpp>
#include <metagroup/stream.hpp>

#include "methods/module.hpp"
#include "ring.hpp"

namespace bench {

// The words before the payload of a sample.
struct Head {
    perf_event_header header;
    std::uint64_t id, time, cpu;
};

inline std::size_t ring_bytes(std::size_t watermark) {
    return std::bit_ceil(std::max<std::size_t>(4 * watermark, 4096));
}

class Stream : public Method {
  public:
    // The reader wakes once for so many deadlines.
    Stream(Subject& subject, unsigned deadlines)
        : subject_(subject),
          device_(subject.device()),
          deadlines_(deadlines),
          period_(subject.period()),
          payloads_(subject.groups().all()),
          last_(subject.groups().all().size()) {}

    Kind kind() const override { return Kind::timer; }
    measure::CpuGroups* groups() override { return &subject_.groups(); }
    void pause() override {
        rings_.clear();
        visited_ = 0;
        control({});
    }
    void resume() override {
        perf_metagroup_stream stream{};
        stream.period = period();
        stream.watermark = deadlines_ * deadline_bytes();
        stream.ring_size = ring_bytes(stream.watermark);
        stream = control(stream);
        for (const int cpu : subject_.cpus())
            rings_.emplace_back(device_.fd(), stream.map_stride,
                                stream.map_offset + static_cast<unsigned>(cpu) * stream.map_stride);
    }

    void wait() override {
        release();
        pollfd fd{.fd = device_.fd(), .events = POLLIN, .revents = 0};
        if (::poll(&fd, 1, -1) < 0) fail(errno, "poll of a stream");
    }
    void sweep() override {
        const std::size_t groups = subject_.specs().size();
        std::size_t first = 0;
        for (Ring& ring : rings_) {
            std::size_t group = 0;
            ring.visit([&](const perf_event_header& header, std::uint64_t where) {
                if (header.type != PERF_RECORD_SAMPLE) [[unlikely]] {
                    note_loss(ring, header, where);
                    return;
                }
                last_[first + group] = where;
                if (++group == groups) group = 0;
            });
            first += groups;
        }
    }
    // All samples are of the same size.
    double samples(unsigned) override {
        return static_cast<double>(newly_visited(rings_, visited_)) /
               static_cast<double>(deadline_bytes() * rings_.size());
    }
    std::vector<std::uint64_t> counts() const override {
        for (std::size_t i = 0; i < last_.size(); ++i)
            ring_of(i).copy(last_[i] + sizeof(Head), payloads_.of(i));
        return payloads_.counts();
    }

    // Of the last deadline, unless a CPU has not reached it yet.
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        std::vector<std::uint64_t> times;
        for (std::size_t i = 0; i < last_.size(); ++i)
            times.push_back(ring_of(i).word(last_[i] + offsetof(Head, time)));
        const auto [oldest, newest] = std::ranges::minmax(times);
        if (oldest / period() != newest / period()) return {};
        return newest - oldest;
    }
    std::vector<std::uint64_t> lateness_ns() override {
        std::vector<std::uint64_t> late;
        for (Ring& ring : rings_)
            ring.visit([&](const perf_event_header& header, std::uint64_t where) {
                if (header.type == PERF_RECORD_SAMPLE)
                    late.push_back(ring.word(where + offsetof(Head, time)) % period());
            });
        return late;
    }
    // Shortens the period until the reader, a timer or max_stream_percent loses a deadline within
    // some fillings of the rings.
    std::optional<double> max_rate() override {
        constexpr unsigned batches = 20;
        double rate = 0;
        for (const std::uint64_t before = lost_; period() >= PERF_METAGROUP_MIN_PERIOD;
             period_ = period_ * 4 / 5) {
            pause();
            resume();
            for (unsigned i = 0; i < batches && lost_ == before; ++i) {
                wait();
                sweep();
            }
            if (lost_ != before) break;
            rate = 1e9 / static_cast<double>(period());
        }
        period_ = subject_.period();
        pause();
        resume();
        return rate;
    }
    std::map<std::string, double> losses() const override {
        return {{"lost", static_cast<double>(lost_)}, {"overruns", overruns_}};
    }

  protected:
    // Samples are used where they are until then: a ring with them would be above its watermark.
    void release() {
        bool full = false;
        for (Ring& ring : rings_) {
            full |= ring.unreleased() + deadline_bytes() > ring.data_bytes();
            ring.release();
        }
        overruns_ += full;
    }

    Subject& subject_;
    metagroup::Device& device_;
    unsigned deadlines_;
    std::chrono::nanoseconds period_;

  private:
    perf_metagroup_stream control(perf_metagroup_stream stream) {
        stream.size = sizeof(stream);
        if (::ioctl(device_.fd(), PERF_METAGROUP_IOC_STREAM, &stream) != 0)
            fail(errno, "PERF_METAGROUP_IOC_STREAM");
        return stream;
    }
    // The number follows the header and the identifier.
    [[gnu::noinline]] void note_loss(const Ring& ring, const perf_event_header& header,
                                     std::uint64_t where) {
        if (header.type == PERF_RECORD_LOST_SAMPLES) lost_ += ring.word(where + sizeof(header));
    }
    std::size_t deadline_bytes() {
        return subject_.specs().size() * (sizeof(Head) + payloads_.of(0).size());
    }
    std::uint64_t period() const { return static_cast<std::uint64_t>(period_.count()); }
    const Ring& ring_of(std::size_t member) const {
        return rings_[member / subject_.specs().size()];
    }

    mutable measure::Payloads payloads_;
    std::vector<std::uint64_t> last_;  // where the last sample of each group is in its ring
    std::vector<Ring> rings_;
    std::uint64_t lost_ = 0;
    unsigned overruns_ = 0;
    std::uint64_t visited_ = 0;  // bytes of all rings, at the last call of samples()
};

// CPUs have no deadlines while they are idle, so costs are those of a deadline, with samples or
// not, and the reader wakes by the clock. Its counts are those of Stream where there are any.
class QuietStream : public Stream {
  public:
    explicit QuietStream(Subject& subject)
        : Stream(subject.stable_in_idle(), 64), periods_(period_ * deadlines_) {}

    void prepare() override {
        device_.set_mode({.quiet = true});
        resume();
    }
    void finish() override {
        pause();
        device_.set_mode({});
    }
    void wait() override {
        release();
        periods_.sleep();
    }
    double samples(unsigned sweeps) override { return deadlines_ * sweeps; }
    std::vector<std::uint64_t> counts_by_read() override { return {}; }
    std::optional<std::uint64_t> skew_ns() override { return {}; }
    std::optional<double> max_rate() override { return {}; }

  private:
    Periods periods_;
};

// The same by the library, which delivers each deadline with the samples of all CPUs. The reader
// copies the payloads, as read() of a snapshot does.
class LibraryStream : public Method {
  public:
    LibraryStream(Subject& subject, unsigned deadlines)
        : payloads_(subject.groups().all()),
          group_(metagroup::MetaGroup::open({.groups = subject.specs(),
                                             .cpus = subject.cpus(),
                                             .backend = metagroup::Backend::module,
                                             .origin = metagroup::EventOrigin::groups,
                                             .start_disabled = true})) {
        options_.period = subject.period();
        options_.watermark =
            deadlines * subject.specs().size() * (sizeof(Head) + payloads_.of(0).size());
        options_.ring_size = ring_bytes(options_.watermark);
    }

    Kind kind() const override { return Kind::timer; }
    void prepare() override {
        group_.enable();
        resume();
    }
    void finish() override {
        pause();
        group_.disable();
    }
    void pause() override { stream_.reset(); }
    void resume() override { stream_.emplace(metagroup::Stream::start(group_, options_)); }

    void wait() override {
        stream_->release();
        stream_->wait(std::chrono::nanoseconds(-1));
    }
    void sweep() override {
        for (auto all = stream_->read(); !all.empty(); all = stream_->read()) {
            for (const metagroup::Deadline& deadline : all) {
                for (const metagroup::Sample& sample : deadline) {
                    lost_ += sample.lost();
                    samples_ += sample.nr() != 0;
                    // std::ranges::copy() of std::byte is a loop.
                    if (const auto bytes = sample.payload_bytes(); !bytes.empty())
                        std::memcpy(payloads_.of(sample.index()).data(), bytes.data(),
                                    bytes.size());
                }
            }
        }
    }
    double samples(unsigned) override {
        return static_cast<double>(std::exchange(samples_, 0)) /
               static_cast<double>(group_.members().size());
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::vector<std::uint64_t> counts_by_read() override {
        group_.read(snapshot_);
        return counts_of(snapshot_);
    }
    std::map<std::string, double> losses() const override {
        return {{"lost", static_cast<double>(lost_)}};
    }

  private:
    measure::Payloads payloads_;
    metagroup::MetaGroup group_;
    metagroup::Stream::Options options_;
    std::optional<metagroup::Stream> stream_;
    metagroup::Snapshot snapshot_;
    std::uint64_t samples_ = 0;  // since the last call of samples()
    std::uint64_t lost_ = 0;
};

}  // namespace bench
