// SPDX-License-Identifier: MIT
// Names of sets by bare system calls and in sysfs.
#pragma once

#include <linux/perf_metagroup.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "meta.hpp"

namespace metagroup::test {

inline constexpr const char* kNames = "/sys/class/perf_metagroup/";

template <typename Arg>
Arg with_name(const std::string& text) {
    Arg arg{};
    arg.size = sizeof(arg);
    text.copy(arg.name, sizeof(arg.name));
    return arg;
}

inline perf_metagroup_publish publish_arg(const std::string& text, unsigned mode = 0400,
                                          unsigned gid = PERF_METAGROUP_NO_GID) {
    auto arg = with_name<perf_metagroup_publish>(text);
    arg.mode = mode;
    arg.gid = gid;
    return arg;
}

inline long publish(const Meta& meta, perf_metagroup_publish arg) {
    return meta.ioctl(PERF_METAGROUP_IOC_PUBLISH, &arg);
}

inline long join(const Meta& meta, const std::string& text, perf_metagroup_name* out = nullptr) {
    auto arg = with_name<perf_metagroup_name>(text);
    const long got = meta.ioctl(PERF_METAGROUP_IOC_JOIN, &arg);
    if (out) *out = arg;
    return got;
}

inline long unpublish(const std::string& text) {
    auto arg = with_name<perf_metagroup_name>(text);
    return Meta().ioctl(PERF_METAGROUP_IOC_UNPUBLISH, &arg);
}

// The text of a file of a name in sysfs; empty if there is no such file.
inline std::string name_file(const std::string& text, const std::string& file) {
    std::string line;
    std::getline(std::ifstream(kNames + text + "/" + file), line);
    return line;
}

// A name that ends with its scope.
class Name {
  public:
    Name(const Meta& meta, std::string text, unsigned mode = 0400,
         unsigned gid = PERF_METAGROUP_NO_GID)
        : text_(std::move(text)) {
        const long got = publish(meta, publish_arg(text_, mode, gid));
        if (got) throw std::runtime_error("PUBLISH: " + std::to_string(got));
    }
    ~Name() { end(); }
    Name(const Name&) = delete;
    Name& operator=(const Name&) = delete;

    const std::string& text() const { return text_; }
    std::string file(const std::string& file) const { return name_file(text_, file); }
    void end() {
        if (!std::exchange(ended_, true)) unpublish(text_);
    }

  private:
    std::string text_;
    bool ended_ = false;
};

}  // namespace metagroup::test
