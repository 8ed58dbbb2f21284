// SPDX-License-Identifier: MIT
// The plugin interface reports no interrupts, so writes to the local APIC are found in the code.
// Linux maps the APIC at a fixed address, which its instructions contain as a displacement. QEMU
// numbers APICs as CPUs.
#include "plugin.h"

#include <string.h>

#include "clock.h"
#include "page.h"

#define APIC_PAGE UINT64_C(0xffffffffff5fd000)
#define ICR_COMMAND 0x300
#define ICR_DESTINATION 0x310

#define LOGICAL (1u << 11)
#define SHORTHAND(command) ((command) >> 18 & 3)
enum { BY_DESTINATION, SELF, ALL, ALL_BUT_SELF };

static uint8_t destinations[SLOWMO_MAX_CPUS];
static unsigned int cpus;

static bool is_target(unsigned int cpu, unsigned int from, uint32_t command)
{
    switch (SHORTHAND(command)) {
        case SELF:
            return false;
        case ALL:
        case ALL_BUT_SELF:
            return cpu != from;
        default:
            return command & LOGICAL ? cpu < 8 && destinations[from] >> cpu & 1
                                     : cpu == destinations[from];
    }
}

static void before_access(unsigned int cpu, void *userdata)
{
    (void)userdata;
    clock_before_interrupt(cpu);
}

static void after_access(unsigned int cpu, qemu_plugin_meminfo_t access, uint64_t address,
                         void *userdata)
{
    uint32_t value;

    (void)userdata;
    if (!qemu_plugin_mem_is_store(access)) return;
    value = qemu_plugin_mem_get_value(access).data.u32;
    if (address == APIC_PAGE + ICR_DESTINATION) {
        destinations[cpu] = (uint8_t)(value >> 24);
    } else if (address == APIC_PAGE + ICR_COMMAND) {
        for (unsigned int to = 0; to < cpus; to++) {
            if (is_target(to, cpu, value)) clock_after_interrupt(cpu, to);
        }
    }
}

void apic_watch(struct qemu_plugin_insn *insn, unsigned int nr_cpus)
{
    uint8_t bytes[15];
    const size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));

    cpus = nr_cpus;
    for (size_t i = 1; i + 4 <= length; i++) {
        uint32_t displacement;

        memcpy(&displacement, bytes + i, sizeof(displacement));
        if (displacement >> 12 != (uint32_t)APIC_PAGE >> 12) continue;
        qemu_plugin_register_vcpu_insn_exec_cb(insn, before_access, QEMU_PLUGIN_CB_NO_REGS, NULL);
        qemu_plugin_register_vcpu_mem_cb(insn, after_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_W, NULL);
        return;
    }
}
