/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as trail.ko records them: those that the kernel has events for, those of 32-bit
 * programs (compat_sys_enter_NAME), and all others (…_unknown). What is behind pointers is captured
 * by the module and described by the format as `__captured` fields (kevent/syscall_struct.h).
 */
#ifndef TRACER_BACKEND_MODULE_SYSCALLS_H
#define TRACER_BACKEND_MODULE_SYSCALLS_H

#include "tracer/abi/module.h"
#include "tracer/backend/tracefs.h"

#define MODCALL_SYSTEM "syscalls"

struct modcalls;                /* which there are; constant once it is made */

/* asks /dev/trail; NULL: no memory */
struct modcalls *modcalls_create(const struct backend *b);
void modcalls_destroy(struct modcalls *c);                      /* NULL is allowed */

/* Lines system:event of those that tracefs does not list. */
void modcalls_list(const struct modcalls *c, struct md_buf *out);

/*
 * What the module is to be told of an event, and the format of its records. m, out may be NULL.
 * -ENOENT: there is none.
 */
int modcall_find(const struct backend *b, const char *event, struct modabi_event *m,
		 struct md_buf *out);

#endif
