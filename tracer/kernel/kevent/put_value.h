/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that transcode.c writes to payloads. Each returns the end; NULL: no room. */
#ifndef TRACER_KEVENT_PUT_VALUE_H
#define TRACER_KEVENT_PUT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * LTTng's flags from the letters of blk_fill_rwbs: F before the operation is a flush, after it FUA.
 */
static inline uint32_t make_flags(const uint8_t *s, size_t n)
{
	enum { WRITE = 1, DISCARD = 2, READ = 4, AHEAD = 8, SYNC = 32, META = 64, SECURE = 128,
	       FLUSH = 256, FUA = 512, PREFLUSH = 1024,
	       OPERATION = WRITE | DISCARD | READ | FLUSH };
	uint32_t flags = 0;
	size_t i = 0;
	bool seen = false;

	if (n > 1 && s[0] == 'F' && s[1] && strchr("WDRFN", s[1])) {
		flags |= PREFLUSH;
		i++;
	}
	for (; i < n && s[i]; i++) {
		switch (s[i]) {
		case 'W': flags |= WRITE; break;
		case 'D': flags |= DISCARD; break;
		case 'E': flags |= SECURE; break;
		case 'R': flags |= READ; break;
		case 'F': flags |= seen ? FUA : FLUSH; break;
		case 'A': flags |= AHEAD; break;
		case 'S': flags |= SYNC; break;
		case 'M': flags |= META; break;
		default: break;
		}
		seen = true;
	}
	return flags;
}

static inline uint8_t *put_string(const uint8_t *from, size_t n, uint8_t *to, const uint8_t *end)
{
	n = strnlen((const char *)from, n);
	if (n >= (size_t)(end - to))
		return NULL;
	memcpy(to, from, n);
	to[n] = '\0';
	return to + n + 1;
}

/* Copies a text to `size` bytes as LTTng does for a thread's name: the last byte is NUL. */
static inline uint8_t *put_cut_text(const uint8_t *from, size_t n, size_t size, uint8_t *to,
			     const uint8_t *end)
{
	if (size > (size_t)(end - to))
		return NULL;
	n = strnlen((const char *)from, n < size ? n : size - 1);
	memcpy(to, from, n);
	memset(to + n, 0, size - n);
	return to + size;
}

static inline uint8_t *put_sequence(const uint8_t *from, size_t n, uint32_t element, uint8_t *to,
			     const uint8_t *end)
{
	uint32_t count = (uint32_t)(n / element);

	n = (size_t)count * element;
	if (n + 4 > (size_t)(end - to))
		return NULL;
	memcpy(to, &count, sizeof(count));
	memcpy(to + 4, from, n);
	return to + 4 + n;
}

static inline uint8_t *put_address(const uint8_t *from, uint8_t *to, const uint8_t *end)
{
	unsigned int digits;
	uint64_t v;

	memcpy(&v, from, sizeof(v));
	digits = v ? (67 - (unsigned int)__builtin_clzll(v)) / 4 : 1;
	if (digits + 3 > (size_t)(end - to))
		return NULL;
	*to++ = '0';
	*to++ = 'x';
	while (digits--)
		*to++ = (uint8_t)"0123456789abcdef"[v >> 4 * digits & 15];
	*to++ = '\0';
	return to;
}

#endif
