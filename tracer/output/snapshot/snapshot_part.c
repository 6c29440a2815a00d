// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The snapshots of a session as a part of it: the lines of the session's file and of its status,
 * and the end of the session.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/base/base.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/copies.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"

#define FINISH_MS 10000         /* for which the end of a session waits for its copies */
#define SUSPEND_MS 2000

static void save_snapshots(const struct session *s, struct md_buf *out)
{
	struct snapshot *sn;

	md_buf_printf(out, "next_snapshot %u\n", snapshots_of(s)->next);
	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (sn->image)
			md_buf_printf(out, "snapshot %016" PRIx64 " %" PRId64 " %s\n", sn->key,
				      sn->created, sn->name);
	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (sn->image && sn->transient)
			md_buf_printf(out, "transient %016" PRIx64 "\n", sn->key);
	snapshots_wait_save(s, out);
	snapshot_copies_save(s, out);
	targets_save(s, out);
}

/* How long it waits, then how much of it is copied. */
static void show_pending(struct session *s, const struct snapshot *sn, struct facts *out)
{
	uint64_t done = __atomic_load_n(&sn->done, __ATOMIC_RELAXED),
		 total = __atomic_load_n(&sn->total, __ATOMIC_RELAXED),
		 now = clock_now(session_clock(s)), tenths;

	if (sn->to == UINT64_MAX || sn->to <= now) {
		fact_item(out, "pending", "snapshot %s %" PRIu64 "%%", sn->name,
			  total ? 100 * done / total : 0);
		return;
	}
	tenths = (sn->to - now) / 100000000;
	fact_item(out, "pending", "snapshot %s in %" PRIu64 ".%us", sn->name, tenths / 10,
		  (unsigned int)(tenths % 10));
}

static void show_status(struct session *s, struct facts *out)
{
	struct snapshot *sn;
	unsigned int n = 0;

	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		n += sn->image != NULL;
	fact_number(out, "snapshots", n);
	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (!sn->image)
			show_pending(s, sn, out);
	snapshot_copies_status(s, out);
}

static int adopt_snapshot(struct session *s, const char *name, int64_t created, uint64_t key,
			  int fd)
{
	struct snapshot *sn = calloc(1, sizeof(*sn));
	struct trace_image *image = image_new(s);
	struct stat st;
	int err = sn && image && !name_check(name, SNAPSHOT_NAME_MAX, NULL) ? 0 : -ENOMEM;

	if (!err) {
		image->fd = fd;
		image->key = key;
		err = snapshot_map(image);
	}
	if (err) {
		if (image)
			image->fd = -1;     /* the caller keeps it */
		image_put(image);
		free(sn);
		return err;
	}
	if (fstat(fd, &st) == 0)
		snapshot_account(image, (uint64_t)st.st_blocks * 512);
	sn->refs = 1;
	snprintf(sn->name, sizeof(sn->name), "%s", name);
	sn->created = created;
	sn->key = key;
	sn->image = image;
	cds_list_add_tail(&sn->node, &snapshots_of(s)->list);
	return 0;
}

static void adopt_transient(struct session *s, const char *line)
{
	uint64_t key = strtoull(line, NULL, 16);
	struct snapshot *sn;

	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		sn->transient = sn->transient || sn->key == key;
}

/* ---- the session's part ---- */

static void exchange_settings(struct session *a, struct session *b)
{
	SWAP(snapshots_of(a)->targets, snapshots_of(b)->targets);
}

static void restore_snapshot(struct session *s, const char *line)
{
	int64_t created;
	uint64_t key;
	int n = 0, fd;

	if (sscanf(line, "%" SCNx64 " %" SCNd64 " %n", &key, &created, &n) != 2 || !n)
		return;
	fd = kept_descriptor(key);
	if (fd >= 0 && !adopt_snapshot(s, line + n, created, key, fd))
		kept_descriptor_taken(key);
	else if (s->tracer->reading)
		session_failed(s, "snapshot %s is not here: the keeper has it", line + n);
	else
		session_failed(s, "snapshot %s is lost", line + n);
}

static bool restore_line(struct session *s, const char *key, const char *value)
{
	if (!strcmp(key, "snapshot"))
		restore_snapshot(s, value);
	else if (!strcmp(key, "waiting_snapshot"))
		snapshots_wait_restore(s, value);
	else if (!strcmp(key, "transient"))
		adopt_transient(s, value);
	else if (!strcmp(key, "snapshot_output"))
		targets_restore(s, value);
	else if (!strcmp(key, "next_snapshot"))
		snapshots_of(s)->next = (uint32_t)strtoul(value, NULL, 10);
	else
		return snapshot_copies_restore(s, key, value);
	return true;
}

static int resume_snapshots(struct session *s, struct tr_err *err)
{
	(void)err;
	snapshots_wait_resume(s);
	snapshot_copies_resume(s);
	return 0;
}

static bool has_unfinished(const struct session *s)
{
	return snapshots_wait(s) || snapshot_copies_left(s) > 0;
}

static void finish_snapshots(struct session *s)
{
	size_t left;

	snapshots_wait_end(s);
	snapshot_copies_finish(s, FINISH_MS);
	left = snapshot_copies_left(s);
	if (left)
		tracer_report(s->tracer,
			      "session %s: %zu copies of snapshots were not made before it ended",
			      s->name, left);
}

static void suspend_snapshots(struct session *s)
{
	snapshots_wait_end(s);
	snapshot_copies_finish(s, SUSPEND_MS);
}

static void destroy_snapshots(struct session *s)
{
	snapshots_wait_destroy(s);
	snapshot_copies_destroy(s);
}

static int check_snapshot(const char *words, size_t at, struct tr_err *err)
{
	struct snapshot_request r;
	int ret = snapshot_request_parse(words, at, &r, err);

	if (!ret)
		snapshot_request_deinit(&r);
	return ret;
}

/* Copying takes long: runs without both locks. */
static int run_snapshot(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	struct snapshot_request r;
	int ret = snapshot_request_parse(line->arg ? line->arg : "", 0, &r, err);

	if (ret)
		return ret;
	r.transient = r.waits = true;
	r.request = line->request;
	session_unlock(s);
	ret = snapshot_take(s, &r, err);
	snapshot_request_deinit(&r);
	session_lock(s);
	return ret;
}

const struct session_verb snapshot_verb = {
	.name = "snapshot", .arguments = " [NAME]", .when_active = true, .when_inactive = true,
	.check = check_snapshot, .run = run_snapshot,
};

const struct session_part snapshot_part = {
	.name = "snapshots",
	.save = save_snapshots,
	.restore_line = restore_line,
	.exchange = exchange_settings,
	.start = resume_snapshots,
	.halted = snapshots_wait_stop,
	.status = show_status,
	.must_finish = has_unfinished,
	.finish = finish_snapshots,
	.suspend = suspend_snapshots,
	.drop = snapshots_drop,
	.gc = snapshots_gc,
	.destroy = destroy_snapshots,
};
