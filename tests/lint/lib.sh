# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the checks of this directory. Sourced, never run.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

# want TOOL: without it there is nothing to check with.
want() {
    [[ -n $(type -P "$1") ]] || {
        echo "skipped: $1 is not installed"
        exit 77
    }
}

# The project's files that match; those of git where there is a checkout.
files() {
    if [[ -e .git ]]; then
        git ls-files --cached --others --exclude-standard -- "$@"
    else
        for pattern; do find . -path ./build -prune -o -type f -path "./$pattern" -print; done
    fi
}

# configure DIRECTORY OPTION...: a build of its own for a check.
configure() {
    mkdir -p "$1"
    cmake -S . -B "$1" -G Ninja "${@:2}" >"$1/configure.log" 2>&1 || {
        cat "$1/configure.log"
        exit 1
    }
}
