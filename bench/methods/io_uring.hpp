// SPDX-License-Identifier: MIT
// A read of each leader by one io_uring_enter(2): one system call for the same reads, one after the
// other. The files are registered. A perf file has a plain .read only, which io_uring hands to its
// worker threads unless the file is O_NONBLOCK, a flag that perf ignores. O_NONBLOCK reads run
// inside the call, which is much faster, so the files are made so.
#pragma once

#include <fcntl.h>
#include <liburing.h>

#include <algorithm>
#include <cerrno>

#include "methods/method.hpp"

namespace bench {

class IoUring : public Method {
  public:
    explicit IoUring(Subject& subject) : groups_(subject.groups()), payloads_(groups_.all()) {
        const std::vector<int> leaders = groups_.leaders();
        for (const int fd : leaders) {
            if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
                fail(errno, "making a perf event O_NONBLOCK");
        }
        const auto count = static_cast<unsigned>(leaders.size());
        if (const int error = ::io_uring_queue_init(count, &ring_.ring, 0); error < 0)
            fail(-error, "io_uring_setup (see /proc/sys/kernel/io_uring_disabled)");
        ring_.open = true;
        if (const int error = ::io_uring_register_files(&ring_.ring, leaders.data(), count);
            error < 0)
            fail(-error, "registering perf events with io_uring");
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override {
        const auto count = static_cast<unsigned>(groups_.all().size());
        for (unsigned i = 0; i < count; ++i) {
            io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_.ring);
            const auto payload = payloads_.of(i);
            ::io_uring_prep_read(sqe, static_cast<int>(i), payload.data(),
                                 static_cast<unsigned>(payload.size()), 0);
            sqe->flags |= IOSQE_FIXED_FILE;
        }
        if (const int error = ::io_uring_submit_and_wait(&ring_.ring, count); error < 0)
            fail(-error, "io_uring_enter");
        for (unsigned i = 0; i < count; ++i) {
            io_uring_cqe* cqe = nullptr;
            if (const int error = ::io_uring_peek_cqe(&ring_.ring, &cqe); error < 0)
                fail(-error, "a completion of io_uring");
            if (cqe->res < 0) fail(-cqe->res, "reading a perf event by io_uring");
            ::io_uring_cqe_seen(&ring_.ring, cqe);
        }
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::size_t> memory_bytes() const override {
        const io_uring& ring = ring_.ring;
        const std::size_t entries = ring.sq.ring_entries * sizeof(io_uring_sqe);
        // Both queues are in one mapping.
        return payloads_.bytes() + std::max(ring.sq.ring_sz, ring.cq.ring_sz) + entries;
    }

  private:
    struct Ring {
        Ring() = default;
        Ring(const Ring&) = delete;
        Ring& operator=(const Ring&) = delete;
        ~Ring() {
            if (open) ::io_uring_queue_exit(&ring);
        }
        io_uring ring{};
        bool open = false;
    };

    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
    Ring ring_;
};

}  // namespace bench
