// SPDX-License-Identifier: MIT
// Slow motion: a QEMU plugin that makes time in the guest proportional to the instructions on the
// critical path, on any number of host CPUs (clock.h).
//
// Arguments: page=FILE, as made by bench/slowmo/run; rate=N; profile=FILE, optional
//
// A virtual CPU that is ahead waits in callbacks in which its thread holds none of QEMU's locks, so
// others continue. An interrupt that arrives meanwhile stays pending, as it does for a CPU in the
// middle of those instructions.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "page.h"
#include "plugin.h"
#include "qemu_plugin.h"

// Instructions are counted in parts, because one with `rep` counts as an instruction for each 16
// bytes: real CPUs move so much or more at a time.
#define PARTS 16

// Instructions by which a CPU may be ahead of another.
#define LEAD 100

// Ticks run so much faster. They still take some time: a tick may spin on a lock whose holder waits
// for this CPU's clock to advance.
#define TICK_SPEED 64

struct vcpu {
    uint64_t parts[2];   // executed so far, by the user and by the kernel, outside ticks
    uint64_t tick_parts; // and in them
    bool in_tick;
} __attribute__((aligned(64)));

static struct slowmo_page *page;
static struct qemu_plugin_scoreboard *moved; // bytes by string instructions, to be counted
static struct vcpu vcpus[SLOWMO_MAX_CPUS];
static int64_t ps_per_part;

static void advance(unsigned int index, int64_t time)
{
    struct slowmo_cpu *slot = &page->cpus[index];
    int64_t late;

    if (!__atomic_load_n(&page->throttle, __ATOMIC_RELAXED)) {
        if (clock_is_slow(index)) clock_leave(index);
        return;
    }
    if (!clock_is_slow(index)) {
        guest_time_enter(index);
        clock_enter(index);
    }
    late = clock_charge(index, time);
    if (late)
        __atomic_store_n(&slot->late_ns, slot->late_ns + (uint64_t)late / 1000, __ATOMIC_RELAXED);
}

static void count(unsigned int index, uint64_t parts, bool kernel)
{
    struct vcpu *vcpu = &vcpus[index];
    struct slowmo_cpu *slot = &page->cpus[index];

    vcpu->parts[kernel] += parts;
    __atomic_store_n(kernel ? &slot->kernel_insns : &slot->user_insns, vcpu->parts[kernel] / PARTS,
                     __ATOMIC_RELAXED);
}

static void execute(unsigned int index, uint64_t parts, bool kernel)
{
    struct vcpu *vcpu = &vcpus[index];
    struct slowmo_cpu *slot = &page->cpus[index];
    uint64_t *bytes = qemu_plugin_scoreboard_find(moved, index);

    parts += *bytes;
    *bytes = 0;
    if (vcpu->in_tick) {
        vcpu->tick_parts += parts;
        __atomic_store_n(&slot->tick_insns, vcpu->tick_parts / PARTS, __ATOMIC_RELAXED);
        advance(index, (int64_t)parts * ps_per_part / TICK_SPEED);
        return;
    }
    count(index, parts, kernel);
    advance(index, (int64_t)parts * ps_per_part);
}

static void execute_block(unsigned int index, void *userdata)
{
    struct block *block = userdata;

    // A function begins a block, because it is called.
    if (block->address == __atomic_load_n(&page->tick_begin, __ATOMIC_RELAXED))
        vcpus[index].in_tick = true;
    else if (block->address == __atomic_load_n(&page->tick_end, __ATOMIC_RELAXED))
        vcpus[index].in_tick = false;
    if (block->address == __atomic_load_n(&page->spin, __ATOMIC_RELAXED) && clock_is_slow(index)) {
        count(index, (uint64_t)(clock_park(index) / ps_per_part), false);
        return;
    }
    if (profile_wanted && __atomic_load_n(&page->throttle, __ATOMIC_RELAXED))
        profile_count(block, index);
    execute(index, block->insns * PARTS, block->kernel);
}

static void execute_instruction(unsigned int index, void *userdata)
{
    execute(index, PARTS, ((const struct block *)userdata)->kernel);
}

static void halt(qemu_plugin_id_t id, unsigned int index)
{
    (void)id;
    clock_halt(index);
}

