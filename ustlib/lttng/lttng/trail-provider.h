/* SPDX-License-Identifier: MIT */
/*
 * trail-provider.h - the trace points of a provider, and their registration. Nothing here is for
 * use in programs.
 */
#ifndef TRAIL_LTTNG_PROVIDER_H
#define TRAIL_LTTNG_PROVIDER_H

#pragma GCC system_header

#include <trail/object.h>

#define TRAIL__TP_PASS_LEVEL(provider_, name_, level_) \
	enum { trail__level_##provider_##___##name_ = (level_) };
#define TRAIL__TP_PASS_URI(provider_, name_, uri_) \
	static const char trail__uri_##provider_##___##name_[] __attribute__((unused)) = uri_;

/*
 * The instance has the types of its class. In C another instance does not compile. In C++ it is a
 * function of its own: no call site is connected with its probe, and the library and the daemon say
 * so.
 */
#ifdef __cplusplus
extern "C++" {
template <class T, class U> struct trail__same { enum { value = 0 }; };
template <class T> struct trail__same<T, T> { enum { value = 1 }; };
}
#define TRAIL__TP_MATCHES(class_, ...) \
	trail__same<__typeof__(&trail__call_##class_), \
		    void (*)(struct trail__tp * TRAIL__TP_TYPES(__VA_ARGS__))>::value
#else
#define TRAIL__TP_MATCHES(class_, ...) 1
#endif

#define TRAIL__TP_EVENT(class_, provider_, name_, args_) \
	static const struct trail__event trail__event_##provider_##___##name_ = { \
		#provider_, \
		#name_, \
		trail__fields_##class_, \
		sizeof(trail__fields_##class_) / sizeof(trail__fields_##class_[0]) - 1, \
		(unsigned char)trail__level_##provider_##___##name_, \
		TRAIL__TP_MATCHES(class_, args_) ? 1 : TRAIL__REFUSED, \
		sizeof(trail__uri_##provider_##___##name_) > 1 \
			? trail__uri_##provider_##___##name_ \
			: 0 \
	}; \
	static struct trail__tp trail__tp_##provider_##___##name_ = { \
		&trail__tp_##provider_##___##name_.off, \
		&trail__event_##provider_##___##name_, \
		0, \
		0, \
		0, \
		0, \
		0, \
		0, \
		0 \
	}; \
	static struct trail__tp *trail__tp_entry_##provider_##___##name_ TRAIL__ENTRY( \
		"trail_tps") = &trail__tp_##provider_##___##name_; \
	static struct trail__probe trail__probe_##provider_##___##name_ = { \
		TRAIL__TP_MATCHES(class_, args_) ? TRAIL__PROBE_VERSION : 0, \
		0, \
		#provider_, \
		#name_, \
		TRAIL__TP_TEXT(args_), \
		&trail__tp_##provider_##___##name_, \
		(void (*)(void))trail__call_##class_ \
	}; \
	static struct trail__probe *trail__probe_entry_##provider_##___##name_ TRAIL__ENTRY( \
		"trail_probes") = &trail__probe_##provider_##___##name_;

#ifdef __cplusplus
extern "C" {
#endif

extern struct trail__probe *__start_trail_probes[] __attribute__((weak, visibility("hidden")));
extern struct trail__probe *__stop_trail_probes[] __attribute__((weak, visibility("hidden")));

/* Between those for the trace points (101): the probes come after them, and go before. */
static void __attribute__((constructor(102), used)) trail__probes_constructor(void)
{
	if (trail__object[1])
		return;
	trail__object[1] = 1;
	trail__probes_register(__start_trail_probes, __stop_trail_probes, trail__object);
}

static void __attribute__((destructor(102), used)) trail__probes_destructor(void)
{
	if (!trail__object[1])
		return;
	trail__object[1] = 0;
	trail__probes_unregister(__start_trail_probes);
}

#ifdef __cplusplus
}
#endif

#endif
