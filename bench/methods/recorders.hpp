// SPDX-License-Identifier: MIT
// Programs that record the samples of all CPUs into a file: `metagroup record`, and `perf record`
// of the same groups, both with rings of the same size. They run on the reader's CPU. Only its
// instructions are counted, for each sample in the file; so they do not depend on the rate, which
// is one that guests in slow motion reach.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <metagroup/records.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "methods/method.hpp"

namespace bench {

class Recorder : public Method {
  public:
    // `command` lacks the CPUs, the file and the events.
    Recorder(const Subject& subject, std::vector<std::string> command, const char* modifier = "")
        : cpus_(subject.cpus().size()), command_(std::move(command)) {
        // Samples are so frequent that more CPUs take a host too long to emulate.
        constexpr std::size_t max_cpus = 8;
        if (cpus_ > max_cpus) throw std::runtime_error("is measured with up to 8 CPUs");
        for (const std::string& argument :
             {std::string("-C"), subject.cpus().to_string(), std::string("-o"), std::string(kFile),
              std::string("-e"), metagroup::to_string(subject.specs().front()) + modifier})
            command_.push_back(argument);
    }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder() override { stop(); }

    Kind kind() const override { return Kind::program; }
    void pause() override { stop(); }
    // Starts the program if it does not run.
    void wait() override {
        if (child_ == 0) start();
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    void sweep() override {
        if (::waitpid(child_, nullptr, WNOHANG) == 0) {
            std::error_code missing;
            size_ = std::filesystem::file_size(kFile, missing);
            if (missing) size_ = 0;
            return;
        }
        child_ = 0;
        std::ifstream log(kLog);
        throw std::runtime_error(command_[0] +
                                 " has ended: " + std::string(std::istreambuf_iterator(log), {}));
    }
    // In the records of the file, as long as it was at the last sweep, that were not counted
    // before.
    double samples(unsigned) override {
        constexpr std::streamoff data_offset = 40;  // in the header of the file
        std::ifstream file(kFile, std::ios::binary);
        if (position_ == 0) {
            file.seekg(data_offset).read(reinterpret_cast<char*>(&position_), sizeof(position_));
            if (!file) position_ = 0;
            if (position_ == 0) return 0;
        }
        std::vector<std::byte> bytes(size_ > position_ ? size_ - position_ : 0);
        file.seekg(static_cast<std::streamoff>(position_));
        if (!file.read(reinterpret_cast<char*>(bytes.data()),
                       static_cast<std::streamsize>(bytes.size())))
            fail(EIO, kFile);
        const metagroup::Records records(bytes);
        unsigned found = 0;
        records.for_each([&](std::uint32_t type, auto) { found += type == PERF_RECORD_SAMPLE; });
        position_ += records.bytes().size();
        return static_cast<double>(found) / static_cast<double>(cpus_);
    }

  private:
    void start() {
        std::filesystem::remove(kFile);
        std::vector<char*> arguments;
        for (std::string& argument : command_)
            arguments.push_back(argument.data());
        arguments.push_back(nullptr);
        child_ = ::fork();
        if (child_ < 0) fail(errno, "fork");
        if (child_ == 0) {
            const int log = ::open(kLog, O_WRONLY | O_CREAT | O_TRUNC, 0666);
            if (log < 0) ::_exit(127);
            ::dup2(log, STDOUT_FILENO);
            ::dup2(log, STDERR_FILENO);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        // Until it writes samples: what it writes first describes the machine.
        position_ = 0;
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            sweep();
        } while (samples(1) == 0);
    }
    // The file is of no use, so the program need not complete it.
    void stop() {
        if (child_ == 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        child_ = 0;
    }

    static constexpr const char* kFile = "/tmp/metagroup_bench.data";
    static constexpr const char* kLog = "/tmp/metagroup_bench.log";
    std::size_t cpus_;
    std::vector<std::string> command_;
    std::uint64_t size_ = 0;      // of the file
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
