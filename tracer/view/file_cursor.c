/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/cursor.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metadata/ctf.h"
#include "tracer/base/ring/input.h"
#include "tracer/session/session.h"

bool cursor_held(const struct stream *s, struct ring_place at)
{
	uint64_t oldest;
	struct stream_file f;

	if (s->input)
		return true;
	if (!s->log) {
		oldest = ring_oldest(s, region_head(s->region, s->ring));
		return (at.pos ? at.pos : s->region->geo.subbuf_size) >= oldest;
	}
	if (!stream_files_find(s->log, 0, &f))
		return true;
	trace_place_put(f.place);
	return f.serial <= (at.file ? at.file : 1);
}

void filecursor_mark(struct cursor *c)
{
	c->last = stream_files_end(c->stream.log);
	if (!c->in_ring || (c->last.serial == c->left.file && c->last.size == c->left.pos))
		return;
	c->in_ring = c->have = false;
	c->skipped = 0;
	c->pos = c->left.pos;
	c->piece_end = 0;
	c->serial = c->left.file;
	c->d.ts = c->left.ts;
	c->d.p = c->d.end = NULL;
	if (!c->skip.events)
		c->skip = c->beyond;
}

bool filecursor_leave(struct cursor *c)
{
	if (!c->ahead || c->last.pos >= c->mark.head)
		return false;
	filecursor_close(c);
	c->left = (struct ring_place){ .pos = c->last.size, .ts = c->d.ts, .file = c->last.serial };
	c->beyond = (struct beyond){ 0 };
	c->skipped = 0;
	c->in_ring = true;
	c->pos = c->last.pos;
	c->d.ts = c->last.ts;
	return true;
}

void filecursor_close(struct cursor *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	sealed_file_close(c->sealed);
	c->sealed = NULL;
	trace_place_put(c->file.place);
	c->file.place = NULL;
}

bool filecursor_at_mark(const struct cursor *c)
{
	return c->serial > c->last.serial ||
	       (c->serial == c->last.serial && c->pos >= c->last.size);
}

/* All of n bytes at the cursor. */
static bool read_bytes(const struct cursor *c, void *buf, size_t n)
{
	ssize_t got = c->sealed ? sealed_file_read(c->sealed, buf, n, c->pos)
				: pread(c->fd, buf, n, (off_t)c->pos);

	return got == (ssize_t)n;
}

/* Finds the packet that contains the position, in the index, and sets the end of its content. */
static bool find_packet_end(struct cursor *c)
{
	struct md_index_entry e;
	uint64_t begin;
	int fd = c->sealed ? -1 : outfile_open(&c->file, true);
	uint64_t low = 0, high = (c->file.index_size - sizeof(struct md_index_header)) / sizeof(e);
	bool found = false;

	if (c->sealed) {
		found = sealed_file_packet(c->sealed, c->pos, &begin, &c->piece_end);
		if (found && c->pos == begin)
			c->piece_end = 0;
	}
	while (fd >= 0 && low < high && !found) {
		uint64_t mid = low + (high - low) / 2, offset, end;

		if (pread(fd, &e, sizeof(e),
			  (off_t)(sizeof(struct md_index_header) + mid * sizeof(e))) !=
		    (ssize_t)sizeof(e))
			break;
		offset = be64toh(e.offset);
		end = offset + be64toh(e.content_size) / 8;
		found = c->pos >= offset && c->pos < end;
		/* At the very beginning of a packet, its header is still to be read. */
		if (found)
			c->piece_end = c->pos > offset ? end : 0;
		else if (c->pos < offset)
			high = mid;
		else
			low = mid + 1;
	}
	if (fd >= 0)
		close(fd);
	return found && c->piece_end <= c->file.size;
}

/* The end of the file, as far as the cursor may read. */
static uint64_t find_file_end(struct cursor *c)
{
	struct stream_file f;
	struct stat st;
	uint64_t size;

	if (c->serial == c->last.serial)
		return c->last.size;
	/* A complete file: the list has its size; if it left the list, fstat has it. */
	if (stream_files_find(c->stream.log, c->serial, &f)) {
		size = f.serial == c->serial ? f.size : UINT64_MAX;
		trace_place_put(f.place);
		if (size != UINT64_MAX)
			return size;
	}
	return c->sealed ? c->file.size : fstat(c->fd, &st) ? 0 : (uint64_t)st.st_size;
}

