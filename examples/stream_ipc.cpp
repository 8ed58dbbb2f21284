// SPDX-License-Identifier: MIT
// usage: stream_ipc [{EVENT,EVENT} [SECONDS]]
// Samples instructions per cycle of every CPU 10000 times a second, or the ratio of two other
// events. Prints at every full second, since the start: the lowest and highest ratio between two
// samples, the samples, and those lost.
#include <algorithm>
#include <cstdio>
#include <metagroup/stream.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Cpu {
    std::uint64_t cycles = 0, instructions = 0, samples = 0, lost = 0;
    double lowest = 1e9, highest = 0;
};

int main(int argc, char** argv) try {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(argc > 1 ? argv[1] : "{cycles,instructions}");
    if (options.groups.size() != 1 || options.groups[0].events.size() != 2)
        throw std::invalid_argument("give one group of two events, as in {cycles,instructions}");
    int seconds = argc > 2 ? std::stoi(argv[2]) : 0;  // 0: no limit

    auto group = metagroup::MetaGroup::open(options);
    std::vector<Cpu> cpus(group.members().size());
    auto stream = metagroup::Stream::start(group, {.period = std::chrono::microseconds(100)});
    while (stream.wait(std::chrono::seconds(1)) != metagroup::Stream::Wake::ended) {
        for (const metagroup::Deadline& deadline : stream.read()) {
            for (const metagroup::Sample& sample : deadline) {
                Cpu& cpu = cpus[sample.index()];
                cpu.lost += sample.lost();
                const auto all_cycles = sample.raw(0), all_done = sample.raw(1);
                if (!all_cycles || !all_done) continue;
                const auto cycles = *all_cycles - std::exchange(cpu.cycles, *all_cycles);
                const auto done = *all_done - std::exchange(cpu.instructions, *all_done);
                if (++cpu.samples == 0 || cycles == 0) continue;  // since the start, or idle
                const double ratio = double(done) / double(cycles);
                cpu.lowest = std::min(cpu.lowest, ratio);
                cpu.highest = std::max(cpu.highest, ratio);
            }
            if (deadline.time_ns() % 1'000'000'000 != 0) continue;
            for (std::size_t i = 0; i < cpus.size(); ++i)
                std::printf("CPU %3d %8.3g to %8.3g, %lu samples, %lu lost\n",
                            group.members()[i].cpu, std::min(cpus[i].lowest, cpus[i].highest),
                            cpus[i].highest, cpus[i].samples, cpus[i].lost);
            std::fflush(stdout);
            if (--seconds == 0) return 0;
        }
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "stream_ipc: %s\n", error.what());
    return 1;
}
