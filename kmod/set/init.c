// SPDX-License-Identifier: GPL-2.0-only
#include "set/follow.h"
#include "set/init.h"
#include "set/name_device.h"
#include "set/perf_kernel.h"
#include "set/shared.h"

/**
 * mg_set_init - prepare to open sets
 *
 * Context: Process context, may sleep.
 * Return: 0 or an error.
 */
int mg_set_init(void)
{
	int err;

	mg_shared_init();
	err = mg_kernel_init();
	if (err)
		return err;
	err = mg_follow_init();
	if (err)
		goto kernel_exit;
	err = mg_name_device_init();
	if (err)
		goto follow_exit;
	return 0;

follow_exit:
	mg_follow_exit();
kernel_exit:
	mg_kernel_exit();
	return err;
}

/**
 * mg_set_exit - undo mg_set_init()
 *
 * Context: Process context, may sleep. No meta-group exists.
 */
void mg_set_exit(void)
{
	mg_name_device_exit();
	mg_follow_exit();
	mg_kernel_exit();
}
