/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pipe.otlp: lines of OTLP while events come. */
#include <errno.h>
#include <stdlib.h>

#include "tracer/format/export/otlp.h"
#include "tracer/session/session.h"
#include "tracer/view/merge_losses.h"
#include "tracer/view/stack.h"
#include "tracer/view/views.h"

struct otlp_pipe {
	struct maker m;         /* the pipe has a reference to the session */
	struct otlp *otlp;      /* NULL: it has ended */
	uint64_t last;          /* time of the last event, ns of the clock */
};

static void close_pipe(void *state)
{
	struct otlp_pipe *v = state;

	otlp_destroy(v->otlp);
	rows_deinit(&v->m.rows);
	stacks_destroy(v->m.stacks);
	md_buf_deinit(&v->m.out);
	free(v);
}

static int open_pipe(struct session *s, void **state)
{
	struct otlp_pipe *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->m = (struct maker){ .s = s, .lose = otlp_lose, .clock_offset = session_clock_offset(s) };
	v->otlp = otlp_create(&v->m);
	if (!v->otlp) {
		close_pipe(v);
		return -ENOMEM;
	}
	*state = v;
	return 0;
}

static int move_lines(struct otlp_pipe *v, struct md_buf *out)
{
	if (v->m.out.failed)
		return -ENOMEM;
	md_buf_put(out, v->m.out.data, v->m.out.len);
	md_buf_reset(&v->m.out);
	return out->failed ? -ENOMEM : v->m.err;
}

static int format_events(void *state, struct merge *merge, uint64_t limit, struct md_buf *out,
			 size_t most)
{
	struct otlp_pipe *v = state;
	struct cursor *c;
	struct row r;

	if (v->m.outages)
		merge_watch(merge, v->m.outages);
	while (v->otlp && !v->m.err && !v->m.out.failed && v->m.out.len < most &&
	       (c = merge_top(merge, limit))) {
		if (c->losses.pending)
			maker_losses(&v->m, merge, merge->heap[0].rank, 0, v->otlp);
		v->m.err = rows_read(&v->m.rows, c, ROW_VALUES, &r);
		if (v->m.err)
			break;
		r.time = v->m.clock_offset + c->o.ts;
		v->last = c->o.ts;
		otlp_add(v->otlp, &r);
		merge_next(merge);
	}
	if (v->otlp)
		otlp_flush(v->otlp);
	return move_lines(v, out);
}

static void format_end(void *state, struct merge *merge, struct md_buf *out)
{
	struct otlp_pipe *v = state;

	if (!v->otlp)
		return;
	merge_end_losses(merge);
	for (uint32_t i = 0; i < merge->count; i++)
		if (!merge->cursors[i]->have)
			maker_losses(&v->m, merge, i, v->last, v->otlp);
	otlp_end(v->otlp);
	v->otlp = NULL;
	if (move_lines(v, out))
		out->failed = true;
}

static const struct pipe_form otlp_form = {
	.open = open_pipe, .format = format_events, .end = format_end, .close = close_pipe,
};

int otlp_pipe_open(struct session *s, struct pipe_view **out)
{
	return pipe_open_form(s, &otlp_form, out);
}
