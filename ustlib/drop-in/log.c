// SPDX-License-Identifier: MIT
/*
 * tracef and tracelog of compiled programs: a program tests the state of a call site that is ours,
 * and calls a function that is ours. The events are libtrail's.
 */
#include "ustlib/drop-in/abi0.h"
#include "ustlib/drop-in/drop_in.h"

/* The words of the events, indexed by enum trail__log. Guarded by the drop-in lock. */
static const unsigned int *const *words;

#define SITE(provider_, event_) \
	extern struct ust_tracepoint lttng_ust_tracepoint_##provider_##___##event_; \
	TRAIL_EXPORT struct ust_tracepoint lttng_ust_tracepoint_##provider_##___##event_ = { \
		.size = sizeof(struct ust_tracepoint), \
		.provider = #provider_, \
		.event = #event_, \
		.signature = "" \
	};

#define LOG(level_) \
	SITE(lttng_ust_tracelog, level_) \
	TRAIL_EXPORT void lttng_ust__vtracelog_##level_(const char *file, int line, \
							const char *function, \
							const char *format, va_list args) \
		__attribute__((format(printf, 4, 0))); \
	TRAIL_EXPORT void lttng_ust__vtracelog_##level_(const char *file, int line, \
							const char *function, \
							const char *format, va_list args) \
	{ \
		trail__vtracelog(TRAIL__LOG_##level_, file, line, function, format, args); \
	} \
	TRAIL_EXPORT void lttng_ust__tracelog_##level_(const char *file, int line, \
						       const char *function, \
						       const char *format, ...) \
		__attribute__((format(printf, 4, 5))); \
	TRAIL_EXPORT void lttng_ust__tracelog_##level_(const char *file, int line, \
						       const char *function, \
						       const char *format, ...) \
	{ \
		va_list args; \
\
		va_start(args, format); \
		trail__vtracelog(TRAIL__LOG_##level_, file, line, function, format, args); \
		va_end(args); \
	}

TRAIL__LOG_LEVELS(LOG, LTTNG_UST_TRACEPOINT_LOGLEVEL_)
SITE(lttng_ust_tracef, event)

TRAIL_EXPORT void lttng_ust__vtracef(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));
TRAIL_EXPORT void lttng_ust__vtracef(const char *format, va_list args)
{
	trail__vtracef(format, args);
}

TRAIL_EXPORT void lttng_ust__tracef(const char *format, ...) __attribute__((format(printf, 1, 2)));
TRAIL_EXPORT void lttng_ust__tracef(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trail__vtracef(format, args);
	va_end(args);
}

/* ---- of soname 0 ---- */

#define SITE0(provider_, event_) \
	extern struct ust0_tracepoint __tracepoint_##provider_##___##event_; \
	TRAIL_EXPORT struct ust0_tracepoint __tracepoint_##provider_##___##event_ = { \
		.name = #provider_ ":" #event_, .signature = "" \
	};

#define LOG0(level_) \
	SITE0(lttng_ust_tracelog, level_) \
	TRAIL_EXPORT void _lttng_ust_tracelog_##level_(const char *file, int line, \
						       const char *function, \
						       const char *format, ...) \
		__attribute__((format(printf, 4, 5))); \
	TRAIL_EXPORT void _lttng_ust_tracelog_##level_(const char *file, int line, \
						       const char *function, \
						       const char *format, ...) \
	{ \
		va_list args; \
\
		va_start(args, format); \
		trail__vtracelog(TRAIL__LOG_##level_, file, line, function, format, args); \
		va_end(args); \
	}

TRAIL__LOG_LEVELS(LOG0, TRACE_)
SITE0(lttng_ust_tracef, event)

TRAIL_EXPORT void _lttng_ust_tracef(const char *format, ...) __attribute__((format(printf, 1, 2)));
TRAIL_EXPORT void _lttng_ust_tracef(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trail__vtracef(format, args);
	va_end(args);
}

/* ---- switching ---- */

#define LEVEL_SITE(level_) \
	[TRAIL__LOG_##level_] = &lttng_ust_tracepoint_lttng_ust_tracelog___##level_.state,

#define LEVEL_SITE0(level_) \
	[TRAIL__LOG_##level_] = &__tracepoint_lttng_ust_tracelog___##level_.state,

static void refresh_state(int *state, const unsigned int *word)
{
	int on = __atomic_load_n(word, __ATOMIC_RELAXED) != 0;

	if (__atomic_load_n(state, __ATOMIC_RELAXED) != on)
		__atomic_store_n(state, on, __ATOMIC_RELAXED);
}

void log_refresh(void)
{
	int *const states[TRAIL__LOG_COUNT] = {
		TRAIL__LOG_LEVELS(LEVEL_SITE, LTTNG_UST_TRACEPOINT_LOGLEVEL_)
		TRAIL__LOG_LEVELS(LEVEL_SITE0, TRACE_)
		[TRAIL__LOG_TRACEF] = &lttng_ust_tracepoint_lttng_ust_tracef___event.state,
	};

	for (int i = 0; words && i < TRAIL__LOG_COUNT; i++)
		if (states[i])
			refresh_state(states[i], words[i]);
	if (words)
		refresh_state(&__tracepoint_lttng_ust_tracef___event.state,
			      words[TRAIL__LOG_TRACEF]);
}

void log_init(void)
{
	struct trail__tp *const *begin, *const *end;

	objects_points(&begin, &end);
	words = trail__log_use_beside(begin, end);
}

/* The last of this library: its file need not wait for the daemon to notice the process's end. */
static __attribute__((destructor(101))) void log_exit(void)
{
	bool used;

	drop_in_lock();
	used = words;
	words = NULL;
	drop_in_unlock();
	if (used)
		trail__log_unuse();
}
