// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/frames.h"

/**
 * mg_frames_init - create a snapshot without frames
 * @frames:	zeroed
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM. mg_frames_destroy() may be called in either case.
 */
int mg_frames_init(struct mg_frames *frames)
{
	frames->size = MG_SNAPSHOT_HEAD;
	return mg_snapshot_init(&frames->snapshot);
}

/**
 * mg_frames_destroy - free all members and drop the memory of the snapshot
 * @frames:	no other user is left
 *
 * Context: Process context, may sleep.
 */
void mg_frames_destroy(struct mg_frames *frames)
{
	mg_members_destroy(frames->members, frames->nr_members);
	kvfree(frames->members);
	mg_snapshot_destroy(&frames->snapshot);
}

/**
 * mg_frames_find - find a member by its number
 * @frames:	the members
 * @id:		number of the member
 *
 * Return: the index of the member, or -ENOENT.
 */
int mg_frames_find(const struct mg_frames *frames, u32 id)
{
	u32 low = 0, high = frames->nr_members;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (frames->members[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < frames->nr_members && frames->members[low]->id == id)
		return low;
	return -ENOENT;
}

/**
 * mg_frames_reserve - allocate memory for more members and frames
 * @frames:	the members
 * @nr_members:	number of members
 * @max:	largest number of members that may ever be needed
 * @size:	bytes of a copy
 *
 * Context: Process context, may sleep.
 * Return: 0, -E2BIG or -ENOMEM. Memory that was allocated before an error is kept.
 */
int mg_frames_reserve(struct mg_frames *frames, u32 nr_members, u32 max, u64 size)
{
	struct mg_member **members;
	u32 nr;

	if (nr_members > frames->max_members) {
		nr = min_t(u32, max(nr_members, 2 * frames->max_members), max);
		members = kvcalloc(nr, sizeof(*members), GFP_KERNEL_ACCOUNT);
		if (!members)
			return -ENOMEM;
		memcpy(members, frames->members, frames->nr_members * sizeof(*members));
		kvfree(frames->members);
		frames->members = members;
		frames->max_members = nr;
	}
	return mg_snapshot_reserve(&frames->snapshot, size);
}

/*
 * Publish a snapshot without frames before members are added or removed. The next
 * sweep lays out the frames.
 */
static void mg_frames_clear(struct mg_frames *frames)
{
	struct mg_snapshot *snapshot = &frames->snapshot;
	unsigned int next = mg_snapshot_next(snapshot);
	struct perf_metagroup_snapshot *head = snapshot->copy[next];

	if (frames->relayout)
		return;
	*head = *(struct perf_metagroup_snapshot *)snapshot->copy[!next];
	head->count = 0;
	head->bytes = MG_SNAPSHOT_HEAD;
	mg_snapshot_publish(snapshot);
	frames->relayout = true;
}

/*
 * Overwrite the frames of a member that is detached: later users of the handle
 * may have no right to its counts. The published copy is empty, so readers do
 * not use these frames.
 */
static void mg_frames_wipe(struct mg_frames *frames, const struct mg_member *member)
{
	struct mg_snapshot *snapshot = &frames->snapshot;
	unsigned int copy;

	for (copy = 0; copy < 2; copy++) {
		if (snapshot->laid_out[copy] != snapshot->layout)
			mg_snapshot_clear(snapshot, copy);
		else if (member->offset[copy])
			memset(snapshot->copy[copy] + member->offset[copy], 0,
			       mg_member_frame_size(member));
	}
}

/**
 * mg_frames_add - append a member
 * @frames:	the members; memory for one more is reserved
 * @member:	the member
 */
void mg_frames_add(struct mg_frames *frames, struct mg_member *member)
{
	mg_frames_clear(frames);
	frames->members[frames->nr_members++] = member;
	frames->size += mg_member_frame_size(member);
}

/**
 * mg_frames_remove - remove a member and overwrite its frames
 * @frames:	the members
 * @index:	index of the member
 *
 * Return: the member.
 */
struct mg_member *mg_frames_remove(struct mg_frames *frames, u32 index)
{
	struct mg_member *member = frames->members[index];

	mg_frames_clear(frames);
	mg_frames_wipe(frames, member);
	frames->nr_members--;
	memmove(&frames->members[index], &frames->members[index + 1],
		(frames->nr_members - index) * sizeof(*frames->members));
	frames->size -= mg_member_frame_size(member);
	return member;
}

/**
 * mg_frames_replace - replace a member, and overwrite its frames
 * @frames:	the members; memory for the frame of the new member is reserved
 * @index:	index of the old member
 * @member:	the new member
 */
void mg_frames_replace(struct mg_frames *frames, u32 index, struct mg_member *member)
{
	const struct mg_member *old = frames->members[index];

	mg_frames_clear(frames);
	mg_frames_wipe(frames, old);
	frames->members[index] = member;
	frames->size += mg_member_frame_size(member);
	frames->size -= mg_member_frame_size(old);
}

/* Initialize a record that no sweep has written yet. */
static void mg_record_init(const struct mg_member *member,
			   struct perf_metagroup_record *record)
{
	*record = (struct perf_metagroup_record){
		.frame = mg_member_frame_size(member),
		.header = member->counter->record_size,
		.status = PERF_METAGROUP_STALE,
		.member = member->id,
		.cpu = member->cpu,
		.read_format = member->counter->read_format,
	};
	if (member->counter->ops)
		mg_sink_set_record(record)->generation = member->generation;
}

/* Copy a record and its payload into a frame, which keeps its own size. */
static void mg_record_copy(struct perf_metagroup_record *to,
			   const struct perf_metagroup_record *from)
{
	u32 frame = to->frame;

	memcpy(to, from, from->header + from->size);
	to->frame = frame;
}

/**
 * mg_frames_lay_out - lay out the copy that is written next
 * @frames:	the members
 *
 * Records of the published copy are kept, if it has frames.
 */
void mg_frames_lay_out(struct mg_frames *frames)
{
	struct mg_snapshot *snapshot = &frames->snapshot;
	unsigned int next = mg_snapshot_next(snapshot);
	const struct perf_metagroup_snapshot *published = snapshot->copy[!next];
	struct perf_metagroup_snapshot *head = snapshot->copy[next];
	u32 offset = MG_SNAPSHOT_HEAD;
	u32 stride = 0;
	u32 i;

	mg_snapshot_clear(snapshot, next);
	for (i = 0; i < frames->nr_members; i++) {
		struct mg_member *member = frames->members[i];
		struct perf_metagroup_record *record = snapshot->copy[next] + offset;

		mg_record_init(member, record);
		if (published->count)
			mg_record_copy(record, snapshot->copy[!next] + member->offset[!next]);
		member->written[next] = MG_NOTHING_WRITTEN;
		member->offset[next] = offset;
		offset += record->frame;
		if (!i)
			stride = record->frame;
		else if (stride != record->frame)
			stride = 0;
	}
	head->count = frames->nr_members;
	head->bytes = offset;
	head->stride = stride;
	if (!++snapshot->layout)
		snapshot->layout = 1;	/* 0 is the layout of an empty copy */
	head->layout = snapshot->layout;
	snapshot->used[next] = offset;
	snapshot->laid_out[next] = snapshot->layout;
}

/* Make the copy that is written next equal to the published one. */
static void mg_frames_copy(struct mg_frames *frames)
{
	struct mg_snapshot *snapshot = &frames->snapshot;
	unsigned int next = mg_snapshot_next(snapshot);
	u32 i;

	mg_snapshot_clear(snapshot, next);
	memcpy(snapshot->copy[next], snapshot->copy[!next], snapshot->used[!next]);
	snapshot->used[next] = snapshot->used[!next];
	snapshot->laid_out[next] = snapshot->laid_out[!next];
	for (i = 0; i < frames->nr_members; i++) {
		struct mg_member *member = frames->members[i];

		member->written[next] = member->written[!next];
		member->offset[next] = member->offset[!next];
	}
}

/**
 * mg_frames_prepare - ensure that the copy that is written next has all frames
 * @frames:	the members
 *
 * Return: true if the records in that copy are those of the sweep before the last
 * one, so members that are not swept now need mg_frames_carry_over().
 */
bool mg_frames_prepare(struct mg_frames *frames)
{
	if (unlikely(frames->relayout)) {
		mg_frames_lay_out(frames);
		frames->relayout = false;
		return false;
	}
	if (unlikely(!mg_frames_are_laid_out(frames))) {
		mg_frames_copy(frames);
		return false;
	}
	return true;
}

/**
 * mg_frames_carry_over - copy a member's record from the published copy
 * @frames:	the members
 * @member:	the member
 */
void mg_frames_carry_over(struct mg_frames *frames, struct mg_member *member)
{
	struct mg_snapshot *snapshot = &frames->snapshot;
	unsigned int next = mg_snapshot_next(snapshot);

	mg_record_copy(snapshot->copy[next] + member->offset[next],
		       snapshot->copy[!next] + member->offset[!next]);
	member->written[next] = member->written[!next];
}
