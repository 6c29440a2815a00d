// SPDX-License-Identifier: MIT
/*
 * Plug-ins for the clock and the CPU (lttng/ust-clock.h, ust-getcpu.h): what LTTng-UST exports for
 * them, and the load of those that the environment names.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ustlib/plugin.h"
#include "ustlib/lttng/lttng/ust-clock.h"
#include "ustlib/lttng/lttng/ust-getcpu.h"

static struct {
	lttng_ust_clock_read64_function read64;
	lttng_ust_clock_freq_function freq;
	lttng_ust_clock_uuid_function uuid;
	lttng_ust_clock_name_function name;
	lttng_ust_clock_description_function description;
} given;

#define CALLBACK(which) \
	TRAIL_EXPORT int \
	lttng_ust_trace_clock_set_##which##_cb(lttng_ust_clock_##which##_function f) \
	{ \
		if (plugin_clock.read) \
			return -EBUSY; \
		given.which = f; \
		return 0; \
	} \
	TRAIL_EXPORT int \
	lttng_ust_trace_clock_get_##which##_cb(lttng_ust_clock_##which##_function *f) \
	{ \
		*f = given.which; \
		return 0; \
	}
CALLBACK(read64)
CALLBACK(freq)
CALLBACK(uuid)
CALLBACK(name)
CALLBACK(description)

static int hex_value(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

/* 8-4-4-4-12 hex digits. What is no UUID is none. */
static void parse_uuid(const char *text, uint8_t uuid[16])
{
	uint8_t out[16];
	int n = 0;

	for (const char *p = text; n < 32; p++) {
		int digit = hex_value(*p);

		if (*p == '-' && (n == 8 || n == 12 || n == 16 || n == 20) && p[-1] != '-')
			continue;
		if (digit < 0)
			return;
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] << 4 | digit : digit);
		n++;
	}
	memcpy(uuid, out, sizeof(out));
}

TRAIL_EXPORT int lttng_ust_enable_trace_clock_override(void)
{
	char uuid[LTTNG_UST_UUID_STR_LEN] = "";

	if (plugin_clock.read)
		return -EBUSY;
	if (!given.read64 || !given.freq || !given.name || !given.description)
		return -EINVAL;
	plugin_clock.freq = given.freq();
	plugin_clock.name = given.name();
	plugin_clock.description = given.description();
	if (!plugin_clock.freq || !plugin_clock.name || !plugin_clock.description)
		return -EINVAL;
	if (given.uuid && !given.uuid(uuid)) {
		uuid[sizeof(uuid) - 1] = 0;
		parse_uuid(uuid, plugin_clock.uuid);
	}
	__atomic_store_n(&plugin_clock.read, given.read64, __ATOMIC_RELEASE);
	return 0;
}

TRAIL_EXPORT int lttng_ust_getcpu_override(int (*getcpu)(void))
{
	__atomic_store_n(&plugin_getcpu, getcpu, __ATOMIC_RELAXED);
	return 0;
}

static bool has_clock(void)
{
	return plugin_clock.read;
}

static bool has_getcpu(void)
{
	return __atomic_load_n(&plugin_getcpu, __ATOMIC_RELAXED);
}

static void load(const char *what, const char *variable, const char *function, bool (*used)(void))
{
	const char *path = secure_getenv(variable);
	void *object, (*init)(void);

	if (!path)
		return;
	object = dlopen(path, RTLD_NOW);
	init = object ? (void (*)(void))dlsym(object, function) : NULL;
	if (init)
		init();
	if (!object)    /* dlerror(3) names the file. */
		debug_print("%s plug-in: %s", what, dlerror());
	else if (!init)
		debug_print("%s plug-in: %s has no function %s()", what, path, function);
	else
		debug_print("%s plug-in: %s %s", what, path,
			    used() ? "is used" : "did not enable itself");
}

void plugin_load(void)
{
	load("clock", "LTTNG_UST_CLOCK_PLUGIN", "lttng_ust_clock_plugin_init", has_clock);
	load("CPU", "LTTNG_UST_GETCPU_PLUGIN", "lttng_ust_getcpu_plugin_init", has_getcpu);
}
