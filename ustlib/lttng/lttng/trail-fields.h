/* SPDX-License-Identifier: MIT */
/*
 * trail-fields.h - what lttng/tracepoint-event.h does with a list of fields. Nothing here is for
 * use in programs.
 *
 * A field is a tuple (KIND, nowrite, …), a list is tuples one after the other. TRAIL__TP_FOR(op,
 * list) expands to op(tuple) for each: two macros that name each other by turns eat one tuple each,
 * and what is left of the last is pasted away.
 */
#ifndef TRAIL_LTTNG_FIELDS_H
#define TRAIL_LTTNG_FIELDS_H

#pragma GCC system_header

#ifdef __cplusplus
extern "C++" {
#include <type_traits>
#endif
#include <trail/trail.h>
#ifdef __cplusplus
namespace trail { namespace {
template <bool is_float> struct real { typedef double type; };
template <> struct real<true> { typedef float type; };
} }
}
#endif

#ifdef __cplusplus
#define TRAIL__TP_SIGNED(type) (std::is_signed<type>::value ? TRAIL__SIGNED : 0)
#else
#define TRAIL__TP_SIGNED(type) ((type)-1 < (type)1 ? TRAIL__SIGNED : 0)
#endif

/* ---- the macros of programs ---- */

#define LTTNG_UST_TP_FIELDS(...) __VA_ARGS__
#define lttng_ust_field_integer(type, item, e) TRAIL__TP_INT(0, 0, type, item, e)
#define lttng_ust_field_integer_hex(type, item, e) TRAIL__TP_INT(0, TRAIL__HEX, type, item, e)
#define lttng_ust_field_integer_network(type, item, e) \
	TRAIL__TP_INT(0, TRAIL__BIG_ENDIAN, type, item, e)
#define lttng_ust_field_integer_network_hex(type, item, e) \
	TRAIL__TP_INT(0, TRAIL__BIG_ENDIAN | TRAIL__HEX, type, item, e)
#define lttng_ust_field_integer_nowrite(type, item, e) TRAIL__TP_INT(1, 0, type, item, e)
#define lttng_ust_field_float(type, item, e) TRAIL__TP_FLOAT(0, type, item, e)
#define lttng_ust_field_float_nowrite(type, item, e) TRAIL__TP_FLOAT(1, type, item, e)
#define lttng_ust_field_string(item, e) TRAIL__TP_STRING(0, item, e)
#define lttng_ust_field_string_nowrite(item, e) TRAIL__TP_STRING(1, item, e)
#define lttng_ust_field_enum(provider, name, type, item, e) \
	TRAIL__TP_ENUM(0, provider, name, type, item, e)
#define lttng_ust_field_enum_nowrite(provider, name, type, item, e) \
	TRAIL__TP_ENUM(1, provider, name, type, item, e)
#define lttng_ust_field_unused(e) (UNUSED, 0, e)
#define lttng_ust_field_unused_nowrite(e) (UNUSED, 0, e)

#define lttng_ust_field_array(type, item, e, n) TRAIL__TP_ARRAY(0, 0, type, item, e, n)
#define lttng_ust_field_array_hex(type, item, e, n) TRAIL__TP_ARRAY(0, TRAIL__HEX, type, item, e, n)
#define lttng_ust_field_array_network(type, item, e, n) \
	TRAIL__TP_ARRAY(0, TRAIL__BIG_ENDIAN, type, item, e, n)
#define lttng_ust_field_array_network_hex(type, item, e, n) \
	TRAIL__TP_ARRAY(0, TRAIL__BIG_ENDIAN | TRAIL__HEX, type, item, e, n)
#define lttng_ust_field_array_text(type, item, e, n) \
	TRAIL__TP_ARRAY(0, TRAIL__TEXT, type, item, e, n)
#define lttng_ust_field_array_nowrite(type, item, e, n) TRAIL__TP_ARRAY(1, 0, type, item, e, n)
#define lttng_ust_field_array_nowrite_hex(type, item, e, n) \
	TRAIL__TP_ARRAY(1, TRAIL__HEX, type, item, e, n)
