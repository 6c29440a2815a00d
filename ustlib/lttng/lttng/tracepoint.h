/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracepoint.h - the trace points of LTTng-UST (lttng-ust(3)), recorded by trailfs. This
 * header is what a file with call sites needs: each TRACEPOINT_EVENT declares a site (trail/site.h)
 * and, with TRACEPOINT_DEFINE, defines it. The other half, what the fields are and how they are
 * recorded, is made by lttng/tracepoint-event.h where TRACEPOINT_CREATE_PROBES is defined.
 *
 * A call costs two loads and a test while the event is off.
 */
#ifndef TRAIL_LTTNG_TRACEPOINT_H
#define TRAIL_LTTNG_TRACEPOINT_H

#pragma GCC system_header

#ifdef __cplusplus
extern "C++" {
#endif

/* Programs have come to rely on these. */
#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <trail/site.h>
#include "ust-api-compat.h"
#include "ust-config.h"

#ifdef __cplusplus
}
#endif

#define lttng_ust_tracepoint(provider, name, ...) \
	do { \
		if (lttng_ust_tracepoint_enabled(provider, name)) \
			lttng_ust_do_tracepoint(provider, name, __VA_ARGS__); \
	} while (0)
#define lttng_ust_do_tracepoint(provider, name, ...) trail__hit_##provider##___##name(__VA_ARGS__)
#define lttng_ust_tracepoint_enabled(provider, name) \
	__builtin_expect(__atomic_load_n(__atomic_load_n(&trail__site_##provider##___##name.state, \
		__ATOMIC_RELAXED), \
					 __ATOMIC_RELAXED) != 0, 0)

/* Arguments: up to ten of a type and a name. */
#define LTTNG_UST_TP_ARGS(...) __VA_ARGS__
#define LTTNG_UST_TRACEPOINT_NAME_LEN_MAX 256

enum {
	LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_ALERT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_SYSTEM,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROGRAM,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROCESS,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_UNIT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG
};

#if LTTNG_UST_COMPAT_API(0)
#define tracepoint lttng_ust_tracepoint
#define do_tracepoint lttng_ust_do_tracepoint
#define tracepoint_enabled lttng_ust_tracepoint_enabled
#define TP_ARGS LTTNG_UST_TP_ARGS
#define TRACEPOINT_EVENT LTTNG_UST_TRACEPOINT_EVENT
#define TRACEPOINT_EVENT_CLASS LTTNG_UST_TRACEPOINT_EVENT_CLASS
#define TRACEPOINT_EVENT_INSTANCE(provider, class_name, name, ...) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(provider, class_name, provider, name, \
		TRAIL__TP_LIST(__VA_ARGS__))
#define TRACEPOINT_ENUM LTTNG_UST_TRACEPOINT_ENUM
#define TRACEPOINT_LOGLEVEL LTTNG_UST_TRACEPOINT_LOGLEVEL
#define TRACEPOINT_MODEL_EMF_URI LTTNG_UST_TRACEPOINT_MODEL_EMF_URI
#define TRACE_EMERG LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG
#define TRACE_ALERT LTTNG_UST_TRACEPOINT_LOGLEVEL_ALERT
#define TRACE_CRIT LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT
#define TRACE_ERR LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR
#define TRACE_WARNING LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING
#define TRACE_NOTICE LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE
#define TRACE_INFO LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO
#define TRACE_DEBUG_SYSTEM LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_SYSTEM
#define TRACE_DEBUG_PROGRAM LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROGRAM
#define TRACE_DEBUG_PROCESS LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROCESS
#define TRACE_DEBUG_MODULE LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE
#define TRACE_DEBUG_UNIT LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_UNIT
#define TRACE_DEBUG_FUNCTION LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION
#define TRACE_DEBUG_LINE LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE
#define TRACE_DEBUG LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG
#endif

/* There is nothing to disable: the library's constructors and destructors may run in any order. */
static inline __attribute__((unused)) void tracepoint_disable_destructors(void) {}

