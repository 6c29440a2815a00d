/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/fault.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned int fault_seconds(void)
{
	const char *value = getenv(FAULT_VARIABLE);

	return value ? (unsigned int)strtoul(value, NULL, 10) : 0;
}

/* The file that plants a fault; NULL: there is none, or it was removed. */
static const char *find_fault(const struct import *im, const char *when)
{
	size_t n = strlen(when);
	struct stat st;

	for (size_t i = 0; i < im->file_count; i++) {
		const char *name = import_file_name(&im->files[i]);

		if (!strncmp(name, "fault-", 6) && !strncmp(name + 6, when, n) &&
		    name[6 + n] == '-' && !fstat(im->files[i].fd, &st) && st.st_nlink)
			return name + 7 + n;
	}
	return NULL;
}

void fault_happen(const struct import *im, const char *when, struct md_buf *out)
{
	const char *what = fault_seconds() ? find_fault(im, when) : NULL;
	pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;

	if (!what)
		return;
	if (!strcmp(what, "segv"))
		*(volatile char *)(uintptr_t)(strlen(what) - 4) = 1;
	else if (!strcmp(what, "call"))
		syscall(SYS_chdir, "/");
	else if (!strcmp(what, "exit"))
		_exit(7);
	else if (!strcmp(what, "lie"))
		md_buf_puts(out, "these bytes are no event at all");
	while (!strcmp(what, "spin"))
		__asm__ volatile("" : : : "memory");
	while (!strcmp(what, "sleep"))
		pthread_mutex_lock(&never);
}