#define lttng_ust_field_array_network_nowrite(type, item, e, n) \
	TRAIL__TP_ARRAY(1, TRAIL__BIG_ENDIAN, type, item, e, n)
#define lttng_ust_field_array_network_nowrite_hex(type, item, e, n) \
	TRAIL__TP_ARRAY(1, TRAIL__BIG_ENDIAN | TRAIL__HEX, type, item, e, n)
#define lttng_ust_field_array_text_nowrite(type, item, e, n) \
	TRAIL__TP_ARRAY(1, TRAIL__TEXT, type, item, e, n)

#define lttng_ust_field_sequence(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(0, 0, type, item, e, len_type, n)
#define lttng_ust_field_sequence_hex(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(0, TRAIL__HEX, type, item, e, len_type, n)
#define lttng_ust_field_sequence_network(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(0, TRAIL__BIG_ENDIAN, type, item, e, len_type, n)
#define lttng_ust_field_sequence_network_hex(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(0, TRAIL__BIG_ENDIAN | TRAIL__HEX, type, item, e, len_type, n)
#define lttng_ust_field_sequence_text(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(0, TRAIL__TEXT, type, item, e, len_type, n)
#define lttng_ust_field_sequence_nowrite(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(1, 0, type, item, e, len_type, n)
#define lttng_ust_field_sequence_nowrite_hex(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(1, TRAIL__HEX, type, item, e, len_type, n)
#define lttng_ust_field_sequence_network_nowrite(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(1, TRAIL__BIG_ENDIAN, type, item, e, len_type, n)
#define lttng_ust_field_sequence_network_nowrite_hex(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(1, TRAIL__BIG_ENDIAN | TRAIL__HEX, type, item, e, len_type, n)
#define lttng_ust_field_sequence_text_nowrite(type, item, e, len_type, n) \
	TRAIL__TP_SEQUENCE(1, TRAIL__TEXT, type, item, e, len_type, n)

/* Of LTTng-UST 2.16. */
#define lttng_ust_field_fixed_length_blob(item, e, n, media_type) \
	TRAIL__TP_BLOB(0, item, e, n, media_type)
#define lttng_ust_field_fixed_length_blob_nowrite(item, e, n, media_type) \
	TRAIL__TP_BLOB(1, item, e, n, media_type)
#define lttng_ust_field_variable_length_blob(item, e, len_type, n, media_type) \
	TRAIL__TP_VARIABLE_BLOB(0, item, e, len_type, n, media_type)
#define lttng_ust_field_variable_length_blob_nowrite(item, e, len_type, n, media_type) \
	TRAIL__TP_VARIABLE_BLOB(1, item, e, len_type, n, media_type)

#define LTTNG_UST_TP_ENUM_VALUES(...) __VA_ARGS__
#define lttng_ust_field_enum_value(label, value) \
	{ (label), (unsigned long long)(value), (unsigned long long)(value), 0 },
#define lttng_ust_field_enum_range(label, begin, end) \
	{ (label), (unsigned long long)(begin), (unsigned long long)(end), 0 },
#define lttng_ust_field_enum_auto(label) { (label), 0, 0, 1 },

