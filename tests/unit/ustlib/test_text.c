/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static */
/*
 * Strings of call sites: copies of each length, of strings that end where the mapped memory ends,
 * with room for more or not, and of strings that become shorter between strnlen() and the copy, as
 * another thread may do it.
 *
 * This program contains pieces.c, and cuts the string in its strnlen().
 */
#define _GNU_SOURCE
#include "tests/lib/test.h"

#include <string.h>

static char *cut;               /* becomes the end of the string when it was measured */

static size_t measure(const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	if (cut)
		*cut = 0;
	return n;
}

#define strnlen(s, max) measure(s, max)
#include "ustlib/pieces.c"

#define MOST 200

/* n: the bytes of s, of which at most max are copied */
static void check_copy(const char *s, size_t n, size_t max)
{
	unsigned char out[MOST + 32], *end;

	memset(out, 0x55, sizeof(out));
	end = trail__put_text(out, out + n + 1, s, max);
	CHECK(end == out + n + 1 && !memcmp(out, s, n) && !out[n] && out[n + 1] == 0x55);
	CHECK(!trail__put_text(out, out + n, s, max));
	end = trail__put_text(out, out + sizeof(out), s, max);
	CHECK(end == out + n + 1 && !memcmp(out, s, n) && !out[n]);
}

static void lengths(void)
{
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED && !mprotect(map + 4096, 4096, PROT_NONE));
	for (size_t n = 0; n < MOST; n++) {
		char *s = map + 4096 - n - 1;

		for (size_t i = 0; i <= n; i++)
			s[i] = (char)(1 + (i * 7 + n) % 255);
		/* No NUL before the end of the memory */
		check_copy(s, n + 1, n + 1);
		check_copy(s, n, n);
		s[n] = 0;
		check_copy(s, n, SIZE_MAX);
	}
	/* An empty text, whose address is of no byte: Rust has 1 for it. */
	check_copy(map + 4096, 0, 0);
	check_copy((const char *)1, 0, 0);
	munmap(map, 8192);
}

/* The copy that reads 16 bytes at a time, never beyond a page, and writes nothing beyond `end`. */
static void pieces_of_16(void)
{
	bool saved = rseq_usable;

	rseq_usable = true;
	lengths();
	rseq_usable = saved;
}

/* A string of n bytes is cut after it was measured: the copy ends there. */
static void cuts(void)
{
	unsigned char out[MOST + 1], *end;
	char text[MOST + 1];

	for (size_t n = 0; n < MOST; n++) {
		for (size_t at = 0; at < n; at++) {
			memset(text, 'x', n);
			text[n] = 0;
			cut = text + at;
			end = trail__put_text(out, out + sizeof(out), text, SIZE_MAX);
			cut = NULL;
			CHECK(end == out + at + 1 && !memcmp(out, text, at + 1));
		}
	}
}

int main(void)
{
	CASE(lengths);
	CASE(pieces_of_16);
	CASE(cuts);
	return test_summary();
}
