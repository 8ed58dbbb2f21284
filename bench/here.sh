# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # variables of bench/run
# How bench/run measures on this machine as it is. Sourced, never run.

# Powers of two, and all.
cpu_counts=()
for ((cpus = 2; cpus < $(nproc); cpus *= 2)); do
    cpu_counts+=("$cpus")
done
# shellcheck disable=SC2034 # bench/run goes through them
cpu_counts+=("$(nproc)")

# Where the processor's counters are to be had they are what one wants to read.
hardware=()
[[ ! -d /sys/bus/event_source/devices/cpu ]] || hardware=(--hardware)

loaded=()
# shellcheck disable=SC2317,SC2329 # called by the trap
unload() {
    local module
    for module in "${loaded[@]}"; do
        rmmod "$module" || say "rmmod $module failed; it stays loaded"
    done
}

# load DIRECTORY MODULE: unless it is there; says what is missing if it cannot.
load() {
    [[ ! -d /sys/module/$2 ]] || return 0
    say "building and loading $2 ..."
    make -C "/lib/modules/$(uname -r)/build" M="$1" modules >"$raw/$2.log" 2>&1 && insmod "$1/$2.ko" 2>>"$raw/$2.log" && {
        loaded=("$2" "${loaded[@]}")
        return 0
    }
    tail -n 5 -- "$raw/$2.log" | sed 's/^/    /' >&2
    return 1
}

prepare() {
    ((EUID == 0)) || die "--here needs root, to load the module and to open events on all CPUs"
    echo 'mode=bare metal' >>"$raw/environment"
    trap unload EXIT
    load "$project_dir/kmod" perf_metagroup ||
        die "the module cannot be loaded; it needs linux-headers-$(uname -r), and a kernel that" \
            "takes modules without a signature (mokutil --sb-state)"
    load "$bench_dir/floor" metagroup_floor || say "measuring without the floor"
}

places() { echo here; } # one after the other

measure_once() {
    "$bench_dir/measure" "${hardware[@]}" "$benchmark" "$raw/unfinished" "$cpus" "$condition" -- "${options[@]}"
}
