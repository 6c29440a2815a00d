/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of a kernel event, as tracefs has it. */
#ifndef TESTS_VM_EVENT_ID_H
#define TESTS_VM_EVENT_ID_H

#include <stdint.h>
#include <stdio.h>

/* 0: the kernel has no such event. */
static inline uint32_t id_of(const char *system, const char *name)
{
	char path[300];
	unsigned id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/id", system, name);
	f = fopen(path, "r");
	if (f && fscanf(f, "%u", &id) != 1)
		id = 0;
	if (f)
		fclose(f);
	return id;
}

#endif
