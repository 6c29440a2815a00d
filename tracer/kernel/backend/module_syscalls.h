/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as trail.ko records them: those of the kernel's events, those of 32-bit programs
 * (compat_sys_enter_NAME), and all others (…_unknown). The module captures data through pointers;
 * the format has them as `__captured` fields (kevent/syscall_struct.h).
 */
#ifndef TRACER_BACKEND_MODULE_SYSCALLS_H
#define TRACER_BACKEND_MODULE_SYSCALLS_H

#include "tracer/abi/module.h"
#include "tracer/kernel/backend/tracefs.h"

#define MODCALL_SYSTEM "syscalls"

struct modcalls;                /* the known system calls; constant */

/* Asks /dev/trail. NULL: no memory. */
struct modcalls *modcalls_create(const struct backend *b);
void modcalls_destroy(struct modcalls *c);                      /* NULL is allowed */

/* Lines system:event of the events that tracefs does not list. */
void modcalls_list(const struct modcalls *c, struct md_buf *out);

/*
 * Fills m with what the module needs for an event, and prints the format of its records. Each of m
 * and out may be NULL. -ENOENT: no such event.
 */
int modcall_find(const struct backend *b, const char *event, struct modabi_event *m,
		 struct md_buf *out);

#define MODCALL_FIXED_AT 16             /* offset of the arguments or the result in a record */
#define MODCALL_ARGUMENTS 6
#define MODCALL_WORD_MAX 64

struct modcall_argument {
	char type[MODCALL_WORD_MAX], name[MODCALL_WORD_MAX];
};

struct modcall {
	const char *name;               /* without sys_enter_ or sys_exit_ */
	uint32_t nr, id;
	bool compat, exit;
	struct modcall_argument arguments[MODCALL_ARGUMENTS];
	uint32_t count;
};

/* module_captures.c: prints the format of an event, and adds to m what the module must capture. */
void modcall_put_format(const struct modcall *c, const char *event, struct modabi_call *m,
			struct md_buf *out);

#endif
