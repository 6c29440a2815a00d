/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every kind of field, for C11 and C++17 alike: api.sh compiles it in both, and knows the text that
 * must come out.
 */
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>

#include <trail/trail.h>

/* A macro of the user's own around it, with makers among its arguments. */
#define APP_EVENT(name, ...) TRAIL(wrapped, name, __VA_ARGS__)

enum colour { RED, GREEN = 7, BLUE = -3 };

struct request {
	int id;
	const char *path;
	struct { uint16_t port; } from;
};

static int evaluated;

static int evaluate(int v)
{
	evaluated++;
	return v;
}

static inline void inline_function(int v)
{
	TRAIL(api, inlined, v);
}

static void integers(void)
{
	bool yes = true;
	char c = 'A';
	signed char sc = -128;
	unsigned char uc = 255;
	short s = -32768;
	unsigned short us = 65535;
	int i = -2147483647 - 1;
	unsigned int u = 4294967295u;
	long l = -9223372036854775807L - 1;
	unsigned long ul = 18446744073709551615ul;
	long long ll = -1;
	unsigned long long ull = 1;
	enum colour colour = GREEN;

	TRAIL(api, integers, yes, c, sc, uc, s, us, i, u, l, ul, ll, ull, colour);
}

static void numbers(void)
{
	float f = 1.5f;
	double d = -0.1;
	const void *p = (const void *)0xabcdef;
	int *ip = (int *)0x10;

	TRAIL(api, numbers, f, d, p, ip, TRAIL_FIELD(ms, 2500 / 1e3), TRAIL_HEX(flags, 255u),
	      TRAIL_NET(port, (uint16_t)0x5000), TRAIL_NET_HEX(addr, (uint32_t)0x0100007f));
}

static void strings(void)
{
	char array[16] = "in an array";
	const char *none = NULL;
	char *writable = array;
	struct request req = { 42, "/index.html", { 8080 } }, *r = &req;

	TRAIL(api, strings, array, none, writable, r->id, req.path, TRAIL_FIELD(port, r->from.port),
	      TRAIL_FIELD(quoted, "a \"b\"\n"));
}

static void arrays(void)
{
	unsigned char mac[6] = { 0, 1, 2, 0xfd, 0xfe, 0xff };
	short v[3] = { -1, 0, 1 };
	const char *text = "counted and not ended";
	uint64_t big[2] = { 1, 18446744073709551615ul };

	TRAIL(api, arrays, TRAIL_BYTES(mac, mac, sizeof(mac)), TRAIL_TEXT(word, text, 7),
	      TRAIL_SEQUENCE(v, v, 3), TRAIL_ARRAY(big, big, 2),
	      TRAIL_TEXT_ARRAY(fixed, "abcdef", 3), TRAIL_SEQUENCE(empty, v, 0));
}

static void many(void)
{
	int a = 1;

	TRAIL(api, sixteen, TRAIL_FIELD(f1, a), TRAIL_FIELD(f2, a), TRAIL_FIELD(f3, a),
	      TRAIL_FIELD(f4, a), TRAIL_FIELD(f5, a), TRAIL_FIELD(f6, a), TRAIL_FIELD(f7, a),
	      TRAIL_FIELD(f8, a), TRAIL_FIELD(f9, a), TRAIL_FIELD(f10, a), TRAIL_FIELD(f11, a),
	      TRAIL_FIELD(f12, a), TRAIL_FIELD(f13, a), TRAIL_FIELD(f14, a), TRAIL_FIELD(f15, a),
	      TRAIL_FIELD(f16, a));
	TRAIL(api, none);
	TRAIL_LEVEL(EMERG, api, level_emerg);
	TRAIL_LEVEL(DEBUG, api, level_debug);
	errno = 2;
	TRAIL(api, failed, errno);
	APP_EVENT(event, a, TRAIL_FIELD(twice, 2 * a));
	if (a)
		TRAIL(api, in_if, a);
	else
		TRAIL(api, in_else, a);
}

static void large(void)
{
	static char buffer[3000];
	int n = 5;

	memset(buffer, 'x', sizeof(buffer) - 1);
	TRAIL(api, large, n, buffer, TRAIL_FIELD(after, n + 1));
}

/* The evaluation rule: nothing while the event is off. off_* is not enabled by api.sh. */
static int evaluations(void)
{
	TRAIL(off, never, TRAIL_FIELD(v, evaluate(1)));
	if (evaluated)
		return 1;
	TRAIL(api, once, TRAIL_FIELD(v, evaluate(9)));
	return evaluated != 1;
}

static int all_fields(void)
{
	integers();
	numbers();
	strings();
	arrays();
	many();
	large();
	inline_function(11);
	return evaluations();
}
