/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export/live.html: the page of a time line of the newest events, which a browser loads again and
 * again. Its size is always the same, so that each program that serves files serves the whole of
 * it, whatever size it saw before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/picture/track.h"
#include "tracer/session/session.h"

#define EVENTS 16384u           /* of the page, at most */
#define SPAN UINT64_C(10000000000)      /* ns before the last event, at most */
#define AGAIN_MS 2000u          /* of a session that records; of another one: */
#define AGAIN_STOPPED_MS 10000u

/* The times of the last events. */
struct newest {
	uint64_t times[EVENTS];
	uint64_t count;
};

static void note_time(void *arg, const struct row *r)
{
	struct newest *n = arg;

	n->times[n->count++ % EVENTS] = r->time;
}

/* When the last `most` events begin, ns since the epoch. */
static uint64_t find_begin(const struct newest *n, uint64_t most)
{
	uint64_t last, begin;

	if (!n->count)
		return 0;
	last = n->times[(n->count - 1) % EVENTS];
	begin = n->times[n->count > most ? (n->count - most) % EVENTS : 0];
	return last > SPAN && begin < last - SPAN ? last - SPAN : begin;
}

/* The text stays in m->out: what is too long is made again, of fewer events. */
static void keep_text(struct maker *m)
{
	if (m->out.failed)
		m->err = -ENOMEM;
	else if (m->out.len > EXPORT_LIVE_BYTES)
		m->err = -E2BIG;
}

/* Makes the page of at most `most` events in m->out. */
static void make_page(struct maker *m, const struct newest *n, uint64_t most)
{
	struct session_info info;
	uint64_t begin = find_begin(n, most);

	session_info(m->s, &info);
	/* Each run says to the form again what it knows of event classes. */
	rows_deinit(&m->rows);
	m->rows = (struct event_rows){ 0 };
	md_buf_reset(&m->out);
	m->from = begin > m->clock_offset ? begin - m->clock_offset : 0;
	page_write(m, info.active ? AGAIN_MS : AGAIN_STOPPED_MS);
	if (!m->err)
		keep_text(m);
}

void live_make(struct maker *m)
{
	static const char blanks[] = "                                                        \n";
	struct newest *n = calloc(1, sizeof(*n));
	size_t left, piece;

	if (!n) {
		m->err = -ENOMEM;
		return;
	}
	maker_run(m, ROW_CLASSES, note_time, n);
	m->write = keep_text;
	for (uint64_t most = EVENTS; !m->err && most; most /= 4) {
		make_page(m, n, most);
		if (m->err != -E2BIG)
			break;
		m->err = most >= 4 ? 0 : -E2BIG;
	}
	free(n);
	m->write = NULL;
	for (; !m->err && m->out.len < EXPORT_LIVE_BYTES && !m->out.failed;) {
		left = EXPORT_LIVE_BYTES - m->out.len;
		piece = left < sizeof(blanks) - 1 ? left : sizeof(blanks) - 1;
		md_buf_put(&m->out, blanks + sizeof(blanks) - 1 - piece, piece);
	}
}
