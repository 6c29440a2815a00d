/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST's interface of clock plug-ins: a program gives the sessions with the clock `plugin`
 * (trailfs(4)) times of its own, for instance those of a simulation.
 *
 * A shared object that LTTNG_UST_CLOCK_PLUGIN names has a function
 * void lttng_ust_clock_plugin_init(void), which libtrail calls once, before the program's
 * tracepoints are registered. It sets the functions, then enables them. A program may also do so
 * itself in a constructor that runs before those of its tracepoints. Not thread-safe.
 *
 * The functions, and the strings that they return, stay as long as the process. The first reads the
 * clock for each event: in any thread, also in signal handlers; errno is restored after it. An
 * event with a time before that of the last one in its ring gets that time. The others are called
 * once, by lttng_ust_enable_trace_clock_override().
 *
 * All functions return 0, or -EBUSY once the clock is enabled; the last one also -EINVAL if a
 * function other than the UUID's is missing, or the frequency is 0. Those that get a function give
 * NULL for one that was not set.
 */
#ifndef LTTNG_UST_CLOCK_H
#define LTTNG_UST_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LTTNG_UST_UUID_STR_LEN 37       /* bytes of a UUID as text, with the NUL */

/* The time now: a counter that only grows. */
typedef uint64_t (*lttng_ust_clock_read64_function)(void);
/* Counts in a second. */
typedef uint64_t (*lttng_ust_clock_freq_function)(void);
/* Writes LTTNG_UST_UUID_STR_LEN bytes; 0 or -errno. Equal clocks of several processes have one. */
typedef int (*lttng_ust_clock_uuid_function)(char *uuid);
/* At most 63 and 191 bytes of these are used. */
typedef const char *(*lttng_ust_clock_name_function)(void);
typedef const char *(*lttng_ust_clock_description_function)(void);

int lttng_ust_trace_clock_set_read64_cb(lttng_ust_clock_read64_function read64_cb);
int lttng_ust_trace_clock_get_read64_cb(lttng_ust_clock_read64_function *read64_cb);
int lttng_ust_trace_clock_set_freq_cb(lttng_ust_clock_freq_function freq_cb);
int lttng_ust_trace_clock_get_freq_cb(lttng_ust_clock_freq_function *freq_cb);
int lttng_ust_trace_clock_set_uuid_cb(lttng_ust_clock_uuid_function uuid_cb);
int lttng_ust_trace_clock_get_uuid_cb(lttng_ust_clock_uuid_function *uuid_cb);
int lttng_ust_trace_clock_set_name_cb(lttng_ust_clock_name_function name_cb);
int lttng_ust_trace_clock_get_name_cb(lttng_ust_clock_name_function *name_cb);
int lttng_ust_trace_clock_set_description_cb(lttng_ust_clock_description_function description_cb);
int lttng_ust_trace_clock_get_description_cb(lttng_ust_clock_description_function *description_cb);

int lttng_ust_enable_trace_clock_override(void);

#ifdef __cplusplus
}
#endif

#endif
