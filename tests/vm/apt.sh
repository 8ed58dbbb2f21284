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

# Sets temporary, a directory that ends with the script.
make_temporary() {
    temporary=$(mktemp -d -- "$apt_dir/fetch.XXXXXX")
    trap 'rm -rf -- "$temporary"' EXIT
    mkdir -p -- "$temporary"/archives/partial "$temporary"/tree
}

# get_packages ARGUMENT...: call apt-get with these arguments in $temporary/archives. Lists that are
# missing or older than the archive are read first.
try_packages() {
    (cd -- "$temporary/archives" &&
        apt_get -o "Dir::Cache::archives=$temporary/archives" "$@") >"$temporary/log" 2>&1
}
get_packages() {
    try_packages "$@" || { refresh && try_packages "$@"; } || { cat -- "$temporary/log" >&2; return 1; }
}
# With all that they depend on, as nothing is installed.
get_with_dependencies() { get_packages install --download-only --no-install-recommends "$@"; }

# unpack: the packages into $temporary/tree, where /bin, /lib ... are those of /usr.
unpack() {
    local tree=$temporary/tree directory package
    mkdir -p -- "$tree"/usr/{bin,lib,lib64,sbin}
    for directory in bin lib lib64 sbin; do ln -s "usr/$directory" "$tree/$directory"; done
    for package in "$temporary"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$tree" --no-same-owner --keep-directory-symlink \
                --exclude './usr/share/doc*' --exclude ./usr/share/man --exclude ./usr/share/locale
    done
}

# source_files PACKAGE TAR-ARGUMENT...: of a kernel's sources.
source_files() {
    local package=$1
    dpkg-deb --fsys-tarfile "$cache_dir/sources/$package.deb" |
        tar -x --to-stdout "./usr/src/$package.tar.xz" | tar -x --xz "${@:2}"
}

# fetch_source PACKAGE SUITES [--update]: into the cache, once. The lock is not held for longer.
fetch_source() (
    ! ready_or_lock "$cache_dir/fetch.lock" test -z "${3-}" -a -e "$cache_dir/sources/$1.deb" || exit 0
    private_apt "$2"
    make_temporary
    [[ -z ${3-} ]] || refresh
    say "fetching $1 (about 30 s) ..."
    get_packages download "$1" || die "no $1 in $2"
    mkdir -p -- "$cache_dir/sources"
    mv -- "$temporary"/archives/*.deb "$cache_dir/sources/$1.deb"
)
