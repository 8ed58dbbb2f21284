// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "event.h"
#include "member.h"

/* All members of all meta-groups, by leader: a group has one owner at most. */
static DEFINE_HASHTABLE(mg_claims, 10);		/* mg_claims_lock */
static DEFINE_SPINLOCK(mg_claims_lock);

static int mg_member_claim(struct mg_member *member)
{
	unsigned long key = (unsigned long)member->source.leader;
	struct mg_member *other;
	int err = 0;

	spin_lock(&mg_claims_lock);
	hash_for_each_possible(mg_claims, other, claim, key)
		if (other->source.leader == member->source.leader)
			err = -EBUSY;
	if (!err)
		hash_add(mg_claims, &member->claim, key);
	spin_unlock(&mg_claims_lock);
	return err;
}

/*
 * Make a member of the group whose leader is behind @fd.
 *
 * Return: the member, or an error; if @fd is to blame, *@reason says why.
 */
struct mg_member *mg_member_create(int fd, u32 *reason)
{
	struct mg_member *member;
	struct perf_event *leader;
	struct file *file;
	int err;

	file = fget(fd);
	if (!file || !(file->f_mode & FMODE_READ)) {
		*reason = PERF_METAGROUP_REASON_BAD_FD;
		err = -EBADF;
		goto put;
	}

	leader = mg_event_of_file(file);
	if (!leader) {
		*reason = PERF_METAGROUP_REASON_NOT_PERF;
		err = -EINVAL;
		goto put;
	}

	err = mg_event_check_leader(leader, reason);
	if (err)
		goto put;

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member) {
		err = -ENOMEM;
		goto put;
	}
	member->file = file;
	member->source = mg_event_source(leader);

	err = mg_member_claim(member);
	if (err) {
		*reason = PERF_METAGROUP_REASON_BUSY;
		kfree(member);
		goto put;
	}
	return member;

put:
	if (file)
		fput(file);
	return ERR_PTR(err);
}

void mg_member_destroy(struct mg_member *member)
{
	spin_lock(&mg_claims_lock);
	hash_del(&member->claim);
	spin_unlock(&mg_claims_lock);
	fput(member->file);
	kfree(member);
}
