// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The snapshots of a session: make, list and remove them; their row as a part of the session.
 */
#include "tracer/base/base.h"
#include "tracer/base/timefmt.h"
#include "tracer/output/snapshot/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/output/output.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/copies.h"
#include "tracer/output/snapshot/image.h"

#define SNAPSHOTS_MAX 1000      /* snapshots of a session: each has a descriptor */

static int create_snapshot(struct session *s, struct snapshot *sn, uint64_t max,
			   struct trace_image **out, struct tr_err *err)
{
	struct trace_image *image = image_new(s);
	uint64_t bytes = 4096, newest = 0;
	int ret = -ENOMEM;

	if (image) {
		image->key = sn->key;
		ret = image_plan(image);
	}
	if (!ret && (sn->from || sn->to != UINT64_MAX))
		ret = snapshot_cut(image, sn->from, sn->to);
	if (!ret && max)
		ret = snapshot_limit(image, max, &newest);
	for (size_t i = 0; image && i < image->source_count && !ret; i++) {
		bytes += image->sources[i].size + source_index_size(&image->sources[i]);
		__atomic_fetch_add(&sn->total, image->sources[i].size, __ATOMIC_RELAXED);
	}
	if (!ret)
		ret = snapshot_account(image, bytes);
	if (!ret && (image->fd = memfd_create("trailfs-snapshot", MFD_CLOEXEC)) < 0)
		ret = -errno;
	if (!ret)
		ret = snapshot_fill(image, sn);
	if (!ret) {
		*out = image;
		return 0;
	}
	image_put(image);
	if (newest)
		return tr_fail(err, ret,
			       "the snapshot would be empty: its newest packet takes %" PRIu64
			       " bytes, and snapshot_max_size, or max-size, is %" PRIu64,
			       newest, max);
	if (ret == -EDQUOT)
		return tr_fail(err, ret,
			       "a snapshot of %" PRIu64
			       " bytes is more than views may still hold; max_frozen is %" PRIu64
			       ": remove snapshots, or set snapshot_max_size",
			       bytes, s->tracer->config.max_frozen);
	return tr_fail(err, ret, "the snapshot cannot be made: %s", strerror(-ret));
}

/* ---- the list of snapshots ---- */

/* Makes a name snapshot-DATE-TIME-NUMBER, as LTTng does. */
static void choose_name(struct session *s, char *out, size_t size)
{
	char when[TIME_TEXT_MAX];

	time_print(wall_clock(), TIME_FORMAT_NAME, when);
	do
		snprintf(out, size, "snapshot-%s-%u", when, snapshots_of(s)->next++);
	while (snapshot_find(s, out));
}

/* A snapshot in the session's list, which has a reference. NULL: no memory. */
static struct snapshot *add_snapshot(struct session *s, uint64_t key)
{
	struct snapshot *sn = calloc(1, sizeof(*sn));

	if (!sn)
		return NULL;
	sn->to = UINT64_MAX;
	sn->key = key;
	sn->refs = 1;
	cds_list_add_tail(&sn->node, &snapshots_of(s)->list);
	return sn;
}

static uint64_t new_key(int64_t created)
{
	uint64_t key;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key) || !key)
		key = (uint64_t)created;
	return key;
}

static void set_interval(struct snapshot *sn, struct session *s, const struct snapshot_request *r)
{
	uint64_t now = clock_now(session_clock(s)), at = r->at && r->at < now ? r->at : now;

	if (!r->last && !r->after)
		return;
	/* Another event may still get the time `now`. */
	at = at < now ? at : now - 1;
	sn->from = r->last && r->last <= at ? at - r->last : 0;
	sn->to = at + r->after;
	sn->created = (int64_t)(session_clock_offset(s) + sn->to);
}

void snapshot_end_at(struct session *s, struct snapshot *sn, uint64_t to)
{
	sn->to = to;
	sn->created = (int64_t)(session_clock_offset(s) + to);
}

