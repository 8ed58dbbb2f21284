// SPDX-License-Identifier: MIT
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>
#include <metagroup/stream.hpp>
#include <stdexcept>
#include <thread>

#include "deadlines.hpp"
#include "format.hpp"
#include "system.hpp"

namespace metagroup {

namespace {

constexpr std::int64_t least_period = PERF_METAGROUP_MIN_PERIOD;
constexpr std::int64_t longest_period = PERF_METAGROUP_MAX_PERIOD;
constexpr std::size_t largest_ring = std::size_t{64} << 20U;
// How late a sample may be, beyond two periods.
constexpr std::uint64_t lateness = 10'000'000;
// Time between two searches for members that were moved, which take system calls.
constexpr std::uint64_t search_interval = 100'000'000;

detail::SamplerOptions checked(const Stream::Options& options) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (options.period.count() < least_period || options.period.count() > longest_period)
        throw std::invalid_argument(
            detail::format("invalid period {} ns: it must be from {} to {} ns",
                           options.period.count(), least_period, longest_period));
    if (!std::has_single_bit(options.ring_size) || options.ring_size < page ||
        options.ring_size > largest_ring)
        throw std::invalid_argument(
            detail::format("invalid ring size {}: it must be a power of two, from {} to {}",
                           options.ring_size, page, largest_ring));
    if (options.watermark > options.ring_size)
        throw std::invalid_argument(
            detail::format("a watermark of {} bytes exceeds the ring size of {} bytes",
                           options.watermark, options.ring_size));
    return {static_cast<std::uint64_t>(options.period.count()), options.ring_size,
            options.watermark > 0 ? options.watermark : options.ring_size / 2, options.overwrite};
}

// A ring that was not half full is not full after this time, if samples have up to 512 bytes.
std::chrono::nanoseconds pause_of(const detail::SamplerOptions& options) {
    return std::chrono::nanoseconds(
        std::min(options.period * (options.ring_size / 1024), lateness));
}

}  // namespace

struct Stream::State {
    State(std::shared_ptr<detail::Sampler> started, const detail::SamplerOptions& with)
        : options(with), sampler(std::move(started)), reader(*sampler, with.period) {
        // Overwritten rings have no watermark; the end of the stream is always reported.
        for (pollfd& one : sampler->poll_fds)
            one.events = with.overwrite ? 0 : POLLIN;
    }

    // The interval gives every member time to write a record.
    void follow_members(std::uint64_t now) {
        if (now < next_search) return;
        if (next_search > 0) sampler->follow_members();
        next_search = now + std::max(search_interval, 2 * options.period + lateness);
    }

    detail::SamplerOptions options;
    std::shared_ptr<detail::Sampler> sampler;
    detail::DeadlineReader reader;
    std::uint64_t next_search = 0;
    std::vector<Records> pieces{};  // of read_records()
};

Stream Stream::start(MetaGroup& group, const Options& options) {
    const detail::SamplerOptions wanted = checked(options);
    return Stream(std::make_unique<State>(group.start_sampler(wanted), wanted));
}

Stream::Stream(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Stream::Wake Stream::wait(std::chrono::nanoseconds timeout) {
    if (state_->sampler->inherited()) return Wake::ended;
    release();
    if (state_->reader.has_more()) return Wake::data;
    auto& poll_fds = state_->sampler->poll_fds;
    const std::uint64_t begin = detail::monotonic_ns();
    // Samples that are held back can keep a ring above its watermark, which makes poll(2) return
    // immediately each time.
    if (state_->reader.holds_back() && state_->sampler->running) {
        std::chrono::nanoseconds pause = pause_of(state_->options);
        if (timeout.count() >= 0) pause = std::min(pause, timeout);
        std::this_thread::sleep_for(pause);
    }
    while (state_->sampler->running) {
        timespec left{};
        if (timeout.count() > 0) {
            const auto passed = static_cast<std::int64_t>(detail::monotonic_ns() - begin);
            const std::int64_t ns = std::max<std::int64_t>(timeout.count() - passed, 0);
            left = {ns / 1'000'000'000, ns % 1'000'000'000};
        }
        const int ready = ::ppoll(poll_fds.data(), poll_fds.size(),
                                  timeout.count() < 0 ? nullptr : &left, nullptr);
        if (ready == 0) return Wake::timeout;
        if (ready < 0) {
            if (errno == EINTR) continue;
            detail::throw_error(detail::Call::use_device, errno, "cannot wait for the stream");
        }
        bool data = false;
        for (pollfd& one : poll_fds) {
            data = data || (one.revents & POLLIN) != 0;
            // Do not poll an event that has ended.
            if ((one.revents & ~POLLIN) != 0) one.fd = -1;
        }
        if (std::ranges::all_of(poll_fds, [](const pollfd& one) { return one.fd < 0; }))
            state_->sampler->running = false;
        else if (data)
            return Wake::data;
    }
    return Wake::ended;
}

std::span<const Deadline> Stream::read() & {
    if (state_->sampler->inherited()) return {};
    if (!state_->sampler->running) return state_->reader.read(UINT64_MAX);
    if (state_->options.overwrite) return {};
    // Taken before the rings are read: samples due after that are not late.
    const std::uint64_t now = detail::monotonic_ns();
    state_->follow_members(now);
    return state_->reader.read(now - std::min(now, 2 * state_->options.period + lateness));
}

std::span<const Records> Stream::read_records() & {
    if (state_->sampler->inherited()) return {};
    release();
    state_->pieces.clear();
    if (state_->options.overwrite && state_->sampler->running) return {};
    if (state_->sampler->running) state_->follow_members(detail::monotonic_ns());
    state_->reader.take_all(state_->pieces);
    return state_->pieces;
}

std::vector<RecordedEvent> Stream::events() const {
    std::vector<RecordedEvent> events;
    for (const RecordedEvent& event : state_->sampler->events) {
        if (event.ids.empty()) continue;  // all its CPUs are gone
        const bool leads = &event == &state_->sampler->events[event.leader];
        const std::size_t leader = leads ? events.size() : events.back().leader;
        events.push_back(event);
        events.back().leader = leader;
    }
    return events;
}

std::span<const pollfd> Stream::poll_fds() const noexcept {
    return state_->sampler->poll_fds;
}

void Stream::release() noexcept {
    if (!state_->sampler->inherited()) state_->reader.release();
}

std::uint64_t Stream::stop() {
    if (state_->sampler->inherited()) return 0;
    release();
    return state_->sampler->running ? state_->sampler->stop() : 0;
}

std::uint64_t Stream::period_ns() const noexcept {
    return state_->options.period;
}
std::uint64_t Stream::first_ns() const noexcept {
    return state_->sampler->first;
}

}  // namespace metagroup
