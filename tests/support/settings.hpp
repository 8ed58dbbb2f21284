// SPDX-License-Identifier: MIT
// Settings of the machine, which are as before at the end of a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace metagroup::test {

// A file of the kernel with one number.
class Setting {
  public:
    // `must`: throws if the kernel does not accept the value.
    Setting(std::string file, int value, bool must = true) : file_(std::move(file)) {
        std::ifstream(file_) >> before_;
        if (!set(value) && must) throw std::runtime_error(file_);
    }
    ~Setting() { std::ofstream(file_) << before_ << std::flush; }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

    bool set(int value) const { return bool(std::ofstream(file_) << value << std::flush); }

  private:
    std::string file_, before_;
};

// kernel.perf_event_paranoid. Kernels accept different levels.
struct Paranoid : Setting {
    explicit Paranoid(int level_wanted) : Setting(kFile, level_wanted, false) {}

    static int level() {
        int now = 2;
        std::ifstream(kFile) >> now;
        return now;
    }

  private:
    static constexpr const char* kFile = "/proc/sys/kernel/perf_event_paranoid";
};

// A parameter of the module. Emulated CPUs are slow, so that the default would lose deadlines.
struct MaxStreamPercent : Setting {
    explicit MaxStreamPercent(int percent)
        : Setting("/sys/module/perf_metagroup/parameters/max_stream_percent", percent) {}
};

struct MaxSetEvents : Setting {
    explicit MaxSetEvents(int events)
        : Setting("/sys/module/perf_metagroup/parameters/max_set_events", events) {}
};

struct MaxSweepRate : Setting {
    explicit MaxSweepRate(int rate)
        : Setting("/sys/module/perf_metagroup/parameters/max_sweep_rate", rate) {}
};

// A cgroup for a test; no task is in it at first.
class Cgroup {
  public:
    explicit Cgroup(const std::string& name)
        : path_(std::filesystem::path("/sys/fs/cgroup") / name) {
        std::filesystem::create_directory(path_);
    }
    Cgroup(const Cgroup&) = delete;
    Cgroup& operator=(const Cgroup&) = delete;
    ~Cgroup() { ::rmdir(path_.c_str()); }

    const std::filesystem::path& path() const { return path_; }
    std::string procs() const { return (path_ / "cgroup.procs").string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace metagroup::test
