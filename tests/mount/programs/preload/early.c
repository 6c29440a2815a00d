/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded after the helper: a dlsym(3) that allocates, as some libcs' does, by the functions
 * that are being looked up.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *kept;
static int calls;

void *dlsym(void *handle, const char *name)
{
	char *volatile p = malloc(100);
	char *volatile q = calloc(10, 10);
	volatile size_t huge = (size_t)-1 / 2;
	void *volatile none = calloc(huge, 3);
	void *r = NULL;

	(void)handle;
	calls++;
	if (none || !p || !q || q[0] || q[99] || (unsigned long)p % 16 || (unsigned long)q % 16)
		_exit(91);
	strcpy(p, "kept");
	q = realloc(q, 50);
	free(q);
	if (posix_memalign(&r, 64, 10) || (unsigned long)r % 64 ||
	    (unsigned long)r == (unsigned long)p)
		_exit(92);
	free(kept);
	kept = realloc(p, 300);
	if (!kept || strcmp(kept, "kept"))
		_exit(93);
	return dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

static __attribute__((destructor)) void later(void)
{
	char *again = calls ? realloc(kept, 100000) : NULL;

	if (!again || strcmp(again, "kept"))
		_exit(94);
	free(again);
}
