# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the scripts of this directory share. Sourced, never run.

# shellcheck source=tests/vm/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../vm/lib.sh"
program=tests/install/$(basename -- "$0")

# A test that cannot be done here is told, not passed.
skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

namespaces=(--mount)
((EUID == 0)) || namespaces+=(--map-root-user)
need_namespaces() {
    unshare "${namespaces[@]}" true 2>/dev/null ||
        skip "this machine grants no namespaces (unshare ${namespaces[*]})"
}

# What is mounted there goes with the command.
in_namespace() { unshare "${namespaces[@]}" "$@"; }
