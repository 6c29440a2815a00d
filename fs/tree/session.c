/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions/NAME/ */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/errors.h"
#include "fs/tree/rows.h"
#include "fs/tree/session_config.h"
#include "fs/tree/tracedir.h"
#include "tracer/face/tracer.h"

uint64_t session_change(const struct node *n)
{
	struct session_info info;

	session_info(n->session, &info);
	return info.change;
}

static int show_verbs(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	session_verbs(n->session, out);
	return 0;
}

static int store_verbs(const struct node *n, const struct who *who, const char *text, bool replace,
		       struct tr_err *err)
{
	int rc = process_check_paths(who, text, err);
	uint64_t request = session_write_end();         /* each of its lines has a number */

	(void)replace;
	return rc ? rc : session_control(n->session, text, request, err);
}

static int show_status(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	session_status(n->session, n->row->arg == FORM_JSON, out);
	return 0;
}

static int show_counts(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return counts_show(n->session, n->row->arg == FORM_JSON, out);
}

static int show_stats(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return stats_show(n->session, n->row->arg == FORM_JSON, out);
}

static int show_all_rules(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return rules_show_json(n->session, out);
}

static int show_top(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return top_show(n->session, out);
}

static int show_metrics(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return session_metrics(n->session, n->row->arg == FORM_PLAIN, out);
}

static int show_rules(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return rules_show(n->session, (enum domain)n->row->arg, out);
}

/* ---- wait: the status, at each change ---- */

struct change_wait {
	const struct node *node;
	uint64_t seen;
	struct md_buf text;     /* being delivered */
	size_t at;
	/* the end of file was delivered: the next read waits for the next change */
	bool ended;
};

static int wait_open(const struct node *n, void **state)
{
	struct change_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->node = n;
	w->seen = session_change(n);
	w->ended = true;
	*state = w;
	return 0;
}

static ssize_t wait_read(void *state, uint64_t offset, void *buf, size_t size)
{
	struct change_wait *w = state;
	struct session_info info;
	size_t n = w->text.len - w->at;

	(void)offset;
	if (!n && !w->ended) {
		w->ended = true;
		return 0;
	}
	if (!n) {
		session_info(w->node->session, &info);
		if (info.change == w->seen)
			return info.gone ? 0 : -EAGAIN;
		w->seen = info.change;
		md_buf_deinit(&w->text);
		w->text = (struct md_buf)MD_BUF_INIT;
		w->at = 0;
		session_status(w->node->session, false, &w->text);
		if (w->text.failed)
			return -ENOMEM;
		w->ended = false;
		n = w->text.len;
	}
	n = n < size ? n : size;
	memcpy(buf, w->text.data + w->at, n);
	w->at += n;
	return (ssize_t)n;
}

static void wait_close(void *state)
{
	struct change_wait *w = state;

	md_buf_deinit(&w->text);
	free(w);
}

/* Bit 0: the end of file was delivered; bit 1: the session is active; above: its starts. */
static uint64_t wait_number(void *state)
{
	const struct change_wait *w = state;
	struct session_info info;

	session_info(w->node->session, &info);
	return info.starts << 2 | (uint64_t)info.active << 1 | w->ended;
}

/*
 * The changes of an earlier daemon had other numbers. A status of which the reader has a part ends
 * there, because the rest is gone.
 */
static int wait_resume(void *state, const struct view_place *place)
{
	struct change_wait *w = state;

	w->ended = place->number & 1;
	if ((place->number | 1) != (wait_number(w) | 1))
		w->seen--;
	return 0;
}

static const struct view wait_view = {
	.open = wait_open, .read = wait_read, .close = wait_close, .streams = true, .silent = true,
	.number = wait_number, .resume = wait_resume,
};

/* ---- snapshots ---- */

static int find_snapshot(const struct node *dir, const char *name, const struct who *who,
			 struct found *found)
{
	struct trace_image *image;
	int64_t created;
	int rc = snapshot_get(dir->session, name, &image, &created);

	(void)who;
	if (rc)
		return rc;
	image_put(image);
	*found = (struct found){ .row = &snapshot_row,
				 .tag = (uint64_t)created,
				 .salt = (uint64_t)created };
	return 0;
}

static void list_snapshots(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;
	struct found found;

	snapshots_list(dir->session, &names);
	for (const char *p = names_next(&names, NULL); p; p = names_next(&names, p))
		if (!find_snapshot(dir, p, who, &found))
			listing_add(out, p, &snapshot_row, found.salt);
	md_buf_deinit(&names);
}

static int make_snapshot(const struct node *dir, const char *name, const struct who *who,
			 struct tr_err *err)
{
	int rc = words_name(name, SNAPSHOT_NAME_MAX, err);

