/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every macro of version 0 of LTTng-UST's interface; compat.sh makes version 1 of it. C and C++. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER compat

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./fields.h"

#if !defined(COMPAT_FIELDS_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define COMPAT_FIELDS_H

#include <lttng/tracepoint.h>

#ifndef COMPAT_ONCE
#define COMPAT_ONCE
struct point { int x; unsigned char y; const char *label; };
enum mode { READ_MODE = 1, WRITE_MODE = 2 };
static inline __attribute__((unused)) int twice(int v) { return 2 * v; }
#endif

TRACEPOINT_ENUM(compat, colours,
	TP_ENUM_VALUES(
		ctf_enum_value("red", 0)
		ctf_enum_auto("green")
		ctf_enum_range("warm ones", 10, 19)
		ctf_enum_auto("after")
		ctf_enum_value("a \"quoted\" one", 100)
	)
)
TRACEPOINT_ENUM(compat, sides,
	TP_ENUM_VALUES(
		ctf_enum_range("left", -100, -1)
		ctf_enum_value("middle", 0)
		ctf_enum_range("right", 1, 100)
	)
)

TRACEPOINT_EVENT(compat, none, TP_ARGS(), TP_FIELDS())
TRACEPOINT_EVENT(compat, nothing, TP_ARGS(void), TP_FIELDS())

TRACEPOINT_EVENT(compat, integers,
	TP_ARGS(long, v, unsigned long long, u, const struct point *, p),
	TP_FIELDS(
		ctf_integer(char, c, (char)v)
		ctf_integer(signed char, sc, (signed char)v)
		ctf_integer(unsigned char, uc, (unsigned char)v)
		ctf_integer(short, s, (short)v)
		ctf_integer(unsigned short, us, (unsigned short)v)
		ctf_integer(int, i, (int)v)
		ctf_integer(unsigned int, ui, (unsigned int)v)
		ctf_integer(long, l, v)
		ctf_integer(unsigned long, ul, (unsigned long)v)
		ctf_integer(long long, ll, (long long)v)
		ctf_integer(unsigned long long, ull, u)
		ctf_integer(bool, flag, v != 0)
		ctf_integer(enum mode, mode, WRITE_MODE)
		ctf_integer(uint8_t, member, p->y)
		ctf_integer(int, call, twice(p->x))
		ctf_integer_hex(int, hex, (int)v)
		ctf_integer_hex(unsigned long long, big_hex, u)
		ctf_integer_hex(const void *, pointer, (const void *)0x1234)
		ctf_integer_network(uint16_t, port, (uint16_t)0x5000)
		ctf_integer_network(int, net, 0x01000000)
		ctf_integer_network_hex(uint32_t, address, 0x0100007fu)
	)
)

TRACEPOINT_EVENT(compat, numbers,
	TP_ARGS(float, f, double, d),
	TP_FIELDS(
		ctf_float(float, f, f)
		ctf_float(double, d, d)
		ctf_float(float, narrow, (float)d)
		ctf_float_nowrite(double, unseen, d)
	)
)

TRACEPOINT_EVENT(compat, strings,
	TP_ARGS(const char *, text, const char *, none, const struct point *, p),
	TP_FIELDS(
		ctf_string(text, text)
		ctf_string(none, none)
		ctf_string(label, p->label)
		ctf_string_nowrite(unseen, text)
		ctf_array_text(char, exact, "abc", 3)
		ctf_array_text(char, filled, "abc", 4)
		ctf_array_text_nowrite(char, unseen_array, "abc", 3)
		ctf_sequence_text(char, part, text, size_t, 4)
		ctf_sequence_text(char, ended, "abc", unsigned short, 4)
		ctf_sequence_text(char, empty, text, unsigned char, 0)
		ctf_sequence_text_nowrite(char, unseen_part, text, size_t, 4)
	)
)

TRACEPOINT_EVENT(compat, arrays,
	TP_ARGS(const int *, v, const unsigned char *, bytes, const uint16_t *, net),
	TP_FIELDS(
		ctf_array(int, v, v, 3)
		ctf_array_nowrite(int, v_unseen, v, 3)
		ctf_array_hex(unsigned char, bytes, bytes, 6)
		ctf_array_nowrite_hex(unsigned char, bytes_unseen, bytes, 6)
		ctf_array_network(uint16_t, net, net, 2)
		ctf_array_network_nowrite(uint16_t, net_unseen, net, 2)
		ctf_array_network_hex(uint16_t, net_hex, net, 2)
		ctf_array_network_nowrite_hex(uint16_t, net_hex_unseen, net, 2)
		ctf_integer(int, last, v[2])
	)
)