static void resume(qemu_plugin_id_t id, unsigned int index)
{
    (void)id;
    guest_time_enter(index);
    clock_resume(index);
}

// Bytes per step of an instruction with rep or repne: movs, cmps, lods and scas, which read, or
// stos, which writes; 0 for all others.
static uint64_t repetition(const struct qemu_plugin_insn *insn, enum qemu_plugin_mem_rw *access)
{
    uint8_t bytes[15];
    const size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
    bool repeats = false;
    bool wide = false; // REX.W
    size_t i = 0;

    for (; i < length && (bytes[i] == 0xf2 || bytes[i] == 0xf3 || (bytes[i] & 0xf0) == 0x40); i++) {
        repeats = repeats || bytes[i] == 0xf2 || bytes[i] == 0xf3;
        wide = (bytes[i] & 0xf8) == 0x48;
    }
    if (!repeats || i + 1 != length || bytes[i] < 0xa4 || bytes[i] > 0xaf || bytes[i] == 0xa8 ||
        bytes[i] == 0xa9)
        return 0;
    *access = bytes[i] == 0xaa || bytes[i] == 0xab ? QEMU_PLUGIN_MEM_W : QEMU_PLUGIN_MEM_R;
    return bytes[i] & 1 ? (wide ? 8 : 4) : 1;
}

// QEMU may leave a block in the middle of a repetition and resume in another block that begins
// there. So the instructions after a repetition are counted one by one, not with the block.
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    // Never freed: a guest translates a limited amount of code.
    struct block *block = block_new(qemu_plugin_tb_vaddr(tb));
    const size_t n = qemu_plugin_tb_n_insns(tb);
    bool repeated = false;

    (void)id;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        enum qemu_plugin_mem_rw access;
        const uint64_t step = repetition(insn, &access);

        if (block->kernel) apic_watch(insn, page->nr_cpus);
        if (step) {
            qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, access, QEMU_PLUGIN_INLINE_ADD_U64,
                                                          (qemu_plugin_u64){moved, 0}, step);
            repeated = true;
        } else if (repeated) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, execute_instruction,
                                                   QEMU_PLUGIN_CB_NO_REGS, block);
        } else {
            block->insns++;
        }
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, execute_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "slow motion: %s: %s\n", what, why);
    return -1;
}

static int map_page(const char *file)
{
    const int fd = open(file, O_RDWR | O_CLOEXEC);
    void *memory = MAP_FAILED;

    if (fd >= 0) memory = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return fail(file, strerror(errno));
    close(fd);
    page = memory;
    return 0;
}

// The value of NAME=VALUE, or NULL if it is another argument.
static const char *value_of(const char *argument, const char *name)
{
    const size_t length = strlen(name);

    return !strncmp(argument, name, length) && argument[length] == '=' ? argument + length + 1
                                                                       : NULL;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv)
{
    const char *error;
    double rate = 0;

    for (int i = 0; i < argc; i++) {
        const char *value;

        if ((value = value_of(argv[i], "page"))) {
            if (map_page(value)) return -1;
        } else if ((value = value_of(argv[i], "rate"))) {
            rate = atof(value);
        } else if ((value = value_of(argv[i], "profile"))) {
            profile_start(value, id);
        } else {
            return fail(argv[i], "unknown argument");
        }
    }
    if (!page) return fail("page", "no file is given");
    if (rate < 1000 || rate > 1e9) return fail("rate", "not 1000 to 1000000000 per second");
    if (!info->system_emulation || info->system.max_vcpus > SLOWMO_MAX_CPUS)
        return fail("-smp", "too many CPUs for the page");

    moved = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    ps_per_part = (int64_t)(1e12 / rate / PARTS);
    clock_init((unsigned int)info->system.max_vcpus, LEAD * PARTS * ps_per_part);
    error = guest_time_take_over();
    if (error) return fail("the guest's time", error);
    page->version = SLOWMO_VERSION;
    page->nr_cpus = (uint32_t)info->system.max_vcpus;
    page->rate = (uint64_t)rate;
    __atomic_store_n(&page->magic, SLOWMO_MAGIC, __ATOMIC_RELEASE);

    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_idle_cb(id, halt);
    qemu_plugin_register_vcpu_resume_cb(id, resume);
    return 0;
}