#if LTTNG_UST_COMPAT_API(0)
#define TP_FIELDS LTTNG_UST_TP_FIELDS
#define TP_ENUM_VALUES LTTNG_UST_TP_ENUM_VALUES
#define ctf_integer lttng_ust_field_integer
#define ctf_integer_hex lttng_ust_field_integer_hex
#define ctf_integer_network lttng_ust_field_integer_network
#define ctf_integer_network_hex lttng_ust_field_integer_network_hex
#define ctf_integer_nowrite lttng_ust_field_integer_nowrite
#define ctf_float lttng_ust_field_float
#define ctf_float_nowrite lttng_ust_field_float_nowrite
#define ctf_string lttng_ust_field_string
#define ctf_string_nowrite lttng_ust_field_string_nowrite
#define ctf_enum lttng_ust_field_enum
#define ctf_enum_nowrite lttng_ust_field_enum_nowrite
#define ctf_enum_value lttng_ust_field_enum_value
#define ctf_enum_range lttng_ust_field_enum_range
#define ctf_enum_auto lttng_ust_field_enum_auto
#define ctf_unused lttng_ust_field_unused
#define ctf_unused_nowrite lttng_ust_field_unused_nowrite
#define ctf_array lttng_ust_field_array
#define ctf_array_hex lttng_ust_field_array_hex
#define ctf_array_network lttng_ust_field_array_network
#define ctf_array_network_hex lttng_ust_field_array_network_hex
#define ctf_array_text lttng_ust_field_array_text
#define ctf_array_nowrite lttng_ust_field_array_nowrite
#define ctf_array_nowrite_hex lttng_ust_field_array_nowrite_hex
#define ctf_array_network_nowrite lttng_ust_field_array_network_nowrite
#define ctf_array_network_nowrite_hex lttng_ust_field_array_network_nowrite_hex
#define ctf_array_text_nowrite lttng_ust_field_array_text_nowrite
#define ctf_sequence lttng_ust_field_sequence
#define ctf_sequence_hex lttng_ust_field_sequence_hex
#define ctf_sequence_network lttng_ust_field_sequence_network
#define ctf_sequence_network_hex lttng_ust_field_sequence_network_hex
#define ctf_sequence_text lttng_ust_field_sequence_text
#define ctf_sequence_nowrite lttng_ust_field_sequence_nowrite
#define ctf_sequence_nowrite_hex lttng_ust_field_sequence_nowrite_hex
#define ctf_sequence_network_nowrite lttng_ust_field_sequence_network_nowrite
#define ctf_sequence_network_nowrite_hex lttng_ust_field_sequence_network_nowrite_hex
#define ctf_sequence_text_nowrite lttng_ust_field_sequence_text_nowrite
#endif

/* ---- tuples ---- */

/* A long double has no representation in a trace: it becomes a double. */
#define TRAIL__TP_INT(nowrite, flags, type, item, e) \
	(VALUE, nowrite, TRAIL__TP_INTEGER(TRAIL__INT, flags, type), 0, __typeof__(type), item, \
		(type)(e))
#define TRAIL__TP_ENUM(nowrite, provider, name, type, item, e) \
	(VALUE, nowrite, TRAIL__TP_INTEGER(TRAIL__INT, TRAIL__ENUM, type), \
		&trail__enum_##provider##___##name, \
	 __typeof__(type), item, (type)(e))
#define TRAIL__TP_FLOAT(nowrite, type, item, e) \
	(VALUE, nowrite, TRAIL__CODE_OF(TRAIL__FLOAT, 0, sizeof(TRAIL__TP_REAL(type))), 0, \
		TRAIL__TP_REAL(type), item, (type)(e))
#define TRAIL__TP_STRING(nowrite, item, e) (STRING, nowrite, item, e)
#define TRAIL__TP_ARRAY(nowrite, flags, type, item, e, n) \
	(ARRAY, nowrite, TRAIL__TP_INTEGER(TRAIL__ARRAY_OF, TRAIL__TP_TEXT_OF(flags, type), type), \
		item, e, n)
#define TRAIL__TP_SEQUENCE(nowrite, flags, type, item, e, len_type, n) \
	(SEQUENCE, nowrite, TRAIL__TP_INTEGER(TRAIL__SEQUENCE_OF, TRAIL__TP_TEXT_OF(flags, type), \
		type) | \
			    (unsigned int)sizeof(len_type) << 24, item, e, __typeof__(len_type), n)
/* Bytes in base 16, for traces of CTF 1.8 and for filters. */
#define TRAIL__TP_BLOB(nowrite, item, e, n, media_type) \
	(BLOB, nowrite, TRAIL__CODE_OF(TRAIL__ARRAY_OF, TRAIL__BLOB | TRAIL__HEX, 1), \
		media_type, item, e, n)
