// SPDX-License-Identifier: MIT
// The file of a recording, and the file that it replaces.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace tool {

// A file written to path() replaces FILE when keep() is called, and FILE is renamed to FILE.old, as
// in perf record. Without keep(), the destructor removes it.
class OutputFile {
  public:
    explicit OutputFile(std::string file) : file_(std::move(file)), path_(file_) {
        struct stat status {};
        if (::stat(file_.c_str(), &status) != 0) return;
        if (S_ISREG(status.st_mode))
            path_ += ".new";
        else
            kept_ = true;  // a device
    }
    ~OutputFile() {
        if (!kept_) ::unlink(path_.c_str());
    }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    const std::string& path() const { return path_; }

    void keep() {
        if (std::exchange(kept_, true) || path_ == file_) return;
        rename(file_, file_ + ".old");
        rename(path_, file_);
    }

  private:
    static void rename(const std::string& from, const std::string& to) {
        if (std::rename(from.c_str(), to.c_str()) != 0)
            throw std::system_error(errno, std::generic_category(),
                                    "cannot rename " + from + " to " + to);
    }

    std::string file_;
    std::string path_;
    bool kept_ = false;
};

}  // namespace tool
