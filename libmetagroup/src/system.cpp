// SPDX-License-Identifier: MIT
#include "system.hpp"

#include <fcntl.h>
#include <mntent.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>

#include "format.hpp"

namespace metagroup::detail {

namespace fs = std::filesystem;

namespace {

std::atomic<unsigned> fork_count = 0;
[[maybe_unused]] const int fork_counter =
    ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned forks() noexcept {
    return fork_count.load(std::memory_order_relaxed);
}

std::uint64_t monotonic_ns() noexcept {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * ns_per_s +
           static_cast<std::uint64_t>(now.tv_nsec);
}

bool is_file_name(std::string_view name) {
    return !name.empty() && name.find_first_of(std::string_view("/\0", 2)) == name.npos &&
           !name.starts_with('.');
}

UniqueFd open_file(const std::string& path, int flags, unsigned mode) noexcept {
    if (path.find('\0') == path.npos)
        return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, mode));
    errno = ENOENT;
    return {};
}

std::optional<std::string> read_file(const std::string& path, Call call) {
    interruption_point();  // event patterns read thousands of files
    const auto check = [&](auto result) {
        if (result < 0) throw_error(call, errno, detail::format("cannot read {}", path));
        return result;
    };
    const UniqueFd fd = open_file(path, O_RDONLY);
    // A name that is too long cannot exist.
    if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)) return std::nullopt;
    check(fd.get());
    std::string text;
    std::array<char, 4096> chunk{};
    while (const ssize_t got =
               check(uninterrupted([&] { return ::read(fd.get(), chunk.data(), chunk.size()); })))
        text.append(chunk.data(), static_cast<std::size_t>(got));
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

bool has_seccomp_filter(const std::string& proc) {
    return read_file(proc + "/status").value_or("").find("\nSeccomp:\t2") != std::string::npos;
}

bool has_capability(unsigned number, const std::string& proc) {
    constexpr std::string_view field = "\nCapEff:\t";
    const std::string status = read_file(proc + "/status").value_or("");
    const std::size_t at = status.find(field);
    if (at == status.npos) return false;
    const std::uint64_t set = std::strtoull(status.c_str() + at + field.size(), nullptr, 16);
    return (set >> number & 1U) != 0;
}

bool in_user_namespace(const std::string& proc) {
    std::istringstream map(read_file(proc + "/uid_map").value_or("0 0 4294967295"));
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t count = 0;
    map >> inside >> outside >> count;
    // Only the initial namespace maps the whole range of IDs to itself.
    return inside != 0 || outside != 0 || count != UINT32_MAX;
}

std::vector<std::string> list_directory(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (!name.starts_with('.')) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string cgroup_root(const std::string& mounts) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> table(::setmntent(mounts.c_str(), "re"),
                                                                ::endmntent);
    if (!table) throw_error(Call::any, errno, "cannot read " + mounts);
    std::string unified;
    mntent entry{};
    std::array<char, 4096> text{};
    while (::getmntent_r(table.get(), &entry, text.data(), static_cast<int>(text.size()))) {
        const std::string_view type = entry.mnt_type;
        if (type == "cgroup" && ::hasmntopt(&entry, "perf_event")) return entry.mnt_dir;
        if (type == "cgroup2" && unified.empty()) unified = entry.mnt_dir;
    }
    if (unified.empty()) throw_error(Call::find_cgroups, ENOENT, "cannot find the cgroups");
    return unified;
}

UniqueFd open_cgroup(const std::string& name, const std::string& root) {
    const bool has_root = (name + '/').starts_with(root + '/');
    const fs::path path = has_root ? name : root + '/' + name;
    const fs::path inside = path.lexically_normal().lexically_relative(root);
    int error = EXDEV;
    if (!inside.empty() && *inside.begin() != "..") {
        UniqueFd fd = open_file(path.string(), O_RDONLY | O_DIRECTORY);
        if (fd) return fd;
        error = errno;
    }
    throw_error(Call::open_cgroup, error,
                detail::format("cannot open cgroup \"{}\" below {}", name, root), {.path = name});
}

}  // namespace metagroup::detail
