/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event logs: see os/state_file.h.
 *
 * The file begins with eight bytes of magic. A record is {u32 length, u32 checksum} and a body of
 * that length; numbers are little endian, strings are {u16 length, bytes}. Body: stream class id,
 * event id, level, name, emf uri, fields. A type is its eight scalar members, and then the members
 * of its kind. The reader trusts nothing: another version, or a broken disk, may have written the
 * directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/base/os/state_file.h"
#include "tracer/session/event_log.h"

static const char magic[8] = "TRLEVT1\n";

enum {
	FRAME = 8,
	BODY_MAX = 8 << 20,
	DEPTH_MAX = 16,
	NAME_BYTES_MAX = 65535,
};

static uint32_t checksum(const uint8_t *p, size_t n)
{
	uint64_t h = hash_bytes(HASH_START, p, n);

	return (uint32_t)(h ^ (h >> 32));
}

/* ---- writing ---- */

static void put_number(struct md_buf *b, uint64_t n, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		md_buf_putc(b, (char)(n >> (8 * i)));
}

static void put_string(struct md_buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len > NAME_BYTES_MAX - 1)
		len = NAME_BYTES_MAX - 1;
	/* Length + 1, so that NULL is not the empty string. */
	put_number(b, s ? len + 1 : 0, 2);
	md_buf_put(b, s, len);
}

static void put_field(struct md_buf *b, const struct md_field *f);

static void put_type(struct md_buf *b, const struct md_type *t)
{
	uint32_t i;

	put_number(b, t->kind, 1);
	put_number(b, t->size, 1);
	put_number(b, t->is_signed, 1);
	put_number(b, t->big_endian, 1);
	put_number(b, t->base, 1);
	put_number(b, t->encoding, 1);
	put_number(b, t->length_size, 1);
	/* An integer has no count. */
	put_number(b, t->bits ? t->bits | (uint64_t)t->shift << 8 : t->count, 4);
	switch (t->kind) {
	case MD_ARRAY:
	case MD_SEQUENCE:
		put_type(b, t->element);
		break;
	case MD_ENUM:
		for (i = 0; i < t->count; i++) {
			put_string(b, t->mappings[i].name);
			put_number(b, (uint64_t)t->mappings[i].begin, 8);
			put_number(b, (uint64_t)t->mappings[i].end, 8);
		}
		break;
	case MD_STRUCT:
	case MD_VARIANT:
		for (i = 0; i < t->count; i++)
			put_field(b, &t->members[i]);
		break;
	}
}

static void put_field(struct md_buf *b, const struct md_field *f)
{
	put_string(b, f->name);
	put_type(b, &f->type);
}

static void put_record(struct md_buf *b, uint32_t stream_id, const struct md_event *e)
{
	uint32_t i, sum;
	size_t begin = b->len, len;

	put_number(b, 0, FRAME);
	put_number(b, stream_id, 4);
	put_number(b, e->id, 4);
	put_number(b, (uint64_t)(int64_t)e->loglevel, 4);
	put_string(b, e->name);
	put_string(b, e->emf_uri);
	put_number(b, e->field_count, 4);
	for (i = 0; i < e->field_count; i++)
		put_field(b, &e->fields[i]);
	if (b->failed)
		return;
	len = b->len - begin - FRAME;
	sum = checksum((const uint8_t *)b->data + begin + FRAME, len);
	for (i = 0; i < 4; i++) {
		b->data[begin + i] = (char)(len >> (8 * i));
		b->data[begin + 4 + i] = (char)(sum >> (8 * i));
	}
}

/* 0; -ENOMEM; -E2BIG: a record is too long. */
static int put_records(struct md_buf *b, uint32_t stream_id, struct md_event *const *events,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t begin = b->len;

		put_record(b, stream_id, events[i]);
		if (b->failed)
			return -ENOMEM;
		if (b->len - begin - FRAME > BODY_MAX)
			return -E2BIG;
	}
	return 0;
}

int eventlog_append(int fd, uint32_t stream_id, const struct md_event *e)
{
	struct md_event *one = (struct md_event *)e;    /* only read */

	return eventlog_append_all(fd, stream_id, &one, 1);
}

