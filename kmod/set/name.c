// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/group.h"
#include "set/follow.h"
#include "set/name.h"
#include "set/name_device.h"
#include "set/set.h"

static unsigned int max_names = 64;
module_param(max_names, uint, 0644);
MODULE_PARM_DESC(max_names, "names of meta-groups (64)");

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

static void mg_name_free(struct kref *refs)
{
	kfree(container_of(refs, struct mg_name, refs));
}

/* Attach the members of @set. The meta-group has no other user yet. */
static int mg_name_attach(struct mg_name *name, struct mg_set *set)
{
	int err = mg_group_lock(name->group);

	if (err)
		return err;
	err = mg_attach_reserve(&set->attach, name->group);
	if (!err && set->follow) {
		name->follow = mg_follow_create(name->group);
		err = PTR_ERR_OR_ZERO(name->follow);
		if (err)
			name->follow = NULL;
	}
	/* They are not started: what they show is not read. */
	if (!err)
		err = mg_attach_commit(&set->attach, name->group);
	/* A CPU may have come online since. */
	if (!err && name->follow)
		mg_follow_update(name->follow);
	mg_group_unlock(name->group);
	return err;
}

static int mg_name_fill(struct mg_name *name, struct mg_group *from)
{
	struct mg_set set = { };
	int err = mg_set_prepare_copy(&set, from);

	if (!err)
		err = set.attach.nr_members ? mg_name_attach(name, &set) : -EINVAL;
	mg_attach_end(&set.attach);
	return err;
}

/**
 * mg_name_create - create a name that is not published yet
 * @text:	the name itself
 * @mode:	who may join, bits of 0444
 * @gid:	its group
 * @from:	meta-group that has the sets
 *
 * Its owner is the current task's effective user.
 *
 * Context: Process context, may sleep. Takes mg_group.mutex.
 * Return: the name, or an ERR_PTR().
 */
struct mg_name *mg_name_create(const char *text, umode_t mode, kgid_t gid,
			       struct mg_group *from)
{
	struct mg_name *name = kzalloc(sizeof(*name), GFP_KERNEL_ACCOUNT);
	int err;

	if (!name)
		return ERR_PTR(-ENOMEM);
	strscpy(name->text, text, sizeof(name->text));
	name->uid = current_euid();
	name->gid = gid;
	name->mode = mode;
	kref_init(&name->refs);
	mutex_init(&name->lock);
	INIT_LIST_HEAD(&name->joins);
	name->group = mg_group_create();
	if (IS_ERR(name->group)) {
		err = PTR_ERR(name->group);
		kfree(name);
		return ERR_PTR(err);
	}
	err = mg_name_fill(name, from);
	if (err) {
		mg_name_end(name);
		return ERR_PTR(err);
	}
	return name;
}

/**
 * mg_name_end - release the events of a name, and drop the reference to it
 * @name:	not published, or not any more
 *
 * Context: Process context, may sleep. Takes cpu_hotplug_lock. No mutex is held.
 */
void mg_name_end(struct mg_name *name)
{
	mg_follow_destroy(name->follow);
	mg_group_put(name->group);
	mg_name_put(name);
}

/**
 * mg_name_put - drop a reference
 * @name:	the name
 */
void mg_name_put(struct mg_name *name)
{
	kref_put(&name->refs, mg_name_free);
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
 * mg_name_publish - have others find a name
 * @name:	created
 *
 * The name holds the module until it ends.
 *
 * Context: Process context, may sleep. Takes mg_names_mutex. No mg_group.mutex is
 * held. The caller holds the module.
 * Return: 0, -EEXIST, -ENOSPC, -ENOMEM or -ERESTARTSYS; on error the caller ends the
 * name.
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

/* As the permission to read a file. */
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
 * mg_name_unpublish - end a name
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
		/* Until this is done, the name cannot be published again. */
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
 * Return: a reference, or ERR_PTR() of -ENOENT, -EACCES or -ERESTARTSYS.
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
