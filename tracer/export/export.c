/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/session/session.h"
#include "tracer/view/merge.h"
#include "tracer/view/stack.h"

#define PIECE (256u << 10)
#define EVENTS_A_SHOW 8192u     /* between two values of session.exporting */

struct export_view {
	struct session *s;      /* referenced */
	int fd;
	uint64_t size;          /* of the memfd; counts as frozen memory of the session */
};

static const struct {
	const char *name;
	void (*make)(struct maker *m);
} forms[EXPORT_FORMS] = {
	[EXPORT_CSV] = { "csv", csv_make },
	[EXPORT_SQL] = { "sql", sql_make },
#ifdef EXPORT_HAS_SQLITE
	[EXPORT_SQLITE] = { "trace.sqlite", sqlite_make },
#endif
	[EXPORT_LKET] = { "lket.txt", lket_make },
	[EXPORT_CHROME] = { "chrome.json", chrome_make },
	[EXPORT_PERFETTO] = { "perfetto", perfetto_make },
	[EXPORT_FLAME] = { "flame.svg", flame_make },
	[EXPORT_PAGE] = { "timeline.html", page_make },
};

void maker_write(struct maker *m)
{
	size_t done = 0;

	if (m->write) {
		m->write(m);
		return;
	}
	if (m->out.failed)
		m->err = -ENOMEM;
	if (!m->err && m->out.len)
		m->err = session_frozen(m->s, (int64_t)m->out.len);
	if (m->err)
		return;
	m->size += m->out.len;
	while (done < m->out.len) {
		ssize_t n = write(m->fd, m->out.data + done, m->out.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			m->err = n < 0 ? -errno : -EIO;
			return;
		}
		done += (size_t)n;
	}
	md_buf_reset(&m->out);
}

/* Says how far the file is: the run is at `part` (0 to 1) of its events. */
static void show_done(const struct maker *m, double part)
{
	unsigned int runs = m->runs ? m->runs : 1;

	/* Only a number to show: no other memory depends on it. */
	if (m->done)
		__atomic_store_n(m->done, 1 + (uint32_t)(100 * (m->run + part) / runs),
				 __ATOMIC_RELAXED);
}

/* How far a run is that began at the time `first`, and is at `now`. */
static double part_of(const struct maker *m, uint64_t first, uint64_t now)
{
	return m->limit > first ? (double)(now - first) / (double)(m->limit - first) : 0;
}

/* The events that are held, for a run. NULL: m->err. */
static struct merge *begin_run(struct maker *m)
{
	struct merge *merge = merge_create();
	uint64_t now;

	if (!merge) {
		m->err = -ENOMEM;
		return NULL;
	}
	m->err = merge_look_session(merge, m->s, &now);
	/* A second run has the same events as the first. */
	if (!m->limit)
		m->limit = now;
	return merge;
}

static void end_run(struct maker *m, struct merge *merge)
{
	if (!m->err)
		m->err = merge_failed(merge);
	m->run++;
	merge_destroy(merge);
}

void maker_run(struct maker *m, enum row_needs needs, void (*add)(void *arg, const struct row *r),
	       void *arg)
{
	uint64_t clock_offset = session_clock_offset(m->s), count = 0, first = 0;
	struct merge *merge = begin_run(m);
	struct cursor *c;
	struct row r;

	while (!m->err && (c = merge_top(merge, m->limit))) {
		m->err = rows_read(&m->rows, c, needs, &r);
		if (m->err)
			break;
		r.time = clock_offset + c->o.ts;
		first = count ? first : c->o.ts;
		if (count++ % EVENTS_A_SHOW == 0)
			show_done(m, part_of(m, first, c->o.ts));
		add(arg, &r);
		if (m->out.len >= PIECE || m->out.failed)
			maker_write(m);
		merge_next(merge);
	}
	if (merge)
		end_run(m, merge);
}

/* How many event classes the stream has, at most. */
static uint32_t count_classes(const struct stream *s)
{
	uint32_t n;

	/* An imported trace may describe more of them later. */
	if (s->input)
		return UINT32_MAX;
	pthread_mutex_lock(&s->trace->lock);
	n = s->class->event_count;
	pthread_mutex_unlock(&s->trace->lock);
	return n;
}

