// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sizes of an instance's buffers. The kernel does not record an event that is larger than a
 * sub-buffer, and does not count it. Sub-buffers have one page, unless a program asks for more,
 * which Linux 6.8 and later permit; but these record no larger events in them, at least until 6.18.
 * One text in a record has up to 4096 bytes with its NUL.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/probe/format_line.h"
#include "tracer/kernel/backend/tracefs_channel.h"

#define SUBBUF_FILE "buffer_subbuf_size_kb"
/* Three texts: what a system call has at most. Tracepoints of the kernel have one long text. */
#define SUBBUF (16u << 10)
/* A record has the places of its texts in 16 bits. */
#define SUBBUF_MAX (128u << 10)
#define PAGE_MAX (1u << 20)     /* largest sub-buffer that the daemon reads, bytes */
#define TEXT_ROOM 4096u
#define FIXED_ROOM 4000u        /* of a record without its texts, and of headers */
#define HEADS 16u               /* in front of a record, at most */

/* Bytes of a sub-buffer now, with its header. */
static uint32_t read_subbuf(const struct backend_channel *c)
{
	uint32_t size = c->b->layout.data_at + c->b->layout.data_size;
	struct md_buf text = MD_BUF_INIT;
	unsigned long kb = 0;

	if (tracefs_read(c->dir, SUBBUF_FILE, 4096, &text) > 0)
		kb = strtoul(md_buf_str(&text), NULL, 10);
	md_buf_deinit(&text);
	return kb * 1024 > size && kb * 1024 <= PAGE_MAX ? (uint32_t)kb * 1024 : size;
}

static void note_subbuf(struct backend_channel *c)
{
	c->data_size = read_subbuf(c) - c->b->layout.data_at;
}

static void print_kb(uint64_t bytes, char out[32])
{
	snprintf(out, 32, "%" PRIu64, bytes / 1024);
}

static int write_subbuf(struct backend_channel *c, uint32_t size)
{
	char kb[32];

	print_kb(size, kb);
	return tracefs_write(c->dir, SUBBUF_FILE, kb, false);
}

