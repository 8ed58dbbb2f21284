/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names: a name keeps the events of sets in a meta-group of its own, which has no
 * file and is not swept. Who joins shares these events.
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
 * @id:		number, which is not used again; mg_names_mutex, constant once published
 * @group:	members with the events; a reference, dropped when the name ends
 * @follow:	opens the events anew, or NULL; ends with the name
 * @state:	worst status of its events, as it was found last; mutex of @group
 * @state_due:	when it is found anew, ktime_get_ns(); mutex of @group
 * @device:	in sysfs; mg_names_mutex
 * @list:	entry in the list of names; mg_names_mutex
 * @refs:	references: of the list, and of those who have joined
 * @lock:	protects what follows; nothing is inside it
 * @joins:	who has joined, see struct mg_join
 * @sweeps:	sweeps of those who have left
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
	struct mutex lock;	/* of what follows */
	struct list_head joins;
	u64 sweeps;
};

struct mg_name *mg_name_create(const char *text, umode_t mode, kgid_t gid,
			       struct mg_group *from);
void mg_name_end(struct mg_name *name);
void mg_name_put(struct mg_name *name);

#endif /* MG_NAME_H */
