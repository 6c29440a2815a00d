/* SPDX-License-Identifier: MIT */
/*
 * variant.h - fields of TRAIL() that have one of several types at each hit. Included by trail.h.
 *
 *	enum type { NUMBER, REAL, TEXT };
 *
 *	TRAIL(config, set, key, TRAIL_VARIANT(value, v->type,
 *		TRAIL_OPTION(NUMBER, v->number), TRAIL_OPTION(REAL, v->real),
 *		TRAIL_OPTION(TEXT, v->text)));
 *
 * records the option whose label is equal to the tag, here v->type; only its expression is
 * evaluated. The tag is an integer or enumeration; the labels are up to 16 constants, and name the
 * options. An option is an integer, enumeration, floating point number, pointer or string, in C++ a
 * string that is a char * or an array of char. For another tag the field has nothing.
 */
#ifndef TRAIL_VARIANT_H
#define TRAIL_VARIANT_H

#include <trail/trail.h>

#pragma GCC system_header

#define TRAIL_VARIANT(name, tag, ...) \
	(TRAIL__MARK, VARIANT, #name, 0, tag, (TRAIL__EACH(TRAIL__OPTION_FIELD, 0, __VA_ARGS__)), \
	 (TRAIL__EACH(TRAIL__OPTION_CASE, 0, __VA_ARGS__)), TRAIL__COUNT(0, __VA_ARGS__))
#define TRAIL_OPTION(label, expr) (#label, label, expr)

/* The value of a variant at a hit: value.data is `bytes`, a number or the address of a string. */
struct trail__option {
	struct trail__piece value;
	unsigned char bytes[8];
	unsigned char tag;
};

#ifdef __cplusplus
extern "C" {
#endif

static __inline__ unsigned char *trail__put_variant(unsigned char *at, unsigned char *end,
						const struct trail__piece *p, int *big)
{
	const struct trail__option *o = (const struct trail__option *)p->data;

	/* Numbers with a tag may come to more than the room that is kept for numbers. */
	if (at > end || (size_t)(end - at) < 1 + sizeof(o->bytes)) {
		*big = 1;
		return at;
	}
	*at = o->tag;
	return trail__put(at + 1, end, &o->value, big);
}

/* Any field but a structure */
static __inline__ __attribute__((always_inline)) unsigned char *
trail__put_field(unsigned char *at, unsigned char *end, const struct trail__piece *p, int *big,
		 unsigned int *used)
{
	if (TRAIL__KIND(p->code) == TRAIL__BITS)
		return trail__put_bits(at, p, used);
	*used = 0;
	if (TRAIL__KIND(p->code) == TRAIL__VARIANT)
		return trail__put_variant(at, end, p, big);
	return trail__put(at, end, p, big);
}

#ifdef __cplusplus
}
#define TRAIL__OPTION_AUTO const auto
#define TRAIL__OPTION_NAME(name) ::trail::last_name(name)
#define TRAIL__OPTION_TABLE constexpr
#define TRAIL__CHECK_TAG TRAIL__CHECK_BITS
#else
#define TRAIL__OPTION_AUTO TRAIL__AUTO
#define TRAIL__OPTION_NAME(name) name
#define TRAIL__OPTION_TABLE const
#define TRAIL__CHECK_TAG(name, e) \
	_Static_assert(TRAIL__KIND(TRAIL__CODE(e)) == TRAIL__INT && \
		__builtin_classify_type(e) != 5 && TRAIL__IS_TYPE(e), \
		       "TRAIL: the tag of " name " is neither an integer nor an enumeration");
#endif

/* An option is a tuple: the label's spelling, the label, the expression. */
#define TRAIL__OPTION_PARTS(...) __VA_ARGS__
#define TRAIL__OPTION_FIELD(i, x) TRAIL__OPTION_FIELD_ x
#define TRAIL__OPTION_FIELD_(name, label, e) \
	{ TRAIL__OPTION_NAME(name), TRAIL__OPTION_CODE(e), 0, TRAIL__OPTION_VALUES(e) },
#define TRAIL__OPTION_CASE(i, x) TRAIL__OPTION_CASE_(i, TRAIL__OPTION_PARTS x)
#define TRAIL__OPTION_CASE_(i, ...) TRAIL__OPTION_CASE__(i, __VA_ARGS__)
#define TRAIL__OPTION_CASE__(i, name, label, e) \
	case (unsigned long long)(label): { \
		TRAIL__CHECK(name, e) \
		TRAIL__ASSERT(TRAIL__KIND(TRAIL__OPTION_CODE(e)) >= TRAIL__INT && \
			TRAIL__KIND(TRAIL__OPTION_CODE(e)) <= TRAIL__STRING, \
			"TRAIL: the option " name " is neither a number nor a string"); \
		TRAIL__OPTION_AUTO trail__x = (e); \
		TRAIL__ASSERT(sizeof(trail__x) <= sizeof(trail__o->bytes), \
			"TRAIL: the option " name " is neither a number nor a string"); \
		memcpy(trail__o->bytes, &trail__x, sizeof(trail__x)); \
		trail__o->value.code = TRAIL__OPTION_CODE(e); \
		trail__o->value.count = TRAIL__OPTION_COUNT(e); \
		trail__o->tag = (unsigned char)(trail__o->tag - i); \
		break; \
	}

#define TRAIL__TOTAL_VARIANT(i, name, flags, tag, fields, cases, n) +1 + n
#define TRAIL__DECLARE_VARIANT(i, name, flags, tag, fields, cases, n) \
	TRAIL__CHECK_TAG(name, tag) \
	static TRAIL__OPTION_TABLE struct trail__field trail__l##i[] = { \
		TRAIL__OPTION_PARTS fields }; \
	static TRAIL__OPTION_TABLE struct trail__struct trail__e##i = { { name, 0, n }, \
		trail__l##i };
#define TRAIL__DESCRIBE_VARIANT(i, name, ...) \
	{ name, TRAIL__CODE_OF(TRAIL__VARIANT, 0, 0), 0, &trail__e##i.head },
/* The tag counts down from n, which says that there is no option. */
#define TRAIL__CAPTURE_VARIANT(i, name, flags, tag_, fields, cases, n) \
	struct trail__option trail__v##i = { { TRAIL__CODE_OF(TRAIL__ARRAY_OF, 0, 1), 0, 0 }, \
		{ 0 }, n }; \
	{ \
		struct trail__option *const trail__o = &trail__v##i; \
		trail__o->value.data = trail__o->bytes; \
		switch ((unsigned long long)(tag_)) { \
		TRAIL__OPTION_PARTS cases \
		default: \
			break; \
		} \
	} \
	const struct trail__piece trail__p##i = { TRAIL__CODE_OF(TRAIL__VARIANT, 0, 0), 0, \
		(const void *)&trail__v##i };

#endif
