/* SPDX-License-Identifier: MIT */
/*
 * trail.h - trace points for programs and libraries, C (of any standard that gcc and clang have)
 * and C++17. Link with -ltrail.
 *
 *	TRAIL(my_app, request, id, path, TRAIL_FIELD(ms, elapsed / 1e3));
 *	TRAIL_LEVEL(WARNING, my_app, slow, id);
 *
 * is all there is to write, where it happens: it makes the event my_app:request with the fields id,
 * path and ms. Provider and event are identifiers; anything else does not compile. Nothing is
 * evaluated while the event is off, which costs one load, one test and a branch not taken.
 *
 * Fields (up to 16). A plain argument takes its name from its spelling (`id`; `req->id`, `req.id`
 * and `ids[i].id` give `id`, `length(s)` gives `length`), and its type from its C type: integers of
 * any size, bool and enumerations as integers, float, double, char * as a string (a null pointer
 * reads "(null)"), other pointers as hexadecimal numbers; arrays of numbers as such, arrays of char
 * as a string that ends with the array at the latest. Bit-fields need a `+` before them. An
 * expression that is none of these (`i + 1`, `-i`, a literal, also as a macro) has no name: it does
 * not compile. Or:
 *
 *	TRAIL_FIELD(name, expr)                 any of these under a name of its own
 *	TRAIL_ENUM(name, expr, LABEL, ...)      an integer or enumeration, with the names of up to
 *						16 constants
 *	TRAIL_HEX(name, expr)                   an integer shown in hexadecimal
 *	TRAIL_NET(name, expr)                   an integer in network byte order (as in a packet
 *						header)
 *	TRAIL_NET_HEX(name, expr)
 *	TRAIL_BITS(name, expr, BITS)            the lowest bits of an integer, see <trail/bits.h>
 *	TRAIL_SIGNED_BITS(name, expr, BITS)
 *	TRAIL_VARIANT(name, tag, OPTION, ...)   one of several types, see <trail/variant.h>
 *	TRAIL_TEXT(name, pointer, length)       a counted string: length bytes of text
 *	TRAIL_BYTES(name, pointer, length)      length bytes, shown in hexadecimal
 *	TRAIL_SEQUENCE(name, pointer, count)    count numbers of the pointer's type
 *	TRAIL_ARRAY(name, pointer, COUNT)       the same, COUNT a constant
 *	TRAIL_TEXT_ARRAY(name, pointer, COUNT)  COUNT bytes of text, COUNT a constant
 *
 * In C++ also: std::string, std::string_view and what else has data() and size() of char, as
 * strings up to the first NUL; std::array, std::vector, std::span and what else has data() and
 * size() of numbers, as arrays and sequences. Said once, at namespace scope where the type is
 * declared:
 *
 *	TRAIL_LABELS(type, type::LABEL, ...)    fields of this enumeration have the names of these
 *						up to 16 constants
 *	TRAIL_MEMBERS(type, member, ...)        fields of this class are structures with these up to
 *						16 members, each of any type that a field can have
 *
 * In a function or another block, as a declaration:
 *
 *	TRAIL_SCOPE(my_app, load, id, ...);     my_app:load_begin with the fields, and
 *						my_app:load_end where the block ends, by an
 *						exception as well
 *	TRAIL_SCOPE_LEVEL(INFO, my_app, load, id, ...);
 *
 * And as a field: TRAIL_LOCATION(name, location), the file, line and function of a
 * std::source_location, or of three such arguments.
 *
 * Each argument is evaluated once if the event is on. A string may change or shrink while it is
 * recorded: what is recorded is one consistent reading of it. An event that is larger than a
 * sub-buffer is counted as discarded.
 *
 * Levels: EMERG ALERT CRIT ERR WARNING NOTICE INFO DEBUG_SYSTEM DEBUG_PROGRAM DEBUG_PROCESS
 * DEBUG_MODULE DEBUG_UNIT DEBUG_FUNCTION DEBUG_LINE DEBUG. TRAIL() has DEBUG_LINE.
 *
 * May be used in any thread, in signal handlers, in constructors and destructors, in inline
 * functions and templates; a child between vfork(2) and exec records nothing: its events count as
 * discarded. The library starts no thread, takes no lock that another thread can hold for long, and
 * never fails towards its caller. It waits in two cases only. Where a session is active when an
 * object is loaded, or where tracing is switched on later, the constructor or the first hit asks
 * the daemon, and other threads that need the answer wait for it, too: less than a millisecond as a
 * rule, until the daemon has been silent for 10 ms, and for 250 ms in all if it shows that it is at
 * work. And a full ring may be waited for, where the channel's blocking_timeout and
 * TRAIL_ALLOW_BLOCKING both say so.
 *
 * Environment (not in setuid programs): TRAIL_RUNTIME_DIR (or LTTNG_UST_APP_PATH), the daemon's
 * state directory if it is not the usual one; TRAIL_ATTACH_TIMEOUT, milliseconds that the daemon
 * may be silent when it is asked, 10 if not set (the wait is 25 times as long in all, or a minute;
 * 0: do not wait);
 * TRAIL_RSEQ=0, do not use restartable sections but a ring per thread (as is done where the kernel
 * has none); TRAIL_ALLOW_BLOCKING (or LTTNG_UST_ALLOW_BLOCKING), with any value: full rings may be
 * waited for.
 *
 * With TRAIL_DISABLE defined before this header, trace points vanish: arguments are checked as
 * ever, but never evaluated, an optimizing compiler leaves neither code nor data, and the program
 * needs no library.
 *
 * What begins with trail__ or TRAIL__ is not for use.
 */
