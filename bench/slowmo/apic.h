/* SPDX-License-Identifier: MIT
 *
 * Which CPUs are interrupted by a write to the interrupt command register of a local APIC.
 */
#ifndef SLOWMO_APIC_H
#define SLOWMO_APIC_H

#include "qemu_plugin.h"

/* While a block is translated, for each of its instructions. */
void apic_watch(struct qemu_plugin_insn *insn, unsigned int nr_cpus);

#endif /* SLOWMO_APIC_H */
