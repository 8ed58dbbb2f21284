// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace soak {
namespace {

double kilobytes(const char* path, const std::string& field) {
    std::ifstream file(path);
    std::string word;
    double value = 0;
    while (file >> word)
        if (word == field && file >> value) return value;
    throw std::runtime_error(std::string(path) + " has no " + field);
}

}  // namespace

void Memory::sample() {
    Sample now{};
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
        now[kind] = kilobytes(kKinds[kind].file, kKinds[kind].field);
    samples_.push_back(now);
}

bool Memory::judge() const {
    const std::size_t first = samples_.size() / 3;
    const auto count = static_cast<double>(samples_.size() - first);
    if (count < 5) throw std::runtime_error("too few samples of memory: let it run for longer");
    bool flat = true;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        double x = 0, y = 0, xx = 0, xy = 0;
        for (std::size_t i = first; i < samples_.size(); ++i) {
            const auto at = static_cast<double>(i - first);
            x += at;
            y += samples_[i][kind];
            xx += at * at;
            xy += at * samples_[i][kind];
        }
        const double slope = (count * xy - x * y) / (count * xx - x * x);
        const double growth = slope * (count - 1);
        const bool fine = growth <= kKinds[kind].tolerated;
        std::printf("%-12s from %.0f to %.0f kB, grows by %.0f kB (%.0f are tolerated)%s\n",
                    kKinds[kind].field, samples_[first][kind], samples_.back()[kind], growth,
                    kKinds[kind].tolerated, fine ? "" : ": FAILED");
        flat &= fine;
    }
    return flat;
}

}  // namespace soak
