/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CORE_PMU_H
#define CORE_PMU_H

int core_pmu_register(void);
void core_pmu_unregister(void);

#endif /* CORE_PMU_H */
