// SPDX-License-Identifier: MIT
// metagroup_stress: all operations at once, with checks of every result.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "operations.hpp"
#include "support/cpus.hpp"

namespace {

using namespace stress;
using std::chrono::steady_clock;

struct Options {
    std::uint64_t seed = std::random_device{}();
    unsigned seconds = 30;
    unsigned threads = 8;
    bool hotplug = true;
};

// All operations.
std::vector<Operation> all_operations() {
    std::vector<Operation> all;
    for (const auto some :
         {read_operations(), member_operations(), set_operations(), fork_operations()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

// A worker has up to 24 groups open, of 41 events each or of 340, and siblings whose leaders it has
// closed.
constexpr unsigned kDescriptors = 10'000;

void allow_descriptors(unsigned threads) {
    const rlim_t most = (threads + 1) * kDescriptors;
    const rlimit files{most, most};
    if (::setrlimit(RLIMIT_NOFILE, &files))
        throw std::system_error(errno, std::generic_category(), "RLIMIT_NOFILE for all threads");
}

// After this many operations each must have been done.
constexpr unsigned long kEnough = 10'000;

struct Count {
    std::string name;
    std::atomic<unsigned long> done{0};
    explicit Count(std::string name_) : name(std::move(name_)) {}
};

class Run {
  public:
    explicit Run(const Options& options) : options_(options), world_(options.seed, online_cpus()) {
        world_.cgroups = process_.cgroups();
        for (const Operation& operation : operations_)
            counts_.push_back(std::make_unique<Count>(operation.name));
    }

    // Returns true if no check failed.
    bool run() {
        start_disturbance("pmu", [this](Random& random) { return disturb_pmu(world_, random); });
        start_disturbance("throttle", throttle_streams);
        start_disturbance("cgroup move",
                          [this](Random& random) { return move_process(process_, random); });
        if (options_.hotplug)
            start_disturbance("hotplug",
                              [this](Random& random) { return replug_cpu(world_, random); });
        for (unsigned thread = 0; thread < options_.threads; ++thread)
            threads_.emplace_back([this, thread] { work(thread); });
        watch();
        world_.end();
        for (std::thread& thread : threads_)
            thread.join();
        testpmu_set_counters(4);
        end_names();
        return report();
    }

  private:
    // One step of a thread. A failure is printed with its name.
    void step(unsigned thread, std::uint64_t number, Count& count,
              const std::function<bool(Random&)>& run, Random random) {
        try {
            if (run(random)) ++count.done;
        } catch (const std::exception& error) {
            world_.fail("thread " + std::to_string(thread) + ", step " + std::to_string(number) +
                        ", " + count.name + ": " + error.what());
        }
    }

    void work(unsigned thread) {
        Worker worker(world_);
        for (std::uint64_t number = 0; !world_.ended(); ++number) {
            const auto lock = world_.gate.step();
            Random random(world_.seed, thread, number);
            const Operation& operation = random.weighted(operations_);
            step(
                thread, number, *counts_[static_cast<std::size_t>(&operation - operations_.data())],
                [&](Random& choices) { return operation.run(worker, choices); }, random);
        }
    }

    void start_disturbance(const char* name, std::function<bool(Random&)> disturb) {
        counts_.push_back(std::make_unique<Count>(name));
        Count& count = *counts_.back();
        const unsigned thread = 1000 + static_cast<unsigned>(threads_.size());
        threads_.emplace_back([this, thread, &count, disturb = std::move(disturb)] {
            for (std::uint64_t number = 0; !world_.ended(); ++number) {
                const auto lock = world_.gate.step();
                step(thread, number, count, disturb, Random(world_.seed, thread, number));
            }
        });
    }

    // From time to time all threads stop and everything is compared.
    void watch() {
        const auto begin = steady_clock::now();
        auto next_check = begin, next_line = begin;
        while (steady_clock::now() < begin + std::chrono::seconds(options_.seconds) &&
               !world_.failures()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const auto now = steady_clock::now();
            if (now >= next_check) {
                next_check = now + std::chrono::seconds(2);
                const Gate::Closed closed(world_.gate);
                step(
                    999, checks_.done, checks_,
                    [this](Random&) {
                        check_stopped(world_);
                        return true;
                    },
                    Random(world_.seed));
            }
            if (now >= next_line) {
                next_line = now + std::chrono::seconds(5);
                std::printf(
                    "%4lld s: %lu operations\n",
                    static_cast<long long>(
                        std::chrono::duration_cast<std::chrono::seconds>(now - begin).count()),
                    operations());
                std::fflush(stdout);
            }
        }
    }

    unsigned long operations() const {
        unsigned long sum = 0;
        for (const auto& count : counts_)
            sum += count->done;
        return sum;
    }

    bool report() const {
        std::printf("%lu operations:", operations());
        bool all = true;
        for (const auto& count : counts_) {
            std::printf(" %s %lu,", count->name.c_str(), count->done.load());
            all &= count->done > 0;
        }
        std::printf(" compared while stopped %lu; %u failures\n", checks_.done.load(),
                    world_.failures());
        // A short run, on a slow machine, may miss something by chance.
        const bool missed = !all && operations() >= kEnough;
        if (missed) std::printf("FAILED: something was never done\n");
        return !missed && checks_.done && !world_.failures();
    }

    const Options options_;
    const std::vector<Operation> operations_ = all_operations();
    const MovedProcess process_;
    World world_;
    std::vector<std::unique_ptr<Count>> counts_;
    Count checks_{"check"};
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "All operations on meta-groups at once. Needs the module and "
        "metagroup_testpmu, and root; see tests/vm/run.",
        "metagroup_stress");
    Options options;
    app.add_option("--seed", options.seed, "of all choices; printed, to repeat them");
    app.add_option("--seconds", options.seconds, "how long")->capture_default_str();
    app.add_option("--threads", options.threads, "that work")
        ->check(CLI::Range(1U, 256U))
        ->capture_default_str();
    app.add_flag("!--no-hotplug", options.hotplug, "leave CPUs online");
    CLI11_PARSE(app, argc, argv);

    if (!testpmu_event(0)) {
        std::fprintf(stderr,
                     "metagroup_stress: the module metagroup_testpmu is not loaded; "
                     "tests/vm/run --module tests/testpmu does that\n");
        return 1;
    }
    allow_descriptors(options.threads);
    std::printf("seed %llu, %u threads, %u s, %zu CPUs\n",
                static_cast<unsigned long long>(options.seed), options.threads, options.seconds,
                online_cpus().size());
    std::fflush(stdout);
    return Run(options).run() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_stress: %s\n", error.what());
    return 1;
}
