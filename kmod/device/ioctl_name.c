// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of names.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/perf_metagroup.h>
#include <linux/string.h>

#include "core/group.h"
#include "core/limit.h"
#include "device/copy.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "set/join.h"
#include "set/name.h"
#include "set/names.h"
#include "set/set.h"

static bool mg_name_is_valid(const char *text)
{
	size_t length = strnlen(text, PERF_METAGROUP_NAME_SIZE);
	size_t i;

	if (length == PERF_METAGROUP_NAME_SIZE ||
	    memchr_inv(text + length, 0, PERF_METAGROUP_NAME_SIZE - length) ||
	    !isascii(text[0]) || !isalnum(text[0]))
		return false;
	for (i = 1; i < length; i++)
		if (!isascii(text[i]) || (!isalnum(text[i]) && !strchr("_-.", text[i])))
			return false;
	return true;
}

static int mg_name_gid(u32 id, kgid_t *gid)
{
	if (id == PERF_METAGROUP_NO_GID) {
		*gid = current_egid();
		return 0;
	}
	*gid = make_kgid(current_user_ns(), id);
	if (!gid_valid(*gid))
		return -EINVAL;
	return in_egroup_p(*gid) || capable(CAP_CHOWN) ? 0 : -EPERM;
}

/**
 * mg_ioctl_publish - PUBLISH
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_publish
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex and
 * mg_names_mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_publish(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_publish arg;
	struct mg_name *name;
	kgid_t gid;
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_PUBLISH_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || !mg_name_is_valid(arg.name) || arg.mode & ~0444)
		return -EINVAL;
	if (!perfmon_capable())
		return -EPERM;
	err = mg_name_gid(arg.gid, &gid);
	if (err)
		return err;

	name = mg_name_create(arg.name, arg.mode, gid, handle->group);
	if (IS_ERR(name))
		return PTR_ERR(name);
	err = mg_name_publish(name);
	if (err)
		mg_name_end(name);
	return err;
}

static int mg_join_attach(struct mg_handle *handle, struct mg_name *name, struct mg_set *set,
			  struct perf_metagroup_name *arg, void __user *uarg)
{
	struct mg_join *join = mg_join_create(name, handle->group);
	int err;

	if (!join)
		return -ENOMEM;
	err = mg_ioctl_reserve_set(handle, set);
	if (err)
		goto destroy_join;
	arg->first = set->attach.first;
	arg->count = set->attach.nr_members;
	err = mg_copy_out(uarg, arg, sizeof(*arg));
	if (!err)
		mg_join_add(join, &handle->joins);
	mg_ioctl_finish_set(handle, set, err);
	if (err)
		goto destroy_join;
	return 0;

destroy_join:
	mg_join_destroy(join);
	return err;
}

static int mg_join(struct mg_handle *handle, struct perf_metagroup_name *arg, void __user *uarg)
{
	struct mg_set set = { .limit = handle->limit };
	struct mg_group *group;
	struct mg_name *name;
	int err;

	name = mg_name_find(arg->name, &group);
	if (IS_ERR(name))
		return PTR_ERR(name);
	err = mg_set_prepare_copy(&set, group);
	if (!err)
		err = mg_join_attach(handle, name, &set, arg, uarg);
	mg_attach_end(&set.attach);
	mg_group_put(group);
	mg_name_put(name);
	return err;
}

static int mg_copy_in_name(struct perf_metagroup_name *arg, void __user *uarg)
{
	int err = mg_copy_in(arg, sizeof(*arg), PERF_METAGROUP_NAME_SIZE_VER1, uarg);

	if (err)
		return err;
	return arg->flags || !mg_name_is_valid(arg->name) ? -EINVAL : 0;
}

/**
 * mg_ioctl_join - JOIN
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_name
 *
 * Context: Process context, may sleep and fault. Takes mg_names_mutex and
 * mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_join(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_name arg;
	int err = mg_copy_in_name(&arg, uarg) ?: mg_handle_wait(handle);

	if (err)
		return err;
	err = mg_join(handle, &arg, uarg);
	mg_limit_settle(handle->limit, err ? 0 : arg.count);
	return err;
}

/**
 * mg_ioctl_unpublish - UNPUBLISH
 * @uarg:	struct perf_metagroup_name
 *
 * Context: Process context, may sleep and fault. Takes mg_names_mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_unpublish(void __user *uarg)
{
	struct perf_metagroup_name arg;
	int err = mg_copy_in_name(&arg, uarg);

	return err ?: mg_name_unpublish(arg.name);
}
