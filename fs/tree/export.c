/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions/NAME/export/: what is held, in other forms */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "fs/base/base.h"
#include "fs/tree/rows.h"
#include "fs/tree/tracedir.h"
#include "tracer/face/tracer.h"

#define LASTS 2000              /* ms */

/*
 * An open file. rsync and cp ask for the size after they opened it, and copy as many bytes: for a
 * while, stat(2) shows the size at the newest open.
 */
struct made {
	LIST_ENTRY(made) link;
	const struct session *session;  /* the view has a reference */
	enum export_form form;
	struct export_view *view;
	int64_t since;                  /* helper_clock when it was made */
	uint64_t change;                /* of the session then */
};

static struct {
	pthread_mutex_t lock;           /* guards the list */
	LIST_HEAD(, made) files;        /* the newest first */
} made = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int export_view_open(const struct node *n, void **state)
{
	struct made *m = calloc(1, sizeof(*m));
	int rc = -ENOMEM;

	if (m) {
		m->session = n->session;
		m->form = (enum export_form)n->row->arg;
		m->change = session_change(n);
		rc = export_open(n->session, m->form, &m->view);
	}
	if (rc) {
		free(m);
		return rc;
	}
	m->since = helper_clock();
	pthread_mutex_lock(&made.lock);
	LIST_INSERT_HEAD(&made.files, m, link);
	pthread_mutex_unlock(&made.lock);
	*state = m;
	return 0;
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

/* Whether the file was opened just now; then *size is its size. */
static bool opened_size(const struct node *n, uint64_t *size)
{
	uint64_t change = session_change(n);
	int64_t now = helper_clock();
	struct made *m;

	pthread_mutex_lock(&made.lock);
	LIST_FOREACH(m, &made.files, link)
		if (m->session == n->session && (int)m->form == n->row->arg)
			break;
	if (m && (now - m->since >= LASTS || m->change != change))
		m = NULL;
	if (m)
		*size = export_view_size(m->view);
	pthread_mutex_unlock(&made.lock);
	return m;
}

/* Makes the file, if that takes no time worth mentioning. Then *size is its size. */
static bool measure(const struct node *n, uint64_t *size)
{
	struct export_view *view;

	if (!export_is_quick(n->session) ||
	    export_open(n->session, (enum export_form)n->row->arg, &view))
		return false;
	*size = export_view_size(view);
	export_close(view);
	return true;
}

static int export_attr(const struct node *n, const struct who *who, struct stat *st)
{
	enum export_form form = (enum export_form)n->row->arg;
	uint64_t size = export_size(n->session, form);
	struct session_info info;

	(void)who;
	session_info(n->session, &info);
	/*
	 * What a stopped session has made stays what it has. A browser reads no more of a file than
	 * the size that it saw before it opened it.
	 */
	if (!info.gone && (info.active || !size) && !opened_size(n, &size) && !measure(n, &size) &&
	    (form == EXPORT_PAGE || form == EXPORT_FLAME))
		size = export_bound(n->session, form);
	st->st_size = (off_t)size;
	return 0;
}

static const struct view export_view = { .open = export_view_open,
					 .read = export_view_read,
					 .close = export_view_close };

#define EXPORT_ROW(file, form)                                                                \
	{ .name = file, .mode = S_IFREG | 0444, .view = &export_view, .attr = export_attr,    \
	  .arg = form }

const struct row export_rows[] = {
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
	EXPORT_ROW("chrome.json", EXPORT_CHROME),
	EXPORT_ROW("csv", EXPORT_CSV),
	EXPORT_ROW("flame.folded", EXPORT_FOLDED),
	EXPORT_ROW("flame.svg", EXPORT_FLAME),
	{ .name = "lket",
	  .mode = S_IFDIR | 0555,
	  .find = tracedir_find,
	  .list = tracedir_list,
	  .arg = TRACEDIR_LKET },
	EXPORT_ROW("lket.txt", EXPORT_LKET),
	{ .name = "ltt",
	  .mode = S_IFDIR | 0555,
	  .find = tracedir_find,
	  .list = tracedir_list,
	  .arg = TRACEDIR_LTT },
	EXPORT_ROW("perfetto", EXPORT_PERFETTO),
	EXPORT_ROW("sql", EXPORT_SQL),
	EXPORT_ROW("timeline.html", EXPORT_PAGE),
#ifdef EXPORT_HAS_SQLITE
	EXPORT_ROW("trace.sqlite", EXPORT_SQLITE),
#endif
	{ 0 }
};
