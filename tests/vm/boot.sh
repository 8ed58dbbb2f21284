# shellcheck shell=bash disable=SC2154 # variables of run
# SPDX-License-Identifier: MIT
# QEMU, for run. Sourced, never run. A guest writes into $directory
#
#   console   the kernel's console (first serial port)
#   output    the second serial port, copied to stdout as it comes
#   result    the third serial port
#   files     the fourth
#   qemu.log  the messages of QEMU itself

# set_qemu: the command line, from the options of run.
set_qemu() {
    local machine cpu ports own_args kernel_args list port
    list=$("$vm_dir/fetch-qemu" "$arch") || exit "$status_harness"
    mapfile -t machine <<<"$list"

    case $accel in
    kvm) machine=("${machine[0]}" -accel kvm) cpu=host ;;
    tcg)
        # The first -accel that works counts, so there must be but one.
        [[ $icount = no ]] || machine=("${machine[@]/thread=multi/thread=single}" -icount 'shift=1,sleep=off')
        cpu=max
        ;;
    esac

    # Four serial ports that Debian's kernels have drivers for without modules.
    case $arch in
    amd64)
        ports=(-serial chardev:console -serial chardev:output -serial chardev:result -serial chardev:files)
        own_args=(
            no_timer_check       # emulated timers fail that check under load
            tsc=reliable         # emulated TSCs look unsynchronised, but are not
            nmi_watchdog=0       # leaves its counter to perf
            # An interrupt for all reaches CPUs that are offline as well. One that comes
            # between INIT and SIPI makes an emulated CPU start without SIPI, by way of
            # the firmware, and the SIPI then hits it in the midst of the kernel.
            no_ipi_broadcast=1
        )
        ;;
    arm64)
        # The emulation of this processor has counters; that of x86 has none.
        cpu=cortex-a72
        machine+=(-machine 'virt,gic-version=3')
        ports=(-device 'pci-serial-4x,chardev1=console,chardev2=output,chardev3=result,chardev4=files')
        own_args=()
        ;;
    esac

    kernel_args=(
        console=ttyS0
        loglevel=5           # warnings and worse, until init asks for all
        printk.devkmsg=on    # no rate limit for the marks
        panic=-1 oops=panic  # a crash ends the run at once
        mitigations=off      # speed
        random.trust_cpu=1   # no waiting for entropy
        "${own_args[@]}"
        # Virtual CPUs that outnumber the real ones are not run for seconds.
        # Larger thresholds tell that from a real lockup.
        watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=100
        "${append[@]}"
    )

    qemu=(
        "${machine[@]}" -cpu "$cpu" -smp "$cpus" -m "$memory"
        -nodefaults -no-user-config -display none -no-reboot
        -kernel "$kernel_dir/vmlinuz" -initrd "$directory/initramfs" -append "${kernel_args[*]}"
        "${ports[@]}" "${qemu_args[@]}"
    )
    for port in console output result files; do
        if [[ $port = output && $shell = yes ]]; then
            qemu+=(-chardev 'stdio,id=output,mux=on,signal=off')
        else
            qemu+=(-chardev "file,id=$port,path=${directory//,/,,}/$port")
        fi
    done
}

# boot: run the guest until it powers off. Sets booted: 0, 124 after the time
# limit, 125 if QEMU failed.
boot() {
    # If this script is killed in a way it cannot catch, QEMU goes too.
    local wrapper=() copier port
    [[ -z $(type -P setpriv) ]] || wrapper+=(setpriv --pdeathsig TERM --)
    wrapper+=(timeout --foreground --kill-after 5 "$limit")
    for port in console output result; do : >"$directory/$port"; done
    booted=0
    if [[ $shell = yes ]]; then
        "${wrapper[@]}" "${qemu[@]}" || booted=$?
        return
    fi
    # In the background so that signals are handled at once.
    "${wrapper[@]}" "${qemu[@]}" </dev/null >"$directory/qemu.log" 2>&1 &
    child=$!
    # By way of a file rather than a pipe: the emulated port drops bytes if its
    # reader is slow when the guest powers off.
    tail --bytes=+1 --follow --sleep-interval=0.1 --pid="$child" -- "$directory/output" &
    copier=$!
    wait "$child" || booted=$?
    child=''
    wait "$copier" || true # the reader of our output may have left
    case $booted in
    0 | "$status_time_limit") ;;
    137) booted=$status_time_limit ;; # it took SIGKILL
    *)
        say "QEMU failed with status $booted:"
        cat -- "$directory/qemu.log" >&2
        booted=$status_harness
        ;;
    esac
}
