// SPDX-License-Identifier: MIT
// Why the module's device is not there.
#pragma once

#include <string>

#include "diagnostics.hpp"

namespace metagroup::detail {

/// Where modules and their sources are. Tests put a tree of their own here.
struct ModulePaths {
    std::string loaded = "/sys/module";
    std::string installed = "/lib/modules";
    std::string dkms = "/var/lib/dkms";
    std::string lockdown = "/sys/kernel/security/lockdown";
};

/// The reason, and the commands that mend it, on a kernel of this release (`uname -r`).
Diagnosis missing_module(const std::string& release, const ModulePaths& paths);
/// On this machine.
Diagnosis missing_module();

}  // namespace metagroup::detail
