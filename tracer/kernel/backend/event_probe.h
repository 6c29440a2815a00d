/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings of system calls. Up to Linux 6.18 at least, the sys_enter events of tracefs have only the
 * pointers. An event probe (`e:` in dynamic_events) on such an event reads the string at the
 * pointer. Linux has event probes since 5.15, unless built without CONFIG_PROBE_EVENTS (newer
 * kernels: CONFIG_EPROBE_EVENTS; their README file mentions `e:` in any case, so only a trial
 * tells). Before 6.13, events of system calls run with preemption disabled, so a page that is not
 * in memory reads as "(fault)".
 */
#ifndef TRACER_BACKEND_EVENT_PROBE_H
#define TRACER_BACKEND_EVENT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

/* Tries to make one. 1: this kernel has event probes; 0: it has none; -errno: no access. */
int event_probe_supported(int tracefs_fd);

/*
 * Whether a format is of a system call whose tracepoint records bytes that it is given (Linux
 * 6.19).
 */
bool event_probe_reads_bytes(const char *format);

struct event_field;
/* Whether it is `__NAME_val`, which Linux 6.19 and later read at the address in argument NAME. */
bool event_probe_is_read(const struct event_field *f);

/*
 * Prints the definition of an event probe on syscalls/EVENT (`sys_enter_openat`) that has its first
 * 13 arguments under their own names. format is the text of the event's format file. Strings become
 * `ustring`; numbers have the sizes of their C types. Returns the number of strings (0: no probe is
 * needed, out is unchanged), -EINVAL if the text is no such format, or -ENOMEM.
 */
int event_probe_define(const char *format, const char *event, const char *group,
		       struct md_buf *out);

/*
 * Makes that probe as GROUP/EVENT; dynamic_event_remove removes it. 1: made; 0: the event has no
 * strings; -EEXIST; -EOPNOTSUPP: the kernel has no event probes; -ENOENT: no such event.
 */
int event_probe_create(int tracefs_fd, const char *group, const char *event, struct tr_err *err);

#endif
