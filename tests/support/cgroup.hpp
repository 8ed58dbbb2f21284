// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace metagroup::test {

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
