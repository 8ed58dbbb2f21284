// SPDX-License-Identifier: MIT
#include "cgroup.hpp"

#include <fcntl.h>
#include <mntent.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <metagroup/error.hpp>
#include <string_view>

#include "error.hpp"
#include "formatted.hpp"

namespace metagroup::detail {

std::string cgroup_root(const std::string& mounts) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> table(::setmntent(mounts.c_str(), "re"),
                                                                ::endmntent);
    if (!table) throw_errno(errno, "cannot read " + mounts);
    std::string unified;
    mntent entry{};
    std::array<char, 4096> text{};
    while (::getmntent_r(table.get(), &entry, text.data(), static_cast<int>(text.size()))) {
        const std::string_view type = entry.mnt_type;
        if (type == "cgroup" && ::hasmntopt(&entry, "perf_event")) return entry.mnt_dir;
        if (type == "cgroup2" && unified.empty()) unified = entry.mnt_dir;
    }
    if (unified.empty())
        throw Error(ENOENT, {"no cgroups are mounted", {}, "mount -t cgroup2 none /sys/fs/cgroup"});
    return unified;
}

UniqueFd open_cgroup(const std::string& name, const std::string& root) {
    const std::string path = name.starts_with(root) ? name : root + '/' + name;
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) {
        throw Error(
            errno, {formatted("no cgroup \"{}\" below {}", name, root),
                    "the directories there are the cgroups", "see systemd-cgls for what there is"});
    }
    return fd;
}

}  // namespace metagroup::detail
