// SPDX-License-Identifier: MIT
// metagroup_uapi_fuzz: calls with right and wrong arguments. All results must be documented.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "calls.hpp"

namespace {

using namespace fuzz;
using std::chrono::steady_clock;

struct Options {
    std::uint64_t seed = std::random_device{}();
    std::uint64_t operations = 1'000'000;
    unsigned seconds = 0;  // at most; 0: as long as it takes
    unsigned threads = 4;
};

std::vector<Generator> all_generators() {
    std::vector<Generator> all;
    for (const auto some :
         {descriptor_generators(), ioctl_generators(), set_generators(), file_generators()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

// After this many calls each that can succeed must have.
constexpr std::uint64_t kEnough = 100'000;

// Results of each call; 0 is success.
struct Table {
    std::array<std::array<std::uint64_t, Errnos::kEnd>, kCalls> counts{};

    void add(const Outcome& outcome) {
        auto& row = counts.at(static_cast<std::size_t>(outcome.call));
        ++row.at(outcome.result < 0 ? static_cast<std::size_t>(-outcome.result) : 0);
    }
    void add(const Table& other) {
        for (std::size_t call = 0; call < kCalls; ++call)
            for (std::size_t error = 0; error < counts[call].size(); ++error)
                counts[call][error] += other.counts[call][error];
    }
    // True if all that can succeed did.
    bool print() const {
        bool all = true;
        for (std::size_t call = 0; call < kCalls; ++call) {
            std::printf("%-22s", name_of(static_cast<Call>(call)));
            for (std::size_t error = 0; error < counts[call].size(); ++error)
                if (const auto count = counts[call][error])
                    std::printf("  %s %llu",
                                error ? ::strerrorname_np(static_cast<int>(error)) : "ok",
                                static_cast<unsigned long long>(count));
            std::printf("\n");
            all &= !can_succeed(static_cast<Call>(call)) || counts[call][0] > 0;
        }
        return all;
    }
};

void interrupt(int) {}

class Run {
  public:
    explicit Run(const Options& options) : options_(options), tables_(options.threads) {}

    bool run() {
        open_other_files();
        struct sigaction action {};
        action.sa_handler = interrupt;  // without SA_RESTART: calls fail with EINTR
        ::sigaction(SIGUSR1, &action, nullptr);
        begin_ = steady_clock::now();
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < options_.threads; ++thread)
            threads.emplace_back([this, thread] { work(thread); });
        watch(threads);
        for (std::thread& thread : threads)
            thread.join();
        end_names();
        return report();
    }

  private:
    void work(unsigned thread) {
        Fuzzer fuzzer;
        Table& table = tables_[thread];
        for (std::uint64_t number = 0; !failed_ && !time_is_up_ && done_++ < options_.operations;
             ++number) {
            Random random(options_.seed, thread, number);
            const Outcome outcome = random.weighted(generators_).run(fuzzer, random);
            if (const char* wrong = judge(outcome)) fail(thread, number, outcome, wrong);
            if (outcome.result > -Errnos::kEnd) table.add(outcome);
        }
        ++ended_;
    }

    void fail(unsigned thread, std::uint64_t number, const Outcome& outcome, const char* wrong) {
        failed_ = true;
        std::printf("WRONG (seed %llu, thread %u, operation %llu): %s",
                    static_cast<unsigned long long>(options_.seed), thread,
                    static_cast<unsigned long long>(number), name_of(outcome.call));
        for (const std::uint64_t argument : outcome.arguments)
            std::printf(" %#llx", static_cast<unsigned long long>(argument));
        if (outcome.result < 0)
            std::printf(": %s: %s\n", ::strerror(static_cast<int>(-outcome.result)), wrong);
        else
            std::printf(": %ld: %s\n", outcome.result, wrong);
        std::fflush(stdout);
    }

    // Sends signals all the time, and prints a line every five seconds.
    void watch(std::vector<std::thread>& threads) {
        auto next = begin_ + std::chrono::seconds(5);
        for (unsigned turn = 0; ended_ < options_.threads; ++turn) {
            ::usleep(2000);
            ::pthread_kill(threads[turn % threads.size()].native_handle(), SIGUSR1);
            if (options_.seconds &&
                steady_clock::now() > begin_ + std::chrono::seconds(options_.seconds))
                time_is_up_ = true;
            if (steady_clock::now() < next) continue;
            next += std::chrono::seconds(5);
            print_progress();
        }
    }

    void print_progress() const {
        const double seconds = std::chrono::duration<double>(steady_clock::now() - begin_).count();
        const auto done = std::min<std::uint64_t>(done_, options_.operations);
        std::printf("%4.0f s: %llu operations, %.0f a second\n", seconds,
                    static_cast<unsigned long long>(done), static_cast<double>(done) / seconds);
        std::fflush(stdout);
    }

    bool report() const {
        print_progress();
        Table sum;
        for (const Table& table : tables_)
            sum.add(table);
        const bool all = sum.print();
        // A short run may miss something by chance.
        const bool missed = !all && done_ >= kEnough && !failed_;
        if (missed) std::printf("FAILED: a call that can succeed never did\n");
        return !failed_ && !missed;
    }

    const Options options_;
    const std::vector<Generator> generators_ = all_generators();
    std::vector<Table> tables_;
    steady_clock::time_point begin_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<unsigned> ended_{0};
    std::atomic<bool> failed_{false}, time_is_up_{false};
};

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Calls /dev/perf_metagroup with right and wrong arguments, and checks that all "
        "results are documented. Needs the module, and root; see tests/vm/run.",
        "metagroup_uapi_fuzz");
    Options options;
    app.add_option("--seed", options.seed, "of all choices; printed, to repeat them");
    app.add_option("--operations", options.operations, "how many calls")->capture_default_str();
    app.add_option("--seconds", options.seconds, "end after this time, if not before");
    app.add_option("--threads", options.threads, "that share the descriptors")
        ->check(CLI::Range(1U, 64U))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    std::printf("seed %llu, %llu operations, %u threads\n",
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(options.operations), options.threads);
    std::fflush(stdout);
    return std::make_unique<Run>(options)->run() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_uapi_fuzz: %s\n", error.what());
    return 1;
}
