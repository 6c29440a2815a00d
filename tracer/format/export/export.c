/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/picture/picture.h"
#include "tracer/session/session.h"

#define QUICK_BYTES (1u << 20)
#define TRIES_MOST 5            /* how often a file is begun because of a clear, or another input */

struct export_view {
	struct session *s;      /* referenced */
	/* One follows the other. */
	struct memory_file files[DIVISION_MOST];
};

/* Numbers to show, of each form: no other memory depends on them. Atomic. */
struct exported {
	uint64_t size[EXPORT_FORMS];    /* of the last file; 0: none since the last clear */
	uint32_t done[EXPORT_FORMS];    /* of the file that is being made: percent and 1; 0: none */
};

static struct exported *exported_of(const struct session *s)
{
	return session_data(s, &export_part);
}

static const struct {
	const char *name;
	void (*make)(struct maker *m);
} forms[EXPORT_FORMS] = {
#define EXPORT(form, file, make, help) [EXPORT_##form] = { file, make },
#include "tracer/session/exports.def"
};

bool export_is_quick(struct session *s)
{
	struct ring_counts c = { 0 };

	session_counts(s, &c);
	return c.bytes <= QUICK_BYTES;
}

/* Makes the file; *v gets it, and a reference to the session, also after a failure. */
static void make(struct session *s, enum export_form form, struct maker *m, struct export_view *v)
{
	struct stream_set held;
	bool forgets = m->forgets;

	maker_begin(m, &held, s);
	m->forgets = forgets;
	m->done = &exported_of(s)->done[form];
	if (!m->err)
		forms[form].make(m);
	maker_end(m, &held);
	__atomic_store_n(m->done, 0, __ATOMIC_RELAXED);
	*v = (struct export_view){ .s = m->s, .files = { m->file } };
	memcpy(v->files + 1, m->rest, sizeof(m->rest));
}

/* Frees the file and the reference to the session. */
static void drop(struct export_view *v)
{
	session_frozen(v->s, -(int64_t)export_view_size(v));
	for (int i = 0; i < DIVISION_MOST; i++)
		memory_file_deinit(&v->files[i]);
	session_put(v->s);
}

/*
 * A file that was made while the session was cleared has events from before and after it, with
 * holes; it must be made again. 0; -ESTALE: the session was removed meanwhile.
 */
static int check_whole(struct session *s, uint64_t clears, bool *again)
{
	bool gone;

	/* Not session_info(), which says it only when all of the session was removed. */
	pthread_mutex_lock(&s->tracer->lock);
	gone = s->gone;
	pthread_mutex_unlock(&s->tracer->lock);
	*again = session_clears(s) != clears;
	return gone ? -ESTALE : 0;
}

int export_open(struct session *s, enum export_form form, struct export_view **out)
{
	struct export_view *v = calloc(1, sizeof(*v));
	struct maker m = { 0 };
	bool cleared = false, again;
	uint64_t clears;
	int tries = 0;

	if (!v)
		return -ENOMEM;
	do {
		if (tries++)
			drop(v);
		m = (struct maker){ .forgets = m.forgets || m.forgot };
		clears = session_clears(s);
		make(s, form, &m, v);
		if (!m.err)
			m.err = check_whole(s, clears, &cleared);
		again = (!m.err && m.forgot && !m.forgets) ||
			(((!m.err && cleared) || m.replaced) && tries < TRIES_MOST);
	} while (again);
	if (m.err) {
		export_close(v);
		return m.err;
	}
	__atomic_store_n(&exported_of(s)->size[form], export_view_size(v), __ATOMIC_RELAXED);
	*out = v;
	return 0;
}

ssize_t export_read(struct export_view *v, uint64_t offset, void *buf, size_t size)
{
	uint64_t begin = 0;     /* offset of the file */
	size_t n = 0;

	for (int i = 0; i < DIVISION_MOST && n < size; begin += v->files[i++].size)
		if (offset + n - begin < v->files[i].size)
			n += memory_file_read(&v->files[i], offset + n - begin, (char *)buf + n,
					      size - n);
	return (ssize_t)n;
}

uint64_t export_view_size(const struct export_view *v)
{
	uint64_t size = 0;

	for (int i = 0; i < DIVISION_MOST; i++)
		size += v->files[i].size;
	return size;
}

void export_close(struct export_view *v)
{
	if (!v)
		return;
	drop(v);
	free(v);
}

uint64_t export_size(struct session *s, enum export_form form)
{
	return __atomic_load_n(&exported_of(s)->size[form], __ATOMIC_RELAXED);
}

static void clear_sizes(struct session *s)
{
	for (int form = 0; form < EXPORT_FORMS; form++)
		__atomic_store_n(&exported_of(s)->size[form], 0, __ATOMIC_RELAXED);
}

static void show_status(struct session *s, struct facts *out)
{
	for (int form = 0; form < EXPORT_FORMS; form++) {
		uint32_t done = __atomic_load_n(&exported_of(s)->done[form], __ATOMIC_RELAXED);

		if (done)
			fact_item(out, "pending", "export/%s %u%%", forms[form].name, done - 1);
	}
}

const struct session_part export_part = { .name = "export", .size = sizeof(struct exported),
					  .clear = clear_sizes, .follow = clear_sizes,
					  .status = show_status };
