/* SPDX-License-Identifier: MIT */
/*
 * What the preloaded helpers share: a trace point whose context `ip` is not where it stands but the
 * caller of the function that is interposed, and which leaves errno alone; and how to find the
 * function itself.
 *
 * A helper never fails its caller because of tracing, and does nothing before its constructor has
 * registered it: a trace point is off till then.
 */
#ifndef USTLIB_PRELOAD_POINT_H
#define USTLIB_PRELOAD_POINT_H

#include <dlfcn.h>
#include <errno.h>

#include "trail/trail.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* Not a TLS model that allocates at the first use of a thread. */
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

/* POINT(ip, LEVEL, provider, event, field…) */
#define POINT(ip_, level, provider, ...) \
	POINT_(ip_, TRAIL__LEVEL_##level, #provider, #__VA_ARGS__, __VA_ARGS__)

#define POINT_(ip_, level_, provider_, args_, ...) \
	do { \
		TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
		static const struct trail__field point_fields[] = { \
			TRAIL__EACH(TRAIL__DESCRIBE, __VA_ARGS__) { 0, 0, 0, 0 } \
		}; \
		POINT_TP(level_, provider_, args_, point_fields); \
		if (TRAIL__IS_ON(point_tp)) { \
			int point_errno = errno; \
			POINT_HIT_DECLARED(&point_tp, ip_, __VA_ARGS__) \
			errno = point_errno; \
		} \
	} while (0)

/* Declares point_tp. The last of the fields is an end mark. */
#define POINT_TP(level_, provider_, args_, fields_) \
	POINT_DECLARE(point_tp, level_, provider_, args_, fields_); \
	(void)&point_tp##_entry

/* The same under another name, also outside of functions. */
#define POINT_DECLARE(tp, level_, provider_, args_, fields_) \
	static const struct trail__event tp##_event = { \
		provider_, args_, fields_, sizeof(fields_) / sizeof((fields_)[0]) - 1, level_, 1, \
			0 \
	}; \
	static struct trail__tp tp = { &tp.off, &tp##_event, 0, 0, 0, 0, 0, 0, 0 }; \
	static struct trail__tp *tp##_entry __attribute__((used, section("trail_tps"))) = &tp

#define POINT_FIELD(name, type) { #name, TRAIL__CODE((type)0), 0, 0 }
/* One load and one test while no session wants the event. */
#define POINT_OFF(tp) likely(__atomic_load_n((tp).state, __ATOMIC_RELAXED) == 0)

/* TRAIL__HIT with the ip. */
#define POINT_HIT(tp, ip_, ...) \
	TRAIL__EACH(TRAIL__DECLARE, __VA_ARGS__) \
	POINT_HIT_DECLARED(tp, ip_, __VA_ARGS__)
#define POINT_HIT_DECLARED(tp, ip_, ...) \
	TRAIL__EACH(TRAIL__CAPTURE, __VA_ARGS__) \
	unsigned char \
		trail__buffer[TRAIL__HEADROOM + TRAIL__SCALARS + TRAIL__DYNAMIC + TRAIL__SPARE]; \
	unsigned char *trail__at = trail__buffer + TRAIL__HEADROOM; \
	int trail__big = 0; \
	__attribute__((unused)) unsigned int trail__used = 0; \
	TRAIL__EACH(TRAIL__PUT, __VA_ARGS__) \
	if (unlikely(trail__big)) { \
		const struct trail__piece trail__pieces[] = { TRAIL__EACH( \
			TRAIL__PIECE, __VA_ARGS__){ 0, 0, 0 } }; \
		trail__record_pieces_at((tp), trail__pieces, \
					sizeof(trail__pieces) / sizeof(trail__pieces[0]) - 1, 0, \
					ip_); \
	} else { \
		trail__record_at((tp), trail__buffer + TRAIL__HEADROOM, \
				 (size_t)(trail__at - trail__buffer - TRAIL__HEADROOM), 0, ip_); \
	}

/*
 * The next definition after ours, of a libc or of another helper. FUNCTION's pointer is
 * `real_FUNCTION`; threads may look it up at the same time and find the same.
 */
#define REAL(function) __atomic_load_n(&real_##function, __ATOMIC_RELAXED)
#define SET(function, p) \
	__atomic_store_n(&real_##function, (__typeof__(real_##function))(p), __ATOMIC_RELAXED)
#define FIND(function) SET(function, dlsym(RTLD_NEXT, #function))

#endif
