/* SPDX-License-Identifier: MIT */
/*
 * log.h - trace points with a format, LTTng-UST's tracef() and tracelog() (lttng/tracef.h,
 * lttng/tracelog.h). Their events are the library's, and registered while an object is there that
 * includes this. Nothing here is for use in programs.
 */
#ifndef TRAIL_LOG_H
#define TRAIL_LOG_H

#pragma GCC system_header

#include <stdarg.h>
#include <stddef.h>

/* The events; a level's are named as it was spelled. */
#define TRAIL__LOG_LEVELS(m, prefix) \
	m(prefix##EMERG) m(prefix##ALERT) m(prefix##CRIT) m(prefix##ERR) m(prefix##WARNING) \
		m(prefix##NOTICE) m(prefix##INFO) m(prefix##DEBUG_SYSTEM) m(prefix##DEBUG_PROGRAM) \
			m(prefix##DEBUG_PROCESS) m(prefix##DEBUG_MODULE) m(prefix##DEBUG_UNIT) \
				m(prefix##DEBUG_FUNCTION) m(prefix##DEBUG_LINE) m(prefix##DEBUG)
#define TRAIL__LOG_ENUM(name) TRAIL__LOG_##name,

enum trail__log {
	TRAIL__LOG_LEVELS(TRAIL__LOG_ENUM, LTTNG_UST_TRACEPOINT_LOGLEVEL_)
		TRAIL__LOG_LEVELS(TRAIL__LOG_ENUM, TRACE_) TRAIL__LOG_TRACEF,
	TRAIL__LOG_COUNT
};

#ifdef __cplusplus
extern "C" {
#endif

/* The events' state words, one pointer for each; until as many unuse. Null: not to be had. */
const unsigned int *const *trail__log_use(void);
/*
 * The same, for a library with trace points of its own, which are registered with the events: each
 * registration may ask the daemon. If there are more than TRAIL__LOG_BESIDE, the others are not.
 */
struct trail__tp;
#define TRAIL__LOG_BESIDE 16
const unsigned int *const *trail__log_use_beside(struct trail__tp *const *begin,
						 struct trail__tp *const *end);
void trail__log_unuse(void);

void trail__tracef(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trail__vtracef(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void trail__tracelog(enum trail__log event, const char *file, int line, const char *function,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));
void trail__vtracelog(enum trail__log event, const char *file, int line, const char *function,
		      const char *format, va_list args) __attribute__((format(printf, 5, 0)));

/* One for each object: null before its constructor and after its destructor. */
#ifndef TRAIL__LIBRARY
const unsigned int *const *trail__log_words __attribute__((weak, visibility("hidden"))) = NULL;

static void __attribute__((constructor(102), used)) trail__log_constructor(void)
{
	if (!trail__log_words)
		trail__log_words = trail__log_use();
}

static void __attribute__((destructor(102), used)) trail__log_destructor(void)
{
	if (trail__log_words)
		trail__log_unuse();
	trail__log_words = NULL;
}

#define TRAIL__LOG_IS_ON(event) \
	(__builtin_expect(trail__log_words && __atomic_load_n(trail__log_words[event], \
		__ATOMIC_RELAXED) != 0, 0))
#endif

#ifdef __cplusplus
}
#endif

#endif