int eventlog_append_all(int fd, uint32_t stream_id, struct md_event *const *events, size_t count)
{
	struct md_buf b = MD_BUF_INIT;
	struct stat st;
	ssize_t n;
	int ret = put_records(&b, stream_id, events, count);

	if (!ret && fstat(fd, &st))
		ret = -errno;
	if (ret)
		goto out;
	do
		n = write(fd, b.data, b.len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		ret = -errno;
	else if ((size_t)n < b.len)
		ret = -ENOSPC;
	/* Remove the part of a record: it would hide all later ones. */
	if (n > 0 && ret && ftruncate(fd, st.st_size))
		ret = -errno;
out:
	md_buf_deinit(&b);
	return ret;
}

/* ---- reading ---- */

struct input {
	const uint8_t *p, *end;
	bool bad;               /* sticky: all later reads return 0 */
	bool no_memory;
};

static uint64_t get_number(struct input *in, int bytes)
{
	uint64_t n = 0;
	int i;

	if (in->end - in->p < bytes) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	for (i = 0; i < bytes; i++)
		n |= (uint64_t)in->p[i] << (8 * i);
	in->p += bytes;
	return n;
}

/* NULL: there is no string, or it is invalid. */
static char *get_string(struct input *in)
{
	size_t len = get_number(in, 2);
	char *s;

	if (!len)
		return NULL;
	len--;
	if ((size_t)(in->end - in->p) < len || memchr(in->p, '\0', len)) {
		in->bad = true;
		return NULL;
	}
	s = strndup((const char *)in->p, len);
	in->no_memory |= !s;
	in->p += len;
	return s;
}

/*
 * Each of the `count` elements that follow takes at least `bytes`. So the record bounds the memory
 * that a count can request.
 */
static void *get_array(struct input *in, uint32_t count, size_t bytes, size_t size)
{
	void *p;

	if ((size_t)(in->end - in->p) / bytes < count) {
		in->bad = true;
		return NULL;
	}
	p = calloc((size_t)count + 1, size);
	in->no_memory |= !p;
	return p;
}

enum { TYPE_BYTES = 11, FIELD_BYTES = 2 + TYPE_BYTES, MAPPING_BYTES = 18 };

static void get_field(struct input *in, struct md_field *f, int depth);

static void get_mappings(struct input *in, struct md_type *t, uint32_t count)
{
	t->mappings = get_array(in, count, MAPPING_BYTES, sizeof(*t->mappings));
	if (!t->mappings)
		return;
	for (t->count = 0; t->count < count; t->count++) {
		struct md_mapping *m = &t->mappings[t->count];

		m->name = get_string(in);
		in->bad |= !m->name;
		m->begin = (int64_t)get_number(in, 8);
		m->end = (int64_t)get_number(in, 8);
	}
}

static void get_members(struct input *in, struct md_type *t, uint32_t count, int depth)
{
	t->members = get_array(in, count, FIELD_BYTES, sizeof(*t->members));
	if (!t->members)
		return;
	for (t->count = 0; t->count < count && !in->bad; t->count++)
		get_field(in, &t->members[t->count], depth + 1);
}

static void get_type(struct input *in, struct md_type *t, int depth)
{
	uint32_t count;

	t->kind = (uint8_t)get_number(in, 1);
	t->size = (uint8_t)get_number(in, 1);
	t->is_signed = get_number(in, 1) != 0;
	t->big_endian = get_number(in, 1) != 0;
	t->base = (uint8_t)get_number(in, 1);
	t->encoding = (uint8_t)get_number(in, 1);
	t->length_size = (uint8_t)get_number(in, 1);
	count = (uint32_t)get_number(in, 4);
	in->bad |= depth > DEPTH_MAX;
	if (in->bad)
		return;
	switch (t->kind) {
	case MD_INT:
		t->bits = (uint8_t)count;
		t->shift = (uint8_t)(count >> 8);
		break;
	case MD_FLOAT: case MD_STRING:
		break;
	case MD_ARRAY: case MD_SEQUENCE:
		t->count = count;
		t->element = get_array(in, 1, TYPE_BYTES, sizeof(*t->element));
		if (t->element)
			get_type(in, t->element, depth + 1);
		break;
	case MD_ENUM:
		get_mappings(in, t, count);
		break;
	case MD_STRUCT: case MD_VARIANT:
		get_members(in, t, count, depth);
		break;
	default:
		in->bad = true;
	}
}

static void get_field(struct input *in, struct md_field *f, int depth)
{
	f->name = get_string(in);
	in->bad |= !f->name;
	get_type(in, &f->type, depth);
}

/* NULL: invalid if in->bad, else no memory. */
static struct md_event *get_event(struct input *in, uint32_t *stream_id)
{
	struct md_event *e = NULL;
	uint32_t id, count, i;
	int level;
	char *name, *uri;

	*stream_id = (uint32_t)get_number(in, 4);
	id = (uint32_t)get_number(in, 4);
	level = (int32_t)(uint32_t)get_number(in, 4);
	name = get_string(in);
	uri = get_string(in);
	count = (uint32_t)get_number(in, 4);
	in->bad |= !name || id > MD_EVENT_ID_MAX || (size_t)(in->end - in->p) / FIELD_BYTES < count;
	if (!in->bad)
		e = md_event_create(name, level, count);
	free(name);
	if (!e) {
		free(uri);
		return NULL;
	}
	e->id = id;
	e->emf_uri = uri;
	for (i = 0; i < count && !in->bad; i++)
		get_field(in, &e->fields[i], 0);
	in->bad |= in->p != in->end;
	if (in->bad || in->no_memory) {
		md_event_destroy(e);
		return NULL;
	}
	return e;
}

static int read_at(int fd, void *to, size_t n, off_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, (char *)to + got, n - got, at + (off_t)got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -ENODATA;
		got += (size_t)r;
	}
	return 0;
}

