# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the scripts of this directory. Sourced, never run.

# shellcheck source=tests/vm/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../vm/lib.sh"
program=tests/install/$(basename -- "$0")

# A test that is impossible here is skipped, not passed.
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

# Mounts end with the command.
in_namespace() { unshare "${namespaces[@]}" "$@"; }
