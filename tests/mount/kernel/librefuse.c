/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl */
/*
 * For LD_PRELOAD, in the daemon: a kernel that refuses BPF programs which get arguments. $REFUSE
 * says which: those of functions (`functions`), the first one of a tracepoint as well (`first`),
 * `all`, or `none`; `records`: while the file $REFUSE_WHILE exists, all other programs as well;
 * `apart`: those that load or store across multiples of the size, as kernels of riscv64 do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_refused(union bpf_attr *a)
{
	static atomic_int programs;
	const char *which = getenv("REFUSE");
	int before;

	if (which && !strcmp(which, "apart"))
		a->prog_flags |= BPF_F_STRICT_ALIGNMENT;        /* the kernel does it */
	if (which && !strcmp(which, "records"))
		return !access(getenv("REFUSE_WHILE"), F_OK);
	if (!which || !strcmp(which, "none") || a->prog_type != BPF_PROG_TYPE_TRACING)
		return false;
	if (a->expected_attach_type != BPF_TRACE_RAW_TP)
		return a->expected_attach_type != BPF_TRACE_ITER;
	/* The daemon asks for the kernel's log in a second try. */
	before = a->log_level ? atomic_load(&programs) - 1 : atomic_fetch_add(&programs, 1);
	return !strcmp(which, "all") || (!strcmp(which, "first") && !before);
}

long syscall(long number, ...)
{
	long (*real)(long, ...);
	void *symbol = dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && is_refused((void *)a[1])) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&real, &symbol, sizeof(real));
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
