/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests of filters: events with payloads. plain_filter.h evaluates filters on them.
 */
#ifndef TESTS_UNIT_FILTERS_H
#define TESTS_UNIT_FILTERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/base/filter/tree.h"

struct sample {
	struct trail_reg_field fields[TRAIL_EVENT_FIELDS_MAX];
	uint32_t count;
	struct md_buf strings, payload;
};

static inline void sample_deinit(struct sample *s)
{
	md_buf_deinit(&s->strings);
	md_buf_deinit(&s->payload);
}

static inline struct filter_event sample_event(const struct sample *s)
{
	return (struct filter_event){ .fields = s->fields,
				      .field_count = s->count,
				      .strings = s->strings.data };
}

static inline void sample_field(struct sample *s, const char *name, int kind, int size,
				unsigned int flags, uint32_t count, int length)
{
	s->fields[s->count++] = (struct trail_reg_field){
		.name = (uint32_t)s->strings.len,
		.kind = (uint8_t)kind,
		.size = (uint8_t)size,
		.flags = (uint8_t)flags,
		.count = count,
		.length = (uint8_t)length,
	};
	md_buf_put(&s->strings, name, strlen(name) + 1);
}

static inline void sample_number(struct sample *s, uint64_t v, int size, unsigned int flags)
{
	bool big = flags & TRAIL_FIELD_BIG_ENDIAN || !FILTER_HOST_IS_LITTLE;
	int i;

	for (i = 0; i < size; i++)
		md_buf_putc(&s->payload, (char)(v >> 8 * (big ? size - 1 - i : i)));
}

static inline void sample_int(struct sample *s, const char *name, int size, unsigned int flags,
			      uint64_t v)
{
	sample_field(s, name, TRAIL_KIND_INT, size, flags, 0, 0);
	sample_number(s, v, size, flags);
}

static inline void sample_float(struct sample *s, const char *name, int size, unsigned int flags,
				double v)
{
	float f = (float)v;
	uint32_t half;
	uint64_t bits;

	memcpy(&half, &f, 4);
	memcpy(&bits, &v, 8);
	sample_field(s, name, TRAIL_KIND_FLOAT, size, flags, 0, 0);
	sample_number(s, size == 4 ? half : bits, size, flags);
}

static inline void sample_string(struct sample *s, const char *name, unsigned int flags,
				 const char *v)
{
	sample_field(s, name, TRAIL_KIND_STRING, 0, flags, 0, 0);
	md_buf_put(&s->payload, v, strlen(v) + 1);
}

/* An array if length is 0. */
static inline void sample_elements(struct sample *s, const char *name, int size, unsigned int flags,
				   int length, const uint64_t *v, uint32_t count)
{
	uint32_t i;

	sample_field(s, name, length ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_ARRAY, size, flags,
		     length ? 0 : count, length);
	sample_number(s, count, length, 0);
	for (i = 0; i < count; i++)
		sample_number(s, v[i], size, flags);
}

/* count bytes, which v has, followed by NULs */
static inline void sample_text(struct sample *s, const char *name, int length, const char *v,
			       uint32_t count)
{
	uint32_t i;

	sample_field(s, name, length ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_ARRAY, 1, TRAIL_FIELD_TEXT,
		     length ? 0 : count, length);
	sample_number(s, count, length, 0);
	for (i = 0; i < count; i++)
		md_buf_putc(&s->payload, i < strlen(v) ? v[i] : '\0');
}

/* vpid -1000 … so that every context has a value of its own; $app.a:X has the type that X says. */
static inline bool sample_context(void *arg, uint32_t kind, const char *name,
				  struct filter_value *out)
{
	*out = (struct filter_value){ .type = FILTER_UNSIGNED, .u = 1000 + kind };
	(void)arg;
	if (kind == TRAIL_CONTEXT_PROCNAME)
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = "trailfs-test-XX",
					      .len = 12 };
	else if (kind == TRAIL_CONTEXT_CPU_ID)
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = 3 };
	else if (kind == TRAIL_CONTEXT_VTID)
		return false;
	else if (kind == TRAIL_CONTEXT_VPID)
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = -7 };
	else if (kind == TRAIL_CONTEXT_PERF)
		/* In the expression, and in a program. */
		return !strcmp(name, "cpu-cycles") || !strcmp(name, "0:0");
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:int"))
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = -5 };
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:float"))
		*out = (struct filter_value){ .type = FILTER_FLOAT, .f = 2.5 };
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:text"))
		*out = (struct filter_value){ .type = FILTER_STRING, .s = "a text", .len = 6 };
	else if (kind == TRAIL_CONTEXT_APP)
		*out = (struct filter_value){ .type = FILTER_NONE };
	return true;
}

