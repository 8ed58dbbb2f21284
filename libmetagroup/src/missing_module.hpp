// SPDX-License-Identifier: MIT
// Explains why the module's device is not available.
#pragma once

#include <string>

#include "diagnostics.hpp"

namespace metagroup::detail {

/// Where modules and their sources are. Tests use their own tree.
struct ModulePaths {
    std::string loaded = "/sys/module";
    std::string installed = "/lib/modules";
    std::string dkms = "/var/lib/dkms";
    std::string lockdown = "/sys/kernel/security/lockdown";
};

/// The reason, and the commands to fix it, for a kernel of this release (`uname -r`).
Diagnosis missing_module(const std::string& release, const ModulePaths& paths);
/// For the running kernel.
Diagnosis missing_module();

}  // namespace metagroup::detail
