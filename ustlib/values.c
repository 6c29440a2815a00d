// SPDX-License-Identifier: MIT
/*
 * Events that do not fit a probe's stack buffer (trail/site.h) are built in memory of their own.
 * Lengths come from the program, and a wrong one may be huge: data that no sub-buffer can hold are
 * not read.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/lib.h"
#include "trail/site.h"

#define SIZE_LIMIT (1ull << 30)

static bool is_text(const struct trail__piece *p)
{
	return p->code & TRAIL__TEXT << 16;
}

/* Its size in the event; for text also the number of bytes to read. */
static uint64_t value_size(const struct trail__piece *p, size_t *text)
{
	uint64_t bytes = (uint64_t)p->count * TRAIL__SIZE(p->code);
	const char *s;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		s = *(const char *const *)p->data;
		*text = strlen(s ? s : "(null)");
		return *text + 1;
	case TRAIL__SEQUENCE_OF:
	case TRAIL__ARRAY_OF:
		if (is_text(p) && bytes && bytes < SIZE_LIMIT)
			*text = strnlen(p->data, bytes);
		return bytes +
		       (TRAIL__KIND(p->code) == TRAIL__SEQUENCE_OF ? TRAIL__LENGTH(p->code) : 0);
	default:
		return TRAIL__SIZE(p->code);
	}
}

/* The memory is zero: text is filled up already. */
static unsigned char *put_value(unsigned char *at, const struct trail__piece *p, size_t text)
{
	size_t bytes = (size_t)p->count * TRAIL__SIZE(p->code), n = is_text(p) ? text : bytes;
	const char *s;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		s = *(const char *const *)p->data;
		memcpy(at, s ? s : "(null)", text);
		/*
		 * It may have become shorter since it was measured: its end is where a reader looks
		 * for it.
		 */
		return at + strlen((const char *)at) + 1;
	case TRAIL__SEQUENCE_OF:
		trail__put_length(at, p->count, TRAIL__LENGTH(p->code));
		at += TRAIL__LENGTH(p->code);
		/* fall through */
	case TRAIL__ARRAY_OF:
		if (n)
			memcpy(at, p->data, n);
		return at + bytes;
	default:
		memcpy(at, p->data, TRAIL__SIZE(p->code));
		return at + TRAIL__SIZE(p->code);
	}
}

TRAIL_EXPORT void trail__record_values(struct trail__tp *tp, const struct trail__piece *pieces,
				       unsigned int count, unsigned int unwritten, const void *ip)
{
	size_t text[TRAIL_EVENT_FIELDS_MAX] = { 0 }, len = 0;
	uint64_t total = TRAIL__HEADROOM + TRAIL__SPARE;
	unsigned char *buffer = MAP_FAILED, *begin, *at;
	int saved = errno;

	if (count > TRAIL_EVENT_FIELDS_MAX || unwritten > count)
		return;
	for (unsigned int i = 0; i < count; i++)
		total += value_size(&pieces[i], &text[i]);
	if (total <= SIZE_LIMIT && !library_sealed)
		buffer = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	if (buffer == MAP_FAILED) {
		record_lost(tp);
		errno = saved;
		return;
	}
	begin = at = buffer + TRAIL__HEADROOM;
	for (unsigned int i = 0; i < count; i++) {
		if (i == count - unwritten)
			len = (size_t)(at - begin);
		at = put_value(at, &pieces[i], text[i]);
	}
	if (!unwritten)
		len = (size_t)(at - begin);
	trail__record_at(tp, begin, len, (size_t)(at - begin) - len, ip);
	munmap(buffer, total);
	errno = saved;
}
