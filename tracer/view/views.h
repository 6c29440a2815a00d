/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views of a session, as the tree shows them: text, pipes, streams, counts, stats. */
#ifndef TRACER_VIEWS_H
#define TRACER_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/session/forms.h"

struct session;

/* Where the reader is of an open that a daemon had which was killed. */
struct view_place {
	const void *bytes;      /* the last that it got */
	size_t len;
	const char *rest;       /* the line continued so after them; NULL: it is not known */
	size_t rest_len;
	uint64_t end;           /* how many it got in all, or the offset after them */
	uint64_t number;        /* of the view then */
	uint64_t era;           /* the same */
};

/*
 * `counts`, or with json `counts.json`: a line for each event that was recorded since the first
 * start or the last clear. Takes as long as it takes to walk the events that were recorded since
 * the last call.
 */
int counts_show(struct session *s, bool json, struct md_buf *out);
/*
 * `stats`, or with json `stats.json`: rates and times of all events that are held, as tables.
 * Walks them all.
 */
int stats_show(struct session *s, bool json, struct md_buf *out);
/* `top`: the rates of the last second; of an inactive session, of its last second. */
int top_show(struct session *s, struct md_buf *out);
/* `DOMAIN/rules`: a line for each event rule, with the events that it matches now, and its hits. */
int rules_show(struct session *s, enum domain domain, struct md_buf *out);
/* `rules.json`: the same of both domains. */
int rules_show_json(struct session *s, struct md_buf *out);

/* ---- streams/OWNER/cpuN: whole CTF packets, live ---- */

struct packet_stream;
int packet_stream_open(struct session *s, const char *channel, const char *owner, const char *name,
		       struct packet_stream **out);
/*
 * Copies packet bytes: > 0; 0 at the end (the session is inactive or removed and was active, and
 * all was delivered); -EAGAIN: nothing yet. The next call continues a packet that is larger than
 * the buffer. One caller at a time.
 */
ssize_t packet_stream_read(struct packet_stream *p, void *buf, size_t size);
/*
 * Copies the place after the last read, less its last `unread` bytes, for another daemon; returns
 * its size. 0: `size` is too small.
 */
size_t packet_stream_place(struct packet_stream *p, size_t unread, void *buf, size_t size);
/*
 * Moves an open without reads to a place of packet_stream_place. -ESTALE: the bytes that follow
 * there are not held any more, or the place is of another ring. len 0: the reader got nothing.
 */
int packet_stream_resume(struct packet_stream *p, const void *place, size_t len);
void packet_stream_close(struct packet_stream *p);

/* ---- text and pipe ---- */

struct iovec;
struct text_view;
/* One open of `text` or `export/json`: brings the session's text up to date. */
int text_open(struct session *s, enum text_form form, struct text_view **out);
/*
 * Bytes at an offset of the text, counted since the first start or clear. 0: the offset is the end
 * of the text as of the open; the next read moves that end to the present, so a reader that stops
 * at 0 ends and one that reads again follows. If the events at the offset were overwritten, the
 * open continues at the oldest event held, and its offsets are shifted from then on. One caller at
 * a time per view.
 */
ssize_t text_read(struct text_view *v, uint64_t offset, void *buf, size_t size);
/*
 * In place of a text_read that continues the one before, if all its bytes are formatted: sets parts
 * that are valid until the next call for v. Their number; 0: call text_read.
 */
int text_peek(struct text_view *v, uint64_t offset, size_t size, struct iovec *parts, int most);
/*
 * If the last read continued the one before: formats as many bytes for the next read, at most 256
 * KiB, while the reader uses those that it has. As text_read, one caller at a time per view.
 */
void text_ahead(struct text_view *v);
/* How often the session had been cleared before the text that the last read had. */
uint64_t text_era(const struct text_view *v);
/*
 * Of a new open, in place of one of a daemon that was killed: from now on offsets mean what they
 * meant there; if the session was cleared since, what they mean after that. -ESTALE: the bytes that
 * the reader got are not in the text any more.
 */
int text_resume(struct text_view *v, const struct view_place *place);
void text_close(struct text_view *v);
/* The size to show: text produced so far. Advances to the present while a view is open. */
uint64_t text_size(struct session *s, enum text_form form);

struct pipe_view;
int pipe_open(struct session *s, enum text_form form, struct pipe_view **out);

/* What shows the events of a pipe in place of text. `state` belongs to one open. */
struct merge;
struct pipe_form {
	int (*open)(struct session *s, void **state);   /* 0 or -errno */
	/*
	 * Appends events up to `limit`, and takes them from the merge; about `most` bytes. None is
	 * appended: there is none. 0 or -errno.
	 */
	int (*format)(void *state, struct merge *m, uint64_t limit, struct md_buf *out,
		      size_t most);
	/* Appends what follows the last event; the second call appends nothing. */
	void (*end)(void *state, struct merge *m, struct md_buf *out);
	void (*close)(void *state);
};
int pipe_open_form(struct session *s, const struct pipe_form *form, struct pipe_view **out);
ssize_t pipe_read(struct pipe_view *v, void *buf, size_t size);        /* as packet_stream_read */
/* What pipe_resume needs to know of the open. */
uint64_t pipe_number(const struct pipe_view *v);
/* As text_era; or less. */
uint64_t pipe_era(const struct pipe_view *v);
/*
 * Copies what follows the last read up to the end of its line; returns its size. More than `size`:
 * it is longer, or not known.
 */
size_t pipe_rest(const struct pipe_view *v, char *buf, size_t size);
/*
 * As text_resume; if the session was cleared since, the open continues at the oldest event, after
 * the rest of the line.
 */
int pipe_resume(struct pipe_view *v, const struct view_place *place);
void pipe_close(struct pipe_view *v);

#endif
