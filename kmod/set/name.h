/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names: a name keeps the events of sets in a meta-group of its own, which has no
 * file and is not swept. Meta-groups that join the name share these events.
 */
#ifndef MG_NAME_H
#define MG_NAME_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_metagroup.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct device;
struct mg_follow;
struct mg_group;

/**
 * struct mg_name - a name
 * @text:	the name itself; constant
 * @uid:	its owner; constant
 * @gid:	its group; constant
 * @mode:	who may join; constant
 * @id:		number, which is not reused; mg_names_mutex, constant once published
 * @group:	members with the events; a reference, dropped by mg_name_end()
 * @follow:	reopens the events, or NULL; destroyed by mg_name_end()
 * @state:	worst status of its events when it was last determined; mutex of @group
 * @state_due:	when it may be determined again, ktime_get_ns(); mutex of @group
 * @device:	its device in sysfs; mg_names_mutex
 * @list:	entry in the list of names; mg_names_mutex
 * @refs:	references of the list and of @joins
 * @lock:	protects the fields that follow; no other lock is taken inside it
 * @joins:	meta-groups that have joined it, see struct mg_join
 * @sweeps:	sweeps of meta-groups that have left
 */
struct mg_name {
	char text[PERF_METAGROUP_NAME_SIZE];
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	u64 id;
	struct mg_group *group;
	struct mg_follow *follow;
	u32 state;
	u64 state_due;
	struct device *device;
	struct list_head list;
	struct kref refs;
	struct mutex lock;	/* protects the fields that follow */
	struct list_head joins;
	u64 sweeps;
};

struct mg_name *mg_name_create(const char *text, umode_t mode, kgid_t gid,
			       struct mg_group *from);
void mg_name_end(struct mg_name *name);
void mg_name_put(struct mg_name *name);

#endif /* MG_NAME_H */