/* Opens c->file. False: it is not there. */
static bool open_descriptors(struct cursor *c)
{
	int fd = stream_files_open(c->stream.log, &c->file), index;

	if (fd < 0 || !c->stream.log->sealed) {
		c->fd = fd;
		return fd >= 0;
	}
	index = outfile_open(&c->file, true);
	if (index >= 0)
		c->sealed = sealed_file_open(fd, index);
	else
		close(fd);
	return c->sealed != NULL;
}

/* Opens the file of the cursor's place, or the next existing one. False: none up to the mark. */
static bool open_file(struct cursor *c)
{
	while (c->fd < 0 && !c->sealed) {
		struct stream_file f;

		if (!stream_files_find(c->stream.log, c->serial, &f))
			return false;
		if (f.serial > c->last.serial) {
			trace_place_put(f.place);
			return false;
		}
		if (f.serial != c->serial) {
			/* The rest of the old file, and files in between, were removed. */
			if (c->serial && (c->pos || f.serial > c->serial + 1))
				c->missed++;
			c->pos = c->piece_end = 0;
			c->serial = f.serial;
		}
		trace_place_put(c->file.place);
		c->file = f;
		if (!open_descriptors(c) ||
		    (c->pos && !c->piece_end && c->pos < f.size && !find_packet_end(c))) {
			c->missed++;
			filecursor_close(c);
			c->serial++;
			c->pos = c->piece_end = 0;
		}
	}
	return true;
}

/* Reads the header of the packet at c->pos. False: it is not valid. */
static bool begin_packet(struct cursor *c, uint64_t end)
{
	struct md_packet h;
	uint64_t content;

	if (end - c->pos < sizeof(h) || !read_bytes(c, &h, sizeof(h)))
		return false;
	content = h.content_size / 8;
	if (h.magic != MD_CTF_MAGIC || h.stream_id != c->stream.class->id || content < sizeof(h) ||
	    content > end - c->pos || h.packet_size != h.content_size)
		return false;
	c->piece_end = c->pos + content;
	c->content = c->pos += sizeof(h);
	losses_packet(&c->losses, &h, c->d.ts);
	if (h.timestamp_begin > c->d.ts && h.timestamp_begin <= c->max_ts)
		c->d.ts = h.timestamp_begin;
	return true;
}

/*
 * Says it once for each packet, in the order of the files. Not of a file that has left the list,
 * which may be rewritten.
 */
static void tell_bad(const struct cursor *c)
{
	struct stream_files *l = c->stream.log;
	struct stream_file f;
	bool listed;

	if (!c->s || !stream_files_find(l, c->serial, &f))
		return;
	listed = f.serial == c->serial;
	trace_place_put(f.place);
	if (listed && stream_files_tell(l, c->serial, c->pos))
		session_failed(c->s,
			       "output: %s: offset %llu: the packet is not valid, or its checksum "
			       "is wrong; its events are left out", f.name,
			       (unsigned long long)c->pos);
}

/* The packet is not valid: in a sealed file, the next one is known. */
static void skip_packet(struct cursor *c, uint64_t end)
{
	uint64_t begin, next = end;

	c->bad++;
	tell_bad(c);
	if (c->sealed && sealed_file_packet(c->sealed, c->pos, &begin, &next) && next > end)
		next = end;
	c->pos = next;
}

static void next_file(struct cursor *c)
{
	filecursor_close(c);
	c->serial++;
	c->pos = c->piece_end = 0;
}

int filecursor_fill(struct cursor *c, size_t need)
{
	for (;;) {
		uint64_t end, n;
		uint8_t *buf;

		if (filecursor_at_mark(c) || !open_file(c))
			return 0;
		end = find_file_end(c);
		if (c->pos >= end) {
			if (c->serial == c->last.serial)
				return 0;
			next_file(c);
			continue;
		}
		if (c->pos >= c->piece_end) {
			if (!begin_packet(c, end))
				skip_packet(c, end);
			continue;
		}
		n = c->piece_end - c->pos;
		if (n > c->chunk && n > need)
			n = need > c->chunk ? need : c->chunk;
		if (n > c->buf_size) {
			buf = realloc(c->buf, n);
			if (!buf)
				return -ENOMEM;
			c->buf = buf;
			c->buf_size = n;
		}
		if (!read_bytes(c, c->buf, n)) {
			/* Another program truncated the file. */
			c->bad++;
			c->pos = end;
			continue;
		}
		c->buf_pos = c->pos;
		c->pos += n;
		c->d.p = c->buf;
		c->d.end = c->buf + n;
		return 1;
	}
}

