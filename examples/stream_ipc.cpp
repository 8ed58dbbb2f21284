// SPDX-License-Identifier: MIT
// usage: stream_ipc [{EVENT,EVENT} [SECONDS]] Samples instructions per cycle of every CPU 10000
// times a second, or the ratio of two other events. Once a second, prints the lowest and highest
// ratio between two samples, and the numbers of samples and lost samples, since the start.
#include <algorithm>
#include <cstdio>
#include <metagroup/accumulator.hpp>
#include <metagroup/stream.hpp>
#include <stdexcept>
#include <string>
#include <vector>

struct Cpu {
    std::uint64_t samples = 0, lost = 0;
    double lowest = 1e9, highest = 0;
};

int main(int argc, char** argv) try {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(argc > 1 ? argv[1] : "{cycles,instructions}");
    if (options.groups.size() != 1 || options.groups[0].events.size() != 2)
        throw std::invalid_argument("give one group of two events, e.g. {cycles,instructions}");
    int seconds = argc > 2 ? std::stoi(argv[2]) : 0;  // 0: no limit

    auto group = metagroup::MetaGroup::open(options);
    std::vector<Cpu> cpus(group.members().size());
    metagroup::Accumulator differences(cpus.size());
    auto stream = metagroup::Stream::start(group, {.period = std::chrono::microseconds(100)});
    while (stream.wait(std::chrono::seconds(1)) != metagroup::Stream::Wake::ended) {
        for (const metagroup::Deadline& deadline : stream.read()) {
            for (const metagroup::Sample& sample : deadline) {
                Cpu& cpu = cpus[sample.index()];
                cpu.lost += sample.lost();
                if (sample.nr() > 0) ++cpu.samples;
                const auto difference = differences.add(sample);
                if (!difference) continue;  // the first sample, or only losses
                const auto cycles = difference->estimate(0), done = difference->estimate(1);
                if (!cycles || !done || *cycles == 0) continue;
                const double ratio = *done / *cycles;
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
