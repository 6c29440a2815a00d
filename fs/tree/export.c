/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions/NAME/export/: what is held, in other forms */
#include "fs/tree/rows.h"
#include "fs/tree/tracedir.h"
#include "tracer/base/ring/reader.h"
#include "tracer/session/session.h"
#include "tracer/face/tracer.h"

static int export_view_open(const struct node *n, void **state)
{
	return export_open(n->session, (enum export_form)n->row->arg, (struct export_view **)state);
}

static ssize_t export_view_read(void *state, uint64_t offset, void *buf, size_t size)
{
	return export_read(state, offset, buf, size);
}

static void export_view_close(void *state)
{
	export_close(state);
}

/*
 * A browser reads no more of a file than the size that it saw before it opened it. `made`: the size
 * when the file was made last. While that may change: more than the file has. Of the page, a held
 * byte takes at most 6 (an escape), and an event some numbers; eight bytes that are a code address
 * take a name of some hundred bytes. A flame graph has at most 16384 frames.
 */
static uint64_t bound_size(struct session *s, enum export_form form, uint64_t made)
{
	struct ring_counts c = { 0 };
	struct session_info info;

	session_info(s, &info);
	if (made && !info.active)
		return made;
	if (form == EXPORT_FLAME)
		return 16384 * 2048;
	session_counts(s, &c);
	return (1u << 20) + (export_has_names(s) ? 64 : 8) * c.bytes + 128 * c.recorded;
}

static int export_attr(const struct node *n, const struct who *who, struct stat *st)
{
	enum export_form form = (enum export_form)n->row->arg;
	uint64_t size = export_size(n->session, form);

	(void)who;
	if (form == EXPORT_PAGE || form == EXPORT_FLAME)
		size = bound_size(n->session, form, size);
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