/* ---- a stream of an imported trace ---- */

/*
 * The cursor reads pieces: c->piece has the events from c->from on, and c->next is the place after
 * them. The place of an event is that of its piece, and the number of bytes before the event in the
 * piece.
 */
void inputcursor_set(struct cursor *c, struct ring_place at)
{
	c->next = (struct input_place){ at.pos, at.file, at.ts };
	c->losses.at = at.losses;
	c->losses.pending = 0;
	c->losses.listed = 0;
	c->offset = at.beyond.events;
	c->d.ts = 0;
	c->skip = (struct beyond){ 0 };
}

/* The process that reads the trace may have failed: another one goes on at the same place. */
void inputcursor_look(struct cursor *c)
{
	if (c->failed == -EIO) {
		c->failed = 0;
		c->ended = false;
	}
}

/* The time in the long header of the first event; 0: it has none, and its bytes are not valid. */
static uint64_t first_time(const struct md_buf *piece)
{
	uint64_t ts = 0;

	if (piece->len >= 6 + sizeof(ts) && !memcmp(piece->data, "\xff\xff", 2))
		memcpy(&ts, piece->data + 6, sizeof(ts));
	return ts;
}

/*
 * Merging needs times that never decrease, whatever a process answers that reads a trace. The
 * cursor checks an event when it comes to it.
 */
int inputcursor_fill(struct cursor *c)
{
	const struct input *in = c->stream.input;
	int r;

	if (c->failed)
		return 0;
	c->from = c->next;
	md_buf_reset(&c->piece);
	do {
		r = in->read(in, &c->next, c->chunk + c->offset, &c->piece, &c->stream.cpu);
		if (r <= 0) {
			c->failed = r;
			c->ended = true;
			losses_input(&c->losses, &c->stream, &c->next, !r);
			return 0;
		}
	} while (c->piece.len <= c->offset);
	if (first_time(&c->piece) < c->d.ts) {
		c->failed = -EBADMSG;
		c->ended = true;
		return 0;
	}
	losses_input(&c->losses, &c->stream, &c->next, false);
	c->buf = (uint8_t *)c->piece.data;
	c->d.p = c->buf + c->offset;
	c->d.end = c->buf + c->piece.len;
	c->d.ts = 0;            /* times of events are whole */
	c->offset = 0;
	return 1;
}

struct ring_place inputcursor_place(const struct cursor *c)
{
	const uint8_t *p = c->have ? c->event : c->d.p;
	bool next = !c->have && c->d.p == c->d.end;     /* the next piece */
	const struct input_place *in = next ? &c->next : &c->from;

	return (struct ring_place){
		.pos = in->packet, .ts = in->clock, .file = in->within,
		.beyond.events = next ? c->offset : (uint64_t)(p - c->buf),
		.losses = losses_place(&c->losses, false),
	};
}

void inputcursor_refuse(struct cursor *c)
{
	const struct input *in = c->stream.input;

	c->have = false;
	c->d.p = c->event;
	inputcursor_set(c, inputcursor_place(c));
	c->failed = -EIO;
	c->ended = true;
	if (in->refuse)
		in->refuse(in);
}

bool cursor_same_place(const struct stream *s, const struct ring_place *a,
		       const struct ring_place *b)
{
	/* At the start of a packet with a time of its own, the clock before it does not matter. */
	bool same_file = a->file == b->file || (s->input && !a->ts);

	return a->pos == b->pos && a->ts == b->ts && same_file && a->beyond.ts == b->beyond.ts &&
	       a->beyond.events == b->beyond.events;
}

void inputcursor_release(struct cursor *c)
{
	struct ring_place at = inputcursor_place(c);

	md_buf_deinit(&c->piece);
	c->buf = NULL;
	c->d.p = c->d.end = NULL;
	c->have = false;
	inputcursor_set(c, at);
	c->ended = c->failed;
}