/* One of everything: fixed ones, some after strings and sequences, those for filters only. */
static inline void sample_everything(struct sample *s)
{
	static const uint64_t mac[] = { 1, 2, 0xff, 4 }, vals[] = { (uint64_t)-1, 20, 30 },
			      ports[] = { 80, 65535 };

	*s = (struct sample){ 0 };
	sample_int(s, "s8", 1, TRAIL_FIELD_SIGNED, (uint64_t)-3);
	sample_int(s, "u8", 1, 0, 200);
	sample_int(s, "s16", 2, TRAIL_FIELD_SIGNED, (uint64_t)-300);
	sample_int(s, "u16", 2, 0, 60000);
	sample_int(s, "id", 4, TRAIL_FIELD_SIGNED, (uint64_t)-70000);
	sample_int(s, "u32", 4, 0, 4000000000);
	sample_int(s, "least", 8, TRAIL_FIELD_SIGNED, (uint64_t)INT64_MIN);
	sample_int(s, "most", 8, 0, UINT64_MAX);
	sample_int(s, "zero", 4, TRAIL_FIELD_SIGNED, 0);
	sample_float(s, "f32", 4, 0, 1.5);
	sample_float(s, "f64", 8, 0, -2.25);
	sample_float(s, "nan", 8, 0, strtod("nan", NULL));
	sample_int(s, "be16", 2, TRAIL_FIELD_SIGNED | TRAIL_FIELD_BIG_ENDIAN, (uint64_t)-2);
	sample_int(s, "beu16", 2, TRAIL_FIELD_BIG_ENDIAN, 0x1234);
	sample_int(s, "be32", 4, TRAIL_FIELD_BIG_ENDIAN, 0x12345678);
	sample_int(s, "be64", 8, TRAIL_FIELD_BIG_ENDIAN | TRAIL_FIELD_SIGNED, (uint64_t)-5);
	sample_float(s, "fbe", 8, TRAIL_FIELD_BIG_ENDIAN, 1e300);
	sample_elements(s, "mac", 1, 0, 0, mac, 4);
	sample_text(s, "comm", 0, "bash", 16);
	sample_text(s, "full", 0, "abcd", 4);
	sample_string(s, "path", 0, "/usr/bin/app*");
	sample_int(s, "code", 4, 0, 500);
	sample_elements(s, "vals", 4, TRAIL_FIELD_SIGNED, 4, vals, 3);
	sample_text(s, "msg", 2, "hello", 5);
	sample_int(s, "after", 2, TRAIL_FIELD_SIGNED, (uint64_t)-9);
	sample_elements(s, "ports", 2, TRAIL_FIELD_BIG_ENDIAN, 1, ports, 2);
	sample_elements(s, "none", 8, 0, 8, NULL, 0);
	sample_string(s, "empty", 0, "");
	sample_int(s, "not-a-name", 4, 0, 77);
	sample_int(s, "hidden", 4, TRAIL_FIELD_SIGNED | TRAIL_FIELD_NOWRITE, 42);
	sample_string(s, "secret", TRAIL_FIELD_NOWRITE, "/usr/bin/app*");
}

/* NULL, and says why, if it cannot be parsed. */
static inline struct filter *sample_parse(const char *text)
{
	struct tr_err err = TR_ERR_INIT;
	struct filter *f = NULL;

	if (filter_parse(SCAN(text, 0, &err), DOMAIN_USER, &f)) {
		printf("# %s: column %d: %s\n", text, err.column, err.sentence);
		return NULL;
	}
	return f;
}

#endif
