/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of `pipe`, `pipe.json` or `pipe.symbols`: the session's text while events come, from
 * the oldest event held at the open.
 *
 * Also how opens of it and of `text` continue that a daemon had which was killed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/output/outputs.h"
#include "tracer/view/merge_losses.h"
#include "tracer/view/resume.h"
#include "tracer/view/stack.h"
#include "tracer/view/text_view.h"
#include "tracer/view/views.h"

#define PIECE (64u << 10)

struct pipe_view {
	struct session *s;      /* referenced */
	struct merge *m;
	const struct pipe_form *form;   /* NULL: text */
	void *state;            /* of the form */
	struct stacks *stacks;  /* if text_has_symbols(form) */
	struct md_text text;
	struct md_buf out;      /* text not read yet is out[taken …] */
	size_t taken;
	uint64_t looked;        /* time of the last look */
	uint64_t limit;         /* events up to this time are complete */
	uint64_t starts;        /* session.starts at the open */
	uint64_t era, next_era; /* session_clears() before the last look but one, and the last */
	bool active;            /* the session was active during the open */
};

int pipe_open_form(struct session *s, const struct pipe_form *form, struct pipe_view **out)
{
	int err = pipe_open(s, TEXT_PLAIN, out);

	if (err)
		return err;
	err = form->open(s, &(*out)->state);
	if (err)
		pipe_close(*out);
	else
		(*out)->form = form;
	return err;
}

int pipe_open(struct session *s, enum text_form form, struct pipe_view **out)
{
	struct pipe_view *v = calloc(1, sizeof(*v));
	struct session_info info;

	if (!v)
		return -ENOMEM;
	v->m = merge_create();
	if (!v->m) {
		free(v);
		return -ENOMEM;
	}
	v->m->form = form;
	v->m->gaps = true;
	v->s = session_ref(s);
	md_text_init(&v->text, session_clock_offset(s), "");
	session_info(s, &info);
	v->starts = info.starts;
	v->active = info.active;
	v->era = v->next_era = session_clears(s);
	*out = v;
	return 0;
}

void pipe_close(struct pipe_view *v)
{
	struct session *s;

	if (!v)
		return;
	s = v->s;
	if (v->form)
		v->form->close(v->state);
	merge_destroy(v->m);
	stacks_destroy(v->stacks);
	md_buf_deinit(&v->out);
	free(v);
	session_put(s);
}

static int format(struct pipe_view *v)
{
	if (v->form)
		return v->form->format(v->state, v->m, v->limit, &v->out, PIECE);
	merge_text(v->m, &v->text, v->limit, &v->out, PIECE);
	return 0;
}

/* Formats what follows the last event. */
static void format_end(struct pipe_view *v)
{
	if (!v->form) {
		merge_end_losses(v->m);
		merge_put_end(v->m, &v->text, &v->out);
	} else if (v->limit == UINT64_MAX) {
		v->form->end(v->state, v->m, &v->out);
	}
}

/* Formats new events into the empty `out`. 1; 0: no more will come; -EAGAIN: none yet; -errno. */
static int format_more(struct pipe_view *v)
{
	struct session_info info;
	uint64_t now;
	int err;

	if (text_has_symbols(v->m->form) && !v->stacks) {
		err = stacks_create(v->s, &v->stacks);
		if (err)
			return err;
		v->m->stacks = v->stacks;
	}
	err = format(v);
	if (err || v->out.len)
		return err ? err : 1;
	/*
	 * Ask before the look: if the session is inactive now, this look returns its last events.
	 */
	session_info(v->s, &info);
	v->active |= info.active || info.starts != v->starts;
	now = monotonic_now();
	if (info.active && v->looked && now - v->looked < session_periods(v->s, NULL, NULL).look)
		return -EAGAIN;
	v->looked = now;
	/* What was copied before this look may still be given after it. */
	v->era = v->next_era;
	v->next_era = session_clears(v->s);
	err = merge_look_session(v->m, v->s, &v->limit);
	if (err)
		return err;
	if (info.gone || (v->active && !info.active))
		v->limit = UINT64_MAX;
	err = format(v);
	if (err || v->out.len)
		return err ? err : 1;
	if (v->out.failed)
		return -ENOMEM;
	err = merge_failed(v->m);
	if (err)
		return err;
	if (!info.active) {
		format_end(v);
		if (v->out.len)
			return v->out.failed ? -ENOMEM : 1;
	}
	if (v->limit == UINT64_MAX)
		return 0;
	merge_release(v->m);    /* the next event may come much later: free the copies */
	return -EAGAIN;
}

