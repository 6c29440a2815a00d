/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which function of the kernel an address is in, by the names of /proc/kallsyms: those that function tracing knows. */
#ifndef TRACER_KEVENT_KALLSYMS_H
#define TRACER_KEVENT_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct ksyms;

#define KSYMS_FILE "/proc/kallsyms"
#define KSYMS_NAME_MAX 511u

/* The functions that there are now, from a file like /proc/kallsyms. NULL: it cannot be read, hides the addresses, or no memory. */
struct ksyms *ksyms_load(const char *path);
void ksyms_free(struct ksyms *s);       /* NULL is allowed */
/* "": none is near. Of several names of one function the first in the file, as in the kernel. */
const char *ksyms_find(const struct ksyms *s, uint64_t address);
/* The name that ksyms_find gives for the function of this name; NULL: there is no such function. */
const char *ksyms_first(const struct ksyms *s, const char *name);
/* True if the file can be read and has addresses: kernel.kptr_restrict may hide them even from root. */
bool ksyms_readable(const char *path);

#endif
