/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions/NAME/export/: what is held, in other forms */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#include "fs/base/base.h"
#include "fs/tree/rows.h"
#include "fs/tree/tracedir.h"
#include "tracer/face/tracer.h"

#define LASTS 2000              /* ms */

/*
 * A file that was made: for an open, or by stat(2) for its size; the open that follows gets what
 * stat(2) has seen. rsync and cp ask for the size after they opened it, and copy as many bytes: for
 * a while, stat(2) shows the size at the newest open.
 */
struct made {
	LIST_ENTRY(made) link;
	const struct session *session;  /* the view has a reference */
	enum export_form form;
	struct export_view *view;
	bool open;                      /* else it ends after LASTS */
	int64_t since;                  /* chores_clock when it was made, or opened */
	uint64_t change;                /* of the session then */
};

static struct {
	pthread_mutex_t lock;           /* guards the list, and open and since of its elements */
	LIST_HEAD(, made) files;        /* the newest first */
} made = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Makes the file of the node. 0 or -errno. */
static int make_file(const struct node *n, bool open, struct made **out)
{
	struct made *m = calloc(1, sizeof(*m));
	int rc = -ENOMEM;

	if (m) {
		m->session = n->session;
		m->form = (enum export_form)n->row->arg;
		m->change = session_change(n);
		m->open = open;
		rc = export_open(n->session, m->form, &m->view);
	}
	if (rc) {
		free(m);
		return rc;
	}
	m->since = chores_clock();
	pthread_mutex_lock(&made.lock);
	LIST_INSERT_HEAD(&made.files, m, link);
	pthread_mutex_unlock(&made.lock);
	*out = m;
	return 0;
}

/* The newest file of the node, if it was made just now. Caller holds made.lock. */
static struct made *find_made(const struct node *n, uint64_t change)
{
	struct made *m;

	LIST_FOREACH(m, &made.files, link)
		if (m->session == n->session && (int)m->form == n->row->arg)
			break;
	return m && chores_clock() - m->since < LASTS && m->change == change ? m : NULL;
}

static int export_view_open(const struct node *n, void **state)
{
	uint64_t change = session_change(n);
	struct made *m;
	int rc;

	pthread_mutex_lock(&made.lock);
	m = find_made(n, change);
	if (m && m->open)
		m = NULL;
	if (m) {
		m->open = true;
		m->since = chores_clock();
	}
	pthread_mutex_unlock(&made.lock);
	rc = m ? 0 : make_file(n, true, &m);
	*state = m;
	return rc;
}

static ssize_t export_view_read(void *state, uint64_t offset, void *buf, size_t size)
{
	return export_read(((struct made *)state)->view, offset, buf, size);
}

static void export_view_close(void *state)
{
	struct made *m = state;

	pthread_mutex_lock(&made.lock);
	LIST_REMOVE(m, link);
	pthread_mutex_unlock(&made.lock);
	export_close(m->view);
	free(m);
}

int64_t export_expire(int64_t now)
{
	struct made *m, *next;
	int64_t when = -1;
	LIST_HEAD(, made) over = LIST_HEAD_INITIALIZER(over);

	pthread_mutex_lock(&made.lock);
	for (m = LIST_FIRST(&made.files); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->open)
			continue;
		if (now - m->since >= LASTS) {
			LIST_REMOVE(m, link);
			LIST_INSERT_HEAD(&over, m, link);
		} else if (when < 0 || m->since + LASTS < when) {
			when = m->since + LASTS;
		}
	}
	pthread_mutex_unlock(&made.lock);
	for (m = LIST_FIRST(&over); m; m = next) {
		next = LIST_NEXT(m, link);
		export_close(m->view);
		free(m);
	}
	return when;
}

/* Whether the file was made just now; then *size is its size. */
static bool made_size(const struct node *n, uint64_t *size)
{
	uint64_t change = session_change(n);
	struct made *m;

	pthread_mutex_lock(&made.lock);
	m = find_made(n, change);
	if (m)
		*size = export_view_size(m->view);
	pthread_mutex_unlock(&made.lock);
	return m;
}

/*
 * Makes the file for its size: if that takes no time worth mentioning, and always for pages,
 * because a browser reads no more of a file than the size that it saw before it opened it.
 */
static void measure(const struct node *n, uint64_t *size)
{
	struct made *m;

	if (!export_is_quick(n->session) && !export_is_page((enum export_form)n->row->arg))
		return;
	if (make_file(n, false, &m))
		return;
	/* The main thread may have ended the file, which it does after LASTS. */
	if (!made_size(n, size))
		*size = export_size(n->session, (enum export_form)n->row->arg);
	chores_kick();
}

static int export_attr(const struct node *n, const struct who *who, struct stat *st)
{
	enum export_form form = (enum export_form)n->row->arg;
	uint64_t size = export_size(n->session, form);
	struct session_info info;

	(void)who;
	session_info(n->session, &info);
	/* What a stopped session has made stays what it has. */
	if (form == EXPORT_LIVE)
		size = EXPORT_LIVE_BYTES;
	else if (!info.gone && (info.active || !size) && !made_size(n, &size))
		measure(n, &size);
	st->st_size = (off_t)size;
	/* A server may say that a page with an old time has not changed. */
	if (form == EXPORT_LIVE)
		clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	return 0;
}

static const struct view export_view = { .open = export_view_open,
					 .read = export_view_read,
					 .close = export_view_close };

const struct tree_row export_rows[] = {
	{ .name = "json",
	  .mode = S_IFREG | 0444,
	  .view = &text_view,
	  .attr = text_attr,
	  .arg = TEXT_JSON },
	{ .name = "json.symbols",
	  .mode = S_IFREG | 0444,
	  .view = &text_view,
	  .attr = text_attr,
	  .arg = TEXT_JSON_SYMBOLS },
#ifndef WITHOUT_EXPORTS
	{ .name = "lket",
	  .mode = S_IFDIR | 0555,
	  .find = tracedir_find,
	  .list = tracedir_list,
	  .arg = TRACEDIR_LKET },
	{ .name = "ltt",
	  .mode = S_IFDIR | 0555,
	  .find = tracedir_find,
	  .list = tracedir_list,
	  .arg = TRACEDIR_LTT },
#define EXPORT(form, file, make, help)                                                        \
	{ .name = file, .mode = S_IFREG | 0444, .view = &export_view, .attr = export_attr,    \
	  .arg = EXPORT_##form },
#include "tracer/session/exports.def"
#endif
	{ 0 }
};

int export_left_out(const struct node *dir, const char *name, const struct who *who,
		    struct found *found)
{
#ifdef WITHOUT_EXPORTS
#define EXPORT(form, file, make, help) file,
	static const char *const names[] = {
#include "tracer/session/exports.def"
		"lket", "ltt",
	};
	struct tr_err err = TR_ERR_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			tr_fail(&err, -EOPNOTSUPP, "this build was made without exports: of these "
				"files, it has json and json.symbols");
			errors_result(dir, name, who, errors_count(), -EOPNOTSUPP, &err);
			return -EOPNOTSUPP;
		}
#endif
	(void)dir, (void)name, (void)who, (void)found;
	return -ENOENT;
}