#define TRAIL__TP_VARIABLE_BLOB(nowrite, item, e, len_type, n, media_type) \
	(VARIABLE_BLOB, nowrite, \
		TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, TRAIL__BLOB | TRAIL__HEX, 1) | \
			(unsigned int)sizeof(len_type) << 24, \
		media_type, item, e, __typeof__(len_type), n)

#define TRAIL__TP_INTEGER(kind, flags, type) \
	TRAIL__CODE_OF(kind, (flags) | TRAIL__TP_SIGNED(type), sizeof(type))
#define TRAIL__TP_TEXT_OF(flags, type) (sizeof(type) == 1 ? (flags) : (flags) & ~TRAIL__TEXT)
#ifdef __cplusplus
#define TRAIL__TP_REAL(of) ::trail::real<sizeof(of) == sizeof(float)>::type
#else
#define TRAIL__TP_REAL(type) \
	__typeof__(__builtin_choose_expr(sizeof(type) == sizeof(float), 0.0f, 0.0))
#endif

/* ---- a list's fields by turns ---- */

#define TRAIL__TP_END(...) TRAIL__TP_END_(__VA_ARGS__)
#define TRAIL__TP_END_(...) __VA_ARGS__##_END

#define TRAIL__TP_FIELDS(list) TRAIL__TP_END(TRAIL__TP_F1 list)
#define TRAIL__TP_F1(...) TRAIL__TP_DESCRIBE(__VA_ARGS__) TRAIL__TP_F2
#define TRAIL__TP_F2(...) TRAIL__TP_DESCRIBE(__VA_ARGS__) TRAIL__TP_F1
#define TRAIL__TP_F1_END
#define TRAIL__TP_F2_END
#define TRAIL__TP_FIELDS_NOWRITE(list) TRAIL__TP_END(TRAIL__TP_G1 list)
#define TRAIL__TP_G1(...) TRAIL__TP_DESCRIBE_LAST(__VA_ARGS__) TRAIL__TP_G2
#define TRAIL__TP_G2(...) TRAIL__TP_DESCRIBE_LAST(__VA_ARGS__) TRAIL__TP_G1
#define TRAIL__TP_G1_END
#define TRAIL__TP_G2_END
#define TRAIL__TP_SIZES(list) TRAIL__TP_END(TRAIL__TP_S1 list)
#define TRAIL__TP_S1(kind, ...) TRAIL__TP_SIZE_##kind(__VA_ARGS__) TRAIL__TP_S2
#define TRAIL__TP_S2(kind, ...) TRAIL__TP_SIZE_##kind(__VA_ARGS__) TRAIL__TP_S1
#define TRAIL__TP_S1_END
#define TRAIL__TP_S2_END
#define TRAIL__TP_CAPTURES(list) TRAIL__TP_END(TRAIL__TP_C1 list)
#define TRAIL__TP_C1(kind, ...) TRAIL__TP_CAPTURE_##kind(__VA_ARGS__) TRAIL__TP_C2
#define TRAIL__TP_C2(kind, ...) TRAIL__TP_CAPTURE_##kind(__VA_ARGS__) TRAIL__TP_C1
#define TRAIL__TP_C1_END
#define TRAIL__TP_C2_END
#define TRAIL__TP_PUTS(list) TRAIL__TP_END(TRAIL__TP_P1 list)
#define TRAIL__TP_P1(...) TRAIL__TP_PUT(__VA_ARGS__) TRAIL__TP_P2
#define TRAIL__TP_P2(...) TRAIL__TP_PUT(__VA_ARGS__) TRAIL__TP_P1
#define TRAIL__TP_P1_END
#define TRAIL__TP_P2_END
#define TRAIL__TP_PUTS_NOWRITE(list) TRAIL__TP_END(TRAIL__TP_Q1 list)
#define TRAIL__TP_Q1(...) TRAIL__TP_PUT_LAST(__VA_ARGS__) TRAIL__TP_Q2
#define TRAIL__TP_Q2(...) TRAIL__TP_PUT_LAST(__VA_ARGS__) TRAIL__TP_Q1
#define TRAIL__TP_Q1_END
#define TRAIL__TP_Q2_END
#define TRAIL__TP_PIECES(list) TRAIL__TP_END(TRAIL__TP_T1 list)
#define TRAIL__TP_T1(...) TRAIL__TP_PIECE(__VA_ARGS__) TRAIL__TP_T2
#define TRAIL__TP_T2(...) TRAIL__TP_PIECE(__VA_ARGS__) TRAIL__TP_T1
#define TRAIL__TP_T1_END
#define TRAIL__TP_T2_END
#define TRAIL__TP_PIECES_NOWRITE(list) TRAIL__TP_END(TRAIL__TP_U1 list)
#define TRAIL__TP_U1(...) TRAIL__TP_PIECE_LAST(__VA_ARGS__) TRAIL__TP_U2
#define TRAIL__TP_U2(...) TRAIL__TP_PIECE_LAST(__VA_ARGS__) TRAIL__TP_U1
#define TRAIL__TP_U1_END
#define TRAIL__TP_U2_END

