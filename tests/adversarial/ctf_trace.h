/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small trace of CTF 1.8 in both byte orders, with all that its text can say of types: for
 * fuzz_import.c. Include it in one file of a program only.
 */
#ifndef TESTS_ADVERSARIAL_CTF_TRACE_H
#define TESTS_ADVERSARIAL_CTF_TRACE_H

#include <string.h>

#include "metadata/buf.h"
#include "tests/lib/fuzz.h"
#include "tracer/base/ring/seal.h"

static const char *const heads[] = {
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; base = hex; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; } := unsigned long;\n"
	"trace { major = 1; minor = 8; uuid = \"025e84d6-3d89-4fe1-b434-44b603a14a04\";\n"
	"byte_order = %s; packet.header := struct {\n"
	"uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; }; };",
	"env { domain = \"ust\"; hostname = \"vm\"; tracer_minor = 13; below = -1; };\n"
	"clock { name = \"monotonic\"; uuid = \"92803caf-990c-4d36-b943-4c149e0cc4e0\";\n"
	"freq = 1000000000; offset = 1795172223238349640; };\n"
	"clock { name = slow; freq = 1000; offset_s = 1700000000; offset = 2500; precision = 1; };"
	"callsite { name = \"a:b\"; func = \"f\"; file = \"f.c\"; line = 12; ip = 0x40; };\n"
	"typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := uint27_c;\n"
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := uint64_c;\n"
	"typealias integer { size = 16; align = 8; map = clock.slow.value; } := uint16_c;\n"
	"typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := float;\n"
	"typedef uint16_t pair_t[2]; typedef uint32_t struct page *;\n"
	"struct packet_context { uint64_c timestamp_begin; uint64_c timestamp_end;\n"
	"uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"
	"unsigned long events_discarded; uint32_t cpu_id; };\n"
	"struct event_header_compact { enum : integer { size = 5; align = 1; } {\n"
	"compact = 0 ... 30, extended = 31 } id; variant <id> { struct { uint27_c timestamp; }\n"
	"compact; struct { uint32_t id; uint64_c timestamp; } extended; } v; } align(8);\n",
	"stream { id = 0; event.header := struct event_header_compact;\n"
	"packet.context := struct packet_context;\n"
	"event.context := struct { integer { size = 32; align = 8; signed = 0; } _vpid;\n"
	"integer { size = 8; align = 8; encoding = UTF8; } _procname[3]; }; };\n",
	"event { name = \"a:text\"; id = 0; stream_id = 0; loglevel = 13; fields := struct {\n"
	"string _s; uint8_t _n; uint16_t _list[_n]; string { encoding = ASCII; } _t; }; };\n",
	"event { name = \"a:bits\"; id = 1; stream_id = 0; context := struct { uint8_t c; };\n"
	"fields := struct { integer { size = 3; align = 1; byte_order = be; } a;\n"
	"integer { size = 13; align = 1; signed = true; byte_order = be; } b;\n"
	"float f; pair_t pairs[2]; }; };\n",
	"enum kind : uint8_t { none, one = 1, some = 2 ... 9, \"all of it\" = 10 ... 255 };\n"
	"event { name = \"a:kinds\"; id = 2; stream_id = 0; fields := struct { enum kind tag;\n"
	"variant <tag> { struct { } none; uint8_t one; struct { uint8_t x; uint8_t y; } some; } v;"
	"struct { uint8_t _len; struct { uint8_t k; string w; } rows[_len]; } nested;\n"
	"uint8_t bytes[stream.event.context._vpid]; } align(8); };\n",
	"stream { id = 7; event.header := struct { uint8_t id; uint16_c timestamp; };\n"
	"event.header_type_ext := struct { uint32_t id; uint1_t missing_fields[NR_FIELDS]; };\n"
	"packet.context := struct { uint64_t packet_size; uint64_t content_size;\n"
	"uint32_t checksum; uint8_t compression_scheme; uint8_t checksum_scheme; }; };\n"
	"event { name = \"b\"; id = 1; stream_id = 7; fields := struct { uint8_t x; }; };\n"
	"event { name = far; id = 65537; stream_id = 7; };\n"
	"event { name = \"c\"; id = 2; stream_id = 7; fields := struct { uint8_t x:3;\n"
	"uint16_t y:15; struct page *p; enum <uint8_t> { A, B } e; short s[uint8_t];\n"
	"floating_point { exp_dig = 15; mant_dig = 113; } q; int3_t i; }; };\n",
};

#define HEADS (sizeof(heads) / sizeof(*heads))

static bool big;

static inline void put_number(struct md_buf *b, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		md_buf_putc(b, (char)(v >> 8 * (big ? bytes - 1 - i : i)));
}

static inline void make_text(struct md_buf *b)
{
	md_buf_reset(b);
	for (size_t i = 0; i < HEADS; i++)
		if (i)
			md_buf_puts(b, heads[i]);
		else
			md_buf_printf(b, heads[i], big ? "be" : "le");
}

static inline void make_fields(struct md_buf *b, uint32_t id, uint32_t vpid)
{
	uint32_t n = (uint32_t)rnd(4);

	if (id == 0) {
		md_buf_put(b, "text", 5);
		put_number(b, n, 1);
		while (n--)
			put_number(b, rnd(65536), 2);
		md_buf_put(b, "", 1);
	} else if (id == 1) {
		put_number(b, rnd(UINT64_MAX), 1 + 2 + 4);
		put_number(b, rnd(UINT64_MAX), 8);
	} else {
		uint32_t tag = (uint32_t)rnd(10);

		put_number(b, tag, 1);
		put_number(b, rnd(65536), tag > 1 ? 2 : tag);
		put_number(b, n, 1);
		while (n--)
			md_buf_put(b, "kw", 3);
		put_number(b, rnd(UINT64_MAX), vpid);
	}
}

