# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For scripts that check something many times over. Sourced.

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
