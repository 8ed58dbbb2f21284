// SPDX-License-Identifier: MIT
// Streams are started, read and stopped while everything else goes on.
#include <system_error>

#include "worker.hpp"

namespace stress {
namespace {

bool start(Slot& slot, Random& random) {
    const std::chrono::microseconds period(10 << random.below(10));
    const std::size_t size = kRingPage << random.below(6);
    const unsigned flags = random.one_in(4) ? PERF_METAGROUP_STREAM_OVERWRITE : 0;
    try {
        slot.stream.emplace(slot.meta, period, size, flags);
    } catch (const std::system_error& error) {
        demand(error.code().value() == ENOSPC, error.what());
        return false;
    }
    return true;
}

void drain(Worker& worker, Slot& slot) {
    for (const auto& [cpu, records] : slot.stream->drain()) {
        std::uint64_t last = 0;
        for (const RingRecord& record : records) {
            demand(record.cpu == cpu, "a record is in the ring of another CPU");
            demand(record.time >= last, "a record is older than the one before");
            last = record.time;
            if (record.is_sample()) worker.checker.check_sample(slot.read_format, record);
        }
    }
}

}  // namespace

bool stream(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const std::unique_lock lock(slot->streaming, std::try_to_lock);
    if (!lock) return false;
    if (!slot->stream) return start(*slot, random);
    if (!slot->stream->overwrites()) drain(worker, *slot);
    if (random.one_in(20)) {
        slot->stream->stop();
        if (!slot->stream->overwrites()) drain(worker, *slot);
        slot->stream.reset();
    }
    return true;
}

}  // namespace stress
