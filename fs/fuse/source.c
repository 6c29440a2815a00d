/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/fuse/source.h"
#include "tracer/face/tracer.h"

#define MOST (256 * 1024)       /* bytes in one answer of a stream; a reader takes short reads */
#define AHEAD (16 * 1024)       /* what a poll reads to find out; most of an answer with `watch` */

static uint64_t number_of(const struct source *s)
{
	return s->view->number ? s->view->number(s->state) : 0;
}

/* ---- an open of an earlier daemon ---- */

/*
 * A view whose data are gone once they are taken: what the reader did not get is in the hand-over,
 * because answers of such views are as short.
 */
static int recall_undelivered(struct source *s)
{
	uint32_t which = s->kept->which & 1;
	const struct handover_given *got = &s->kept->given[which], *lost = &s->kept->given[!which];
	uint64_t n = lost->end - got->end;

	if (n > lost->len || lost->len > HANDOVER_BYTES)
		return -ESTALE;
	s->ahead = malloc(n ? n : 1);
	if (!s->ahead)
		return -ENOMEM;
	memcpy(s->ahead, lost->bytes + lost->len - n, n);
	s->ahead_len = n;
	s->ahead_end = !n;
	return 0;
}

static bool is_taken_once(const struct source *s)
{
	return s->view->watch || s->view->silent;
}

static int move_to_reader(struct source *s)
{
	const struct handover_given *g = &s->kept->given[s->kept->which & 1];
	bool known = g->rest <= HANDOVER_BYTES;
	struct view_place place = { .bytes = g->bytes, .len = g->len,
				    .rest = known ? (const char *)g->bytes + g->len : NULL,
				    .rest_len = known ? g->rest : 0, .end = g->end,
				    .number = g->number, .era = g->era };
	int rc = 0;

	s->given = g->end;
	if (is_taken_once(s) && s->kept->state & HANDOVER_UNDELIVERED) {
		rc = recall_undelivered(s);
		place.number = s->kept->given[!(s->kept->which & 1)].number;
	}
	if (!rc && s->view->resume)
		rc = s->view->resume(s->state, &place);
	else if (!rc && g->end && !s->view->watch)
		rc = -ESTALE;
	return rc;
}

static int be_at_reader(struct source *s)
{
	if (s->recalled) {
		s->recalled = false;
		s->failed = move_to_reader(s);
		if (s->failed)
			say(SAY_INFO, "an open file cannot continue where the daemon before this "
				      "one was: its reader gets an error");
	}
	return s->failed;
}

/* ---- opening ---- */

int source_open(struct source *s, const struct node *n, struct handover_file *kept, bool recalled)
{
	int rc;

	*s = (struct source){ .view = n->row->view, .kept = kept, .recalled = recalled };
	rc = s->view->open(n, &s->state);
	if (!rc && kept && !recalled)
		kept->given[0].number = number_of(s);
	/*
	 * The size of a text that is not a stream depends on where its readers are. With `watch`,
	 * what comes from now on is not lost, and what was lost before is said first.
	 */
	if (!rc && (!s->view->streams || s->view->watch))
		be_at_reader(s);
	return rc;
}

void source_close(struct source *s)
{
	if (s->view)
		s->view->close(s->state);
	free(s->ahead);
}

/* ---- reading ---- */

static size_t most_of(const struct source *s)
{
	if (s->kept && is_taken_once(s))
		return HANDOVER_BYTES;
	return s->view->watch ? AHEAD : s->view->streams ? MOST : SIZE_MAX;
}

/* What follows in the line, of which the reader got the beginning. More than `size`: not known. */
static size_t rest_of_line(const struct source *s, char *buf, size_t size)
{
	size_t n = s->ahead_len - s->ahead_at;
	const char *end = n ? memchr(s->ahead + s->ahead_at, '\n', n) : NULL;

	n = end ? (size_t)(end - (s->ahead + s->ahead_at)) + 1 : n;
	if (n > size)
		return size + 1;
	if (n)
		memcpy(buf, s->ahead + s->ahead_at, n);
	return end ? n : n + s->view->rest(s->state, buf + n, size - n);
}

