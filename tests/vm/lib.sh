# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the scripts of this directory. Sourced, never run.

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

# need COMMAND PACKAGE: say what to install instead of "command not found".
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

# lock FILE: one process at a time, until this script ends. Children do not
# matter: they end before it does.
lock() {
    mkdir -p -- "$(dirname -- "$1")"
    exec {lock_fd}>"$1"
    if ! flock --nonblock "$lock_fd"; then
        say "waiting for another run that holds $1 ..."
        flock "$lock_fd"
    fi
}

# ready_or_lock FILE COMMAND...: status 0 if COMMAND succeeds, at once or when FILE is locked: another
# run may have been faster.
ready_or_lock() { "${@:2}" || { lock "$1" && "${@:2}"; }; }

# The comment block at the head of a script is its --help.
usage() { awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }
case ${1-} in -h | --help) usage; exit 0 ;; esac

# kernel_row NAME: sets arch, meta, suites and toolchain (- if it is this
# machine's) from the table of kernels.
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

# arch_row ARCH: sets what GNU tools, the kernel and QEMU call this architecture
# of Debian.
# shellcheck disable=SC2034
arch_row() {
    case $1 in
    amd64) triplet=x86_64-linux-gnu linux_arch=x86 emulator=qemu-system-x86_64 emulator_package=qemu-system-x86 ;;
    arm64) triplet=aarch64-linux-gnu linux_arch=arm64 emulator=qemu-system-aarch64 emulator_package=qemu-system-arm ;;
    *) die "unknown architecture $1; known: amd64 arm64" ;;
    esac
}

kernel_names() { awk '!/^#/ && NF { printf "%s%s", sep, $1; sep = " " }' "$vm_dir/kernels"; }

# For scripts that check something many times over.
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
