/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views `text` and `pipe` of a session, in each form. */
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

static int text_view_open(const struct node *n, void **state)
{
	return text_open(n->session, (enum text_form)n->row->arg, (struct text_view **)state);
}

static ssize_t text_view_read(void *state, uint64_t offset, void *buf, size_t size)
{
	return text_read(state, offset, buf, size);
}

static int text_view_peek(void *state, uint64_t offset, size_t size, struct iovec parts[VIEW_PARTS])
{
	return text_peek(state, offset, size, parts, VIEW_PARTS);
}

static void text_view_ahead(void *state)
{
	text_ahead(state);
}

static void text_view_close(void *state)
{
	text_close(state);
}

/* What cat(1) and cp(1) take for one read: fewer requests. */
#define TEXT_BLOCK (256 << 10)

int text_attr(const struct node *n, const struct who *who, struct stat *st)
{
	(void)who;
	st->st_size = (off_t)text_size(n->session, (enum text_form)n->row->arg);
	st->st_blksize = TEXT_BLOCK;
	return 0;
}

static int text_view_resume(void *state, const struct view_place *place)
{
	return text_resume(state, place);
}

static uint64_t text_view_era(void *state)
{
	return text_era(state);
}

static int pipe_view_open(const struct node *n, void **state)
{
	return pipe_open(n->session, (enum text_form)n->row->arg, (struct pipe_view **)state);
}

static int otlp_view_open(const struct node *n, void **state)
{
	return otlp_pipe_open(n->session, (struct pipe_view **)state);
}

static ssize_t pipe_view_read(void *state, uint64_t offset, void *buf, size_t size)
{
	(void)offset;
	return pipe_read(state, buf, size);
}

static void pipe_view_close(void *state)
{
	pipe_close(state);
}

static uint64_t pipe_view_number(void *state)
{
	return pipe_number(state);
}

static int pipe_view_resume(void *state, const struct view_place *place)
{
	return pipe_resume(state, place);
}

static uint64_t pipe_view_era(void *state)
{
	return pipe_era(state);
}

static size_t pipe_view_rest(void *state, char *buf, size_t size)
{
	return pipe_rest(state, buf, size);
}

const struct view text_view = { .open = text_view_open,
				.read = text_view_read,
				.peek = text_view_peek,
				.ahead = text_view_ahead,
				.close = text_view_close,
				.era = text_view_era,
				.resume = text_view_resume };

const struct view pipe_view = {
	.open = pipe_view_open, .read = pipe_view_read, .close = pipe_view_close, .streams = true,
	.number = pipe_view_number, .era = pipe_view_era, .rest = pipe_view_rest,
	.resume = pipe_view_resume,
};

const struct view otlp_view = {
	.open = otlp_view_open, .read = pipe_view_read, .close = pipe_view_close, .streams = true,
	.number = pipe_view_number, .resume = pipe_view_resume,
};
