// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/group.h"
#include "set/follow.h"
#include "set/name.h"
#include "set/set.h"

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
	/* They are not started, because they are never read. */
	if (!err)
		err = mg_attach_commit(&set->attach, name->group);
	/* A CPU may have come online meanwhile. */
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
 * mg_name_end - release the events of a name, and drop the reference to the name
 * @name:	not published, or no longer published
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
