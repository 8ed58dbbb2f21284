# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Functions of the scripts in this directory. This file is sourced, not run.

set -euo pipefail

vm_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
project_dir=$(cd -- "$vm_dir/../.." && pwd -P)
# shellcheck disable=SC2034 # used by the scripts that source this file
cache_dir=${METAGROUP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/perf-metagroup}
# shellcheck disable=SC2034 # used by the scripts that source this file
build_dir=${METAGROUP_VM_BUILD:-$project_dir/build/vm}
program=tests/vm/$(basename -- "$0")

# Exit statuses of the harness itself; see README.md.
# shellcheck disable=SC2034
readonly status_time_limit=124 status_harness=125 status_dirty_log=126 status_rmmod=127

# Progress goes to stderr, one line per step: stdout belongs to results.
say() { printf '%s: %s\n' "$program" "$*" >&2; }

die() {
    say "error: $*"
    exit "$status_harness"
}

# A command that fails unnoticed must not look like the status of a test.
trap 'say "error: line $LINENO failed: $BASH_COMMAND"; exit "$status_harness"' ERR
set -E

# need COMMAND PACKAGE: name the package to install instead of failing with "command not found".
need() {
    [[ -n $(type -P "$1") ]] || die "$1 is missing; it is in the Debian package $2"
}

# quote WORD...: quoted for any POSIX shell. (printf %q writes $'...', which
# is not POSIX.)
quote() {
    local word out=()
    for word in "$@"; do
        out+=("'${word//\'/\'\\\'\'}'")
    done
    printf '%s' "${out[*]}"
}

# lock FILE: hold a lock until this script ends. Children that inherit it do not
# matter: they end before the script does.
lock() {
    mkdir -p -- "$(dirname -- "$1")"
    exec {lock_fd}>"$1"
    if ! flock --nonblock "$lock_fd"; then
        say "waiting for another run that holds $1 ..."
        flock "$lock_fd"
    fi
}

# ready_or_lock FILE COMMAND...: status 0 if COMMAND succeeds, at once or after FILE is locked, because
# another run may have been faster.
ready_or_lock() { "${@:2}" || { lock "$1" && "${@:2}"; }; }

# --help prints the comment block at the head of a script.
usage() { awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }
case ${1-} in -h | --help) usage; exit 0 ;; esac

# kernel_row NAME: sets arch, meta, suites and toolchain (- for this machine's)
# from the table of kernels.
kernel_row() {
    local row
    row=$(awk -v name="$1" '$1 == name { print $2, $3, $4, $5; exit }' "$vm_dir/kernels")
    [[ -n $row ]] || die "unknown kernel $1; known: $(kernel_names)"
    # shellcheck disable=SC2034
    read -r arch meta suites toolchain <<<"$row"
}

# The name of this machine's release of Debian, such as bookworm.
# shellcheck source=/dev/null
debian_codename() { (. /etc/os-release && printf '%s' "${VERSION_CODENAME-}"); }

# arch_row ARCH: sets the names that GNU tools, the kernel and QEMU have for this
# Debian architecture.
# shellcheck disable=SC2034
arch_row() {
    case $1 in
    amd64) triplet=x86_64-linux-gnu linux_arch=x86 emulator=qemu-system-x86_64 emulator_package=qemu-system-x86 ;;
    arm64) triplet=aarch64-linux-gnu linux_arch=arm64 emulator=qemu-system-aarch64 emulator_package=qemu-system-arm ;;
    *) die "unknown architecture $1; known: amd64 arm64" ;;
    esac
}

kernel_names() { awk '!/^#/ && NF { printf "%s%s", sep, $1; sep = " " }' "$vm_dir/kernels"; }

# A private apt with its own sources, lists and cache: nothing is installed, and
# root is not needed. Its configuration is read after the machine's, so
# proxies stay in force. The caller holds the lock.

# private_apt SUITES [ARCH]: must be called first. Packages that run on this machine
# are NAME:amd64, whatever ARCH is.
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

# Read the package lists again.
refresh() {
    say "reading the package lists of ${apt_dir##*/} (about 10 s) ..."
    apt_get update >"$apt_dir/update.log" 2>&1 || {
        cat -- "$apt_dir/update.log" >&2
        return 1
    }
}

# Sets temporary, a directory that is removed when the script ends.
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
# Include all dependencies, because nothing is installed.
get_with_dependencies() { get_packages install --download-only --no-install-recommends "$@"; }

# unpack: unpack the packages into $temporary/tree, where /bin, /lib ... are links into /usr.
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

# fetch_source PACKAGE SUITES [--update]: fetch it into the cache, once. The lock is released afterwards.
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

# kernel_fragments FLAVOUR: print the head of config and the sections of a flavour, which are separated
# by '-'.
kernel_fragments() {
    awk -v sections="-$1-" \
        '/^\[/ { skip = !index(sections, "-" substr($0, 2, length - 2) "-"); next } !skip' "$vm_dir/config"
}

# For KBUILD_CHECKSRC instead of C: the script with which 7.x checks sparse is in no package, and rejects
# Debian's sparse. The headers of 7.x have attributes that this sparse does not know.
# shellcheck disable=SC2034
sparse_flags="-Wsparse-error -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s)-1)'"

# For scripts that make many checks.
passed=0 failed=0

check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        printf 'ok       %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'FAILED   %s\n' "$name"
    fi
}

# Ends the script.
conclude() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    exit $((failed != 0))
}