/* A place in the list for the snapshot that is asked for. Caller holds tracer.lock. */
static int reserve(struct session *s, const struct snapshot_request *r, struct snapshot **out,
		   struct tr_err *err)
{
	const char *name = r->name[0] ? r->name : NULL;
	char chosen[SNAPSHOT_NAME_MAX + 1];
	int64_t now = wall_clock();
	struct snapshot *sn;
	unsigned int n = 0;

	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		n++;
	if (s->gone)
		return tr_fail(err, -ENOENT, "the session is gone");
	if (n >= SNAPSHOTS_MAX)
		return tr_fail(err, -ENOSPC, "a session has at most %u snapshots", SNAPSHOTS_MAX);
	if (name && snapshot_find(s, name))
		return tr_fail(err, -EEXIST, "there is a snapshot '%s' already", name);
	/* The list must not have the new one yet: the chosen name would be taken by itself. */
	if (!name)
		choose_name(s, chosen, sizeof(chosen));
	sn = add_snapshot(s, new_key(now));
	if (!sn)
		return tr_fail(err, -ENOMEM, "out of memory");
	snprintf(sn->name, sizeof(sn->name), "%s", name ? name : chosen);
	sn->unnamed = !name;
	sn->created = now;
	set_interval(sn, s, r);
	*out = sn;
	return 0;
}

struct snapshot *snapshot_adopt_reserved(struct session *s, const char *name, uint64_t key)
{
	struct snapshot *sn;

	if (name_check(name, SNAPSHOT_NAME_MAX, NULL) || snapshot_find(s, name))
		return NULL;
	sn = add_snapshot(s, key);
	if (sn)
		snprintf(sn->name, sizeof(sn->name), "%s", name);
	return sn;
}

/*
 * Gives the memory to the keeper. Caller does not hold tracer.lock, because the keeper may be slow.
 */
static void keep_memory_of(struct tracer *t, const struct snapshot *sn,
			   const struct trace_image *image)
{
	char name[32];
	int err;

	if (!t->keeper)
		return;
	kept_descriptor_name(sn->key, name);
	err = keeper_put(t->keeper, name, image->fd);
	if (err)
		tracer_report(t, "the keeper did not take a snapshot: %s", strerror(-err));
}

static struct cds_list_head *dead_of(const struct tracer *t)
{
	return &((struct dead_snapshots *)tracer_data(t, &snapshot_room))->list;
}

static void create_dead(struct tracer *t)
{
	CDS_INIT_LIST_HEAD(dead_of(t));
}

const struct tracer_room snapshot_room = {
	.size = sizeof(struct dead_snapshots), .create = create_dead,
};

/*
 * Puts a reference. Caller holds tracer.lock. The last reference moves the snapshot to the list of
 * dead ones, which the part's gc frees without the lock.
 */
static void put_snapshot(struct tracer *t, struct snapshot *sn)
{
	if (--sn->refs)
		return;
	cds_list_add_tail(&sn->node, dead_of(t));
}

static void keeper_forget(struct tracer *t, const struct snapshot *sn)
{
	char name[32];

	kept_descriptor_name(sn->key, name);
	if (t->keeper)
		keeper_drop(t->keeper, name);
}

/*
 * Removes it from the session's list. Caller holds tracer.lock. A snapshot that is being made stays
 * valid until snapshot_create puts it.
 */
static void remove_snapshot(struct session *s, struct snapshot *sn, bool keep_memory)
{
	if (sn->image && !keep_memory)
		keeper_forget(s->tracer, sn);
	if (sn->image)
		__atomic_store_n(&sn->image->ended, true, __ATOMIC_RELAXED);
	cds_list_del(&sn->node);
	sn->removed = true;
	put_snapshot(s->tracer, sn);
}

void snapshot_unreserve(struct session *s, uint64_t key)
{
	struct snapshot *sn = snapshot_find_key(s, key);

	if (sn)
		remove_snapshot(s, sn, false);
}

