/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event logs: see os/state_file.h.
 *
 * The file begins with eight bytes of magic. A record is {u32 length, u32 checksum} and a body of
 * that length; numbers are little endian. Body: stream class id, and the event in the form of logs
 * (base/pack.h). The reader trusts nothing: another version, or a broken disk, may have written the
 * directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/pack.h"
#include "tracer/base/hash.h"
#include "tracer/base/os/state_file.h"
#include "tracer/session/event_log.h"

static const char magic[8] = { 'T', 'R', 'L', 'E', 'V', 'T', '1', '\n' };

enum {
	FRAME = 8,
	BODY_MAX = 8 << 20,
};

static uint32_t checksum(const uint8_t *p, size_t n)
{
	uint64_t h = hash_bytes(HASH_START, p, n);

	return (uint32_t)(h ^ (h >> 32));
}

/* ---- writing ---- */

static void put_record(struct md_buf *b, uint32_t stream_id, const struct md_event *e)
{
	uint32_t i, sum;
	size_t begin = b->len, len;

	md_pack_number(b, 0, FRAME);
	md_pack_number(b, stream_id, 4);
	md_pack_event(b, e, false);
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

/* NULL: invalid if in->bad, else no memory. */
static struct md_event *get_event(struct md_unpack *in, uint32_t *stream_id)
{
	struct md_event *e;

	*stream_id = (uint32_t)md_unpack_number(in, 4);
	e = md_unpack_event(in);
	in->bad |= in->p != in->end && !in->no_memory;
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
	struct md_unpack in = { .p = frame, .end = frame + FRAME };
	uint32_t len, sum;
	char *p;
	int ret = read_at(fd, frame, FRAME, at);

	if (ret)
		return ret;
	len = (uint32_t)md_unpack_number(&in, 4);
	sum = (uint32_t)md_unpack_number(&in, 4);
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
		struct md_unpack in = { .room = SIZE_MAX };
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
