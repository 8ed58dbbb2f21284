// SPDX-License-Identifier: MIT
// metagroup_soak: sweeps at full rate, with CPU hotplug every second. Memory must not grow, and no
// sweep may be lost.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/cpus.hpp"
#include "support/meta.hpp"

namespace {

using namespace metagroup::test;
using std::chrono::steady_clock;

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;
constexpr int kEvents = 4;

double kilobytes(const char* path, const std::string& field) {
    std::ifstream file(path);
    std::string word;
    double value = 0;
    while (file >> word)
        if (word == field && file >> value) return value;
    throw std::runtime_error(std::string(path) + " has no " + field);
}

// Memory of the kernel and of this process, and whether it grows.
class Memory {
  public:
    // To be called at regular times.
    void sample() {
        Sample now{};
        for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
            now[kind] = kilobytes(kKinds[kind].file, kKinds[kind].field);
        samples_.push_back(now);
    }

    // By how much each kind grows in the time that was sampled, from the slope of the line that
    // fits best. The first third is warm-up. False if one grows by more than is tolerated.
    bool judge() const {
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

  private:
    struct Kind {
        const char* file;
        const char* field;
        double tolerated;  // kB
    };
    // Slabs are filled and emptied in pages as others use them, too.
    static constexpr std::array<Kind, 3> kKinds = {{{"/proc/meminfo", "SUnreclaim:", 512},
                                                    {"/proc/meminfo", "VmallocUsed:", 256},
                                                    {"/proc/self/status", "VmRSS:", 256}}};
    using Sample = std::array<double, kKinds.size()>;  // kB
    std::vector<Sample> samples_;
};

class Soak {
  public:
    explicit Soak(unsigned seconds)
        : seconds_(seconds), groups_(open_everywhere(kFormat, kEvents)) {
        if (meta_.attach(groups_) || meta_.set_format(PERF_METAGROUP_FORMAT_FRAMED))
            throw std::runtime_error("cannot attach to all CPUs");
    }

    bool run() {
        std::thread reader([this] { read(); });
        std::thread mapper([this] { sweep_mapped(); });
        std::thread plugger([this] { plug(); });
        watch();
        stop_ = true;
        reader.join();
        mapper.join();
        plugger.join();
        return judge();
    }

  private:
    void fail(const char* what) {
        if (!failed_.exchange(true)) std::printf("FAILED: %s\n", what);
    }

    void read() {
        Bytes buffer(1 << 20);
        for (; !stop_; ++delivered_)
            if (meta_.read(buffer.data(), buffer.size()) <= 0) return fail("a read");
    }

    void sweep_mapped() {
        const Mapping mapping(meta_);
        unsigned before = mapping.version();
        for (; !stop_; ++delivered_) {
            if (meta_.sweep()) return fail("a sweep");
            const unsigned after = mapping.version();
            if (after == before || mapping.moved()) return fail("a sweep is not seen in memory");
            before = after;
        }
    }

    // The group of an offline CPU does not count again: a new one replaces it.
    void plug() {
        const int cpu = online_cpus().back();
        unsigned member = static_cast<unsigned>(groups_.size()) - 1;
        for (; !stop_; ++plugs_) {
            ::sleep(1);
            if (!set_online(cpu, false) || !set_online(cpu, true)) return fail("CPU hotplug");
            if (meta_.detach(member)) return fail("DETACH");
            groups_.back() = open_group(cpu, kFormat, kEvents);
            perf_metagroup_attach out{};
            if (meta_.attach(groups_.back(), &out)) return fail("ATTACH");
            member = out.first;
        }
    }

    void watch() {
        const auto begin = steady_clock::now();
        const auto period = std::chrono::milliseconds(seconds_ * 1000 / 60);
        for (unsigned turn = 1; turn <= 60 && !failed_; ++turn) {
            std::this_thread::sleep_until(begin + turn * period);
            memory_.sample();
            if (turn % 4 == 0) {
                std::printf("%5.0f s: %lu sweeps, %lu hotplugs\n",
                            std::chrono::duration<double>(steady_clock::now() - begin).count(),
                            delivered_.load(), plugs_.load());
                std::fflush(stdout);
            }
        }
    }

    bool judge() {
        if (failed_) return false;
        const bool flat = memory_.judge();
        const std::uint64_t counted = fdinfo(meta_, "sweeps");
        const bool same = counted == delivered_;
        std::printf("%lu sweeps delivered, the module counts %llu%s; %lu hotplugs\n",
                    delivered_.load(), static_cast<unsigned long long>(counted),
                    same ? "" : ": FAILED", plugs_.load());
        return flat && same && plugs_ > 0;
    }

    const unsigned seconds_;
    std::vector<EventGroup> groups_;
    const Meta meta_;
    Memory memory_;
    std::atomic<unsigned long> delivered_{0}, plugs_{0};
    std::atomic<bool> stop_{false}, failed_{false};
};

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Sweeps at full rate with CPU hotplug every second, and measures memory. "
        "Needs the module, and root; see tests/vm/run.",
        "metagroup_soak");
    unsigned seconds = 1800;
    app.add_option("--seconds", seconds, "how long")
        ->check(CLI::Range(10U, 1'000'000U))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return Soak(seconds).run() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_soak: %s\n", error.what());
    return 1;
}
