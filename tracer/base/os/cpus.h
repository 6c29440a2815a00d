/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPUs there are, by the lists of the kernel: "0-1" or "0,2-7" (Documentation/admin-guide/
 * cputopology.rst). Any thread may call these functions.
 */
#ifndef TRACER_OS_CPUS_H
#define TRACER_OS_CPUS_H

#include <sched.h>
#include <stdbool.h>

#define CPUS_DIR "/sys/devices/system/cpu/"
#define CPUS_ONLINE CPUS_DIR "online"           /* that execute threads now */
#define CPUS_POSSIBLE CPUS_DIR "possible"       /* that may come online until the next boot */

/*
 * Reads the list in a file into *set, which has `size` bytes (CPU_ALLOC_SIZE). CPUs that have no
 * place in the set are left out. False: the file cannot be read, or has no list.
 */
bool cpus_read(const char *path, cpu_set_t *set, size_t size);

#endif