void snapshots_gc(struct tracer *t)
{
	struct snapshot *sn, *next;
	CDS_LIST_HEAD(dead);

	pthread_mutex_lock(&t->lock);
	cds_list_splice(dead_of(t), &dead);
	CDS_INIT_LIST_HEAD(dead_of(t));
	pthread_mutex_unlock(&t->lock);
	cds_list_for_each_entry_safe(sn, next, &dead, node) {
		/* Readers have their own references to the image. */
		image_put(sn->image);
		free(sn);
	}
}

/*
 * Gives the image to the snapshot, which makes it visible, unless the session or the snapshot was
 * removed meanwhile; and queues its copies, for which `wait` waits if the request does.
 */
static int publish_snapshot(struct session *s, struct snapshot *sn, struct trace_image *image,
			    const struct snapshot_request *r, struct copy_wait *wait,
			    struct tr_err *err)
{
	bool targets = r->target || snapshots_of(s)->targets;
	int ret;

	if (s->gone || sn->removed)
		return tr_fail(err, -ENOENT, "the session is gone");
	sn->image = image;
	sn->total = 0;
	ret = snapshot_copies_add(s, sn, r->target, r->waits && targets ? wait : NULL);
	sn->transient = r->transient && targets && snapshot_copies_pending(s, sn->key);
	if (ret) {
		sn->transient = false;
		session_failed(s, "snapshot %s cannot be copied: %s", sn->name, strerror(-ret));
	}
	requests_add(&s->requests, r->request);
	session_save(s);
	session_changed(s);
	return 0;
}

/*
 * If the keeper was replaced after process `keeper` got the memory and before publish_snapshot, the
 * new keeper got only the snapshots that were visible then. (A keeper that is replaced later gets
 * this one too.) Caller has a reference, and does not hold tracer.lock.
 */
static void keep_memory_again(struct tracer *t, struct snapshot *sn, pid_t keeper)
{
	pid_t now;

	while (t->keeper && (now = keeper_pid(t->keeper)) && now != keeper) {
		keep_memory_of(t, sn, sn->image);
		keeper = now;
		/* If it was removed meanwhile, no other thread takes it back from the keeper. */
		pthread_mutex_lock(&t->lock);
		if (sn->removed)
			keeper_forget(t, sn);
		pthread_mutex_unlock(&t->lock);
	}
}

/* Makes a reserved snapshot visible. Caller has a reference to it. */
static int make_snapshot(struct session *s, struct snapshot *sn, const struct snapshot_request *r,
			 struct copy_wait *wait, struct tr_err *err)
{
	struct tracer *t = s->tracer;
	struct trace_image *image = NULL;
	uint64_t max;
	pid_t keeper;
	int ret;

	pthread_mutex_lock(&t->lock);
	max = r->max_size ? r->max_size : s->snapshot_max_size;
	pthread_mutex_unlock(&t->lock);
	ret = create_snapshot(s, sn, max, &image, err);
	keeper = t->keeper ? keeper_pid(t->keeper) : 0;
	if (!ret)
		keep_memory_of(t, sn, image);
	pthread_mutex_lock(&t->lock);
	if (!ret && (ret = publish_snapshot(s, sn, image, r, wait, err)))
		keeper_forget(t, sn);
	if (ret && !sn->removed)
		remove_snapshot(s, sn, false);
	pthread_mutex_unlock(&t->lock);
	if (!ret)
		keep_memory_again(t, sn, keeper);
	if (ret)
		image_put(image);
	return ret;
}

int snapshot_complete(struct session *s, uint64_t key, const struct snapshot_request *r,
		      struct tr_err *err)
{
	struct tracer *t = s->tracer;
	struct copy_wait wait = { 0 };
	struct snapshot *sn;
	int ret;

	pthread_mutex_lock(&t->lock);
	sn = snapshot_find_key(s, key);
	if (sn)
		sn->refs++;
	pthread_mutex_unlock(&t->lock);
	if (!sn)
		return tr_fail(err, -ENOENT, "the session is gone");
	ret = make_snapshot(s, sn, r, &wait, err);
	if (!ret)
		ret = snapshot_copies_wait(s, &wait, err);
	pthread_mutex_lock(&t->lock);
	/* So that it can be taken again, with this name. */
	if (ret && !sn->removed) {
		remove_snapshot(s, sn, false);
		requests_drop(&s->requests, r->request);
		session_save(s);
		session_changed(s);
	}
	put_snapshot(t, sn);
	pthread_mutex_unlock(&t->lock);
	snapshots_gc(t);
	return ret;
}

