/* SPDX-License-Identifier: MIT */
/* A thread needs no preparation: its first event may be in a signal handler. */
#ifndef TRAIL_LTTNG_UST_THREAD_H
#define TRAIL_LTTNG_UST_THREAD_H

#pragma GCC system_header

static inline __attribute__((unused)) void lttng_ust_init_thread(void)
{
}

#endif
