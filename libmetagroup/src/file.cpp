// SPDX-License-Identifier: MIT
#include "file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <metagroup/detail/unique_fd.hpp>
#include <system_error>

#include "error.hpp"
#include "formatted.hpp"

namespace metagroup::detail {

bool is_file_name(std::string_view name) {
    return !name.empty() && name.find_first_of(std::string_view("/\0", 2)) == name.npos &&
           !name.starts_with('.');
}

std::optional<std::string> read_file(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        // No file has a name that is too long for one.
        if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return std::nullopt;
        throw_errno(errno, formatted("cannot open {}", path));
    }
    std::string text;
    std::array<char, 4096> chunk{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_errno(errno, formatted("cannot read {}", path));
        if (got == 0) break;
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

std::vector<std::string> list_directory(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (!name.starts_with('.')) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace metagroup::detail
