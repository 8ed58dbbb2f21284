# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # variables of bench/run
# How bench/run measures in guests in slow motion. Sourced, never run.

prepare() {
    local qemu
    kernel_row "$kernel"
    qemu=$("$vm_dir/fetch-qemu" amd64) || exit "$status_harness"
    qemu=$("${qemu%%$'\n'*}" --version | sed -n 's/^QEMU emulator version \([^ ]*\).*/\1/p')
    printf '%s\n' 'mode=slow motion' "rate=$rate" "qemu=$qemu" >>"$raw/environment"
    say "proving that slow motion is even (3 minutes) ..."
    local status=0
    "$bench_dir/slowmo/prove" --build "$build" --kernel "$kernel" --rate "$rate" \
        --json "$raw/proof.json" >"$raw/proof.log" 2>&1 || status=$?
    grep -E '^(holds|FAILS) ' "$raw/proof.log" || true
    ((status != 0)) || return 0
    # Nothing is reported then; status 77 is a skip.
    tail -n 5 -- "$raw/proof.log" | sed 's/^/    /' >&2
    echo "skipped: slow motion is not even here, figures would mean nothing; see $raw/proof.log"
    exit 77
}

# All CPUs of the host, or as many as --jobs says.
places() { python3 -c 'import os; print(*os.sched_getaffinity(0), sep="\n")' | head -n "${jobs:-$(nproc)}"; }

# Threads of virtual CPUs wait for one another all the time. That is quickest if none has to be woken
# on another CPU.
measure_once() {
    taskset --cpu-list "$host_cpu" "$bench_dir/slowmo/run" --plugin "$build/bench/slowmo/throttle.so" \
        --cpus "$cpus" --kernel "$kernel" --rate "$rate" --timeout 3600 --module "$bench_dir/floor" \
        --add "$benchmark" --get "/tmp/bench/$cpus-$condition.json:$raw/unfinished/$cpus-$condition.json" -- \
        "$bench_dir/measure" "$benchmark" /tmp/bench "$cpus" "$condition" -- "${options[@]}" --time=0.01
}
