/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A class with fields of most types, and its instances by filters.py. For LTTng-UST's headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER verdict

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"

#if !defined(VERDICTS_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define VERDICTS_PROVIDER_H

#include <lttng/tracepoint.h>

#ifndef VERDICTS_ONCE
#define VERDICTS_ONCE
struct sample {
	int64_t s;
	uint64_t u;
	double f;
	const char *word;
	int list[4];
	unsigned int many;
};
#endif

LTTNG_UST_TRACEPOINT_ENUM(verdict, kinds,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("zero", 0)
		lttng_ust_field_enum_range("some", 1, 1000)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_CLASS(verdict, all,
	LTTNG_UST_TP_ARGS(unsigned int, n, const struct sample *, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(unsigned int, n, n)
		lttng_ust_field_integer(int8_t, s8, (int8_t)v->s)
		lttng_ust_field_integer(uint8_t, u8, (uint8_t)v->u)
		lttng_ust_field_integer(int16_t, s16, (int16_t)v->s)
		lttng_ust_field_integer(uint16_t, u16, (uint16_t)v->u)
		lttng_ust_field_integer(int32_t, s32, (int32_t)v->s)
		lttng_ust_field_integer(uint32_t, u32, (uint32_t)v->u)
		lttng_ust_field_integer(int64_t, s64, v->s)
		lttng_ust_field_integer_hex(uint64_t, u64, v->u)
		lttng_ust_field_integer_network(uint16_t, be16, (uint16_t)v->u)
		lttng_ust_field_integer_network(int32_t, be32, (int32_t)v->s)
		lttng_ust_field_integer_nowrite(int, hidden, (int)v->s / 2)
		lttng_ust_field_float(float, f32, (float)v->f)
		lttng_ust_field_float(double, f64, -v->f)
		lttng_ust_field_enum(verdict, kinds, int, kind, (int)(v->u & 0xff))
		lttng_ust_field_string(word, v->word)
		lttng_ust_field_array_text(char, text, v->word, 4)
		lttng_ust_field_sequence_text(char, tail, v->word + 1, unsigned int, 3)
		lttng_ust_field_array(int, list, v->list, 4)
		lttng_ust_field_sequence(int, many, v->list, unsigned int, v->many)
	)
)

#define VERDICT(name) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(verdict, all, verdict, name, \
		LTTNG_UST_TP_ARGS(unsigned int, n, const struct sample *, v))
#include "events.h"
#undef VERDICT

#endif

#include <lttng/tracepoint-event.h>
