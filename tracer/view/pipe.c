/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of `pipe`, `pipe.json` or `pipe.symbols`: the session's text while events come, from
 * the oldest event held at the open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/view/merge.h"
#include "tracer/view/stack.h"
#include "tracer/view/views.h"

#define PIECE (64u << 10)

struct pipe_view {
	struct session *s;      /* referenced */
	struct merge *m;
	struct stacks *stacks;  /* if text_has_symbols(form) */
	struct md_text text;
	struct md_buf out;      /* text not read yet is out[taken …] */
	size_t taken;
	uint64_t looked;        /* time of the last look */
	uint64_t limit;         /* events up to this time are complete */
	uint64_t starts;        /* session.starts at the open */
	bool active;            /* the session was active during the open */
};

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
	*out = v;
	return 0;
}

void pipe_close(struct pipe_view *v)
{
	struct session *s;

	if (!v)
		return;
	s = v->s;
	merge_destroy(v->m);
	stacks_destroy(v->stacks);
	md_buf_deinit(&v->out);
	free(v);
	session_put(s);
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
	merge_text(v->m, &v->text, v->limit, &v->out, PIECE);
	if (v->out.len)
		return 1;
	/*
	 * Ask before the look: if the session is inactive now, this look returns its last events.
	 */
	session_info(v->s, &info);
	v->active |= info.active || info.starts != v->starts;
	now = monotonic_now();
	if (info.active && v->looked && now - v->looked < session_periods(v->s, NULL, NULL).look)
		return -EAGAIN;
	v->looked = now;
	err = merge_look_session(v->m, v->s, &v->limit);
	if (err)
		return err;
	if (info.gone || (v->active && !info.active))
		v->limit = UINT64_MAX;
	merge_text(v->m, &v->text, v->limit, &v->out, PIECE);
	if (v->out.len)
		return 1;
	if (v->out.failed)
		return -ENOMEM;
	err = merge_failed(v->m);
	if (err)
		return err;
	if (!info.active) {
		merge_end_losses(v->m);
		merge_put_end(v->m, &v->text, &v->out);
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
