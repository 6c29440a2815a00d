/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each room needs of threads: one without signals, one that is not joined, and a condition
 * with a deadline. Any thread.
 */
#ifndef TRACER_OS_THREAD_H
#define TRACER_OS_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* As pthread_create(3), but the thread takes no signals, which are for the first one. 0, -errno */
int thread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg);
/* Starts a detached thread with a stack of `stack` bytes; 0: the default size. 0 or -errno. */
int thread_start(size_t stack, void *(*run)(void *arg), void *arg);
/* The deadlines of pthread_cond_timedwait() are times of CLOCK_MONOTONIC. */
void cond_init_monotonic(pthread_cond_t *cond);

#endif
