// SPDX-License-Identifier: MIT
// The samples of a stream with known counts, and recordings of it.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <metagroup/recording_writer.hpp>
#include <string>

#include "support/frame_builder.hpp"

namespace metagroup::test {

/// Makes an event the timer that samples where no module does.
inline void make_timer(perf_event_attr& attr) {
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.watermark = 1;
}

/// {cycles,instructions} on some CPUs. CPU n counts n + 1 cycles each nanosecond, and twice as many
/// instructions; its timer is n + 1 microseconds late.
struct SyntheticStream {
    static constexpr std::uint64_t format = default_read_format | ReadFormat::id;
    static constexpr std::uint64_t period = 1'000'000;
    static constexpr std::uint64_t first = 5'000 * period;  // deadline

    int cpus = 2;

    static std::uint64_t cycles_id(int cpu) { return 100 + static_cast<std::uint64_t>(cpu); }
    static std::uint64_t instructions_id(int cpu) { return 200 + static_cast<std::uint64_t>(cpu); }
    static std::uint64_t time(int cpu, std::uint64_t deadline) {
        return first + deadline * period + 1000 * static_cast<std::uint64_t>(cpu + 1);
    }
    static std::uint64_t cycles(int cpu, std::uint64_t deadline) {
        return (deadline + 1) * period * static_cast<std::uint64_t>(cpu + 1);
    }

    [[nodiscard]] RecordingWriter::Options options() const {
        RecordedEvent cycles_event{.name = "cycles"};
        cycles_event.attr.type = PERF_TYPE_HARDWARE;
        cycles_event.attr.config = PERF_COUNT_HW_CPU_CYCLES;
        RecordedEvent instructions{.name = "instructions"};
        instructions.attr.type = PERF_TYPE_HARDWARE;
        instructions.attr.config = PERF_COUNT_HW_INSTRUCTIONS;
        for (int cpu = 0; cpu < cpus; ++cpu) {
            cycles_event.ids.push_back(cycles_id(cpu));
            instructions.ids.push_back(instructions_id(cpu));
        }
        return {.events = {cycles_event, instructions},
                .period_ns = period,
                .command = {"metagroup", "record", "-e", "{cycles,instructions}"},
                .version = "metagroup 1.2.3"};
    }

    /// Appends the sample of a CPU for a deadline.
    static void sample(Bytes& records, int cpu, std::uint64_t deadline) {
        const std::uint64_t elapsed = (deadline + 1) * period;
        const Bytes read = payload(format,
                                   {{cycles(cpu, deadline), cycles_id(cpu)},
                                    {2 * cycles(cpu, deadline), instructions_id(cpu)}},
                                   elapsed, elapsed);
        begin(records, PERF_RECORD_SAMPLE, 24 + read.size());
        append(records, cycles_id(cpu));
        append(records, time(cpu, deadline));
        append(records, static_cast<std::uint64_t>(cpu));
        records.insert(records.end(), read.begin(), read.end());
    }
    /// Appends that a CPU has no samples for the `count` deadlines before this one.
    static void lost(Bytes& records, int cpu, std::uint64_t deadline, std::uint64_t count) {
        begin(records, PERF_RECORD_LOST_SAMPLES, 32);
        append(records, count);
        append(records, time(cpu, deadline));
        append(records, static_cast<std::uint64_t>(cpu));
        append(records, cycles_id(cpu));
    }

    /// All CPUs for the deadlines [0, deadlines), in rounds of ten. The last CPU loses two
    /// deadlines in the middle.
    void write(RecordingWriter& writer, std::uint64_t deadlines) const {
        for (std::uint64_t round = 0; round < deadlines; round += 10) {
            for (int cpu = 0; cpu < cpus; ++cpu) {
                Bytes records;
                for (std::uint64_t at = round; at < std::min(round + 10, deadlines); ++at) {
                    const bool last = cpu == cpus - 1;
                    if (last && at / 2 == deadlines / 4) continue;
                    if (last && at / 2 == deadlines / 4 + 1 && at % 2 == 0)
                        lost(records, cpu, at, 2);
                    sample(records, cpu, at);
                }
                writer.write(Records(records));
            }
            writer.finish_round();
        }
    }
    void write_file(const std::string& path, std::uint64_t deadlines) const {
        RecordingWriter writer(path, options());
        write(writer, deadlines);
        writer.finish();
    }

  private:
    static void begin(Bytes& records, std::uint32_t type, std::size_t size) {
        append(records, perf_event_header{
                            type, 0, static_cast<std::uint16_t>(sizeof(perf_event_header) + size)});
    }
};

}  // namespace metagroup::test
