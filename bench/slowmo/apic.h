/* SPDX-License-Identifier: MIT
 *
 * Detects interrupts from CPU to CPU: writes to the interrupt command register of a local APIC.
 */
#ifndef SLOWMO_APIC_H
#define SLOWMO_APIC_H

#include "qemu_plugin.h"

/* To be called for each instruction when a block is translated. */
void apic_watch(struct qemu_plugin_insn *insn, unsigned int nr_cpus);

#endif /* SLOWMO_APIC_H */