ssize_t pipe_read(struct pipe_view *v, void *buf, size_t size)
{
	size_t done = 0, n;
	int err;

	while (done < size) {
		if (v->taken == v->out.len) {
			md_buf_reset(&v->out);
			v->taken = 0;
			err = format_more(v);
			if (err <= 0)
				return done ? (ssize_t)done : err;
		}
		n = v->out.len - v->taken;
		if (n > size - done)
			n = size - done;
		memcpy((char *)buf + done, v->out.data + v->taken, n);
		v->taken += n;
		done += n;
	}
	return (ssize_t)done;
}

uint64_t pipe_number(const struct pipe_view *v)
{
	return v->starts << 1 | v->active;
}

uint64_t pipe_era(const struct pipe_view *v)
{
	return v->era;
}

size_t pipe_rest(const struct pipe_view *v, char *buf, size_t size)
{
	const char *p = v->out.data + v->taken;
	size_t n = v->out.len - v->taken;
	const char *end = n ? memchr(p, '\n', n) : NULL;

	if (!end)
		return size + 1;
	n = (size_t)(end - p) + 1;
	memcpy(buf, p, n < size ? n : size);
	return n;
}

/* Reads on until the text is found, and puts back its last `rest` bytes and what follows it. */
static int skip_to(struct pipe_view *v, const char *text, size_t len, size_t rest_len)
{
	struct md_buf all = MD_BUF_INIT, rest = MD_BUF_INIT;
	const char *end = NULL;
	ssize_t n = 1;

	while (!end && n > 0) {
		char *p;

		/* Keep as much as may be the beginning of it. */
		if (all.len >= len) {
			memmove(all.data, all.data + all.len - (len - 1), len - 1);
			all.len = len - 1;
		}
		p = md_buf_room(&all, RESUME_PIECE);
		n = p ? pipe_read(v, p, RESUME_PIECE) : -ENOMEM;
		if (n <= 0)
			break;
		all.len += (size_t)n;
		end = resume_find(all.data, all.len, text, len);
	}
	if (end) {
		end -= rest_len;
		md_buf_put(&rest, end, all.len - (size_t)(end - all.data));
		md_buf_put(&rest, v->out.data + v->taken, v->out.len - v->taken);
		md_buf_deinit(&v->out);
		v->out = rest;
		v->taken = 0;
		n = rest.failed ? -ENOMEM : 1;
	}
	md_buf_deinit(&all);
	return n > 0 ? 0 : n == -EAGAIN || !n ? -ESTALE : (int)n;
}

/* Begins again at the oldest event. older: of the archives. */
static int begin_again(struct pipe_view *v, bool older)
{
	struct merge *m = merge_create();

	if (!m)
		return -ENOMEM;
	m->form = v->m->form;
	m->stacks = v->stacks;
	m->gaps = true;
	m->older = older;
	merge_destroy(v->m);
	v->m = m;
	md_text_init(&v->text, session_clock_offset(v->s), "");
	md_buf_reset(&v->out);
	v->taken = 0;
	v->looked = v->limit = 0;
	return 0;
}

/* Looks for what the reader got, also in the archives. */
static int find_reader(struct pipe_view *v, const struct view_place *place)
{
	size_t skipped = resume_skipped(place->bytes, place->len, place->len == place->end);
	const char *text = (const char *)place->bytes + skipped;
	size_t len = place->len - skipped, rest = 0;
	int err;

	/* In the hand-over, the rest of the line follows its beginning. */
	if (len && len < RESUME_LEAST && place->rest)
		rest = place->rest_len;
	if (len + rest < RESUME_LEAST)
		return -ESTALE;
	err = skip_to(v, text, len + rest, rest);
	if (err == -ESTALE && session_chunk(v->s)) {
		err = begin_again(v, true);
		err = err ? err : skip_to(v, text, len + rest, rest);
	}
	return err;
}

/* The session was cleared since the reader got its last bytes. */
static int continue_cleared(struct pipe_view *v, const struct view_place *place)
{
	int err = begin_again(v, false);

	if (err)
		return err;
	md_buf_put(&v->out, place->rest, place->rest_len);
	return v->out.failed ? -ENOMEM : 0;
}

