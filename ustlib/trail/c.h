/* SPDX-License-Identifier: MIT */
/*
 * c.h - what trail.h does with its arguments in C: expressions become descriptions by _Generic,
 * values become pieces. Included by trail.h alone; nothing here is for use in programs.
 */
#ifndef TRAIL_C_H
#define TRAIL_C_H

#include <trail/trail.h>

#pragma GCC system_header

#define TRAIL__PUT(i, x) \
	trail__at = trail__put_field(trail__at, \
		trail__buffer + TRAIL__HEADROOM + TRAIL__DYNAMIC, &trail__p##i, &trail__big, \
		&trail__used);
#define TRAIL__PIECE(i, x) trail__p##i,
#define TRAIL__HIT_PIECES(tp, ...) \
	const struct trail__piece trail__pieces[] = { TRAIL__EACH(TRAIL__PIECE, __VA_ARGS__) { 0, \
		0, 0 } }; \
	trail__record_pieces((tp), trail__pieces, \
		sizeof(trail__pieces) / sizeof(trail__pieces[0]) - 1);

#define TRAIL__LABEL(i, label) \
	{ #label, (unsigned long long)(label), (unsigned long long)(label), 0 },

#define TRAIL__AUTO __extension__ __auto_type
#define TRAIL__I(type) \
	TRAIL__CODE_OF(TRAIL__INT, (type)-1 < (type)1 ? TRAIL__SIGNED : 0, sizeof(type))
#define TRAIL__POINTER TRAIL__CODE_OF(TRAIL__INT, TRAIL__HEX, sizeof(void *))
#define TRAIL__CODE(e) _Generic((e), \
	_Bool: TRAIL__CODE_OF(TRAIL__INT, 0, sizeof(_Bool)), \
	char: TRAIL__I(char), signed char: TRAIL__I(signed char), \
		unsigned char: TRAIL__I(unsigned char), \
	short: TRAIL__I(short), unsigned short: TRAIL__I(unsigned short), int: TRAIL__I(int), \
	unsigned int: TRAIL__I(unsigned int), long: TRAIL__I(long), \
		unsigned long: TRAIL__I(unsigned long), \
	long long: TRAIL__I(long long), unsigned long long: TRAIL__I(unsigned long long), \
	float: TRAIL__CODE_OF(TRAIL__FLOAT, 0, sizeof(float)), \
		double: TRAIL__CODE_OF(TRAIL__FLOAT, 0, sizeof(double)), \
	char *: TRAIL__CODE_OF(TRAIL__STRING, 0, 0), const char *: TRAIL__CODE_OF(TRAIL__STRING, \
		0, 0), \
	default: TRAIL__POINTER)

/*
 * An array is what becomes something else where its value is taken, and is no function, which is
 * what it points to.
 */
#define TRAIL__DECAYS(e) \
	(__builtin_classify_type(e) == 5 && !__builtin_types_compatible_p(__typeof__(e), \
		__typeof__((0, (e)))))
#define TRAIL__DECAYED(e) __builtin_choose_expr(TRAIL__DECAYS(e), (e), (int *)0)
#define TRAIL__IS_ARRAY(e) \
	(TRAIL__DECAYS(e) && !__builtin_types_compatible_p(__typeof__(e), \
		__typeof__(*TRAIL__DECAYED(e))))
#define TRAIL__IS_TEXT(e) (TRAIL__IS_ARRAY(e) && _Generic(*TRAIL__DECAYED(e), char: 1, default: 0))
#define TRAIL__IS_FIXED(e) (!TRAIL__IS_ARRAY(e) || __builtin_constant_p(sizeof(__typeof__(e))))
#define TRAIL__LENGTH_OF(e) \
	(TRAIL__IS_ARRAY(e) ? __builtin_choose_expr(__builtin_constant_p(sizeof(__typeof__(e))), \
		sizeof(__typeof__(e)), 0) / sizeof(*TRAIL__DECAYED(e)) : 1)
/* Of what has such an element. */
#define TRAIL__ELEMENTS(code, kind) \
	(TRAIL__KIND(code) == TRAIL__FLOAT ? TRAIL__CODE_OF(kind, TRAIL__REAL, \
		TRAIL__SIZE(code)) : \
	 TRAIL__KIND(code) == TRAIL__STRING ? TRAIL__CODE_OF(kind, TRAIL__HEX, sizeof(void *)) : \
	 (((code) & ~0xff00u) | (unsigned int)(kind) << 8))
#define TRAIL__ELEMENT(pointer, kind) TRAIL__ELEMENTS(TRAIL__CODE(*(pointer)), kind)
#define TRAIL__VALUE_CODE(e) \
	(TRAIL__IS_TEXT(e) ? TRAIL__CODE_OF(TRAIL__STRING, TRAIL__TEXT, 0) : \
	 TRAIL__IS_ARRAY(e) ? TRAIL__ELEMENTS(TRAIL__CODE(*TRAIL__DECAYED(e)), \
		TRAIL__ARRAY_OF) : TRAIL__CODE(e))