/* Whether a new instance with large sub-buffers records what is longer than a page. */
static bool takes_long(struct backend_channel *c)
{
	char text[TEXT_ROOM];
	int fd = openat(c->dir, "trace_marker", O_WRONLY | O_CLOEXEC);
	size_t page = c->b->layout.data_size;
	ssize_t n;

	if (fd < 0 || page > sizeof(text)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	memset(text, 'x', sizeof(text));
	tracefs_write(c->dir, "options/markers", "1", false);
	tracefs_write(c->dir, "tracing_on", "1", false);
	/* The kernel shortens what does not fit. */
	n = write(fd, text, page);
	tracefs_write(c->dir, "tracing_on", "0", false);
	tracefs_write(c->dir, "trace", "", true);
	close(fd);
	return n == (ssize_t)page;
}

/* Makes the sub-buffers of a new instance large, if that makes a difference. 0 or -errno. */
static int make_large(struct backend_channel *c)
{
	uint32_t before = read_subbuf(c);
	int known = __atomic_load_n(&c->b->long_records, __ATOMIC_RELAXED), ret;

	if (known == TRACEFS_NO)
		return -EOPNOTSUPP;
	ret = before < SUBBUF ? write_subbuf(c, SUBBUF) : 0;
	if (ret || known == TRACEFS_YES)
		return ret;
	known = takes_long(c) ? TRACEFS_YES : TRACEFS_NO;
	__atomic_store_n(&c->b->long_records, known, __ATOMIC_RELAXED);
	if (known == TRACEFS_YES)
		return 0;
	if (before < SUBBUF)
		write_subbuf(c, before);
	return -EOPNOTSUPP;
}

int tracefs_make_buffers(struct backend_channel *c, struct tr_err *err)
{
	char kb[32];
	int ret;

	if (c->b->layout.data_at + c->b->layout.data_size < SUBBUF)
		c->too_small = make_large(c);
	print_kb(c->bytes, kb);
	ret = tracefs_write(c->dir, "buffer_size_kb", kb, false);
	return ret ? tr_fail(err, ret,
			     "the kernel refuses buffers of %" PRIu64 " bytes per CPU: %s",
			     c->bytes, strerror(-ret))
		   : 0;
}

int tracefs_read_sizes(struct backend_channel *c)
{
	note_subbuf(c);
	c->wanted_size = SUBBUF - c->b->layout.data_at;
	c->page_size = c->b->layout.data_at + c->data_size;
	if (c->page_size < SUBBUF_MAX)
		c->page_size = SUBBUF_MAX;
	c->page = malloc(c->page_size);
	return c->page ? 0 : -ENOMEM;
}

int tracefs_change_buffers(struct backend_channel *c, const char *file, const char *text)
{
	struct md_buf on = MD_BUF_INIT;
	bool recording = tracefs_read(c->dir, "tracing_on", 16, &on) > 0 && *md_buf_str(&on) == '1';
	int ret, opened;

	md_buf_deinit(&on);
	pthread_mutex_lock(&c->lock);
	tracefs_write(c->dir, "tracing_on", "0", false);
	tracefs_close_buffers(c);
	tracefs_keep_losses(c);
	ret = tracefs_write(c->dir, file, text, false);
	/* Other sub-buffers are empty, but the counters stay as they were. */
	tracefs_write(c->dir, "trace", "", true);
	note_subbuf(c);
	opened = tracefs_open_buffers(c);
	if (recording)
		tracefs_write(c->dir, "tracing_on", "1", false);
	pthread_mutex_unlock(&c->lock);
	return ret ? ret : opened;
}

/* How many texts a record may have; 0 if that cannot be read. */
static uint32_t count_texts(const struct backend *b, const char *system, const char *event)
{
	struct md_buf format = MD_BUF_INIT;
	struct format_line l;
	struct span text, line;
	uint32_t count = 0;

	if (!tracefs_read_format(b, system, event, &format)) {
		text = SPAN(md_buf_str(&format));
		while (span_cut(&text, '\n', &line))
			count += format_line_parse(line, &l) > 0 &&
				 span_skip(&l.type, "__data_loc ");
	}
	md_buf_deinit(&format);
	return count;
}

void tracefs_make_room(struct backend_channel *c, const char *system, const char *event)
{
	uint32_t wanted, size = SUBBUF;
	bool grows;
	char kb[32];
	int ret;

	/* All others fit. */
	if (!tracefs_is_rules(system) || c->too_small)
		return;
	wanted = FIXED_ROOM + count_texts(c->b, system, event) * TEXT_ROOM;
	while (size < SUBBUF_MAX && size - c->b->layout.data_at < wanted)
		size *= 2;
	pthread_mutex_lock(&c->lock);
	wanted = size - c->b->layout.data_at;
	grows = wanted > c->data_size && wanted > c->wanted_size;
	if (grows)
		c->wanted_size = wanted;
	pthread_mutex_unlock(&c->lock);
	if (!grows)
		return;
	print_kb(size, kb);
	ret = tracefs_change_buffers(c, SUBBUF_FILE, kb);
	pthread_mutex_lock(&c->lock);
	c->too_small = ret;
	pthread_mutex_unlock(&c->lock);
}

void tracefs_note(struct backend_channel *c, struct facts *out)
{
	uint32_t size, wanted;
	int why;

	pthread_mutex_lock(&c->lock);
	why = c->too_small;
	/* What sub-buffers have, unless the kernel makes no use of it. */
	size = why == -EOPNOTSUPP ? c->b->layout.data_size : c->data_size;
	wanted = c->wanted_size;
	pthread_mutex_unlock(&c->lock);
	if (why || size < wanted)
		fact_text(out, "long_records",
			  "not counted: events of more than %u bytes are missing%s%s", size - HEADS,
			  why == -ENOMEM ? ": " : "", why == -ENOMEM ? strerror(-why) : "");
}
