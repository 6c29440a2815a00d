/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads files and the headers of blocks, and checks them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "metadata/number.h"
#include "tracer/format/import/ltt_private.h"

#define HEADER_3 66u
#define HEADER_7 106u

int ltt_fail(struct tr_err *err, const struct ltt_file *f, uint64_t offset, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tr_fail(err, -EINVAL, "%s: offset %llu: %s", f->path, (unsigned long long)offset,
		       text);
}

int ltt_pread(const struct ltt_file *f, uint64_t offset, void *buf, size_t n, struct tr_err *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(f->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return tr_fail(err, -errno, "%s: offset %llu: %s", f->path,
				       (unsigned long long)offset, strerror(errno));
		if (!r) {
			ltt_fail(err, f, offset + done, "the file is shorter than at its open");
			return -ESTALE;
		}
		done += (size_t)r;
	}
	return 0;
}

/* Sets what only version 0.7 has. */
static int set_start(const struct ltt_file *f, const uint8_t *h, struct ltt_block *b,
		     struct tr_err *err)
{
	uint64_t sec = md_load(h + 90, 8, b->big_endian), usec = md_load(h + 98, 8, b->big_endian);

	b->freq = md_load(h + 66, 8, b->big_endian);
	b->start = md_load(h + 74, 8, b->big_endian);
	if (sec > INT64_MAX / 1000000000 || usec >= 1000000)
		return ltt_fail(err, f, b->offset + 90, "expected the time of the trace's start");
	b->start_ns = sec * 1000000000 + usec * 1000;
	return 0;
}

int ltt_block(const struct ltt_file *f, uint64_t offset, struct ltt_block *b, struct tr_err *err)
{
	uint64_t room = offset < f->size ? f->size - offset : 0, lost;
	uint8_t h[HEADER_7] = { 0 };
	int ret;

	if (room < HEADER_3)
		return 0;
	ret = ltt_pread(f, offset, h, room < HEADER_7 ? room : HEADER_7, err);
	if (ret)
		return ret;
	*b = (struct ltt_block){ .offset = offset, .big_endian = h[40] == 0x00 };
	if (md_load(h + 40, 4, b->big_endian) != 0x00d6b7ed)
		return ltt_fail(err, f, offset + 40, "expected the magic number 0x00D6B7ED");
	if (h[57] || (h[58] != 3 && h[58] != 7))
		return ltt_fail(err, f, offset + 57, "expected version 0.3 or 0.7, found %u.%u",
				h[57], h[58]);
	b->first = h[58] == 7 ? HEADER_7 : HEADER_3;
	if (room < b->first)
		return 0;
	b->begin = md_load(h, 8, b->big_endian);
	b->freq = md_load(h + 8, 8, b->big_endian);
	lost = md_load(h + 32, 4, b->big_endian);
	b->size = md_load(h + 36, 4, b->big_endian);
	b->big_floats = md_load(h + 52, 4, b->big_endian) ? md_load(h + 52, 4, b->big_endian) ==
		4321 : b->big_endian;
	b->heartbeat = h[60];
	b->align = h[61] ? h[61] : 1;
	b->scale = md_load(h + 62, 4, b->big_endian);
	if (b->size < b->first || lost > b->size - b->first)
		return ltt_fail(err, f, offset + 32,
				"expected a block of more than %u bytes, found buf_size %llu, "
				"lost_size %llu", (unsigned int)b->first,
				(unsigned long long)b->size, (unsigned long long)lost);
	if (b->align & (b->align - 1) || b->align > 64)
		return ltt_fail(err, f, offset + 61, "expected an alignment of 0 to 64, found %u",
				b->align);
	ret = h[58] == 7 ? set_start(f, h, b, err) : 0;
	if (!ret && (!b->freq || !b->scale))
		return ltt_fail(err, f, offset + 62, "expected a frequency that is not 0");
	b->end = b->size - lost;
	b->torn = b->size > room;
	b->end = b->end > room ? room : b->end;
	return ret ? ret : 1;
}
