// SPDX-License-Identifier: MIT
// usage: stream_ipc [{EVENT,EVENT} [SECONDS]]
// Samples instructions per cycle of every CPU 10000 times a second, or the ratio of two other
// events. Prints the lowest and highest ratio of each second, the samples, and those lost.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <metagroup/stream.hpp>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(argc > 1 ? argv[1] : "{cycles,instructions}");
    if (options.groups.size() != 1 || options.groups[0].events.size() != 2)
        throw std::invalid_argument("give one group of two events, as in {cycles,instructions}");
    int seconds = argc > 2 ? std::stoi(argv[2]) : -1;  // -1: no limit

    struct Cpu {
        double cycles = 0, instructions = 0;  // the last counts
        double lowest = 1e9, highest = 0;
        unsigned long samples = 0, lost = 0;
    };
    auto group = metagroup::MetaGroup::open(options);
    std::vector<Cpu> cpus(group.members().size());
    auto stream = metagroup::Stream::start(group, {.period = std::chrono::microseconds(100)});
    for (auto end = stream.first_ns(); seconds != 0;) {
        if (stream.wait(std::chrono::seconds(1)) == metagroup::Stream::Wake::ended) break;
        for (const metagroup::Deadline& deadline : stream.read()) {
            for (const metagroup::Sample& sample : deadline) {
                Cpu& cpu = cpus[sample.index()];
                cpu.lost += sample.lost();
                if (sample.lost() > 0) continue;
                const auto cycles = static_cast<double>(sample.raw(0).value_or(0));
                const auto instructions = static_cast<double>(sample.raw(1).value_or(0));
                const double ratio = (instructions - cpu.instructions) / (cycles - cpu.cycles);
                if (cpu.cycles > 0 && cycles > cpu.cycles) {
                    cpu.lowest = std::min(cpu.lowest, ratio);
                    cpu.highest = std::max(cpu.highest, ratio);
                }
                cpu.cycles = cycles;
                cpu.instructions = instructions;
                ++cpu.samples;
            }
            if (deadline.time_ns() < end + 1'000'000'000) continue;
            for (std::size_t i = 0; i < cpus.size(); ++i) {
                Cpu& cpu = cpus[i];
                std::printf("CPU %3d %8.3g to %8.3g, %lu samples, %lu lost\n",
                            group.members()[i].cpu, std::min(cpu.lowest, cpu.highest), cpu.highest,
                            cpu.samples, cpu.lost);
                cpu = {.cycles = cpu.cycles, .instructions = cpu.instructions};
            }
            std::fflush(stdout);
            end += 1'000'000'000;
            if (--seconds == 0) break;
        }
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "stream_ipc: %s\n", error.what());
    return 1;
}
