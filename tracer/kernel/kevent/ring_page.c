/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads ring buffer pages: see kevent/ring_page.h. */
#include <ctype.h>
#include <errno.h>

#include "metadata/model.h"
#include "tracer/base/probe/format_line.h"
#include "tracer/kernel/kevent/ring_page.h"

/* Words of the kernel, in the byte order of this machine. */
enum { TYPE_DATA_MAX = 28, TYPE_PADDING, TYPE_EXTEND, TYPE_STAMP };

#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
#define COMMIT_MASK (MISSED_STORED - 1)

/* of an absolute time stamp; the page has the higher ones */
#define STAMP_BITS 59
#define STAMP_HIGH (UINT64_C(0xf8) << 56)

#define DATA_MAX (16u << 20)            /* larger than any sub-buffer */

/* The kernel's bit fields: the first is the lowest bits, on big-endian hosts the highest. */
#define TYPE_BITS 5
#define DELTA_BITS 27

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t word_type(uint32_t word)
{
	return MD_HOST_IS_BIG ? word >> DELTA_BITS : word & ((1u << TYPE_BITS) - 1);
}

static uint32_t word_delta(uint32_t word)
{
	return MD_HOST_IS_BIG ? word & ((1u << DELTA_BITS) - 1) : word >> TYPE_BITS;
}

/* Finds "WORD" in the text, from *at on, and the number after it. */
static int find_number(const char *text, size_t len, const char *word, size_t *at, uint32_t *n)
{
	const char *p = memmem(text + *at, len - *at, word, strlen(word)), *end = text + len;
	uint32_t v = 0;
	int digits = 0;

	if (!p)
		return -EINVAL;
	p += strlen(word);
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	for (; p < end && isdigit((unsigned char)*p) && digits < 9; p++, digits++)
		v = v * 10 + (uint32_t)(*p - '0');
	*at = (size_t)(p - text);
	*n = v;
	return digits ? 0 : -EINVAL;
}

/* `field: local_t commit;	offset:8;	size:8;	signed:1;` */
static int find_field(const char *text, size_t len, const char *name, uint32_t *offset,
		      uint32_t *size)
{
	struct span rest = { text, text + len }, line;
	struct format_line l;

	while (span_cut(&rest, '\n', &line)) {
		if (format_line_parse(line, &l) > 0 && span_is(l.name, name)) {
			*offset = (uint32_t)l.offset;
			*size = (uint32_t)l.size;
			return 0;
		}
	}
	return -EINVAL;
}

int kpage_layout_parse(const char *text, size_t len, struct kpage_layout *l)
{
	uint32_t time_size;

	*l = (struct kpage_layout){ 0 };
	if (find_field(text, len, "timestamp", &l->time_at, &time_size) ||
	    find_field(text, len, "commit", &l->commit_at, &l->commit_size) ||
	    find_field(text, len, "data", &l->data_at, &l->data_size))
		return -EINVAL;
	/* commit is a local_t, which is a long. */
	l->long_size = (uint8_t)l->commit_size;
	if (time_size != 8 || (l->commit_size != 8 && l->commit_size != 4) || l->data_at > 4096 ||
	    !l->data_size || l->data_size > DATA_MAX || l->time_at > l->data_at ||
	    l->data_at - l->time_at < 8 || l->commit_at > l->data_at ||
	    l->data_at - l->commit_at < l->commit_size)
		return -EINVAL;
	return 0;
}

int kpage_check_header_event(const char *text, size_t len)
{
	static const struct {
		const char *word;
		uint32_t value;
	} want[] = {
		{ "type_len    :", TYPE_BITS }, { "time_delta  :", DELTA_BITS },
		{ "array       :", 32 },
		{ "padding     : type ==", TYPE_PADDING },
		{ "time_extend : type ==", TYPE_EXTEND },
		{ "data max type_len  ==", TYPE_DATA_MAX },
	};
	uint32_t n;
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		size_t at = 0;

		if (find_number(text, len, want[i].word, &at, &n) || n != want[i].value)
			return -EINVAL;
	}
	return 0;
}