#define TRAIL__IS_TYPE(e) (TRAIL__CODE(e) != TRAIL__POINTER || __builtin_classify_type(e) == 5)

/*
 * A cast binds tighter than every operator with two or three operands: if there is one, the type is
 * another. Of the others, the first character says what they are; brackets around all of it say
 * nothing, unless they are a macro's, as those of errno.
 */
#define TRAIL__IN(text, at, from, to) \
	(__builtin_memcmp((text) + (at), from, 1) >= 0 && __builtin_memcmp((text) + (at), to, \
		1) <= 0)
#define TRAIL__IS(text, at, what) (__builtin_memcmp((text) + (at), what, sizeof(what) - 1) == 0)
#define TRAIL__EAT(...)         /* leaves nothing of what is in one pair of brackets */
#define TRAIL__STRING_OF(...) TRAIL__STRING_OF_(__VA_ARGS__)
#define TRAIL__STRING_OF_(...) #__VA_ARGS__
#define TRAIL__HAS_NAME(e, text) \
	(__builtin_types_compatible_p(__typeof__((_Bool) e), _Bool) && \
	 (TRAIL__IN(text, 0, "a", "z") || TRAIL__IN(text, 0, "A", "Z") || TRAIL__IS(text, 0, \
		"_") || TRAIL__IS(text, 0, "*") || \
	  TRAIL__IS(text, 0, "&") || (TRAIL__IS(text, 0, "+") && \
		!TRAIL__IN(text " ", 1, "+", "9")) || \
	  (TRAIL__IS(text, 0, "(") && (TRAIL__IS(text " ", 1, "*") || \
		sizeof(TRAIL__STRING_OF(TRAIL__EAT e)) > 1))) && \
	 !TRAIL__IS(text, sizeof(text) - 2, "+") && !TRAIL__IS(text, sizeof(text) - 2, "-") && \
	 !TRAIL__IS(text, sizeof(text) - 2, "\"") && !TRAIL__IS(text, sizeof(text) - 2, "'"))

#define TRAIL__CHECK(name, e) \
	_Static_assert( \
		TRAIL__IS_TYPE(e), \
		TRAIL__NO_TYPE(name) ", which are integers, floating point numbers, " \
				     "enumerations, strings, pointers and arrays; a bit-field " \
				     "needs a + before it"); \
	_Static_assert(!TRAIL__IS_ARRAY(e) || TRAIL__IS_TYPE(*TRAIL__DECAYED(e)), \
		       TRAIL__NO_TYPE(name) ": an array, but not of numbers"); \
	_Static_assert( \
		!TRAIL__IS_ARRAY(e) || !TRAIL__DECAYS(*TRAIL__DECAYED(e)), \
		TRAIL__NO_TYPE(name) ": an array of arrays; write " \
				     "TRAIL_ARRAY(name, &array[0][0], count)"); \
	_Static_assert( \
		TRAIL__IS_FIXED(e), \
		TRAIL__NO_TYPE(name) ": an array of variable length; write " \
				     "TRAIL_SEQUENCE(name, array, count)");
#define TRAIL__CHECK_ELEMENT(name, pointer) \
	_Static_assert(TRAIL__IS_TYPE(*(pointer)), TRAIL__NO_TYPE(name) ": these are no numbers");