TRACEPOINT_EVENT(compat, sequences,
	TP_ARGS(const int *, v, const unsigned char *, bytes, const uint16_t *, net, size_t, n),
	TP_FIELDS(
		ctf_sequence(int, v, v, size_t, n)
		ctf_sequence_nowrite(int, v_unseen, v, size_t, n)
		ctf_sequence_hex(unsigned char, bytes, bytes, unsigned char, (unsigned char)n)
		ctf_sequence_nowrite_hex(unsigned char, bytes_unseen, bytes, unsigned char,
					 (unsigned char)n)
		ctf_sequence_network(uint16_t, net, net, uint16_t, 2)
		ctf_sequence_network_nowrite(uint16_t, net_unseen, net, uint16_t, 2)
		ctf_sequence_network_hex(uint16_t, net_hex, net, unsigned int, 2)
		ctf_sequence_network_nowrite_hex(uint16_t, net_hex_unseen, net, unsigned int, 2)
		ctf_sequence(unsigned long long, empty, (const unsigned long long *)0, size_t, 0)
	)
)

TRACEPOINT_EVENT(compat, enumerations,
	TP_ARGS(int, colour, long, side),
	TP_FIELDS(
		ctf_enum(compat, colours, unsigned char, colour, (unsigned char)colour)
		ctf_enum(compat, colours, int, again, colour)
		ctf_enum(compat, sides, long, side, side)
		ctf_enum_nowrite(compat, sides, signed char, unseen, (signed char)side)
	)
)

/* The fields that are not recorded stand between those that are. */
TRACEPOINT_EVENT(compat, mixed,
	TP_ARGS(int, a, const char *, b, int, unused_one),
	TP_FIELDS(
		ctf_integer_nowrite(int, unseen, a)
		ctf_integer(int, a, a)
		ctf_unused(unused_one)
		ctf_unused_nowrite(unused_one)
		ctf_string(b, b)
	)
)

TRACEPOINT_EVENT(compat, ten,
	TP_ARGS(int, a, int, b, int, c, int, d, int, e, int, f, int, g, int, h, int, i, int, j),
	TP_FIELDS(
		ctf_integer(int, a, a) ctf_integer(int, b, b) ctf_integer(int, c, c)
		ctf_integer(int, d, d) ctf_integer(int, e, e) ctf_integer(int, f, f)
		ctf_integer(int, g, g) ctf_integer(int, h, h) ctf_integer(int, i, i)
		ctf_integer(int, j, j)
	)
)

TRACEPOINT_EVENT(compat, large,
	TP_ARGS(int, before, const char *, text, const int *, v, size_t, n),
	TP_FIELDS(
		ctf_integer(int, before, before)
		ctf_integer_nowrite(int, unseen, before)
		ctf_string(text, text)
		ctf_sequence_text(char, limited, "short", size_t, n)
		ctf_sequence(int, v, v, size_t, n)
		ctf_integer(int, after, before + 1)
	)
)

TRACEPOINT_EVENT_CLASS(compat, pair, TP_ARGS(int, a, const char *, b),
	TP_FIELDS(ctf_integer(int, a, a) ctf_string(b, b)))
TRACEPOINT_EVENT_INSTANCE(compat, pair, first, TP_ARGS(int, a, const char *, b))
TRACEPOINT_EVENT_INSTANCE(compat, pair, second, TP_ARGS(int, a, const char *, b))
TRACEPOINT_EVENT_INSTANCE(compat, pair, third, TP_ARGS(int, a, const char *, b))
TRACEPOINT_LOGLEVEL(compat, second, TRACE_CRIT)
TRACEPOINT_MODEL_EMF_URI(compat, third, "http://example.com/model?third#one")

#define COMPAT_LEVEL(name, level) \
	TRACEPOINT_EVENT(compat, name, TP_ARGS(int, v), TP_FIELDS(ctf_integer(int, v, v))) \
	TRACEPOINT_LOGLEVEL(compat, name, level)
COMPAT_LEVEL(emerg, TRACE_EMERG)
COMPAT_LEVEL(alert, TRACE_ALERT)
COMPAT_LEVEL(err, TRACE_ERR)
COMPAT_LEVEL(warning, TRACE_WARNING)
COMPAT_LEVEL(notice, TRACE_NOTICE)
COMPAT_LEVEL(info, TRACE_INFO)
COMPAT_LEVEL(debug_system, TRACE_DEBUG_SYSTEM)
COMPAT_LEVEL(debug_program, TRACE_DEBUG_PROGRAM)
COMPAT_LEVEL(debug_process, TRACE_DEBUG_PROCESS)
COMPAT_LEVEL(debug_module, TRACE_DEBUG_MODULE)
COMPAT_LEVEL(debug_unit, TRACE_DEBUG_UNIT)
COMPAT_LEVEL(debug_function, TRACE_DEBUG_FUNCTION)
COMPAT_LEVEL(debug_line, TRACE_DEBUG_LINE)
COMPAT_LEVEL(debug, TRACE_DEBUG)

#endif

#include <lttng/tracepoint-event.h>
