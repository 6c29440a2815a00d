/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings of system calls. Up to Linux 6.18 at least, tracefs' sys_enter events carry only the
 * pointers; an event probe (`e:` in dynamic_events) on such an event reads the text behind it.
 * Linux has them from 5.15 on, unless it was built without (CONFIG_PROBE_EVENTS; newer ones have an
 * option of their own, CONFIG_EPROBE_EVENTS, and their README file mentions `e:` even without it,
 * hence a trial). Before 6.13, when system call events run with preemption off, a page that is not
 * in memory reads as "(fault)".
 */
#ifndef TRACER_BACKEND_EVENT_PROBE_H
#define TRACER_BACKEND_EVENT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

/* Tries it. 1: this kernel has event probes; 0: it has not; -errno: no access. */
int event_probe_supported(int tracefs_fd);

/*
 * The definition of an event probe on syscalls/EVENT (`sys_enter_openat`) that has all its
 * arguments under their own names, from the text of its format file (at most its first 13 fields
 * are looked at). Strings are `ustring`, numbers have the sizes of their C types. Returns the
 * number of strings (0: nothing to gain, out is unchanged), -EINVAL if that is no such text,
 * -ENOMEM.
 */
int event_probe_define(const char *format, const char *event, const char *group,
		       struct md_buf *out);

/*
 * Makes it as GROUP/EVENT; remove it with dynamic_event_remove. 1: made; 0: the event has no
 * strings; -EEXIST; -EOPNOTSUPP: no event probes in this kernel; -ENOENT: no such event.
 */
int event_probe_create(int tracefs_fd, const char *group, const char *event, struct tr_err *err);

#endif
