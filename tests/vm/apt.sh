# shellcheck shell=bash disable=SC2154 # variables of lib.sh
# SPDX-License-Identifier: MIT
# A private apt: its own sources, lists and cache, nothing is installed, and
# root is not needed. Its configuration is read after that of the machine, so
# proxies stay in force. Sourced, never run; the caller holds the lock.

# private_apt SUITES [ARCH]: to be called before all else. What runs on this
# machine is NAME:amd64 whatever ARCH is.
private_apt() {
    need apt-get apt
    need dpkg-deb dpkg
    local arch=${2:-amd64}
    local architectures="\"$arch\";"
    apt_dir=$cache_dir/apt/$1
    if [[ $arch != amd64 ]]; then
        apt_dir+=.$arch
        architectures+=' "amd64";'
    fi
    mkdir -p -- "$apt_dir"/{lists,cache/archives}/partial
    : >"$apt_dir/status"
    "$vm_dir/apt-sources" "$1" >"$apt_dir/private.sources"
    cat >"$apt_dir/apt.conf" <<EOF
Dir::State "$apt_dir";
Dir::State::status "$apt_dir/status";
Dir::State::lists "$apt_dir/lists";
Dir::Cache "$apt_dir/cache";
Dir::Etc::sourcelist "$apt_dir/private.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "$apt_dir";
APT::Architecture "$arch";
#clear APT::Architectures;
APT::Architectures { $architectures };
APT::Sandbox::User "$(id -un)";
APT::Get::Assume-Yes "true";
Acquire::Languages "none";
Acquire::Retries "2";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
EOF
}

apt_get() { apt-get -c "$apt_dir/apt.conf" -q "$@"; }

# Read the package lists anew.
refresh() {
    say "reading the package lists of ${apt_dir##*/} (about 10 s) ..."
    apt_get update >"$apt_dir/update.log" 2>&1 || {
        cat -- "$apt_dir/update.log" >&2
        return 1
    }
}