/*
 * Preprocessing. A list of arguments is `int, id, const char *, path`; one without a comma is empty
 * or `void`.
 *
 *	TRAIL__TP_PROTO		int id, const char *path	or void
 *	TRAIL__TP_PARAMS	, int id, const char *path	or nothing
 *	TRAIL__TP_TYPES		, int, const char *		or nothing
 *	TRAIL__TP_NAMES		, id, path			or nothing
 */
#define TRAIL__TP_LIST(...) __VA_ARGS__
#define TRAIL__TP_TEXT(...) TRAIL__TP_TEXT_(__VA_ARGS__)
#define TRAIL__TP_TEXT_(...) #__VA_ARGS__
#define TRAIL__TP_JOIN(a, b) TRAIL__TP_JOIN_(a, b)
#define TRAIL__TP_JOIN_(a, b) a##b
#define TRAIL__TP_COUNT(...) \
	TRAIL__TP_COUNT_(__VA_ARGS__, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, \
		4, 3, 2, 1, 0)
#define TRAIL__TP_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, \
	a17, a18, a19, a20, n, ...) n
#define TRAIL__TP_PROTO(...) \
	TRAIL__TP_JOIN(TRAIL__TP_PROTO_, TRAIL__TP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TRAIL__TP_PARAMS(...) \
	TRAIL__TP_JOIN(TRAIL__TP_PARAMS_, TRAIL__TP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TRAIL__TP_TYPES(...) \
	TRAIL__TP_JOIN(TRAIL__TP_TYPES_, TRAIL__TP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TRAIL__TP_NAMES(...) \
	TRAIL__TP_JOIN(TRAIL__TP_NAMES_, TRAIL__TP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TRAIL__TP_PARAM(type, name) type name __attribute__((unused))

#define TRAIL__TP_PROTO_1(none) void
#define TRAIL__TP_PROTO_2(type, name) TRAIL__TP_PARAM(type, name)
#define TRAIL__TP_PROTO_4(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_2(__VA_ARGS__)
#define TRAIL__TP_PROTO_6(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_4(__VA_ARGS__)
#define TRAIL__TP_PROTO_8(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_6(__VA_ARGS__)
#define TRAIL__TP_PROTO_10(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_8(__VA_ARGS__)
#define TRAIL__TP_PROTO_12(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_10(__VA_ARGS__)
#define TRAIL__TP_PROTO_14(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_12(__VA_ARGS__)
#define TRAIL__TP_PROTO_16(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_14(__VA_ARGS__)
#define TRAIL__TP_PROTO_18(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_16(__VA_ARGS__)
#define TRAIL__TP_PROTO_20(type, name, ...) \
	TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_18(__VA_ARGS__)
#define TRAIL__TP_PARAMS_1(none)
#define TRAIL__TP_PARAMS_2(type, name) , TRAIL__TP_PARAM(type, name)
#define TRAIL__TP_PARAMS_4(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_2(__VA_ARGS__)
#define TRAIL__TP_PARAMS_6(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_4(__VA_ARGS__)
#define TRAIL__TP_PARAMS_8(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_6(__VA_ARGS__)
#define TRAIL__TP_PARAMS_10(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_8(__VA_ARGS__)
#define TRAIL__TP_PARAMS_12(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_10(__VA_ARGS__)
#define TRAIL__TP_PARAMS_14(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_12(__VA_ARGS__)
#define TRAIL__TP_PARAMS_16(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_14(__VA_ARGS__)
#define TRAIL__TP_PARAMS_18(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_16(__VA_ARGS__)
#define TRAIL__TP_PARAMS_20(type, name, ...) \
	, TRAIL__TP_PARAM(type, name) TRAIL__TP_PARAMS_18(__VA_ARGS__)
#define TRAIL__TP_TYPES_1(none)
#define TRAIL__TP_TYPES_2(type, name) , type
#define TRAIL__TP_TYPES_4(type, name, ...) , type TRAIL__TP_TYPES_2(__VA_ARGS__)
#define TRAIL__TP_TYPES_6(type, name, ...) , type TRAIL__TP_TYPES_4(__VA_ARGS__)
#define TRAIL__TP_TYPES_8(type, name, ...) , type TRAIL__TP_TYPES_6(__VA_ARGS__)
#define TRAIL__TP_TYPES_10(type, name, ...) , type TRAIL__TP_TYPES_8(__VA_ARGS__)
#define TRAIL__TP_TYPES_12(type, name, ...) , type TRAIL__TP_TYPES_10(__VA_ARGS__)
#define TRAIL__TP_TYPES_14(type, name, ...) , type TRAIL__TP_TYPES_12(__VA_ARGS__)
#define TRAIL__TP_TYPES_16(type, name, ...) , type TRAIL__TP_TYPES_14(__VA_ARGS__)
#define TRAIL__TP_TYPES_18(type, name, ...) , type TRAIL__TP_TYPES_16(__VA_ARGS__)
#define TRAIL__TP_TYPES_20(type, name, ...) , type TRAIL__TP_TYPES_18(__VA_ARGS__)
#define TRAIL__TP_NAMES_1(none)
#define TRAIL__TP_NAMES_2(type, name) , name
#define TRAIL__TP_NAMES_4(type, name, ...) , name TRAIL__TP_NAMES_2(__VA_ARGS__)
#define TRAIL__TP_NAMES_6(type, name, ...) , name TRAIL__TP_NAMES_4(__VA_ARGS__)
#define TRAIL__TP_NAMES_8(type, name, ...) , name TRAIL__TP_NAMES_6(__VA_ARGS__)
#define TRAIL__TP_NAMES_10(type, name, ...) , name TRAIL__TP_NAMES_8(__VA_ARGS__)
#define TRAIL__TP_NAMES_12(type, name, ...) , name TRAIL__TP_NAMES_10(__VA_ARGS__)
#define TRAIL__TP_NAMES_14(type, name, ...) , name TRAIL__TP_NAMES_12(__VA_ARGS__)
#define TRAIL__TP_NAMES_16(type, name, ...) , name TRAIL__TP_NAMES_14(__VA_ARGS__)
#define TRAIL__TP_NAMES_18(type, name, ...) , name TRAIL__TP_NAMES_16(__VA_ARGS__)
#define TRAIL__TP_NAMES_20(type, name, ...) , name TRAIL__TP_NAMES_18(__VA_ARGS__)

/*
 * A site and its hit. It is inlined so that the probe's return address tells where the call is.
 * Without `calls`, the probe's call is the last thing, for which no argument need be kept.
 * What may be unloaded is entered and left; `probe` comes first and with acquire, so that `calls`
 * is that of this probe or of a later one.
 */
#define TRAIL__TP_DECLARE(provider_, name_, ...) \
	extern struct trail__site trail__site_##provider_##___##name_ TRAIL__TP_SITE_VISIBILITY; \
	static inline __attribute__((always_inline, unused, no_instrument_function)) void \
		trail__hit_##provider_##___##name_(TRAIL__TP_PROTO(__VA_ARGS__)) \
	{ \
		struct trail__site *trail__s = &trail__site_##provider_##___##name_; \
		const struct trail__probe *trail__p = \
			__atomic_load_n(&trail__s->probe, __ATOMIC_ACQUIRE); \
		const struct trail__calls *trail__c = \
			__atomic_load_n(&trail__s->calls, __ATOMIC_RELAXED); \
\
		if (!trail__p) \
			return; \
		if (!trail__c) { \
			((void (*)(struct trail__tp * TRAIL__TP_TYPES(__VA_ARGS__))) \
				 trail__p->call)(trail__p->tp TRAIL__TP_NAMES(__VA_ARGS__)); \
			return; \
		} \
		unsigned int trail__phase = 0; \
		trail__p = trail__c->enter(trail__s, &trail__phase); \
		while (trail__p) { \
			((void (*)(struct trail__tp * TRAIL__TP_TYPES(__VA_ARGS__))) \
				 trail__p->call)(trail__p->tp TRAIL__TP_NAMES(__VA_ARGS__)); \
			trail__p = trail__c->next(trail__s, trail__p, trail__phase); \
		} \
	}

#if LTTNG_UST_COMPAT_API(0)
#if defined(TRACEPOINT_DEFINE) && !defined(LTTNG_UST_TRACEPOINT_DEFINE)
#define LTTNG_UST_TRACEPOINT_DEFINE
#endif
#if defined(TRACEPOINT_PROBE_DYNAMIC_LINKAGE) && \
	!defined(LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE)
#define LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#endif
#endif

#ifdef LTTNG_UST_TRACEPOINT_DEFINE

#ifdef TRAIL_DISABLE
#error "TRAIL_DISABLE is for TRAIL(): compile what includes <lttng/tracepoint.h> without it"
#endif
#include <trail/object.h>

#ifdef LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#define TRAIL__TP_NEEDS(provider_) 0
#else
#define TRAIL__TP_NEEDS(provider_) &trail__provider_##provider_
#endif

#define TRAIL__TP_DEFINE(provider_, name_, ...) \
	extern int trail__provider_##provider_ TRAIL__TP_PROVIDER_VISIBILITY; \
	struct trail__site trail__site_##provider_##___##name_ TRAIL__TP_SITE_VISIBILITY = { \
		&trail__site_##provider_##___##name_.off, \
		0, \
		0, \
		#provider_, \
		#name_, \
		TRAIL__TP_TEXT(__VA_ARGS__), \
		TRAIL__TP_NEEDS(provider_), \
		0, \
		TRAIL__SITE_VERSION, \
		0 \
	}; \
	static struct trail__site *trail__site_entry_##provider_##___##name_ TRAIL__ENTRY( \
		"trail_sites") = &trail__site_##provider_##___##name_;

#else

#define TRAIL__TP_DEFINE(provider_, name_, ...)

#endif

#endif /* TRAIL_LTTNG_TRACEPOINT_H */

/*
 * The rest for each inclusion. With TRACEPOINT_HIDDEN_DEFINITION, sites are for the object that
 * they are in alone; with TRACEPOINT_PROVIDER_HIDDEN_DEFINITION, the provider is in the object of
 * its sites.
 */
#undef TRAIL__TP_SITE_VISIBILITY
#if defined(LTTNG_UST_TRACEPOINT_HIDDEN_DEFINITION) || \
	(LTTNG_UST_COMPAT_API(0) && defined(TRACEPOINT_HIDDEN_DEFINITION))
#define TRAIL__TP_SITE_VISIBILITY __attribute__((visibility("hidden")))
#else
#define TRAIL__TP_SITE_VISIBILITY __attribute__((visibility("default")))
#endif

#undef TRAIL__TP_PROVIDER_VISIBILITY
#if defined(LTTNG_UST_TRACEPOINT_PROVIDER_HIDDEN_DEFINITION) || \
	(LTTNG_UST_COMPAT_API(0) && defined(TRACEPOINT_PROVIDER_HIDDEN_DEFINITION))
#define TRAIL__TP_PROVIDER_VISIBILITY __attribute__((visibility("hidden")))
#else
#define TRAIL__TP_PROVIDER_VISIBILITY __attribute__((visibility("default")))
#endif

/* In a pass of tracepoint-event.h these are something else. */
#ifndef LTTNG_UST_TRACEPOINT_EVENT
#define LTTNG_UST_TRACEPOINT_EVENT(provider, name, args, fields) \
	TRAIL__TP_DECLARE(provider, name, TRAIL__TP_LIST(args)) \
	TRAIL__TP_DEFINE(provider, name, TRAIL__TP_LIST(args))
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS(provider, name, args, fields)
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(class_provider, class_name, provider, name, args) \
	TRAIL__TP_DECLARE(provider, name, TRAIL__TP_LIST(args)) \
	TRAIL__TP_DEFINE(provider, name, TRAIL__TP_LIST(args))
#define LTTNG_UST_TRACEPOINT_ENUM(provider, name, values)
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(provider, name, level)
#define LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(provider, name, uri)
#endif