int snapshot_take(struct session *s, const struct snapshot_request *asked, struct tr_err *err)
{
	struct snapshot_request copy = *asked;
	const struct snapshot_request *r = &copy;
	struct snapshot *sn = NULL;
	uint64_t key = 0;
	int ret = r->name[0] ? name_check(r->name, SNAPSHOT_NAME_MAX, err) : 0;
	bool done;

	if (!ret && session_shown(s).imported)
		ret = tr_fail(err, -EINVAL,
			      "the session records nothing: the files of its trace are in trace/");
	if (!ret && (r->last || r->after) && session_clock(s)->stands)
		ret = tr_fail(err, -EOPNOTSUPP,
			      "the session's times are those of a plug-in, which the daemon cannot "
			      "read: 'last' and 'after' have no meaning");
	if (ret)
		return ret;
	if (r->event && (r->last || r->after))
		copy.at = snapshot_event_time(s, r);
	pthread_mutex_lock(&s->tracer->lock);
	done = requests_have(&s->requests, r->request);
	if (!done && !(ret = reserve(s, r, &sn, err))) {
		key = sn->key;
		if (r->after)
			ret = snapshot_later(s, key, sn->to, r, err);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return ret || done || r->after ? ret : snapshot_complete(s, key, r, err);
}

int snapshot_create(struct session *s, const char *name, struct tr_err *err)
{
	struct snapshot_request r = { .waits = true };
	int ret = name ? name_check(name, SNAPSHOT_NAME_MAX, err) : 0;

	if (ret)
		return ret;
	snprintf(r.name, sizeof(r.name), "%s", name ? name : "");
	return snapshot_take(s, &r, err);
}

void snapshot_copied(struct session *s, uint64_t key, bool failed)
{
	struct snapshot *sn, *next;

	cds_list_for_each_entry_safe(sn, next, &snapshots_of(s)->list, node) {
		if (sn->key != key || !sn->image)
			continue;
		sn->transient = sn->transient && !failed;
		if (sn->transient && !snapshot_copies_pending(s, key))
			remove_snapshot(s, sn, false);
	}
}

int snapshot_destroy(struct session *s, const char *name, struct tr_err *err)
{
	struct snapshot *sn;
	int ret = 0;

	pthread_mutex_lock(&s->tracer->lock);
	sn = snapshot_find(s, name);
	if (!sn) {
		ret = tr_fail(err, -ENOENT, "no snapshot '%s'", name);
	} else if (!sn->image) {
		ret = tr_fail(err, -EBUSY, "the snapshot is just being made");
	} else {
		remove_snapshot(s, sn, false);
		session_save(s);
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	snapshots_gc(s->tracer);
	return ret;
}

void snapshots_list(struct session *s, struct md_buf *names)
{
	struct snapshot *sn;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (sn->image)
			md_buf_put(names, sn->name, strlen(sn->name) + 1);
	pthread_mutex_unlock(&s->tracer->lock);
}

int snapshot_get(struct session *s, const char *name, struct trace_image **out, int64_t *created)
{
	struct snapshot *sn;

	*out = NULL;
	pthread_mutex_lock(&s->tracer->lock);
	sn = s->gone ? NULL : snapshot_find(s, name);
	if (sn && sn->image) {
		*out = image_get(sn->image);
		*created = sn->created;
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return *out ? 0 : -ENOENT;
}

void snapshots_drop(struct session *s, bool keep_memory)
{
	struct snapshot *sn, *next;

	cds_list_for_each_entry_safe(sn, next, &snapshots_of(s)->list, node)
		remove_snapshot(s, sn, keep_memory);
}

bool image_ended(const struct trace_image *image)
{
	return __atomic_load_n(&image->ended, __ATOMIC_RELAXED);
}