#define TRAIL__DECLARE_PLAIN(i, name, flags, e) \
	_Pragma("GCC diagnostic push") \
	_Pragma("GCC diagnostic ignored \"-Waddress\"") \
	_Static_assert(TRAIL__HAS_NAME(e, #e), TRAIL__NO_NAME(e)); \
	_Pragma("GCC diagnostic pop") \
	TRAIL__CHECK(#e, e) \
	TRAIL__DECLARE_CODE(i, e)
#define TRAIL__DECLARE_VALUE(i, name, flags, e) \
	TRAIL__CHECK(name, e) \
	TRAIL__DECLARE_CODE(i, e)
#define TRAIL__DECLARE_CODE(i, e) \
	enum { trail__c##i = TRAIL__VALUE_CODE(e), trail__n##i = TRAIL__LENGTH_OF(e) };
#define TRAIL__DECLARE_ENUM(i, name, flags, e, ...) \
	_Static_assert(TRAIL__KIND(TRAIL__CODE(e)) == TRAIL__INT && \
		__builtin_classify_type(e) != 5 && TRAIL__IS_TYPE(e), \
		       "TRAIL: the field " name " is neither an integer nor an enumeration"); \
	static const struct trail__label trail__l##i[] = { __VA_ARGS__ }; \
	static const struct trail__enum trail__e##i = { name, trail__l##i, \
		sizeof(trail__l##i) / sizeof(trail__l##i[0]) };

#define TRAIL__DESCRIBE_VALUE(i, name, flags, e) \
	{ name, (unsigned int)trail__c##i | (unsigned int)(flags) << 16, \
	  TRAIL__KIND(trail__c##i) == TRAIL__ARRAY_OF ? (unsigned int)trail__n##i : 0, 0 },
#define TRAIL__DESCRIBE_ENUM(i, name, flags, e, ...) \
	{ name, TRAIL__CODE(e) | (unsigned int)(flags) << 16, 0, &trail__e##i },

#define TRAIL__CAPTURE_PLAIN TRAIL__CAPTURE_VALUE
#define TRAIL__CAPTURE_VALUE(i, name, flags, e) \
	TRAIL__AUTO trail__v##i = (e); \
	const struct trail__piece trail__p##i = { \
		trail__c##i, trail__n##i, \
		(const void *)__builtin_choose_expr(TRAIL__KIND(trail__c##i) == TRAIL__ARRAY_OF, \
			trail__v##i, &trail__v##i) \
	};
#define TRAIL__CAPTURE_ENUM(i, name, flags, e, ...) \
	TRAIL__AUTO trail__v##i = (e); \
	const struct trail__piece trail__p##i = { TRAIL__CODE(e), 1, (const void *)&trail__v##i };

#define TRAIL__TOTAL_PLAIN(i, ...) +1
#define TRAIL__TOTAL_VALUE TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_ENUM TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_SEQUENCE TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_ARRAY TRAIL__TOTAL_PLAIN
#define TRAIL__TOTAL_BITS TRAIL__TOTAL_PLAIN

#define TRAIL__OPTION_CODE(e) TRAIL__VALUE_CODE(e)
#define TRAIL__OPTION_COUNT(e) TRAIL__LENGTH_OF(e)
#define TRAIL__OPTION_VALUES(e) 0

/*
 * text is one word up to its end or its first comma. gcc knows the length of a span at compile
 * time. clang does not: it looks for the characters that are most likely.
 */
#define TRAIL__NO_WORD " !\"#%&'()*+-./:;<=>?@[\\]^`{|}~"
#define TRAIL__SPANS(text) \
	(__builtin_strcspn(text, TRAIL__NO_WORD) >= __builtin_strcspn(text, ","))
#ifdef __clang__
#define TRAIL__LACKS(text, c) \
	(__builtin_strlen(__builtin_strchr(text "," c, *(c))) <= \
	 __builtin_strlen(__builtin_strchr(text ",", ',')) + 1)
#define TRAIL__IS_WORD(text) \
	(TRAIL__LACKS(text, "\"") && TRAIL__LACKS(text, ":") && TRAIL__LACKS(text, ".") && \
	 TRAIL__LACKS(text, "-") && TRAIL__LACKS(text, "(") && TRAIL__LACKS(text, " "))
#else
#define TRAIL__IS_WORD(text) \
	__builtin_choose_expr(__builtin_constant_p(TRAIL__SPANS(text)), TRAIL__SPANS(text), 1)
#endif
#define TRAIL__CHECK_NAMES(provider, args) \
	_Static_assert(sizeof(provider) > 1 && TRAIL__IS_WORD(provider), \
		       "TRAIL: " provider TRAIL__NOT_A_NAME); \
	_Static_assert(sizeof(args) > 1 && TRAIL__IS_WORD(args), "TRAIL: " args TRAIL__NOT_A_NAME);

#ifdef TRAIL_DISABLE
#define TRAIL__EVENT(level_, provider_, args_, ...) \
	do { \
		TRAIL__CHECK_NAMES(provider_, args_) \
		TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
		TRAIL__VANISH(level_, __VA_ARGS__) \
	} while (0)
#else
#define TRAIL__EVENT(level_, provider_, args_, ...) \
	do { \
		TRAIL__CHECK_NAMES(provider_, args_) \
		TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
		_Static_assert(0 TRAIL__EACH(TRAIL__TOTAL, __VA_ARGS__) <= 64, \
			"TRAIL: an event has 64 fields at most, options of variants included"); \
		static const struct trail__field trail__fields[] = { \
			TRAIL__EACH(TRAIL__DESCRIBE, __VA_ARGS__) { 0, 0, 0, 0 } \
		}; \
		static const struct trail__event trail__event = { \
			provider_, args_, trail__fields, \
			sizeof(trail__fields) / sizeof(trail__fields[0]) - 1, level_, 1, 0 \
		}; \
		static struct trail__tp trail__tp = { &trail__tp.off, &trail__event, 0, 0, 0, 0, \
			0, 0, 0 }; \
		static struct trail__tp *trail__entry __attribute__((used, \
			section("trail_tps"))) = &trail__tp; \
		if (TRAIL__IS_ON(trail__tp)) { \
			TRAIL__HIT(&trail__tp, __VA_ARGS__) \
		} \
		(void)&trail__entry; \
	} while (0)
#endif

#endif
