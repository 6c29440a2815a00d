/* SPDX-License-Identifier: MIT */
/*
 * Part of lttng/tracepoint-event.h: before each pass, what is in a header with trace points means
 * nothing.
 */
#undef LTTNG_UST_TRACEPOINT_EVENT
#define LTTNG_UST_TRACEPOINT_EVENT(provider, name, args, fields) \
	TRAIL__TP_PASS_CLASS(provider, name, TRAIL__TP_LIST(args), TRAIL__TP_LIST(fields)) \
	TRAIL__TP_PASS_INSTANCE(provider, name, provider, name, TRAIL__TP_LIST(args))
#undef LTTNG_UST_TRACEPOINT_EVENT_CLASS
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS(provider, name, args, fields) \
	TRAIL__TP_PASS_CLASS(provider, name, TRAIL__TP_LIST(args), TRAIL__TP_LIST(fields))
#undef LTTNG_UST_TRACEPOINT_EVENT_INSTANCE
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(class_provider, class_name, provider, name, args) \
	TRAIL__TP_PASS_INSTANCE(class_provider, class_name, provider, name, TRAIL__TP_LIST(args))
#undef LTTNG_UST_TRACEPOINT_ENUM
#define LTTNG_UST_TRACEPOINT_ENUM(provider, name, values) \
	TRAIL__TP_PASS_ENUM(provider, name, TRAIL__TP_LIST(values))
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(provider, name, level)
#undef LTTNG_UST_TRACEPOINT_MODEL_EMF_URI
#define LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(provider, name, uri)

#undef TRAIL__TP_PASS_CLASS
#define TRAIL__TP_PASS_CLASS(provider_, name_, args_, fields_)
#undef TRAIL__TP_PASS_INSTANCE
#define TRAIL__TP_PASS_INSTANCE(class_provider_, class_name_, provider_, name_, args_)
#undef TRAIL__TP_PASS_ENUM
#define TRAIL__TP_PASS_ENUM(provider_, name_, ...)
