/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of a small kernel, as BTF, for tests of probe/btf.h and probe/extra.h. */
#ifndef TESTS_LIB_BTF_TYPES_H
#define TESTS_LIB_BTF_TYPES_H

#include <stdint.h>
#include <string.h>

static uint8_t types[4096], strings[1024];
static uint32_t types_len, strings_len = 1;

static void word(uint32_t v)
{
	memcpy(types + types_len, &v, 4);
	types_len += 4;
}

static uint32_t name(const char *text)
{
	uint32_t at = strings_len;

	if (!*text)
		return 0;
	memcpy(strings + at, text, strlen(text) + 1);
	strings_len += (uint32_t)strlen(text) + 1;
	return at;
}

static void type(const char *text, uint32_t kind, uint32_t vlen, uint32_t size)
{
	word(name(text));
	word(kind << 24 | vlen);
	word(size);
}

/* A member of a structure; bits: of a bit field. */
static void member(const char *text, uint32_t of, uint32_t offset, uint32_t bits)
{
	word(name(text));
	word(of);
	word(bits << 24 | offset);
}

enum {
	FLAG = 128, INT = 1, PTR, ARRAY, STRUCT, ENUM = 6, TYPEDEF = 8, CONST = 10, FUNC = 12, PROTO
};

static void btf_header(uint32_t header[6])
{
	static const uint16_t magic = 0xeb9f;

	memset(header, 0, 6 * sizeof(*header));
	memcpy(header, &magic, sizeof(magic));
	((uint8_t *)header)[2] = 1;     /* the version */
	header[1] = 24;
}

/* add: more types, from 20 on; NULL: none. */
static size_t make_types_and(uint8_t *out, void (*add)(void))
{
	uint32_t header[6];

	btf_header(header);
	type("u32", INT, 0, 4), word(32);                               /* 1 */
	type("char", INT, 0, 1), word(1u << 24 | 8);                    /* 2 */
	type("", PTR, 0, 4);                                            /* 3: to dev */
	type("dev", STRUCT, 3, 32);                                     /* 4 */
	member("name", 5, 0, 0), member("index", 1, 128, 0), member("parent", 3, 192, 0);
	type("", ARRAY, 0, 0), word(2), word(1), word(16);              /* 5: char[16] */
	type("skb", STRUCT | FLAG, 5, 40);                              /* 6 */
	member("next", 7, 0, 0), member("dev", 3, 64, 0), member("", 8, 128, 0);
	member("pkt", 1, 197, 3), member("self", 6, 256, 0);
	type("", PTR, 0, 17);                                           /* 7: to const skb */
	type("", STRUCT, 2, 8);                                         /* 8: unnamed */
	member("mac", 9, 0, 0), member("err", 10, 32, 0);
	type("u16", INT, 0, 2), word(16);                               /* 9 */
	type("int", INT, 0, 4), word(1u << 24 | 32);                    /* 10 */
	type("", PROTO, 3, 10), word(name("skb")), word(7);             /* 11 */
	word(name("n")), word(1), word(name("label")), word(13);
	type("xmit", FUNC, 0, 11);                                      /* 12 */
	type("", PTR, 0, 2);                                            /* 13: to char */
	type("loop", TYPEDEF, 0, 14);                                   /* 14: of itself */
	type("", PROTO, 2, 7), word(name("s")), word(4), word(name("n")), word(1);      /* 15 */
	type("byval", FUNC, 0, 15);                                     /* 16 */
	type("skb_t", CONST, 0, 6);                                     /* 17 */
	type("", PROTO, 4, 0), word(name("__data")), word(3), word(name("skb")), word(7);
	word(name("n")), word(1), word(name("label")), word(3);         /* 18 */
	type("__traceiter_xmit", FUNC, 0, 18);                          /* 19 */
	if (add)
		add();
	header[3] = types_len;
	header[4] = types_len;
	header[5] = strings_len;
	memcpy(out, header, sizeof(header));
	memcpy(out + 24, types, types_len);
	memcpy(out + 24 + types_len, strings, strings_len);
	return 24 + types_len + strings_len;
}

__attribute__((unused)) static size_t make_types(uint8_t *out)
{
	return make_types_and(out, NULL);
}

#endif