/* Those that are recorded; those that are only for filters, which come last. */
#define TRAIL__TP_DESCRIBE(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(, TRAIL__TP_DESCRIBE_##kind(0, __VA_ARGS__))
#define TRAIL__TP_DESCRIBE_LAST(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(TRAIL__TP_DESCRIBE_##kind(TRAIL__NOWRITE, __VA_ARGS__), )
#define TRAIL__TP_PUT(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(, TRAIL__TP_PUT_##kind(__VA_ARGS__))
#define TRAIL__TP_PUT_LAST(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(TRAIL__TP_PUT_##kind(__VA_ARGS__), )
#define TRAIL__TP_PIECE(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(, TRAIL__TP_PIECE_##kind(__VA_ARGS__))
#define TRAIL__TP_PIECE_LAST(kind, nowrite, ...) \
	TRAIL__TP_IF_##nowrite(TRAIL__TP_PIECE_##kind(__VA_ARGS__), )
#define TRAIL__TP_IF_0(yes, ...) __VA_ARGS__
#define TRAIL__TP_IF_1(yes, ...) yes

/*
 * ---- what is done with each kind: VALUE(code, enumeration, type, item, e), STRING(item, e), …
 * ----
 */

#define TRAIL__TP_DESCRIBE_VALUE(last, code, values, type, item, e) \
	{ #item, (code) | (last) << 16, 0, values },
#define TRAIL__TP_DESCRIBE_STRING(last, item, e) \
	{ #item, TRAIL__CODE_OF(TRAIL__STRING, last, 0), 0, 0 },
#define TRAIL__TP_DESCRIBE_ARRAY(last, code, item, e, n) { #item, (code) | (last) << 16, (n), 0 },
#define TRAIL__TP_DESCRIBE_SEQUENCE(last, code, item, e, len_type, n) \
	{ #item, (code) | (last) << 16, 0, 0 },
#define TRAIL__TP_MEDIA_TYPE(text) (const struct trail__enum *)(const void *)(text)
#define TRAIL__TP_DESCRIBE_BLOB(last, code, media_type, item, e, n) \
	{ #item, (code) | (last) << 16, (n), TRAIL__TP_MEDIA_TYPE(media_type) },
#define TRAIL__TP_DESCRIBE_VARIABLE_BLOB(last, code, media_type, item, e, len_type, n) \
	{ #item, (code) | (last) << 16, 0, TRAIL__TP_MEDIA_TYPE(media_type) },
#define TRAIL__TP_DESCRIBE_UNUSED(last, e)

/*
 * One sum: bytes of the values, and << 16 how many others there are, and << 24 how many are only
 * for filters.
 */
#define TRAIL__TP_SIZE_VALUE(nowrite, code, values, type, item, e) + sizeof(type) + (nowrite << 24)
#define TRAIL__TP_SIZE_STRING(nowrite, item, e) + (1 << 16) + (nowrite << 24)
#define TRAIL__TP_SIZE_ARRAY(nowrite, code, item, e, n) + (1 << 16) + (nowrite << 24)
#define TRAIL__TP_SIZE_SEQUENCE(nowrite, code, item, e, len_type, n) + (1 << 16) + (nowrite << 24)
#define TRAIL__TP_SIZE_BLOB(nowrite, code, media_type, ...) \
	TRAIL__TP_SIZE_ARRAY(nowrite, code, __VA_ARGS__)
#define TRAIL__TP_SIZE_VARIABLE_BLOB(nowrite, code, media_type, ...) \
	TRAIL__TP_SIZE_SEQUENCE(nowrite, code, __VA_ARGS__)
#define TRAIL__TP_SIZE_UNUSED(nowrite, e)

#define TRAIL__TP_CAPTURE_VALUE(nowrite, code, values, type, item, e) \
	const type trail__v_##item = e;
#define TRAIL__TP_CAPTURE_STRING(nowrite, item, e) \
	const char *const trail__v_##item = (const char *)(e);
#define TRAIL__TP_CAPTURE_ARRAY(nowrite, code, item, e, n) \
	const void *const trail__v_##item = (const void *)(e);
#define TRAIL__TP_CAPTURE_SEQUENCE(nowrite, code, item, e, len_type, n) \
	const void *const trail__v_##item = (const void *)(e); \
	const unsigned long long trail__n_##item = (unsigned long long)(len_type)(n);
#define TRAIL__TP_CAPTURE_BLOB(nowrite, code, media_type, ...) \
	TRAIL__TP_CAPTURE_ARRAY(nowrite, code, __VA_ARGS__)
#define TRAIL__TP_CAPTURE_VARIABLE_BLOB(nowrite, code, media_type, ...) \
	TRAIL__TP_CAPTURE_SEQUENCE(nowrite, code, __VA_ARGS__)
#define TRAIL__TP_CAPTURE_UNUSED(nowrite, e) if (0) (void)(e);

#define TRAIL__TP_PUT_VALUE(code, values, type, item, e) \
	memcpy(trail__at, &trail__v_##item, sizeof(type)); \
	trail__at += sizeof(type); \
	trail__end += sizeof(type);
#define TRAIL__TP_PUT_STRING(item, e) \
	trail__at = trail__tp_string(trail__at, trail__end, trail__v_##item, &trail__big);
#define TRAIL__TP_PUT_ARRAY(code, item, e, n) \
	trail__at = trail__tp_elements(trail__at, trail__end, code, trail__v_##item, (n), \
		&trail__big);
#define TRAIL__TP_PUT_SEQUENCE(code, item, e, len_type, n) \
	trail__at = trail__tp_sequence(trail__at, trail__end, code, trail__v_##item, \
		trail__n_##item, &trail__big);
#define TRAIL__TP_PUT_BLOB(code, media_type, ...) TRAIL__TP_PUT_ARRAY(code, __VA_ARGS__)
#define TRAIL__TP_PUT_VARIABLE_BLOB(code, media_type, ...) \
	TRAIL__TP_PUT_SEQUENCE(code, __VA_ARGS__)
#define TRAIL__TP_PUT_UNUSED(e)

#define TRAIL__TP_PIECE_VALUE(code, values, type, item, e) { code, 1, &trail__v_##item },
#define TRAIL__TP_PIECE_STRING(item, e) \
	{ TRAIL__CODE_OF(TRAIL__STRING, 0, 0), 1, &trail__v_##item },
#define TRAIL__TP_PIECE_ARRAY(code, item, e, n) { code, (n), trail__v_##item },
#define TRAIL__TP_PIECE_SEQUENCE(code, item, e, len_type, n) \
	{ code, trail__n_##item < ~0u ? (unsigned int)trail__n_##item : ~0u, trail__v_##item },
#define TRAIL__TP_PIECE_BLOB(code, media_type, ...) TRAIL__TP_PIECE_ARRAY(code, __VA_ARGS__)
#define TRAIL__TP_PIECE_VARIABLE_BLOB(code, media_type, ...) \
	TRAIL__TP_PIECE_SEQUENCE(code, __VA_ARGS__)
#define TRAIL__TP_PIECE_UNUSED(e)

/*
 * The probe of a class. `end` leaves room for the values that are still to come. What does not fit
 * goes another way, from the same values: expressions are evaluated once.
 */
#define TRAIL__TP_PROBE(provider_, name_, args_, list_) \
	static const struct trail__field trail__fields_##provider_##___##name_[] = { \
		TRAIL__TP_FIELDS(list_) TRAIL__TP_FIELDS_NOWRITE(list_){ 0, 0, 0, 0 } \
	}; \
	static void __attribute__((unused, no_instrument_function)) \
	trail__call_##provider_##___##name_(struct trail__tp *trail__t TRAIL__TP_PARAMS(args_)) \
	{ \
		enum { trail__sizes = 0 TRAIL__TP_SIZES(list_) }; \
		enum { trail__values = trail__sizes & 0xffff, trail__last = trail__sizes >> 24 }; \
		enum { trail__room = trail__sizes >> 16 & 255 ? TRAIL__DYNAMIC : 0 }; \
		unsigned char trail__buffer[TRAIL__HEADROOM + trail__values + trail__room + \
					    TRAIL__SPARE]; \
		unsigned char *trail__at = trail__buffer + TRAIL__HEADROOM, \
			      *trail__end = trail__at + trail__room; \
		size_t trail__len; \
		int trail__big = 0; \
\
		if (!TRAIL__IS_ON(*trail__t)) \
			return; \
		TRAIL__TP_CAPTURES(list_) \
		TRAIL__TP_PUTS(list_) \
		trail__len = (size_t)(trail__at - trail__buffer) - TRAIL__HEADROOM; \
		TRAIL__TP_PUTS_NOWRITE(list_) \
		(void)trail__end; \
		if (__builtin_expect(trail__big, 0)) { \
			const struct trail__piece trail__pieces[] = { TRAIL__TP_PIECES( \
				list_) TRAIL__TP_PIECES_NOWRITE(list_){ 0, 0, 0 } }; \
			trail__record_values(trail__t, trail__pieces, \
					     sizeof(trail__pieces) / sizeof(trail__pieces[0]) - 1, \
					     trail__last, TRAIL__TP_IP); \
		} else { \
			trail__record_at(trail__t, trail__buffer + TRAIL__HEADROOM, trail__len, \
					 (size_t)(trail__at - trail__buffer) - TRAIL__HEADROOM - \
						 trail__len, \
					 TRAIL__TP_IP); \
		} \
	}

static inline __attribute__((always_inline, unused)) unsigned char *
trail__tp_string(unsigned char *at, unsigned char *end, const char *s, int *big)
{
	unsigned char *next = trail__put_string(at, end, s);

	if (!next)
		*big = 1;
	return next ? next : at;
}

/*
 * Text ends at its first NUL, after which there need not be memory; the rest is filled with NULs.
 */
static inline __attribute__((always_inline, unused)) unsigned char *
trail__tp_elements(unsigned char *at, unsigned char *end, unsigned int code, const void *data,
		   unsigned long long count, int *big)
{
	size_t size = TRAIL__SIZE(code), n;

	if (at > end || count > (size_t)(end - at) / size) {
		*big = 1;
		return at;
	}
	n = (size_t)count * size;
	if (code & TRAIL__TEXT << 16) {
		/* (ISO C has no strnlen.) */
		size_t used = 0;

		while (used < n && ((const char *)data)[used])
			used++;
		memcpy(at, data, used);
		memset(at + used, 0, n - used);
	} else if (n) {
		memcpy(at, data, n);
	}
	return at + n;
}

static inline __attribute__((always_inline, unused)) unsigned char *
trail__tp_sequence(unsigned char *at, unsigned char *end, unsigned int code, const void *data,
		   unsigned long long count, int *big)
{
	size_t size = TRAIL__LENGTH(code);

	if (at > end || (size_t)(end - at) < size) {
		*big = 1;
		return at;
	}
	trail__put_length(at, count, size);
	return trail__tp_elements(at + size, end, code, data, count, big);
}

#endif
