/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For C11 and C++17 alike: names, arrays, labels. rich_fields(1) makes rich:names and so on, n = 0,
 * 1, 2.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <trail/trail.h>

enum phase { PHASE_IDLE, PHASE_BUSY = 5, PHASE_FAILED = -1 };

struct item { int id; short parts[2]; struct item *next; };

static int twice(int n) { return 2 * n; }

static void rich_names(int n)
{
	struct item items[2] = { { n, { 1, 2 }, NULL }, { n + 10, { 3, 4 }, NULL } },
		    *p = &items[1];
	int index[3] = { 0, 1, 2 };

	p->next = items;
	errno = n;
	TRAIL(rich, names, items[index[1]].id, p->next->parts[1], twice(n), (long)n, +n, *index,
	      errno);
}

/* babeltrace2 takes a name for that of a field before it, without the `_` of this one. */
static void rich_alike(int n)
{
	const int _n = n, ids[1] = { n };
	const unsigned int ids_length = 1;

	TRAIL(rich, alike, _n, n, TRAIL_SEQUENCE(ids, ids, ids_length), ids_length);
}

static void rich_arrays(int n)
{
	int ints[3] = { n, -n, 3 };
	const double doubles[2] = { n + 0.5, -1e9 };
	float floats[2] = { 0.25f, 1.5f };
	unsigned char bytes[2] = { 0, 255 };
	bool flags[2] = { true, false };
	uint64_t wide[1] = { 18446744073709551615u };
	enum phase phases[2] = { PHASE_IDLE, PHASE_FAILED };
	char text[8] = "text", full[4] = { 'f', 'u', 'l', 'l' };
	struct item item = { 1, { 7, -8 }, NULL };
	int *addresses[2] = { (int *)16, NULL };
	const char *words[1] = { (const char *)32 };

	TRAIL(rich, arrays, ints, doubles, floats, bytes, flags, wide, phases, text, full,
	      item.parts, addresses, words, TRAIL_FIELD(literal, "abc"),
	      TRAIL_SEQUENCE(some, doubles, 2), TRAIL_ARRAY(one, floats, 1), n);
}

static void rich_labels(int n)
{
	enum phase phase = n == 0 ? PHASE_IDLE : n == 1 ? PHASE_BUSY : PHASE_FAILED;
	unsigned short code = (unsigned short)(n + 4);

	TRAIL(rich, labels, TRAIL_ENUM(phase, phase, PHASE_IDLE, PHASE_BUSY, PHASE_FAILED),
	      TRAIL_ENUM(code, code, PHASE_IDLE, PHASE_BUSY),
	      TRAIL_ENUM(small, (signed char)-n, PHASE_FAILED), n);
}

/* Bit fields share bytes; `all` begins a new one, since it would lie in more than 8 bytes. */
static void rich_bits(int n)
{
	struct { unsigned int ack : 1, window : 12; int delta : 5; } f = { 1, 0, -16 };
	enum phase phase = n == 1 ? PHASE_BUSY : PHASE_IDLE;
	unsigned short before = 65535;

	f.window = 4093u + (unsigned int)n;
	f.delta += n;
	TRAIL(rich, bits, TRAIL_BITS(ack, f.ack, 1), TRAIL_SIGNED_BITS(delta, f.delta, 5),
	      TRAIL_BITS(window, f.window, 12), before, TRAIL_BITS(phase, phase, 3),
	      TRAIL_BITS(lowest, 16 + n, 3), TRAIL_BITS(word, 0x80000000u + (unsigned int)n, 32),
	      TRAIL_SIGNED_BITS(minus, -n, 26), TRAIL_SIGNED_BITS(all, -n, 64),
	      TRAIL_BITS(last, n, 60), TRAIL_SIGNED_BITS(end, n - 2, 9), n);
}

/* The last one has all of its byte. */
static void rich_last_bits(int n)
{
	TRAIL(rich, last_bits, n, TRAIL_BITS(one, 1, 1), TRAIL_SIGNED_BITS(minus, -n, 3));
}

static void rich_large_bits(int n)
{
	char full[300];

	memset(full, 'f', sizeof(full));
	TRAIL(rich, large_bits, TRAIL_BITS(odd, n, 1), TRAIL_BITS(next, n + 1, 3), full,
	      TRAIL_SIGNED_BITS(minus, -n, 11), TRAIL_BITS(even, n + 1, 1), n);
}

enum option { OPTION_WHOLE, OPTION_REAL = 7, OPTION_TEXT = -2, OPTION_FULL, OPTION_PHASE };

/*
 * One of several types; an expression of another option is not evaluated. The last of three rounds
 * has a tag without an option.
 */
static void rich_variants(int n)
{
	static const enum option options[3] = { OPTION_WHOLE, OPTION_TEXT, (enum option)99 };
	enum option option = options[n];
	char full[4] = { 'f', 'u', 'l', 'l' }, *null = NULL;
	float real = (float)n + 0.25f;

	TRAIL(rich, variants,
	      TRAIL_VARIANT(value, option, TRAIL_OPTION(OPTION_WHOLE, n - 5),
			    TRAIL_OPTION(OPTION_REAL, *(double *)null),
			    TRAIL_OPTION(OPTION_TEXT, "text")),
	      TRAIL_FIELD(value_tag, n + 1),
	      TRAIL_VARIANT(other, n == 0 ? OPTION_REAL : n == 1 ? OPTION_FULL : OPTION_PHASE,
			    TRAIL_OPTION(OPTION_REAL, real), TRAIL_OPTION(OPTION_FULL, full),
			    TRAIL_OPTION(OPTION_PHASE, (void *)16)),
	      TRAIL_BITS(bits, n, 3), n);
}

/* More than the call site's buffer has room for, by strings and by numbers */
static void rich_large_variants(int n)
{
	char text[300];
	long long x = -n;

	memset(text, 't', sizeof(text));
	text[299] = 0;
#define NUMBER(name) TRAIL_VARIANT(name, n, TRAIL_OPTION(1, x), TRAIL_OPTION(2, 0.5))
	TRAIL(rich, large_variants,
	      TRAIL_VARIANT(v, n, TRAIL_OPTION(OPTION_WHOLE, n), TRAIL_OPTION(1, text)),
	      NUMBER(a), NUMBER(b), NUMBER(c), NUMBER(d), NUMBER(e), NUMBER(f), NUMBER(g),
	      NUMBER(h), NUMBER(i), NUMBER(j), NUMBER(k), NUMBER(l), n);
#undef NUMBER
}

/* More than the call site's buffer has room for */
static void rich_large(int n)
{
	int ints[100];
	char text[300], full[300];

	for (int i = 0; i < 100; i++)
		ints[i] = n;
	memset(text, 't', sizeof(text));
	text[10] = 0;
	memset(full, 'f', sizeof(full));
	TRAIL(rich, large, ints, text, full, TRAIL_ENUM(phase, n, PHASE_IDLE), n);
}

static void rich_fields(int step)
{
	for (int n = 0; n < 3; n += step) {
		rich_names(n);
		rich_alike(n);
		rich_arrays(n);
		rich_labels(n);
		rich_large(n);
		rich_bits(n);
		rich_large_bits(n);
		rich_last_bits(n);
		rich_variants(n);
		rich_large_variants(n);
	}
}