#ifndef TRAIL_TRAIL_H
#define TRAIL_TRAIL_H

#pragma GCC system_header       /* keeps -Wpedantic and its like quiet inside the macros */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The variable part is the event's name, then the fields: so it is never empty, as strict C11
 * wants.
 */
#define TRAIL(provider, ...) \
	TRAIL__EVENT(TRAIL__LEVEL_DEBUG_LINE, #provider, #__VA_ARGS__, __VA_ARGS__)
#define TRAIL_LEVEL(level, provider, ...) \
	TRAIL__EVENT(TRAIL__LEVEL_##level, #provider, #__VA_ARGS__, __VA_ARGS__)

#define TRAIL_FIELD(name, expr) (TRAIL__MARK, VALUE, #name, 0, expr)
#define TRAIL_ENUM(name, expr, ...) \
	(TRAIL__MARK, ENUM, #name, TRAIL__ENUM, expr, TRAIL__EACH(TRAIL__LABEL, 0, __VA_ARGS__))
#define TRAIL_HEX(name, expr) (TRAIL__MARK, VALUE, #name, TRAIL__HEX, expr)
#define TRAIL_NET(name, expr) (TRAIL__MARK, VALUE, #name, TRAIL__BIG_ENDIAN, expr)
#define TRAIL_NET_HEX(name, expr) (TRAIL__MARK, VALUE, #name, TRAIL__BIG_ENDIAN | TRAIL__HEX, expr)
#define TRAIL_TEXT(name, pointer, length) \
	(TRAIL__MARK, SEQUENCE, #name, TRAIL__TEXT, (const char *)(pointer), length)
#define TRAIL_BYTES(name, pointer, length) \
	(TRAIL__MARK, SEQUENCE, #name, TRAIL__HEX, (const unsigned char *)(pointer), length)
#define TRAIL_SEQUENCE(name, pointer, count) (TRAIL__MARK, SEQUENCE, #name, 0, pointer, count)
#define TRAIL_ARRAY(name, pointer, count) (TRAIL__MARK, ARRAY, #name, 0, pointer, count)
#define TRAIL_TEXT_ARRAY(name, pointer, count) \
	(TRAIL__MARK, ARRAY, #name, TRAIL__TEXT, (const char *)(pointer), count)

enum trail__level {
	TRAIL__LEVEL_EMERG,
	TRAIL__LEVEL_ALERT,
	TRAIL__LEVEL_CRIT,
	TRAIL__LEVEL_ERR,
	TRAIL__LEVEL_WARNING,
	TRAIL__LEVEL_NOTICE,
	TRAIL__LEVEL_INFO,
	TRAIL__LEVEL_DEBUG_SYSTEM,
	TRAIL__LEVEL_DEBUG_PROGRAM,
	TRAIL__LEVEL_DEBUG_PROCESS,
	TRAIL__LEVEL_DEBUG_MODULE,
	TRAIL__LEVEL_DEBUG_UNIT,
	TRAIL__LEVEL_DEBUG_FUNCTION,
	TRAIL__LEVEL_DEBUG_LINE,
	TRAIL__LEVEL_DEBUG
};

/*
 * Kinds and flags: the values of tracer/abi/app.h. A code is kind << 8 | flags << 16 | size; of a
 * sequence also the bytes of its length << 24 (0: 4).
 */
#define TRAIL__INT 1
#define TRAIL__FLOAT 2
#define TRAIL__STRING 3
#define TRAIL__ARRAY_OF 4
#define TRAIL__SEQUENCE_OF 5
#define TRAIL__STRUCT 6         /* values is the head of a struct trail__struct */
#define TRAIL__BITS 7           /* size is the number of bits */
#define TRAIL__VARIANT 8        /* values as of a structure, with the options */
#define TRAIL__SIGNED 1
#define TRAIL__HEX 2
#define TRAIL__BIG_ENDIAN 4
#define TRAIL__TEXT 8           /* of a string: it ends after `count` bytes at the latest */
#define TRAIL__NOWRITE 16       /* only for filters; such fields come last */
#define TRAIL__ENUM 32          /* an integer with an enumeration */
#define TRAIL__REAL 64          /* an array or sequence of floating point numbers */
#define TRAIL__BLOB 128         /* of bytes: a BLOB; values is its media type, a text */
#define TRAIL__CODE_OF(kind, flags, size) \
	((unsigned int)(kind) << 8 | (unsigned int)(flags) << 16 | (unsigned int)(size))
#define TRAIL__KIND(code) ((code) >> 8 & 255)
#define TRAIL__SIZE(code) ((code) & 255)

/* one name of an enumeration; negative values converted, as C does it */
struct trail__label {
	const char *name;
	unsigned long long begin, end;
	/* begin and end are one more than the end of the label before (0 for the first) */
	unsigned int automatic;
};

struct trail__enum {
	const char *name;
	const struct trail__label *labels;
	unsigned int count;
};

struct trail__field {
	const char *name;       /* null: from the spelling, see trail__event.args */
	unsigned int code;
	unsigned int count;     /* elements of an array */
	const struct trail__enum *values;       /* TRAIL__ENUM, TRAIL__BLOB; or null */
};

struct trail__struct {
	struct trail__enum head;        /* nothing but the count of fields */
	const struct trail__field *fields;
};

struct trail__event {
	const char *provider;
	const char *args;       /* the event's name and the arguments, as spelled */
	const struct trail__field *fields;
	unsigned short field_count;
	unsigned char level;
	unsigned char version;  /* 1; or TRAIL__REFUSED… */
	const char *uri;        /* of the model, or null */
};

/*
 * Versions of an event that is described, but never recorded: the types of its arguments are not
 * those of its class; a field has a type that the library does not know; the provider is of a
 * version that it does not know. Libraries that do not know the version ignore the event.
 */
#define TRAIL__REFUSED 2
#define TRAIL__REFUSED_TYPE 3
#define TRAIL__REFUSED_VERSION 4

/* A trace point. The library's but for state, which the call site tests. */
struct trail__tp {
	const unsigned int *state;      /* this word is zero while no session wants the event */
	const struct trail__event *event;
	const void *slot;               /* where the event goes: the only place, or none */
	const void *places;             /* several places (`slots` is a macro of Qt) */
	void *object;
	unsigned int seen;              /* the state that slot and slots were made for */
	unsigned int off;               /* what state points to before registration; stays 0 */
	/* counts the hits that have no place for want of an answer */
	unsigned long long *missed;
	unsigned long pending;          /* not used */
};

/*
 * Elsewhere than at a call site: field codes of sequences whose length is not 4 bytes, and their
 * kind bytes.
 */
#define TRAIL__LENGTH(code) ((code) >> 24 ? (code) >> 24 : 4)

/* One field's value at a hit. */
struct trail__piece {
	unsigned int code;
	unsigned int count;
	const void *data;
};

/* A call through the table of addresses, without the stub that would jump there. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define TRAIL__DIRECT __attribute__((noplt))
#endif
#endif
#ifndef TRAIL__DIRECT
#define TRAIL__DIRECT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The trace points of one object: from its constructor and destructor. Calling again is no error.
 * The linker shows the symbol to a user who forgot the library, so its name says what to do.
 */
void trail__register(struct trail__tp *const *begin, struct trail__tp *const *end)
	__asm__("trail__register__link_with_ltrail");
void trail__unregister(struct trail__tp *const *begin, struct trail__tp *const *end);
/*
 * Of a trace point that is on: sets it up if that is not done for this state. 0: do not evaluate
 * the arguments.
 */
int trail__ready(struct trail__tp *tp);
/*
 * Records len bytes. TRAIL__HEADROOM bytes before them are for the library to write to,
 * TRAIL__SPARE bytes after it must be readable. Async-signal-safe.
 */
void TRAIL__DIRECT trail__record(struct trail__tp *tp, void *data, size_t len);
/*
 * The same. `unwritten` bytes after the payload are the TRAIL__NOWRITE fields, for filters only;
 * ip is the context of that name, null for the caller's address.
 */
void TRAIL__DIRECT trail__record_at(struct trail__tp *tp, void *data, size_t len, size_t unwritten,
				    const void *ip);
/*
 * The same from pieces, when they do not fit into the call site's buffer. The last `unwritten` are
 * not recorded.
 */
void trail__record_pieces(struct trail__tp *tp, const struct trail__piece *pieces,
			  unsigned int count);
void trail__record_pieces_at(struct trail__tp *tp, const struct trail__piece *pieces,
			     unsigned int count, unsigned int unwritten, const void *ip);
/*
 * Contexts of the application: what `$app.provider:name` is in a channel's `contexts` and in
 * filters. get(arg, value) is called at each event that wants it, in the thread that hits it,
 * perhaps in a signal handler: it must be async-signal-safe, fast, and keep errno; the string that
 * it gives must stay until the thread's next event. Names are "provider:name", below 256 bytes, at
 * most 256 of them in a process's life. Thread-safe, not for signal handlers. 0, -EINVAL (the
 * name), -EEXIST, -ENOSPC; -ENOENT. unregister returns when no thread is in the callback any more.
 */
enum trail_value_type {
	TRAIL_VALUE_NONE,
	TRAIL_VALUE_SIGNED,
	TRAIL_VALUE_UNSIGNED,
	TRAIL_VALUE_DOUBLE,
	TRAIL_VALUE_STRING,
	TRAIL_VALUE_TEXT                /* of events of trail/event.h only, not of contexts */
};

/* A string that need not have a NUL: it ends after `length` bytes at the latest. */
struct trail_text {
	const char *begin;              /* null: an empty string */
	size_t length;
};

struct trail_value {
	enum trail_value_type type;
	union {
		long long i;
		unsigned long long u;
		double d;
		const char *s;
		const struct trail_text *t;
	};
};

typedef void (*trail_context_fn)(void *arg, struct trail_value *value);
/*
 * trail_attach, trail_seal: for programs that are about to enter a sandbox. trail_attach() asks the
 * daemon now, instead of at the next hit, where events go. 0; -ETIMEDOUT: there is a daemon but no
 * answer. trail_seal() does that too, makes all memory present that events may need, fetches the
 * calling thread's contexts, and from then on the library makes no system call in this process: the
 * events that are on now go on being recorded, whatever is switched on later is not; a channel that
 * wants performance counters gets 0. -ENOMEM: not all memory could be had: events that need the
 * rest will count as discarded. Not for signal handlers.
 *
 * SECCOMP_MODE_STRICT and PR_SET_TSC with PR_TSC_SIGSEGV make reading the TSC, the clock of events,
 * a SIGSEGV for the thread that asks for them. libtrail.so sees both if they are made by prctl(2)
 * of the C library: the thread continues to record, by CLOCK_MONOTONIC, and after trail_seal() by
 * CLOCK_MONOTONIC_COARSE, whose steps are 1 to 10 ms. Made in another way, or in a program that is
 * linked with libtrail.a, or inherited from the thread that started this one, they are not seen:
 * such a thread must not record.
 */
#ifdef TRAIL_DISABLE
#include <trail/disable.h>
#else
int trail_context_register(const char *name, trail_context_fn get, void *arg);
int trail_context_unregister(const char *name);
int trail_attach(void);
int trail_seal(void);
#endif

/*
 * Copies a string with its NUL to `at`, not beyond `end`; returns the place after it, or null if
 * it does not fit.
 */
unsigned char *TRAIL__DIRECT trail__put_string(unsigned char *at, unsigned char *end,
					       const char *s);

/* The same of at most max bytes; s may be null, and is empty then. */
unsigned char *TRAIL__DIRECT trail__put_text(unsigned char *at, unsigned char *end, const char *s,
					     size_t max);

extern struct trail__tp *__start_trail_tps[] __attribute__((weak, visibility("hidden")));
extern struct trail__tp *__stop_trail_tps[] __attribute__((weak, visibility("hidden")));

/* The library has no trace points of its own. */
#if !defined(TRAIL__LIBRARY) && !defined(TRAIL_DISABLE)
static void __attribute__((constructor(101), used)) trail__constructor(void)
{
	trail__register(__start_trail_tps, __stop_trail_tps);
}

static void __attribute__((destructor(101), used)) trail__destructor(void)
{
	trail__unregister(__start_trail_tps, __stop_trail_tps);
}
#endif

#define TRAIL__SCALARS 128      /* 16 fields of 8 bytes */
/* Bytes of strings, arrays and sequences that go through the stack */
#define TRAIL__DYNAMIC 256
#define TRAIL__SPARE 16         /* a copy may read that much more */
#define TRAIL__HEADROOM 64      /* for contexts */

#ifdef __cplusplus
}
#endif

#include <trail/arguments.h>
#include <trail/put.h>
#include <trail/bits.h>
#include <trail/variant.h>

/*
 * What a hit does: the same for both languages. `end` leaves room for the scalars that may follow.
 */
#define TRAIL__HIT(tp, ...) \
	TRAIL__EACH(TRAIL__CAPTURE, __VA_ARGS__) \
	unsigned char \
		trail__buffer[TRAIL__HEADROOM + TRAIL__SCALARS + TRAIL__DYNAMIC + TRAIL__SPARE]; \
	unsigned char *trail__at = trail__buffer + TRAIL__HEADROOM; \
	int trail__big = 0; \
	__attribute__((unused)) unsigned int trail__used = 0; \
	TRAIL__EACH(TRAIL__PUT, __VA_ARGS__) \
	if (__builtin_expect(trail__big, 0)) { \
		TRAIL__HIT_PIECES(tp, __VA_ARGS__) \
	} else { \
		trail__record((tp), trail__buffer + TRAIL__HEADROOM, \
			      (size_t)(trail__at - trail__buffer - TRAIL__HEADROOM)); \
	}

/* Guard of a call site: one load, one test while the event is off. */
#define TRAIL__IS_ON(tp) \
	(__builtin_expect(__atomic_load_n((tp).state, __ATOMIC_RELAXED) != 0, 0) && \
	 (__builtin_expect(__atomic_load_n(&(tp).seen, \
		__ATOMIC_ACQUIRE) == __atomic_load_n((tp).state, __ATOMIC_RELAXED) && \
			   __atomic_load_n(&(tp).slot, __ATOMIC_RELAXED) != 0, 1) || \
				trail__ready(&(tp))))

#define TRAIL__DECLARE(i, x) TRAIL__CALL(TRAIL__DECLARE_, i, TRAIL__NORMAL(x))
#define TRAIL__DESCRIBE(i, x) TRAIL__CALL(TRAIL__DESCRIBE_, i, TRAIL__NORMAL(x))
#define TRAIL__CAPTURE(i, x) TRAIL__CALL(TRAIL__CAPTURE_, i, TRAIL__NORMAL(x))
#define TRAIL__TOTAL(i, x) TRAIL__CALL(TRAIL__TOTAL_, i, TRAIL__NORMAL(x))

#define TRAIL__NOT_A_NAME \
	": provider and event are one identifier each, without quotes: TRAIL(my_app, request)"
#define TRAIL__NO_NAME(e) "TRAIL: the field " #e " has no name: write TRAIL_FIELD(name, " #e ")"
#define TRAIL__NO_TYPE(name) "TRAIL: the field " name " is of a type that cannot be recorded"

#define TRAIL__DECLARE_SEQUENCE(i, name, flags, pointer, n)
#define TRAIL__DECLARE_ARRAY(i, name, flags, pointer, n)
#define TRAIL__DESCRIBE_PLAIN TRAIL__DESCRIBE_VALUE
#define TRAIL__DESCRIBE_SEQUENCE(i, name, flags, pointer, n) \
	{ name, TRAIL__ELEMENT(pointer, TRAIL__SEQUENCE_OF) | (unsigned int)(flags) << 16, 0, 0 },
#define TRAIL__DESCRIBE_ARRAY(i, name, flags, pointer, n) \
	{ name, TRAIL__ELEMENT(pointer, TRAIL__ARRAY_OF) | (unsigned int)(flags) << 16, (n), 0 },

#define TRAIL__CAPTURE_SEQUENCE(i, name, flags, pointer, n) \
	TRAIL__CAPTURE_ELEMENTS(i, name, pointer, n, TRAIL__SEQUENCE_OF)
#define TRAIL__CAPTURE_ARRAY(i, name, flags, pointer, n) \
	TRAIL__CAPTURE_ELEMENTS(i, name, pointer, n, TRAIL__ARRAY_OF)
#define TRAIL__CAPTURE_ELEMENTS(i, name, pointer, n, kind) \
	TRAIL__CHECK_ELEMENT(name, pointer) \
	const void *const trail__v##i = (const void *)(pointer); \
	const struct trail__piece trail__p##i = { TRAIL__ELEMENT(pointer, kind), \
		(unsigned int)(n), trail__v##i };

#ifndef __cplusplus
#include <trail/c.h>
#elif __cplusplus >= 201703L
#include <trail/cxx.h>
#include <trail/scope.h>
#elif __cplusplus >= 201103L    /* only the declarations, which lttng/tracepoint.h needs */
#define TRAIL__EVENT(...) \
	static_assert(false, "TRAIL() needs C++17: compile with -std=c++17 or later")
#define TRAIL_LABELS(...) TRAIL__EVENT()
#define TRAIL_MEMBERS(...) TRAIL__EVENT()
#else
#error "<trail/trail.h> needs C++17: compile with -std=c++17 or later"
/* Macros without an effect spare the user further errors, which explain nothing. */
#define TRAIL__EVENT(...) (void)0
#define TRAIL_LABELS(...) struct trail__tp
#define TRAIL_MEMBERS(...) struct trail__tp
#endif

/*
 * State dumps, for libraries that know what a trace reader cannot: the function is called when a
 * session asks for the state of the processes that it traces, in whichever thread attaches, maybe
 * in a signal handler. It says what there is by trace points of its own. It must be
 * async-signal-safe, and never go away. Up to 8 functions; again is no error.
 */
#ifdef __cplusplus
extern "C"
#endif
void trail__on_statedump(void (*dump)(void));

#endif