/* The kernel stores the missed count after the records if there is room. */
static void read_missed(struct kpage *p, uint64_t commit, const uint8_t *limit,
			unsigned int long_size)
{
	p->missed = 0;
	p->missed_known = true;
	if (!(commit & MISSED_EVENTS))
		return;
	p->missed = 1;
	p->missed_known = false;
	if (!(commit & MISSED_STORED) || (size_t)(limit - p->end) < long_size)
		return;
	p->missed = long_size == 8 ? load64(p->end) : load32(p->end);
	p->missed_known = true;
}

int kpage_begin(struct kpage *p, const void *bytes, size_t size, const struct kpage_layout *l)
{
	const uint8_t *b = bytes;
	uint64_t commit, used;

	if (size < l->data_at || !l->data_at)
		return -EBADMSG;
	commit = l->commit_size == 8 ? load64(b + l->commit_at) : load32(b + l->commit_at);
	used = commit & COMMIT_MASK;
	if (used > size - l->data_at)
		return -EBADMSG;
	p->ts = load64(b + l->time_at);
	p->p = b + l->data_at;
	p->end = p->p + used;
	p->odd = 0;
	p->error = 0;
	read_missed(p, commit, b + size, l->long_size);
	return 0;
}

/* As in the kernel: adds the page's high bits, and a carry if the low ones wrapped around. */
static uint64_t make_absolute(uint64_t stamp, uint64_t last)
{
	if (last & STAMP_HIGH) {
		stamp |= last & STAMP_HIGH;
		if (stamp < last)
			stamp += UINT64_C(1) << STAMP_BITS;
	}
	return stamp;
}

/* Reads one record and advances p. *data NULL: no event. False: the page ends here. */
static bool read_record(struct kpage *p, const uint8_t **data, size_t *len)
{
	size_t left = (size_t)(p->end - p->p), n, head = 4;
	uint32_t word = load32(p->p), type = word_type(word), delta = word_delta(word);

	*data = NULL;
	if (type >= 1 && type <= TYPE_DATA_MAX) {
		n = type * 4;
	} else {
		if (type == TYPE_PADDING && !delta)
			return false;           /* the last one, whatever commit says */
		if (left < 8)
			goto bad;
		if (type == TYPE_EXTEND || type == TYPE_STAMP) {
			uint64_t stamp = (uint64_t)load32(p->p + 4) << DELTA_BITS | delta;

			p->ts = type == TYPE_EXTEND ? p->ts + stamp : make_absolute(stamp, p->ts);
			p->p += 8;
			return true;
		}
		n = load32(p->p + 4);
		/*
		 * The length includes its own word; of a small discarded record it has only the
		 * data.
		 */
		if (n < 4 || n > left - 4)
			goto bad;
		head = type == TYPE_PADDING ? 4 : 8;
		n -= head - 4;
	}
	if (n > left - head)
		goto bad;
	/* A discarded record: the kernel changed a delta of 0 to 1, because 0 ends the page. */
	if (type != TYPE_PADDING || delta != 1)
		p->ts += delta;
	if (type != TYPE_PADDING) {
		*data = p->p + head;
		*len = n;
	}
	n = (n + 3) & ~(size_t)3;
	p->p = n > left - head ? p->end : p->p + head + n;
	return true;
bad:
	p->error = -EBADMSG;
	return false;
}

bool kpage_next(struct kpage *p, uint64_t *ts, const uint8_t **record, size_t *len)
{
	while (p->end - p->p >= 4) {
		if (!read_record(p, record, len)) {
			p->p = p->end;
			return false;
		}
		if (!*record)
			continue;
		if (*len < KRECORD_HEADER) {
			p->odd++;
			continue;
		}
		*ts = p->ts;
		return true;
	}
	return false;
}
