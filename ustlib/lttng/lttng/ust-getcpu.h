/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST's interface of CPU plug-ins: a program says on which CPU it is, for instance one of a
 * machine that it simulates. The context cpu_id has that number, in events and filters. Events
 * still go to the buffers of the real CPU, whose number is in the stream.
 *
 * A shared object that LTTNG_UST_GETCPU_PLUGIN names has a function
 * void lttng_ust_getcpu_plugin_init(void), which libtrail calls once, before the program's
 * tracepoints are registered, and which calls lttng_ust_getcpu_override(). A program may also call
 * that itself, at any time, in any thread.
 */
#ifndef LTTNG_UST_GETCPU_H
#define LTTNG_UST_GETCPU_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on getcpu is called for each event with the context, and for each filter that has it: in
 * any thread, also in signal handlers; errno is restored after it. It stays as long as the process.
 * NULL: the real CPU again. Returns 0.
 */
int lttng_ust_getcpu_override(int (*getcpu)(void));

#ifdef __cplusplus
}
#endif

#endif