/* The extended header of an event: 5 bits, then a 32-bit id and a time of 64 bits. */
static inline void make_event(struct md_buf *b, uint64_t time)
{
	uint32_t id = (uint32_t)rnd(3), vpid = (uint32_t)rnd(5);

	md_buf_putc(b, (char)(big ? 31 << 3 : 31));
	put_number(b, id, 4);
	put_number(b, time, 8);
	put_number(b, vpid, 4);
	md_buf_put(b, "abc", 3);
	make_fields(b, id, vpid);
}

static inline void set_number(struct md_buf *b, size_t at, uint64_t v)
{
	struct md_buf n = MD_BUF_INIT;

	put_number(&n, v, 8);
	memcpy(b->data + at, n.data, 8);
	md_buf_deinit(&n);
}

/* Compresses the content of the packet, which begins there, and gives it a checksum; or not. */
static inline void seal_content(struct md_buf *b, size_t seal)
{
	size_t from = seal + 6, n = b->len - from;
	uint8_t scheme = (uint8_t)(2 + rnd(2)), *out = malloc(n + 1);
	size_t less = rnd(3) ? seal_compress(scheme, b->data + from, n, out) : 0;
	uint32_t sum;

	if (less) {
		memcpy(b->data + from, out, less);
		b->len = from + less;
		b->data[seal + 4] = (char)scheme;
	}
	free(out);
	sum = seal_checksum(b->data + from, b->len - from);
	for (int i = 0; i < 4; i++)
		b->data[seal + (size_t)i] = (char)(sum >> 8 * (big ? 3 - i : i));
	b->data[seal + 5] = rnd(2) ? 3 : 0;
}

static inline void make_packet(struct md_buf *b, uint32_t class, uint64_t *time,
			       unsigned int events)
{
	size_t from = b->len, sizes, seal, content;

	put_number(b, 0xc1fc1fc1, 4);
	md_buf_put(b, "uuuuuuuuuuuuuuuu", 16);
	put_number(b, class, 4);
	put_number(b, class, 8);
	if (!class) {
		put_number(b, *time, 8);
		put_number(b, *time + 100, 8);
	}
	sizes = b->len;
	put_number(b, 0, 8);
	put_number(b, 0, 8);
	if (!class) {
		put_number(b, 1, 8);
		put_number(b, 0, 8);
		put_number(b, 3, 4);
	}
	seal = b->len;
	if (class)
		put_number(b, 0, 6);
	while (events--) {
		*time += rnd(10);
		if (class) {
			uint64_t n = rnd(3), id = 1 + !rnd(4);
			/* 1: it has the header that says so, and all fields; 2: it has none */
			uint64_t lacks = id == 1 && !rnd(2) ? 1 + rnd(2) : 0;

			put_number(b, lacks ? 255 : id, 1);
			put_number(b, *time, 2);
			if (lacks) {
				put_number(b, 1, 4);
				put_number(b, lacks == 1 ? 0 : 255, 1);
			}
			if (id == 1) {
				put_number(b, rnd(4), lacks < 2);
				continue;
			}
			put_number(b, rnd(UINT64_MAX), 8);
			put_number(b, rnd(2), 1);
			put_number(b, n, 1);
			put_number(b, rnd(UINT64_MAX), (unsigned int)(2 * n));
			put_number(b, rnd(UINT64_MAX), 8);
			put_number(b, rnd(UINT64_MAX), 8);
			put_number(b, rnd(256), 1);
		} else {
			make_event(b, *time);
		}
	}
	content = b->len - from;
	if (class)
		seal_content(b, seal);
	set_number(b, sizes + (class ? 8 : 0), 8 * content);
	while (b->len % 16 && !class)
		md_buf_putc(b, 0);
	set_number(b, sizes + (class ? 0 : 8), 8 * (b->len - from));
}

/* An event of LKET (tracer/format/export/lket.h); text: of n bytes, after the common data. */
static inline void make_lket_event(struct md_buf *b, uint64_t time, unsigned int group,
				   unsigned int hook, const char *text, size_t n)
{
	put_number(b, 24 + n, 2);
	put_number(b, 24 + (group == 1 ? n : n < 9 ? n : 9), 2);
	put_number(b, time, 8);
	put_number(b, rnd(UINT64_MAX), 8);
	put_number(b, (uint64_t)group << 24 | hook << 16, 8);
	md_buf_put(b, text, n);
}

static inline void make_lket(struct md_buf *b)
{
	static const char fields[] = "\5\7INT8:UINT16:STRING\0a:b:c", user[] = "\5\7INT64\0d";

	md_buf_reset(b);
	put_number(b, 0xaefcdb6b, 4);
	put_number(b, 9, 2);
	md_buf_put(b, "\1\1\1", 3);
	put_number(b, 1 + rnd(3), 1);
	md_buf_put(b, "@", 1);
	put_number(b, rnd(3000), 4);
	make_lket_event(b, 5, 1, 5, "\5\7scsi.iocompleted", 19);
	make_lket_event(b, 5, 1, 1, fields, sizeof(fields));
	make_lket_event(b, 5, 1, 3, user, sizeof(user));
	for (unsigned int i = 0; i < 9; i++)
		make_lket_event(b, 6 + i, 5, 7, "abcstring\0userdata", 17);
}

#endif
