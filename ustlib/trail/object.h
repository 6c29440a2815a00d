/* SPDX-License-Identifier: MIT */
/*
 * object.h - registers the sites of an object (trail/site.h); included where sites are defined. The
 * library need not be linked: it is loaded if it is there, and else the sites stay off. Nothing
 * here is for use in programs.
 */
#ifndef TRAIL_OBJECT_H
#define TRAIL_OBJECT_H

#pragma GCC system_header

#ifdef __cplusplus
extern "C++" {
#endif
#include <dlfcn.h>
#ifdef __cplusplus
}
#endif

#include <trail/site.h>

/*
 * A pointer in a section of pointers: not for an address sanitizer to put space around, nor for the
 * linker to drop.
 */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define TRAIL__RETAIN retain,
#endif
#endif
#ifndef TRAIL__RETAIN
#define TRAIL__RETAIN
#endif
#if defined(__clang__)
#define TRAIL__ENTRY(name) \
	__attribute__((TRAIL__RETAIN used, section(name), no_sanitize("address")))
#else
#define TRAIL__ENTRY(name) __attribute__((TRAIL__RETAIN used, section(name)))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One for each object: its sites, and its probes, are registered. The address tells objects apart.
 */
char trail__object[2] __attribute__((weak, visibility("hidden"))) = { 0, 0 };

extern struct trail__site *__start_trail_sites[] __attribute__((weak, visibility("hidden")));
extern struct trail__site *__stop_trail_sites[] __attribute__((weak, visibility("hidden")));

extern __typeof__(trail__sites_register) trail__sites_register __attribute__((weak));
extern __typeof__(trail__sites_unregister) trail__sites_unregister __attribute__((weak));

static inline __attribute__((unused)) void *trail__library(const char *symbol, int flags)
{
	void *library = dlopen(TRAIL__SONAME, flags);   /* never closed, as it cannot be unloaded */

	return library ? dlsym(library, symbol) : 0;
}

/* After that for the trace points (101). */
static void __attribute__((constructor(102), used)) trail__sites_constructor(void)
{
	__typeof__(trail__sites_register) *f = trail__sites_register;

	if (trail__object[0])
		return;
	trail__object[0] = 1;
	if (!f)
		f = (__typeof__(trail__sites_register) *)trail__library("trail__sites_register",
									RTLD_NOW);
	if (f)
		f(__start_trail_sites, __stop_trail_sites, trail__object);
}

static void __attribute__((destructor(102), used)) trail__sites_destructor(void)
{
	__typeof__(trail__sites_unregister) *f = trail__sites_unregister;

	if (!trail__object[0])
		return;
	trail__object[0] = 0;
	if (!f)
		f = (__typeof__(trail__sites_unregister) *)trail__library("trail__sites_unregister",
									  RTLD_NOW | RTLD_NOLOAD);
	if (f)
		f(__start_trail_sites);
}

#ifdef __cplusplus
}
#endif

#endif
