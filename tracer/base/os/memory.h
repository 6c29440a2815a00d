/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the machine. No lock; any thread may call it. */
#ifndef TRACER_OS_MEMORY_H
#define TRACER_OS_MEMORY_H

#include <stdint.h>

/*
 * Bytes that programs can have now without swapping, as the kernel estimates it; a huge number if
 * it does not say. When more is taken, the kernel ends processes.
 */
uint64_t memory_available(void);

#endif