/*
 * Reads the body of the record at `at`. 0; -ENODATA: the file ends here or within it; -EBADMSG: the
 * length or the checksum is wrong. *len: its length if it is complete.
 */
static int read_frame(int fd, off_t at, struct md_buf *body)
{
	uint8_t frame[FRAME];
	struct input in = { .p = frame, .end = frame + FRAME };
	uint32_t len, sum;
	char *p;
	int ret = read_at(fd, frame, FRAME, at);

	if (ret)
		return ret;
	len = (uint32_t)get_number(&in, 4);
	sum = (uint32_t)get_number(&in, 4);
	if (len > BODY_MAX)
		return -EBADMSG;
	md_buf_reset(body);
	p = md_buf_room(body, len);
	if (!p)
		return -ENOMEM;
	ret = read_at(fd, p, len, at + FRAME);
	if (ret)
		return ret;
	body->len = len;
	return checksum((const uint8_t *)p, len) == sum ? 0 : -EBADMSG;
}

static int check_magic(int fd)
{
	char head[sizeof(magic)];
	int ret = read_at(fd, head, sizeof(head), 0);

	if (ret)
		return ret == -ENODATA ? -EBADMSG : ret;
	return memcmp(head, magic, sizeof(magic)) ? -EBADMSG : 0;
}

int eventlog_read(int fd, int (*fn)(void *arg, uint32_t stream_id, struct md_event *e), void *arg)
{
	struct md_buf body = MD_BUF_INIT;
	off_t at = sizeof(magic);
	struct stat st;
	int ret = check_magic(fd);

	if (!ret && fstat(fd, &st))
		ret = -errno;
	while (!ret && at < st.st_size) {
		struct input in = { 0 };
		struct md_event *e;
		uint32_t stream_id;

		ret = read_frame(fd, at, &body);
		if (ret) {
			ret = ret == -ENODATA ? -EBADMSG : ret;
			break;
		}
		in.p = (const uint8_t *)body.data;
		in.end = in.p + body.len;
		e = get_event(&in, &stream_id);
		ret = e ? fn(arg, stream_id, e) : in.bad ? -EBADMSG : -ENOMEM;
		at += FRAME + (off_t)body.len;
	}
	md_buf_deinit(&body);
	return ret;
}

/*
 * Cuts off a last record that a killed daemon did not write completely. An invalid record in the
 * middle stays; eventlog_read reports it.
 */
static int cut_tail(int fd, off_t size)
{
	struct md_buf body = MD_BUF_INIT;
	off_t at = sizeof(magic);
	int ret = 0;

	while (at < size) {
		body.len = 0;
		ret = read_frame(fd, at, &body);
		if (ret && !(ret == -EBADMSG && body.len))
			break;
		if (ret && at + FRAME + (off_t)body.len >= size)
			ret = -ENODATA;
		if (ret)
			break;
		at += FRAME + (off_t)body.len;
	}
	md_buf_deinit(&body);
	if (ret == -ENODATA)
		return ftruncate(fd, at) ? -errno : 0;
	return ret == -EBADMSG ? 0 : ret;
}

int eventlog_open(int dir, const char *name, int *result)
{
	int ret, fd = openat(dir, name,
			     O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			     0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		ret = -errno;
		goto fail;
	}
	ret = -EINVAL;
	if (!S_ISREG(st.st_mode))
		goto fail;
	if (st.st_size < (off_t)sizeof(magic)) {
		/* The file is new, or its magic was not written completely. */
		ret = -ENOSPC;
		if (ftruncate(fd, 0) || write(fd, magic, sizeof(magic)) != sizeof(magic))
			goto fail;
	} else {
		ret = check_magic(fd);
		if (!ret)
			ret = cut_tail(fd, st.st_size);
		if (ret)
			goto fail;
	}
	*result = fd;
	return 0;
fail:
	close(fd);
	return ret;
}
