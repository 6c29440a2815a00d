/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled probe for each event of a trace header (TRAIL_HEADER), by reading it again as the
 * kernel does for its own tracers, with the kernel's own stages (trace/stages/): the record's
 * structure, the sizes of what is dynamic, and at last TP_fast_assign, which fills the record in
 * our ring. Nothing in here knows any event.
 */
#include "kmod/trail.h"

#define TRACE_HEADER_MULTI_READ

/* ---- what all stages have in common ---- */

#undef TRACE_EVENT
#define TRACE_EVENT(name, proto, args, tstruct, assign, print) \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
		PARAMS(print)); \
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT_CONDITION
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
		PARAMS(print))
#undef TRACE_EVENT_FN
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
		PARAMS(print))
#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
		PARAMS(print))
#undef TRACE_EVENT_SYSCALL
#define TRACE_EVENT_SYSCALL(name, proto, args, tstruct, assign, print, reg, unreg)
#undef DECLARE_EVENT_SYSCALL_CLASS
#define DECLARE_EVENT_SYSCALL_CLASS(name, proto, args, tstruct, assign, print)
#undef TRACE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef DECLARE_EVENT_NOP
#define DECLARE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef DEFINE_EVENT_NOP
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef DECLARE_TRACE
#define DECLARE_TRACE(name, proto, args)
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)
#undef DEFINE_EVENT_FN
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg) \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond) \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print) \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)
#undef TRACE_EVENT_FLAGS
#define TRACE_EVENT_FLAGS(name, value)
#undef TRACE_EVENT_PERF_PERM
#define TRACE_EVENT_PERF_PERM(name, expr...)
#undef TRACE_CUSTOM_EVENT
#define TRACE_CUSTOM_EVENT(name, proto, args, tstruct, assign, print)

/* With `#define TRAIL_SKIP_class 1` there are no probes for that class: it cannot be compiled. */
#define TRAIL_UNLESS_0(...) __VA_ARGS__
#define TRAIL_UNLESS_1(...)
#define TRAIL_JOIN_(a, b) a##b
#define TRAIL_JOIN(a, b) TRAIL_JOIN_(a, b)
#define TRAIL_UNLESS(skip) TRAIL_JOIN(TRAIL_UNLESS_, __is_defined(skip))

#ifndef TP_STRUCT__entry
#define TP_STRUCT__entry(args...) args
#endif

/* ---- stage 1: struct trace_event_raw_X ---- */

#include <trace/stages/stage1_struct_define.h>
#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print) \
	TRAIL_UNLESS(TRAIL_SKIP_##name)( \
	struct trace_event_raw_##name { \
		struct trace_entry ent; \
		tstruct \
		char __data[]; \
	}; \
	)
#include TRAIL_HEADER

/* ---- stage 2: places of dynamic fields ---- */

#include <trace/stages/stage2_data_offsets.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print) \
	TRAIL_UNLESS(TRAIL_SKIP_##name)( \
	struct trace_event_data_offsets_##name { \
		tstruct; \
	}; \
	)
#include TRAIL_HEADER

/* ---- stage 5: their sizes ---- */

#include <trace/stages/stage3_trace_output.h>
#include <trace/stages/stage5_get_offsets.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print) \
	TRAIL_UNLESS(TRAIL_SKIP_##name) \
	(static inline notrace int trail_sizes_##name( \
		struct trace_event_data_offsets_##name *__data_offsets, proto) { \
		int __data_size = 0; \
		int __maybe_unused __item_length; \
		struct trace_event_raw_##name __maybe_unused *entry; \
\
		tstruct; \
		return __data_size; \
	})
#include TRAIL_HEADER

/* ---- stage 6: the probes ---- */

#include <trace/stages/stage6_event_callback.h>
#ifdef TRAIL_STRINGS_BY_SOURCE
/* Before 6.10 the string is copied to its end, which may have moved since its length was taken. */
#undef __assign_str
#define __assign_str(dst, src) \
	trail_copy_string(__get_str(dst), (src) ? (const char *)(src) : "(null)", \
			  __get_dynamic_array_len(dst))
#undef __assign_rel_str
#define __assign_rel_str(dst, src) \
	trail_copy_string(__get_rel_str(dst), (src) ? (const char *)(src) : "(null)", \
			  __get_rel_dynamic_array_len(dst))
#endif

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print) \
	TRAIL_UNLESS(TRAIL_SKIP_##name) \
	(static notrace void trail_probe_##name(void *__data, proto) { \
		struct trail_attach *__attach = __data; \
		struct trace_event_data_offsets_##name __maybe_unused __data_offsets; \
		struct trace_event_raw_##name *entry; \
		struct trail_place __place; \
		int __data_size; \
\
		compat_probe_begins(); \
		if (!trail_wanted(__attach->channel)) \
			goto __out; \
		__data_size = trail_sizes_##name(&__data_offsets, args); \
		__place = trail_begin(__attach, sizeof(*entry) + __data_size); \
		entry = __place.record; \
		if (!entry) \
			goto __out; \
		memset(entry, 0, sizeof(*entry)); /* what is between the fields, too */ \
		trail_common(&entry->ent, __attach->id); \
		tstruct \
		{ \
			assign; \
		} \
		trail_end(__place.ring); \
	__out: \
		compat_probe_ends(); \
	})
/* In a trial, which has TRAIL_PREAMBLE, the section of an event names its header. */
#undef TRAIL_FROM
#ifdef TRAIL_PREAMBLE
#define TRAIL_FROM __section(TRAIL_ORIGIN)
#else
#define TRAIL_FROM
#endif

#undef DEFINE_EVENT
#define DEFINE_EVENT(template, event, proto, args) \
	TRAIL_UNLESS(TRAIL_SKIP_##template) \
	(static inline void trail_check_##event(void) { \
		check_trace_callback_type_##event(trail_probe_##template); \
	} extern const struct trail_probe trail_event_##event; \
	 const struct trail_probe TRAIL_FROM trail_event_##event = { \
		 .system = __stringify(TRACE_SYSTEM), \
		 .name = #event, \
		 .func = trail_probe_##template, \
	 };)
#include TRAIL_HEADER

/*
 * ---- for the next header, tracepoint.h defines what it needs again, but for TRACE_DEFINE_ENUM and
 * _SIZEOF ----
 */

#undef TRACE_HEADER_MULTI_READ
#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_SYSCALL
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_SYSCALL_CLASS
#undef DECLARE_EVENT_NOP
#undef DECLARE_EVENT_CLASS_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_EVENT_FLAGS
#undef TRACE_EVENT_PERF_PERM
#undef TRACE_CUSTOM_EVENT
#undef TRACE_INCLUDE_FILE
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE
#undef TP_STRUCT__entry
#undef TP_fast_assign
#undef TP_printk
#undef __entry
#undef TP_PROTO
#undef TP_ARGS
#undef TP_CONDITION
