// SPDX-License-Identifier: MIT
// A directory tree in a temporary place, gone at the end of the test: a fake sysfs or tracefs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace metagroup::test {

class TempTree {
  public:
    TempTree() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "metagroup-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        root_ = pattern;
    }
    TempTree(const TempTree&) = delete;
    TempTree& operator=(const TempTree&) = delete;
    TempTree(TempTree&&) = delete;
    TempTree& operator=(TempTree&&) = delete;
    ~TempTree() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    /// Writes a file and makes the directories that it needs.
    TempTree& file(std::string_view path, std::string_view text) {
        const std::filesystem::path full = root_ / path;
        std::filesystem::create_directories(full.parent_path());
        std::ofstream(full) << text << '\n';
        return *this;
    }
    [[nodiscard]] std::string path(std::string_view inside = "") const {
        return inside.empty() ? root_.string() : (root_ / inside).string();
    }

  private:
    std::filesystem::path root_;
};

}  // namespace metagroup::test