	(void)who;
	return rc ? rc : snapshot_create(dir->session, name, err);
}

static int remove_snapshot(const struct node *dir, const char *name, const struct who *who,
			   struct tr_err *err)
{
	(void)who;
	return snapshot_destroy(dir->session, name, err);
}

/* ---- settings ---- */

static int show_setting(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return session_show(n->session, n->row->name, false, out);
}

static int save_setting(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return session_show(n->session, n->row->name, true, out);
}

static int store_setting(const struct node *n, const struct who *who, const char *text,
			 bool replace, struct tr_err *err)
{
	enum store_how how = n->row->how;
	bool lines = how == STORE_LINES || how == STORE_PAIR;
	char *copy = lines ? strdup(text + strspn(text, " \t\r\n")) : NULL, *word = copy;
	int line, rc = lines && !copy ? -ENOMEM : 0;

	/*
	 * Unlike other values, a path may be empty. Two addresses, one for control and one for
	 * data, are two words or lines.
	 */
	if (copy && *copy && (how != STORE_PAIR || strncmp(copy, "tcp", 3)))
		rc = words_value(copy, &word, &line, err);
	if (!rc && (lines || how == STORE_LIST))
		rc = process_check_paths(who, word ? word : text, err);
	if (!rc)
		rc = session_store(n->session, n->row->name, word ? word : text, replace, err);
	free(copy);
	return rc;
}

/* ---- inclusion sets ---- */

static int read_track(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return track_show(n->session, (enum track_attr)n->row->arg, out);
}

static int write_track(const struct node *n, const struct who *who, const char *text, bool replace,
		       struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	return rc ? rc : track_store(n->session, (enum track_attr)n->row->arg, text, replace, err);
}

/* ---- rows ---- */

/* An inclusion set. */
#define TRACK_ROW(set, attr)                                                                  \
	{ .name = set, .mode = S_IFREG | 0666, .show = read_track, .store = write_track,      \
	  .how = STORE_LIST, .arg = attr, .setting = true }

/* What the user and the kernel domain of a session both have. */
#define DOMAIN_ROWS(domain, tracks)                                                           \
	{ .name = "events", .mode = S_IFREG | 0666, .show = events_read,                      \
	  .store = events_write, .how = STORE_LIST },                                         \
	{ .name = "contexts", .mode = S_IFREG | 0666, .show = contexts_read,                  \
	  .store = contexts_write, .how = STORE_LIST },                                       \
	{ .name = "rules", .mode = S_IFREG | 0444, .show = show_rules, .arg = domain },       \
	ERROR_ROW,                                                                            \
	{ .name = "track", .mode = S_IFDIR | 0555, .rows = tracks, .setting = true },         \
	{ .name = "maps", .mode = S_IFDIR | 0777, .find = maps_find, .list = maps_each,       \
	  .make = maps_make, .remove = maps_remove },                                         \
	{ .name = "channels", .mode = S_IFDIR | 0777, .find = channels_find,                  \
	  .list = channels_each, .make = channels_make, .remove = channels_remove }

static const struct tree_row track_rows[] = {
	TRACK_ROW("vpid", TRACK_VPID),
	TRACK_ROW("vuid", TRACK_VUID),
	TRACK_ROW("vgid", TRACK_VGID),
	TRACK_ROW("cgroup", TRACK_CGROUP),
	{ 0 }
};

static const struct tree_row user_rows[] = { DOMAIN_ROWS(DOMAIN_USER, track_rows), { 0 } };

const struct tree_row user_row = { .name = "user", .mode = S_IFDIR | 0555, .rows = user_rows };

static const struct tree_row kernel_track_rows[] = {
	TRACK_ROW("pid", TRACK_PID),
	TRACK_ROW("vpid", TRACK_KERNEL_VPID),
	TRACK_ROW("uid", TRACK_KERNEL_UID),
	TRACK_ROW("vuid", TRACK_KERNEL_VUID),
	TRACK_ROW("gid", TRACK_KERNEL_GID),
	TRACK_ROW("vgid", TRACK_KERNEL_VGID),
	TRACK_ROW("cgroup", TRACK_KERNEL_CGROUP),
	{ 0 }
};

static const struct tree_row kernel_rows[] = {
	DOMAIN_ROWS(DOMAIN_KERNEL, kernel_track_rows), { 0 }
};

const struct tree_row kernel_row = { .mode = S_IFDIR | 0555, .rows = kernel_rows };

/* The chunks that rotations have moved away, as they are in the output directory. */
static const struct tree_row archives_row = { .mode = S_IFDIR | 0555,
				  .find = tracedir_find,
				  .list = tracedir_list,
				  .arg = TRACEDIR_ARCHIVES };

