# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # variables of bench/run
# How bench/run measures in guests in slow motion. Sourced, never run.

# At less than the full rate, a CPU that does not sleep has nothing but the ticks of its timer.
# shellcheck disable=SC2034 # for bench/run
most_busy=32 most_busy_reason='two host CPUs carry no more in slow motion'

prepare() {
    local qemu
    kernel_row "$kernel"
    qemu=$("$vm_dir/fetch-qemu" amd64) || exit "$status_harness"
    qemu=$("${qemu%%$'\n'*}" --version | sed -n 's/^QEMU emulator version \([^ ]*\).*/\1/p')
    printf '%s\n' 'mode=slow motion' "rate=$rate" "qemu=$qemu" >>"$raw/environment"
    say "proving that slow motion is even (1 minute) ..."
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

measure_once() {
    local slow=$rate more=()
    # The host has enough to do with 32 CPUs. The report knows of the rate, and is of the same times.
    # Sweeps take long then, and a turn is to have some.
    ((cpus <= 32)) || slow=$((rate * 32 / cpus)) more=(--time=0.3)
    "$bench_dir/slowmo/run" --plugin "$build/bench/slowmo/throttle.so" --cpus "$cpus" --kernel "$kernel" --rate "$slow" \
        --timeout 3600 --module "$bench_dir/floor" \
        --add "$benchmark" --get "/tmp/bench/$cpus-$condition.json:$raw/unfinished/$cpus-$condition.json" -- \
        "$bench_dir/measure" "$benchmark" /tmp/bench "$cpus" "$condition" -- "${options[@]}" "${more[@]}"
}
