/* SPDX-License-Identifier: MIT */
/*
 * The numbers of context fields, the same for applications, the daemon and the kernel module. In an
 * event, contexts are packed and in the order of the channel's list.
 */
#ifndef TRACER_ABI_CONTEXT_KIND_H
#define TRACER_ABI_CONTEXT_KIND_H

enum trail_context {
	TRAIL_CONTEXT_NONE,
	/* contexts.def says what each is. */
#define CONTEXT(kind, name, shape, bytes) TRAIL_CONTEXT_##kind,
#define OTHER_CONTEXT(kind) TRAIL_CONTEXT_##kind,
#include "tracer/abi/contexts.def"
	TRAIL_CONTEXT_KINDS,            /* the number of kinds of applications, 0 included */
	TRAIL_CONTEXT_BEFORE_KERNEL = TRAIL_CONTEXT_KINDS - 1,
#define KERNEL_CONTEXT(kind, name, shape, bytes, always) TRAIL_CONTEXT_##kind,
#include "tracer/abi/contexts.def"
	TRAIL_CONTEXT_ALL
};

#endif