/* kernel/ is there if the session's owner may trace the kernel. */
static int find_domain(const struct node *dir, const char *name, const struct who *who,
		       struct found *found)
{
	(void)who;
	if (!strcmp(name, "archives")) {
		found->row = &archives_row;
		return 0;
	}
	found->row = agent_row(name);
	if (found->row)
		return 0;
	found->row = &kernel_row;
	return !strcmp(name, "kernel") && session_kernel(dir->session) ? 0 : -ENOENT;
}

static void list_domains(const struct node *dir, const struct who *who, struct listing *out)
{
	(void)who;
	listing_add(out, "archives", &archives_row, 0);
	if (session_kernel(dir->session))
		listing_add(out, "kernel", &kernel_row, 0);
	agents_list(out);
}

static const struct tree_row session_rows[] = {
	{ .name = "control",
	  .mode = S_IFREG | 0666,
	  .show = show_verbs,
	  .store = store_verbs,
	  .how = STORE_LINES },
	{ .name = "status", .mode = S_IFREG | 0444, .show = show_status, .change = session_change },
	{ .name = "status.json", .mode = S_IFREG | 0444, .show = show_status, .arg = FORM_JSON,
	  .sized = true },
	{ .name = "counts", .mode = S_IFREG | 0444, .show = show_counts },
	{ .name = "stats", .mode = S_IFREG | 0444, .show = show_stats },
	{ .name = "counts.json", .mode = S_IFREG | 0444, .show = show_counts, .arg = FORM_JSON,
	  .sized = true },
	{ .name = "stats.json", .mode = S_IFREG | 0444, .show = show_stats, .arg = FORM_JSON,
	  .sized = true },
	{ .name = "rules.json", .mode = S_IFREG | 0444, .show = show_all_rules, .sized = true },
	{ .name = "metrics", .mode = S_IFREG | 0444, .show = show_metrics, .sized = true },
	{ .name = "metrics.prom", .mode = S_IFREG | 0444, .show = show_metrics, .arg = FORM_PLAIN,
	  .sized = true },
	{ .name = "top", .mode = S_IFREG | 0444, .show = show_top },
	{ .name = "wait", .mode = S_IFREG | 0444, .view = &wait_view },
	ERROR_ROW,
	{ .name = "config",
	  .mode = S_IFREG | 0666,
	  .show = config_show,
	  .store = config_store,
	  .how = STORE_WHOLE },
	{ .name = "snapshots",
	  .mode = S_IFDIR | 0777,
	  .find = find_snapshot,
	  .list = list_snapshots,
	  .make = make_snapshot,
	  .remove = remove_snapshot },
#define SETTING(name, kind, ...) SETTING_FILE(name, kind, .save = save_setting)
#include "tracer/session/session_settings.def"
	{ .name = "user", .mode = S_IFDIR | 0555, .rows = user_rows },
	{ .name = "trace", .mode = S_IFDIR | 0555, .find = tracedir_find, .list = tracedir_list },
	{ .name = "text", .mode = S_IFREG | 0444, .view = &text_view, .attr = text_attr,
	  .arg = TEXT_PLAIN },
	{ .name = "pipe", .mode = S_IFREG | 0444, .view = &pipe_view, .arg = TEXT_PLAIN },
	{ .name = "pipe.json", .mode = S_IFREG | 0444, .view = &pipe_view, .arg = TEXT_JSON },
	{ .name = "pipe.otlp", .mode = S_IFREG | 0444, .view = &otlp_view },
	{ .name = "text.symbols", .mode = S_IFREG | 0444, .view = &text_view, .attr = text_attr,
	  .arg = TEXT_SYMBOLS },
	{ .name = "pipe.symbols", .mode = S_IFREG | 0444, .view = &pipe_view, .arg = TEXT_SYMBOLS },
	{ .name = "export", .mode = S_IFDIR | 0555, .rows = export_rows,
	  .find = export_left_out },
	{ 0 }
};

static int chmod_session(const struct node *n, mode_t mode)
{
	return session_chmod(n->session, mode);
}

static int chown_session(const struct node *n, uid_t uid, gid_t gid)
{
	return session_chown(n->session, uid, gid);
}

static bool top_session(const struct node *n, int64_t *made, char *name, size_t size)
{
	struct session_info info;

	session_info(n->session, &info);
	*made = info.created;
	snprintf(name, size, "%s", n->name);
	return !info.gone;
}

const struct tree_row session_row = {
	.mode = S_IFDIR | 07777, .rows = session_rows, .find = find_domain, .list = list_domains,
	.chmod = chmod_session, .chown = chown_session, .top = top_session,
};