int pipe_resume(struct pipe_view *v, const struct view_place *place)
{
	int err = 0;

	/* Lines of another form depend on when they were read. */
	if (place->end)
		err = v->form ? -ESTALE : find_reader(v, place);
	if (err == -ESTALE && !v->form && place->rest && session_clears(v->s) > place->era)
		err = continue_cleared(v, place);
	v->starts = place->number >> 1;
	v->active |= place->number & 1;
	return err;
}

/* ---- text: a reader of a daemon that was killed ---- */

/* Whether these bytes are before the offset. */
static bool is_at(struct text_view *v, const char *bytes, size_t len, uint64_t offset)
{
	char *buf = malloc(len);
	bool same = buf && len <= offset &&
		    text_read(v, offset - len, buf, len) == (ssize_t)len &&
		    !memcmp(buf, bytes, len);

	free(buf);
	return same;
}

/* Looks for the bytes in the whole text. *at: the offset after them. */
static int look_for(struct text_view *v, const char *bytes, size_t len, uint64_t *at)
{
	size_t kept = 0, room = len + RESUME_PIECE;
	char *buf = malloc(room);
	const char *end = NULL;
	uint64_t next = 0;
	ssize_t n = buf ? 1 : -ENOMEM;

	while (!end && n > 0) {
		n = text_read(v, next, buf + kept, room - kept);
		if (n <= 0)
			break;
		next += (uint64_t)n;
		kept += (size_t)n;
		end = resume_find(buf, kept, bytes, len);
		if (end) {
			*at = next - kept + (uint64_t)(end - buf);
		} else if (kept >= len) {
			memmove(buf, buf + kept - (len - 1), len - 1);
			kept = len - 1;
		}
	}
	free(buf);
	return end ? 0 : n < 0 ? (int)n : -ESTALE;
}

/* Reads to the end of the text, where a run that begins in the archives becomes exact. */
static int read_rest(struct text_view *v, uint64_t at)
{
	char *buf = malloc(RESUME_PIECE);
	ssize_t n = buf ? 1 : -ENOMEM;

	while (n > 0) {
		n = text_read(v, at, buf, RESUME_PIECE);
		at += n > 0 ? (uint64_t)n : 0;
	}
	free(buf);
	return (int)n;
}

/*
 * The bytes are not in the current chunk: looks for them in the archives that are left. The first
 * walk learns how much text is before the current chunk, the second one stops at the reader.
 */
static int resume_in_archives(struct text_view *v, const char *bytes, size_t len, uint64_t offset)
{
	size_t last = resume_last_line(bytes, len);
	uint64_t at = 0, base;
	int err = text_rewind_older(v);

	err = err ? err : look_for(v, bytes, len, &at);
	err = err ? err : read_rest(v, at);
	if (err || !v->exact)
		return err ? err : -ESTALE;
	base = offset - at - v->shift;
	err = text_rewind_older(v);
	/* A line about losses before it may be another one. */
	err = err || is_at(v, bytes + last, len - last, at) ? err : -ESTALE;
	if (err)
		return err;
	text_move(v, offset, at);
	pthread_mutex_lock(&v->e->lock);
	text_engine_set_base(v->e, base);
	pthread_mutex_unlock(&v->e->lock);
	return 0;
}

static int find_text_reader(struct text_view *v, const char *bytes, size_t len, uint64_t offset)
{
	uint64_t at = offset;
	int err = 0;

	if (!len)
		return -ESTALE;
	if (!is_at(v, bytes, len, offset)) {
		size_t skipped = resume_skipped(bytes, len, len == offset);

		bytes += skipped;
		len -= skipped;
		text_rewind(v);
		err = len >= RESUME_LEAST ? look_for(v, bytes, len, &at) : -ESTALE;
		/* A run that met a gap counts from another place. */
		err = !err && !v->exact ? -ESTALE : err;
		if (err == -ESTALE && len >= RESUME_LEAST && session_chunk(v->s))
			return resume_in_archives(v, bytes, len, offset);
	}
	if (!err)
		text_move(v, offset, at);
	return err;
}

int text_resume(struct text_view *v, const struct view_place *place)
{
	int err = place->end ? find_text_reader(v, place->bytes, place->len, place->end) : 0;

	if (err == -ESTALE && session_clears(v->s) > place->era) {
		pthread_mutex_lock(&v->e->lock);
		text_begin(v);
		pthread_mutex_unlock(&v->e->lock);
		v->served = place->end;
		err = 0;
	}
	return err;
}
