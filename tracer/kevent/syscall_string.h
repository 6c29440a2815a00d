/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which arguments of system calls are strings. */
#ifndef TRACER_KEVENT_SYSCALL_STRING_H
#define TRACER_KEVENT_SYSCALL_STRING_H

#include <stdbool.h>

/*
 * True if the caller passes a string in this argument: `const char * filename` and the like. syscall is the kernel's name
 * without a prefix (`openat`), type and name are those of the argument in the format file. Any thread.
 */
bool syscall_takes_string(const char *syscall, const char *type, const char *name);

#endif
