// SPDX-License-Identifier: MIT
#include "missing_module.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <vector>

#include "format.hpp"
#include "system.hpp"

namespace metagroup::detail {
namespace {

constexpr auto load_command = "modprobe perf_metagroup";

bool exists(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

// The text of a file; empty if it cannot be read.
std::string text_of(const std::string& path) {
    return if_readable([&] { return read_file(path).value_or(""); }).value_or("");
}

// As modprobe(8) finds it.
bool is_installed(const std::string& release, const ModulePaths& paths) {
    return text_of(format("{}/{}/modules.dep", paths.installed, release))
               .find("/perf_metagroup.ko") != std::string::npos;
}

bool needs_signature(const ModulePaths& paths) {
    const std::string lockdown = text_of(paths.lockdown);
    return text_of(paths.loaded + "/module/parameters/sig_enforce") == "Y" ||
           lockdown.find("[integrity]") != std::string::npos ||
           lockdown.find("[confidentiality]") != std::string::npos;
}

Diagnosis not_loaded(const std::string& but, std::string remedy) {
    return {Cause::no_module, "the module perf_metagroup is not loaded" + but, std::move(remedy)};
}

}  // namespace

Diagnosis missing_module(const std::string& release, const ModulePaths& paths) {
    if (exists(paths.loaded + "/perf_metagroup"))
        return {Cause::no_module,
                "the module perf_metagroup is loaded, but its device is not available in this "
                "container",
                "pass the device to it (--device /dev/perf_metagroup)"};
    if (!exists(format("{}/{}", paths.installed, release)))
        return not_loaded(", or its device is not available in this container",
                          format("load the module on the host ({}), and pass its device to the "
                                 "container (--device /dev/perf_metagroup)",
                                 load_command));
    if (is_installed(release, paths)) {
        if (needs_signature(paths))
            return not_loaded(
                ", and this kernel loads signed modules only",
                format("load the module ({}); if its key is rejected, enroll it (mokutil --import "
                       "/var/lib/dkms/mok.pub, and reboot)",
                       load_command));
        return not_loaded("", format("load the module ({})", load_command));
    }
    std::string others;
    for (const std::string& other : list_directory(paths.installed))
        if (is_installed(other, paths)) others += (others.empty() ? "" : ", ") + other;
    if (!others.empty() || exists(paths.dkms + "/perf-metagroup"))
        return not_loaded(
            others.empty() ? format(", and is not built for this kernel, {}", release)
                           : format(", and is installed for {} only, not for this kernel, {}",
                                    others, release),
            format("install the headers of this kernel (linux-headers-{}), build the module (dkms "
                   "autoinstall), and load it ({})",
                   release, load_command));
    return not_loaded(", and is not installed",
                      format("install it (the package perf-metagroup-dkms, "
                             "or \"make dkms-install\"), and load it ({})",
                             load_command));
}

Diagnosis missing_module() {
    utsname name{};
    ::uname(&name);
    return missing_module(name.release, {});
}

}  // namespace metagroup::detail