/* Notes what a reader gets, before the reply. */
static void note(struct source *s, uint64_t unique, uint64_t offset, const struct iovec *parts,
		 int count)
{
	struct handover_read r = { .unique = unique };
	char tail[HANDOVER_BYTES], rest[HANDOVER_REST];
	size_t n = 0, sum = 0;

	if (!s->kept)
		return;
	for (int i = count; i-- > 0;) {
		size_t take = sizeof(tail) - n < parts[i].iov_len ? sizeof(tail) - n
								  : parts[i].iov_len;

		memcpy(tail + sizeof(tail) - n - take,
		       (const char *)parts[i].iov_base + parts[i].iov_len - take, take);
		n += take;
		sum += parts[i].iov_len;
	}
	s->given = s->view->streams ? s->given + sum : offset + sum;
	if (sum && s->view->place) {
		n = s->view->place(s->state, s->ahead_len - s->ahead_at, tail, sizeof(tail));
		handover_give_place(s->kept, unique, tail, n, s->given);
	} else if (sum || is_taken_once(s)) {
		r.end = s->given;
		r.number = number_of(s);
		r.era = s->view->era ? s->view->era(s->state) : 0;
		if (s->view->rest && n && tail[sizeof(tail) - 1] != '\n')
			r.rest_len = rest_of_line(s, rest, sizeof(rest));
		r.rest = r.rest_len <= sizeof(rest) ? rest : NULL;
		handover_give(s->kept, &r, tail + sizeof(tail) - n, n);
	}
}

int source_peek(struct source *s, uint64_t unique, uint64_t offset, size_t size,
		struct iovec parts[VIEW_PARTS])
{
	size_t most = most_of(s);
	int count = 0;

	if (s->view->peek && !be_at_reader(s))
		count = s->view->peek(s->state, offset, size < most ? size : most, parts);
	if (count)
		note(s, unique, offset, parts, count);
	return count;
}

/* What a poll has read, or the view has. */
static ssize_t take(struct source *s, uint64_t offset, void *buf, size_t size)
{
	size_t n = s->ahead_len - s->ahead_at;

	if (n) {
		n = n < size ? n : size;
		memcpy(buf, s->ahead + s->ahead_at, n);
		s->ahead_at += n;
		return (ssize_t)n;
	}
	if (s->ahead_end) {
		s->ahead_end = false;
		return 0;
	}
	free(s->ahead);
	s->ahead = NULL;
	s->ahead_at = s->ahead_len = 0;
	return s->view->read(s->state, offset, buf, size);
}

ssize_t source_read(struct source *s, uint64_t unique, uint64_t offset, void *buf, size_t size)
{
	size_t most = most_of(s);
	ssize_t n = be_at_reader(s);

	if (!n)
		n = take(s, offset, buf, size < most ? size : most);
	if (n >= 0)
		note(s, unique, offset, &(struct iovec){ buf, (size_t)n }, 1);
	return n;
}

bool source_ready(struct source *s)
{
	ssize_t n;

	if (s->ahead_end || s->ahead_len > s->ahead_at || be_at_reader(s))
		return true;
	free(s->ahead);
	s->ahead_at = s->ahead_len = 0;
	s->ahead = malloc(AHEAD);
	/* Not more than a read gives: what stays here is lost if the daemon is killed. */
	n = s->ahead ? s->view->read(s->state, 0, s->ahead,
				     is_taken_once(s) ? HANDOVER_BYTES : AHEAD) : -EAGAIN;
	s->ahead_end = n <= 0 && n != -EAGAIN;
	if (n > 0)
		s->ahead_len = (size_t)n;
	return n != -EAGAIN;
}
