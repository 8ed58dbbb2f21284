// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names in sysfs, see docs/ABI/sysfs-class-perf_metagroup.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/sysfs.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "core/group.h"
#include "set/join.h"
#include "set/name.h"
#include "set/name_device.h"
#include "set/perf_kernel.h"

static ssize_t id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct mg_name *name = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", name->id);
}
static DEVICE_ATTR_RO(id);

/* Any user may cause this, which takes locks of perf, so limit it to 1/16 of the time. */
static void mg_name_find_state(struct mg_name *name)
{
	const struct mg_frames *frames = &name->group->frames;
	u64 begin = ktime_get_ns();
	struct mg_event_info info;
	u64 end;
	u32 i;

	if (begin < name->state_due)
		return;
	name->state = PERF_METAGROUP_OK;
	for (i = 0; i < frames->nr_members; i++) {
		mg_kernel_describe(frames->members[i]->counter, &info);
		name->state = mg_worse_status(name->state, info.status);
	}
	end = ktime_get_ns();
	name->state_due = end + 16 * (end - begin);
}

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct mg_name *name = dev_get_drvdata(dev);
	u32 status;

	if (mg_group_lock(name->group))
		return -ERESTARTSYS;
	mg_name_find_state(name);
	status = name->state;
	mg_group_unlock(name->group);
	return sysfs_emit(buf, "%s\n", mg_status_name(status));
}
static DEVICE_ATTR_RO(state);

static ssize_t uid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct mg_name *name = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", from_kuid_munged(&init_user_ns, name->uid));
}
static DEVICE_ATTR_RO(uid);

static ssize_t gid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct mg_name *name = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", from_kgid_munged(&init_user_ns, name->gid));
}
static DEVICE_ATTR_RO(gid);

static ssize_t mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct mg_name *name = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%04o\n", name->mode);
}
static DEVICE_ATTR_RO(mode);

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct mg_name *name = dev_get_drvdata(dev);

	/* Constant: members are not added, removed or moved. */
	return sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(name->group->cpus.mask));
}
static DEVICE_ATTR_RO(cpus);

static ssize_t events_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct mg_name *name = dev_get_drvdata(dev);
	u32 events = 0;
	u32 i;

	if (mg_group_lock(name->group))
		return -ERESTARTSYS;
	for (i = 0; i < name->group->frames.nr_members; i++)
		events += name->group->frames.members[i]->counter->nr_kernel;
	mg_group_unlock(name->group);
	return sysfs_emit(buf, "%u\n", events);
}
static DEVICE_ATTR_RO(events);

static ssize_t users_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct mg_name_stats stats;

	mg_name_stats(dev_get_drvdata(dev), &stats);
	return sysfs_emit(buf, "%u\n", stats.users);
}
static DEVICE_ATTR_RO(users);

static ssize_t sweeps_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct mg_name_stats stats;

	mg_name_stats(dev_get_drvdata(dev), &stats);
	return sysfs_emit(buf, "%llu\n", stats.sweeps);
}
static DEVICE_ATTR_RO(sweeps);

static struct attribute *mg_name_attrs[] = {
	&dev_attr_id.attr,
	&dev_attr_state.attr,
	&dev_attr_uid.attr,
	&dev_attr_gid.attr,
	&dev_attr_mode.attr,
	&dev_attr_cpus.attr,
	&dev_attr_events.attr,
	&dev_attr_users.attr,
	&dev_attr_sweeps.attr,
	NULL
};
ATTRIBUTE_GROUPS(mg_name);

static struct class mg_name_class = {
	.name = "perf_metagroup",
	.dev_groups = mg_name_groups,
};

/**
 * mg_name_device_create - show a name in sysfs, and tell udev
 * @name:	the name, which outlives the device
 *
 * Context: Process context, may sleep.
 * Return: the device, or an ERR_PTR().
 */
struct device *mg_name_device_create(struct mg_name *name)
{
	/* Without a device number, and so without a node in /dev. */
	return device_create(&mg_name_class, NULL, MKDEV(0, 0), name, "%s", name->text);
}

/**
 * mg_name_device_destroy - undo mg_name_device_create()
 * @device:	the device
 *
 * Context: Process context, may sleep. Waits for readers of its files, so the locks
 * that they take, mg_group.mutex and mg_name.lock, are not held.
 */
void mg_name_device_destroy(struct device *device)
{
	device_unregister(device);
}

/**
 * mg_name_device_init - register the class
 *
 * Return: 0 or an error.
 */
int mg_name_device_init(void)
{
	return class_register(&mg_name_class);
}

/**
 * mg_name_device_exit - undo mg_name_device_init()
 */
void mg_name_device_exit(void)
{
	class_unregister(&mg_name_class);
}