/* Notes the classes of the events of stream i, which is `part` of them all. */
static void note_stream(struct maker *m, struct cursor *c, uint32_t i, double part)
{
	uint32_t classes = count_classes(&c->stream), noted = 0;
	const struct md_event *last = NULL;
	uint64_t count = 0, first = c->o.ts;
	bool more = c->have;

	for (; more && noted < classes && c->o.ts <= m->limit && !m->err; more = cursor_next(c)) {
		if (count++ % EVENTS_A_SHOW == 0)
			show_done(m, part * (i + part_of(m, first, c->o.ts)));
		if (c->o.event != last)
			m->err = rows_note(&m->rows, c, i + 1, &noted);
		last = c->o.event;
	}
	cursor_release(c);
}

void maker_classes(struct maker *m, void (*add)(void *arg, const struct row *r), void *arg)
{
	struct merge *merge = begin_run(m);

	/* Stream by stream: faster than in the order of time. */
	for (size_t i = 0; !m->err && i < merge->count; i++)
		note_stream(m, merge->cursors[i], (uint32_t)i, 1 / (double)merge->count);
	if (!m->err)
		m->err = rows_classes(&m->rows, add, arg);
	if (merge)
		end_run(m, merge);
}

/* Whether the session has callstacks: 0 or 1; -errno. */
static int have_stacks(struct session *s)
{
	struct stream_set set = { 0 };
	int found = session_streams(s, NULL, &set);

	for (size_t i = 0; !found && i < set.count; i++)
		found = stacks_has(set.streams[i].class);
	stream_set_deinit(&set);
	return found;
}

bool export_has_names(struct session *s)
{
	return have_stacks(s) != 0;
}

struct stacks *maker_names(struct maker *m, bool always)
{
	int has = m->stacks || m->err ? 0 : always ? 1 : have_stacks(m->s);

	if (has)
		m->err = has < 0 ? has : stacks_create(m->s, &m->stacks);
	return m->stacks;
}

void maker_begin(struct maker *m, struct stream_set *held, struct session *s)
{
	*m = (struct maker){ .s = session_ref(s) };
	*held = (struct stream_set){ 0 };
	/* Between two runs, no event class is freed. */
	m->err = session_streams(s, NULL, held);
	m->fd = memfd_create("trailfs-export", MFD_CLOEXEC);
	if (m->fd < 0)
		m->err = -errno;
}

void maker_end(struct maker *m, struct stream_set *held)
{
	maker_write(m);
	stream_set_deinit(held);
	md_buf_deinit(&m->out);
	rows_deinit(&m->rows);
	stacks_destroy(m->stacks);
}

int export_open(struct session *s, enum export_form form, struct export_view **out)
{
	struct export_view *v = calloc(1, sizeof(*v));
	struct stream_set held;
	struct maker m;

	if (!v)
		return -ENOMEM;
	maker_begin(&m, &held, s);
	m.done = &s->exporting[form];
	if (!m.err)
		forms[form].make(&m);
	maker_end(&m, &held);
	__atomic_store_n(m.done, 0, __ATOMIC_RELAXED);
	*v = (struct export_view){ .s = m.s, .fd = m.fd, .size = m.size };
	if (m.err) {
		export_close(v);
		return m.err;
	}
	/* Only a number to show: no other memory depends on it. */
	__atomic_store_n(&s->exported[form], m.size, __ATOMIC_RELAXED);
	*out = v;
	return 0;
}

ssize_t export_read(struct export_view *v, uint64_t offset, void *buf, size_t size)
{
	ssize_t n = offset < v->size ? pread(v->fd, buf, size, (off_t)offset) : 0;

	return n < 0 ? -errno : n;
}

void export_close(struct export_view *v)
{
	struct session *s;

	if (!v)
		return;
	s = v->s;
	if (v->fd >= 0)
		close(v->fd);
	session_frozen(s, -(int64_t)v->size);
	free(v);
	session_put(s);
}

uint64_t export_size(struct session *s, enum export_form form)
{
	return __atomic_load_n(&s->exported[form], __ATOMIC_RELAXED);
}

static void clear_sizes(struct session *s)
{
	for (int form = 0; form < EXPORT_FORMS; form++)
		__atomic_store_n(&s->exported[form], 0, __ATOMIC_RELAXED);
}

static void show_status(struct session *s, struct md_buf *out)
{
	for (int form = 0; form < EXPORT_FORMS; form++) {
		uint32_t done = __atomic_load_n(&s->exporting[form], __ATOMIC_RELAXED);

		if (done)
			md_buf_printf(out, "pending export/%s %u%%\n", forms[form].name, done - 1);
	}
}

const struct session_part export_part = { .name = "export", .clear = clear_sizes,
					  .follow = clear_sizes, .status = show_status };
