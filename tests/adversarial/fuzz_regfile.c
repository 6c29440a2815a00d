/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Registration files: right ones with bytes changed, put in and cut off, tables laid over each
 * other, and noise. What is accepted must make events that the type model takes. Deterministic:
 * fuzz_regfile SECONDS ROUND begins at a round.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "metadata/ctf.h"
#include "tests/lib/regs.h"
#include "tracer/app/registration.h"
#include "tracer/app/parse.h"

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void random_regs(struct regs *r)
{
	static const char *const words[] = {
		"a",     "provider", "x:y",      "b b",  "_s_length", "s",   "Bool",
		"Bool_", "",         "\xc3\xa4", "\xff", "name*",     "a\"",
	};
	uint32_t events = below(20), enums = below(5), i, j;

	*r = (struct regs){ .strings = MD_BUF_INIT };
	r->object = regs_string(r, "/lib/object");
	for (i = 0; i < enums; i++) {
		regs_enum(r, words[below(13)]);
		for (j = below(8); j; j--) {
			uint64_t begin = (uint64_t)below(20) - 10;

			regs_label(r, words[below(13)], begin,
				   begin + below(below(8) ? 5 : UINT32_MAX) - !below(8));
		}
	}
	for (i = 0; i < events; i++) {
		uint32_t fields = below(10);
		bool unwritten = false;

		regs_event(r, below(20) ? "my_app" : words[below(13)],
			   below(20) ? "event" : words[below(13)],
			   (int)below(below(200) ? 15 : 256));
		for (j = 0; j < fields; j++) {
			int kind = (int)below(below(200) ? 5 : 256) + 1,
			    size = kind == TRAIL_KIND_FLOAT ? 4 << below(2) : 1 << below(4);
			struct trail_reg_field *f = &r->fields[r->field_count];

			regs_field(
				r, words[below(below(200) ? 8 : 13)], kind, size,
				below(below(200) ? 8 : 256) |
					(size == 1 && kind > TRAIL_KIND_STRING ? below(2) * 8 : 0),
				below(200));
			if (!below(16)) {
				kind = TRAIL_KIND_VARIANT;
				f->kind = TRAIL_KIND_VARIANT;
				f->flags = 0;
				f->count = 1 + below(3);
			}
			if (kind == TRAIL_KIND_SEQUENCE)
				f->length = (uint8_t)(below(200) ? 1u << below(4) : below(256));
			if (kind == TRAIL_KIND_INT && enums && below(2)) {
				f->flags |= TRAIL_FIELD_ENUM;
				f->count = below(below(200) ? enums : 100);
			}
			unwritten = below(100) ? unwritten || !below(8) : false;
			f->flags |= unwritten ? TRAIL_FIELD_NOWRITE : 0;
		}
		if (!below(4))
			r->events[i].uri = regs_string(r, words[below(13)]);
	}
}

static void spoil(struct md_buf *b)
{
	static const uint32_t values[] = {
		0,     1,     7,          8,          255,        256,        65535,
		65536, 65537, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff,
	};
	uint32_t n = below(6), v;

	while (n--) {
		size_t at = below(below(2) ? (uint32_t)b->len : 64);

		switch (below(4)) {
		case 0:
			b->data[at] = (char)below(256);
			break;
		case 1:
			b->data[at] ^= (char)(1 << below(8));
			break;
		default:
			/* Offsets and counts are words. */
			v = below(2) ? values[below(13)] : below((uint32_t)b->len + 16);
			at &= ~(size_t)3;
			if (at + 4 <= b->len)
				memcpy(b->data + at, &v, 4);
		}
	}
	if (below(8) == 0)
		b->len = below((uint32_t)b->len) + 1;
	/* Otherwise nearly all would fail at this test. */
	v = (uint32_t)b->len;
	if (below(8) && b->len >= sizeof(struct trail_reg))
		memcpy(b->data + offsetof(struct trail_reg, size), &v, 4);
}

static void check_events(struct registration *r, uint64_t round)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_buf text = MD_BUF_INIT;
	uint32_t i;

	for (i = 0; i < r->event_count && i < 200; i++) {
		struct md_event *e;

		/* It is left out, and is not described. */
		if (r->events[i].refused)
			continue;
		e = registration_event(r, i);
		e->id = i;
		md_ctf_print_event(e, 0, &text);
		if (md_event_digest(e) != r->events[i].digest || md_stream_add(s, e)) {
			printf("not ok - round %llu: event %u is refused\n",
			       (unsigned long long)round, i);
			exit(1);
		}
	}
	md_buf_deinit(&text);
	md_stream_destroy(s);
}

static bool one_round(uint64_t round)
{
	struct md_buf file = MD_BUF_INIT;
	struct registration r = { .fd = -1 };
	struct regs regs;
	const char *reason = NULL;
	uint8_t *exact;
	int ret;

	seed = round * 0x9e3779b97f4a7c15 + 1;
	random_regs(&regs);
	regs_file(&regs, &file);
	if (below(10))
		spoil(&file);
	/* Of just that size, for the sanitizer to watch its end. */
	exact = malloc(file.len);
	memcpy(exact, file.data, file.len);
	ret = registration_parse(&r, exact, file.len, &reason);
	free(exact);
	if (!ret) {
		check_events(&r, round);
		registration_forget(&r);
	} else if (!reason || r.events || r.strings) {
		printf("not ok - round %llu: no reason, or something is held\n",
		       (unsigned long long)round);
		exit(1);
	}
	md_buf_deinit(&file);
	md_buf_deinit(&regs.strings);
	return !ret;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, round = first, taken = 0;

	do
		taken += one_round(round++);
	while (round % 64 || time(NULL) < end);
	printf("ok - %llu rounds, %llu files accepted\n", (unsigned long long)(round - first),
	       (unsigned long long)taken);
	return 0;
}
