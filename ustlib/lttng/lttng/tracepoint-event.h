/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracepoint-event.h - included at the end of a header with trace points. Where
 * TRACEPOINT_CREATE_PROBES is defined it reads that header again, each time with another meaning of
 * its macros, and so makes the provider: descriptions, probes, and the trace points themselves
 * (trail/trail.h). No guard: it is for each such header.
 */
#include "ust-api-compat.h"

#if LTTNG_UST_COMPAT_API(0) && defined(TRACEPOINT_CREATE_PROBES) && \
	!defined(LTTNG_UST_TRACEPOINT_CREATE_PROBES)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#endif

#ifdef LTTNG_UST_TRACEPOINT_CREATE_PROBES

#pragma GCC system_header

/* The header includes this file again in each pass. */
#undef LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#if LTTNG_UST_COMPAT_API(0)
#undef TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_HEADER_MULTI_READ
#if defined(TRACEPOINT_PROVIDER) && !defined(LTTNG_UST_TRACEPOINT_PROVIDER)
#define LTTNG_UST_TRACEPOINT_PROVIDER TRACEPOINT_PROVIDER
#endif
#if defined(TRACEPOINT_INCLUDE) && !defined(LTTNG_UST_TRACEPOINT_INCLUDE)
#define LTTNG_UST_TRACEPOINT_INCLUDE TRACEPOINT_INCLUDE
#endif
#if defined(TRACEPOINT_INCLUDE_FILE) && !defined(LTTNG_UST_TRACEPOINT_INCLUDE)
#define LTTNG_UST_TRACEPOINT_INCLUDE TRAIL__TP_TEXT(TRACEPOINT_INCLUDE_FILE)
#endif
#if defined(TP_IP_PARAM) && !defined(LTTNG_UST_TP_IP_PARAM)
#define LTTNG_UST_TP_IP_PARAM TP_IP_PARAM
#endif
#endif

#include "trail-provider.h"
#include "trail-fields.h"

#undef TRAIL__TP_IP
#ifdef LTTNG_UST_TP_IP_PARAM
#define TRAIL__TP_IP LTTNG_UST_TP_IP_PARAM
#else
#define TRAIL__TP_IP __builtin_return_address(0)
#endif

/* Enumerations; and what an event has if nothing else is said. */
#include "trail-pass.h"
#undef TRAIL__TP_PASS_ENUM
#define TRAIL__TP_PASS_ENUM(provider_, name_, ...) \
	static const struct trail__label trail__labels_##provider_##___##name_[] = { __VA_ARGS__{ \
		0, 0, 0, 0 } }; \
	static const struct trail__enum trail__enum_##provider_##___##name_ __attribute__(( \
		unused)) = { #provider_ "_" #name_, trail__labels_##provider_##___##name_, \
			     sizeof(trail__labels_##provider_##___##name_) / \
					     sizeof(trail__labels_##provider_##___##name_[0]) - \
				     1 };
#undef TRAIL__TP_PASS_INSTANCE
#define TRAIL__TP_PASS_INSTANCE(class_provider_, class_name_, provider_, name_, args_) \
	enum { trail__level_##provider_##___##name_ = LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE }; \
	static const char trail__uri_##provider_##___##name_[1] __attribute__((unused)) = "";
#include LTTNG_UST_TRACEPOINT_INCLUDE

/* Fields and probes */
#include "trail-pass.h"
#undef TRAIL__TP_PASS_CLASS
#define TRAIL__TP_PASS_CLASS(provider_, name_, args_, fields_) \
	TRAIL__TP_PROBE(provider_, name_, TRAIL__TP_LIST(args_), fields_)
#ifndef __cplusplus
/* An instance whose arguments are not those of its class does not compile. */
#undef TRAIL__TP_PASS_INSTANCE
#define TRAIL__TP_PASS_INSTANCE(class_provider_, class_name_, provider_, name_, args_) \
	static void trail__call_##class_provider_##___##class_name_( \
		struct trail__tp *trail__t TRAIL__TP_PARAMS(args_));
#endif
#include LTTNG_UST_TRACEPOINT_INCLUDE

/*
 * Levels and URIs may be given after the event: in a function, what is said hides what there was
 * before.
 */
static void __attribute__((used, no_instrument_function))
TRAIL__TP_JOIN(trail__events_, LTTNG_UST_TRACEPOINT_PROVIDER)(void)
{
#include "trail-pass.h"
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(provider, name, level) \
	TRAIL__TP_PASS_LEVEL(provider, name, level)
#undef LTTNG_UST_TRACEPOINT_MODEL_EMF_URI
#define LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(provider, name, uri) \
	TRAIL__TP_PASS_URI(provider, name, uri)
#include LTTNG_UST_TRACEPOINT_INCLUDE

#include "trail-pass.h"
#undef TRAIL__TP_PASS_INSTANCE
#define TRAIL__TP_PASS_INSTANCE(class_provider_, class_name_, provider_, name_, args_) \
	TRAIL__TP_EVENT(class_provider_##___##class_name_, provider_, name_, TRAIL__TP_LIST(args_))
#include LTTNG_UST_TRACEPOINT_INCLUDE
}

extern int TRAIL__TP_JOIN(trail__provider_,
			  LTTNG_UST_TRACEPOINT_PROVIDER) TRAIL__TP_PROVIDER_VISIBILITY;
int TRAIL__TP_JOIN(trail__provider_, LTTNG_UST_TRACEPOINT_PROVIDER);

/* As lttng/tracepoint.h had it, for headers to come. */
#undef LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#undef LTTNG_UST_TRACEPOINT_EVENT
#undef LTTNG_UST_TRACEPOINT_EVENT_CLASS
#undef LTTNG_UST_TRACEPOINT_EVENT_INSTANCE
#undef LTTNG_UST_TRACEPOINT_ENUM
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#undef LTTNG_UST_TRACEPOINT_MODEL_EMF_URI
#if LTTNG_UST_COMPAT_API(0)
#undef TRACEPOINT_HEADER_MULTI_READ
#undef TRACEPOINT_INCLUDE
#undef TRACEPOINT_INCLUDE_FILE
#endif
#include "tracepoint.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES

#endif
