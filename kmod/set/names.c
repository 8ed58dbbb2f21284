// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of all names.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>

#include "core/group.h"
#include "set/name.h"
#include "set/name_device.h"
#include "set/names.h"

static unsigned int max_names = 64;
module_param(max_names, uint, 0644);
MODULE_PARM_DESC(max_names, "maximum number of names (64)");

/* Held while devices are removed, which waits for readers of sysfs: see docs/locking.md. */
static DEFINE_MUTEX(mg_names_mutex);
static LIST_HEAD(mg_names);		/* mg_names_mutex */
static unsigned int mg_nr_names;	/* mg_names_mutex */
static u64 mg_last_name_id;		/* mg_names_mutex */

static int mg_names_lock(void)
{
	return mutex_lock_interruptible(&mg_names_mutex) ? -ERESTARTSYS : 0;
}

static struct mg_name *mg_names_lookup(const char *text)
{
	struct mg_name *name;

	list_for_each_entry(name, &mg_names, list)
		if (!strcmp(name->text, text))
			return name;
	return NULL;
}

static int mg_names_add(struct mg_name *name)
{
	struct device *device;

	if (mg_names_lookup(name->text))
		return -EEXIST;
	if (mg_nr_names >= READ_ONCE(max_names))
		return -ENOSPC;
	name->id = mg_last_name_id + 1;
	device = mg_name_device_create(name);
	if (IS_ERR(device))
		return PTR_ERR(device);
	name->device = device;
	list_add_tail(&name->list, &mg_names);
	mg_nr_names++;
	mg_last_name_id++;
	return 0;
}

/**
 * mg_name_publish - let other tasks find a name
 * @name:	created
 *
 * The name holds a reference to the module until it is removed.
 *
 * Context: Process context, may sleep. Takes mg_names_mutex. No mg_group.mutex is
 * held. The caller holds the module.
 * Return: 0, -EEXIST, -ENOSPC, -ENOMEM or -ERESTARTSYS; on error the caller calls
 * mg_name_end().
 */
int mg_name_publish(struct mg_name *name)
{
	int err = mg_names_lock();

	if (err)
		return err;
	err = mg_names_add(name);
	if (!err)
		__module_get(THIS_MODULE);
	mutex_unlock(&mg_names_mutex);
	return err;
}

static bool mg_may_end(const struct mg_name *name)
{
	return uid_eq(current_euid(), name->uid) || perfmon_capable();
}

/* Decided like the permission to read a file. */
static bool mg_may_join(const struct mg_name *name)
{
	umode_t needed = 0004;

	if (uid_eq(current_euid(), name->uid))
		needed = 0400;
	else if (in_egroup_p(name->gid))
		needed = 0040;
	return name->mode & needed || perfmon_capable();
}

/**
 * mg_name_unpublish - remove a name
 * @text:	the name
 *
 * Context: Process context, may sleep. Takes mg_names_mutex and cpu_hotplug_lock. No
 * mg_group.mutex is held. The caller holds the module.
 * Return: 0, -ENOENT, -EACCES or -ERESTARTSYS.
 */
int mg_name_unpublish(const char *text)
{
	struct mg_name *name;
	int err = mg_names_lock();

	if (err)
		return err;
	name = mg_names_lookup(text);
	if (!name) {
		err = -ENOENT;
	} else if (!mg_may_end(name)) {
		err = -EACCES;
	} else {
		list_del(&name->list);
		mg_nr_names--;
		/* Until this is done, the same name cannot be published again. */
		mg_name_device_destroy(name->device);
	}
	mutex_unlock(&mg_names_mutex);
	if (err)
		return err;
	mg_name_end(name);
	module_put(THIS_MODULE);
	return 0;
}

/**
 * mg_name_find - find a name that the current task may join
 * @text:	the name
 * @group:	set to a reference to the meta-group with its events
 *
 * Context: Process context, may sleep. Takes mg_names_mutex. No mg_group.mutex is
 * held.
 * Return: a reference, or an ERR_PTR(): -ENOENT, -EACCES or -ERESTARTSYS.
 */
struct mg_name *mg_name_find(const char *text, struct mg_group **group)
{
	struct mg_name *name;
	int err = mg_names_lock();

	if (err)
		return ERR_PTR(err);
	name = mg_names_lookup(text);
	if (!name)
		name = ERR_PTR(-ENOENT);
	else if (!mg_may_join(name))
		name = ERR_PTR(-EACCES);
	if (!IS_ERR(name)) {
		kref_get(&name->refs);
		kref_get(&name->group->refs);
		*group = name->group;
	}
	mutex_unlock(&mg_names_mutex);
	return name;
}
