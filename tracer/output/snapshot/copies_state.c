// SPDX-License-Identifier: GPL-2.0-or-later
/* What the session's file and its status say of copies; the next daemon continues them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/output/output.h"
#include "tracer/output/snapshot/copies.h"

void snapshot_copies_save(const struct session *s, struct md_buf *out)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	for (const struct snapshot_copy *c = q->first; c; c = c->next) {
		md_buf_printf(out, "copy%s %016" PRIx64 " %s%s", c->target ? "_to" : "", c->key,
			      c->name, c->target ? " " : "\n");
		if (c->target)
			target_print(c->target, out);
	}
	pthread_mutex_unlock(&q->lock);
}

bool snapshot_copies_restore(struct session *s, const char *key, const char *value)
{
	bool to = !strcmp(key, "copy_to");
	struct snapshot_target *t = NULL;
	char name[SNAPSHOT_COPY_MAX + 1];
	uint64_t id;
	int n = 0, rest = 0;

	if (!to && strcmp(key, "copy"))
		return false;
	if (sscanf(value, "%" SCNx64 " %n%*s%n", &id, &n, &rest) != 1 || rest <= n ||
	    rest - n > SNAPSHOT_COPY_MAX)
		return true;
	snprintf(name, sizeof(name), "%.*s", rest - n, value + n);
	if (name_check(name, SNAPSHOT_COPY_MAX, NULL) || (to && !(t = target_read(value + rest))))
		return true;
	copy_append(s, id, name, t);
	targets_free(t);
	return true;
}

/* The first copy that an earlier daemon has left; NULL: none. */
static struct snapshot_copy *find_left(struct snapshot_copies *q)
{
	struct snapshot_copy *c;

	pthread_mutex_lock(&q->lock);
	for (c = q->quit ? NULL : q->first; c && c->image; c = c->next)
		;
	pthread_mutex_unlock(&q->lock);
	return c;
}

void snapshot_copies_resume(struct session *s)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;
	struct snapshot_copy *c;
	struct snapshot *sn;

	while (q && (c = find_left(q))) {
		sn = snapshot_find_key(s, c->key);
		/* The snapshot was removed, or is lost, and with it what is to be copied. */
		if (!sn || !sn->image) {
			copy_drop(s, c);
		} else if (copy_begin(s, c, sn, NULL)) {
			session_failed(s, "snapshot %s cannot be copied: no thread", sn->name);
		}
	}
}

void snapshot_copies_status(const struct session *s, struct facts *out)
{
	struct snapshot_copies *q = snapshots_of(s)->copies;

	if (!q) {
		if (output_runs(s) || snapshots_of(s)->targets)
			fact_number(out, "snapshots_copied", 0);
		return;
	}
	pthread_mutex_lock(&q->lock);
	fact_number(out, "snapshots_copied", q->copied);
	if (q->error[0])
		fact_text(out, "snapshot_error", "%s", q->error);
	if (syncgroup_pending(q->sync))
		fact_number(out, "syncing_snapshot_files", syncgroup_pending(q->sync));
	if (syncgroup_error(q->sync))
		fact_text(out, "snapshot_sync_error", "%s",
			  strerror(syncgroup_error(q->sync)));
	for (const struct snapshot_copy *c = q->first; c; c = c->next) {
		uint64_t done = __atomic_load_n(&c->done, __ATOMIC_RELAXED),
			 total = __atomic_load_n(&c->total, __ATOMIC_RELAXED);

		fact_item(out, "pending", "copy %s %" PRIu64 "%%%s%s", c->name,
			  total ? 100 * done / total : 0, c->target ? " " : "", copy_place(c));
	}
	pthread_mutex_unlock(&q->lock);
}
