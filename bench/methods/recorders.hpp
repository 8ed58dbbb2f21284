// SPDX-License-Identifier: MIT
// Programs that record the samples of all CPUs into a file: `metagroup record`, and `perf record`
// of the same groups, both with rings of the same size. They run on the reader's CPU. Only its
// instructions are counted, for each sample in the file; so they do not depend on the rate, which
// is one that guests in slow motion reach.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <metagroup/detail/unique_fd.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "methods/method.hpp"

namespace bench {

class Recorder : public Method {
  public:
    static constexpr std::size_t max_cpus = 8;

    Recorder(const Subject& subject, std::vector<std::string> command, const char* modifier = "")
        : cpus_(subject.cpus().size()), command_(std::move(command)) {
        // Samples are so frequent that more CPUs take a host too long to emulate.
        if (cpus_ > max_cpus) throw std::runtime_error("is measured with up to 8 CPUs");
        for (const char* argument : {"-C", "CPUS", "-o", "FILE", "-e", "EVENTS"})
            command_.emplace_back(argument);
        command_[command_.size() - 5] = subject.cpus().to_string();
        command_[command_.size() - 3] = file_;
        command_.back() = metagroup::to_string(subject.specs().front()) + modifier;
    }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder() override { stop(); }

    bool is_program() const override { return true; }
    bool wait_sleeps() const override { return true; }
    void finish() override { stop(); }
    void pause() override { stop(); }
    // Starts the program if it does not run.
    void wait() override {
        using namespace std::chrono_literals;
        if (child_ == 0) start();
        std::this_thread::sleep_for(1s);
    }
    void sweep() override {
        check_alive();
        size_ = std::filesystem::file_size(file_);
    }
    double samples(unsigned) override {
        return static_cast<double>(count_samples()) / static_cast<double>(cpus_);
    }

  private:
    void check_alive() {
        if (::waitpid(child_, nullptr, WNOHANG) == 0) return;
        child_ = 0;
        std::ifstream log(log_);
        throw std::runtime_error(command_[0] +
                                 " has ended: " + std::string(std::istreambuf_iterator(log), {}));
    }
    void start() {
        using namespace std::chrono_literals;
        std::filesystem::remove(file_);
        std::vector<char*> arguments;
        for (std::string& argument : command_)
            arguments.push_back(argument.data());
        arguments.push_back(nullptr);
        child_ = ::fork();
        if (child_ < 0) fail(errno, "fork");
        if (child_ == 0) {
            const int log = ::open(log_, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            ::dup2(log, STDOUT_FILENO);
            ::dup2(log, STDERR_FILENO);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        // Until it writes samples: what it writes first describes the machine.
        position_ = 0;
        do {
            std::this_thread::sleep_for(100ms);
            std::error_code missing;
            size_ = std::filesystem::file_size(file_, missing);
            if (missing) size_ = 0;
            check_alive();
        } while (count_samples() == 0);
    }
    // The file is of no use, so the program need not complete it.
    void stop() {
        if (child_ == 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        child_ = 0;
    }

    // In the records of the perf.data file up to size_ that were not counted before.
    std::size_t count_samples() {
        constexpr std::size_t data_offset = 40;  // in the header of the file
        const metagroup::detail::UniqueFd fd(::open(file_, O_RDONLY | O_CLOEXEC));
        if (position_ == 0) {
            if (::pread(fd.get(), &position_, sizeof(position_), data_offset) < 8) position_ = 0;
            if (position_ == 0) return 0;
        }
        std::vector<std::byte> bytes(size_ > position_ ? size_ - position_ : 0);
        if (::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(position_)) !=
            static_cast<ssize_t>(bytes.size()))
            fail(errno, file_);
        std::size_t found = 0;
        perf_event_header header{};
        for (std::size_t at = 0; at + sizeof(header) <= bytes.size();) {
            std::memcpy(&header, bytes.data() + at, sizeof(header));
            at += header.size;
            if (header.size == 0 || at > bytes.size()) break;
            found += header.type == PERF_RECORD_SAMPLE;
            position_ += header.size;
        }
        return found;
    }

    static constexpr const char* file_ = "/tmp/metagroup_bench.data";
    static constexpr const char* log_ = "/tmp/metagroup_bench.log";
    std::size_t cpus_;
    std::vector<std::string> command_;
    std::size_t size_ = 0;        // of the file
    std::uint64_t position_ = 0;  // of the first record that was not counted; 0: not known
    pid_t child_ = 0;
};

class Record : public Recorder {
  public:
    explicit Record(const Subject& subject)
        : Recorder(subject, {"metagroup", "record", "-I", "1ms", "--ring-size", "64K"}) {}
};

// Only the leader samples (:S), which is a clock.
class PerfRecord : public Recorder {
  public:
    explicit PerfRecord(const Subject& subject)
        : Recorder(subject, {"perf", "record", "-q", "-N", "-c", "1000000", "-m", "64K"}, ":S") {}
};

}  // namespace bench
