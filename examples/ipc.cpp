// SPDX-License-Identifier: MIT
// usage: ipc [{EVENT,EVENT} [SECONDS]] Prints instructions per cycle of every CPU once a second, or
// the ratio of two other events.
#include <chrono>
#include <cstdio>
#include <exception>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <stdexcept>
#include <string>
#include <thread>

int main(int argc, char** argv) try {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(argc > 1 ? argv[1] : "{cycles,instructions}");
    if (options.groups.size() != 1 || options.groups[0].events.size() != 2)
        throw std::invalid_argument("give one group of two events, e.g. {cycles,instructions}");
    int seconds = argc > 2 ? std::stoi(argv[2]) : -1;  // -1: no limit

    auto group = metagroup::MetaGroup::open(options);
    metagroup::Snapshot before;
    metagroup::Snapshot now;
    for (group.read(before); seconds != 0; before.swap(now), --seconds) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        group.read(now);  // all CPUs
        const metagroup::Delta delta(before, now);
        for (const metagroup::MemberDelta& cpu : delta) {
            const auto cycles = cpu.scaled(0), done = cpu.scaled(1);
            if (cycles && done && *cycles > 0)
                std::printf("CPU %3d  %8.3g\n", cpu.newer().cpu(), *done / *cycles);
            else
                std::printf("CPU %3d  not counted\n", cpu.newer().cpu());  // it is offline
        }
        std::fflush(stdout);
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "ipc: %s\n", error.what());
    return 1;
}
