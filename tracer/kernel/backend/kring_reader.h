/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a ring of abi/module_ring.h, which trail.ko or a BPF program writes. The memory is mapped
 * from the kernel; positions and lengths are checked nevertheless. No lock: a reader belongs to the
 * channel that has it.
 */
#ifndef TRACER_BACKEND_KRING_READER_H
#define TRACER_BACKEND_KRING_READER_H

#include "tracer/abi/module_ring.h"
#include "tracer/kernel/backend/backend.h"

struct kring_shape {
	uint64_t size, total;           /* bytes of a sub-buffer, of all sub-buffers */
	uint8_t *copy;                  /* of one sub-buffer */
};

struct kring_reader {                    /* how far a ring is read */
	const struct kring *ring;       /* mapped; NULL: no such CPU */
	const uint8_t *data;
	uint64_t pos;
	uint64_t events;                /* below pos */
	uint64_t overwritten;           /* of these, overwritten before they were read */
};

/* Sub-buffers for about this many bytes per CPU; their number. */
uint32_t kring_choose_sizes(uint64_t bytes, uint32_t *subbuf_size);
/* Sets the reader to what was consumed of its ring. */
void kring_reader_begin(struct kring_reader *p);
/*
 * Passes on the records up to head, which the caller loaded with acquire. Calls release (0 or
 * -errno) after each sub-buffer, so that writers can use its space early. 0 or -errno; -EBADMSG:
 * the ring is damaged.
 */
int kring_drain(const struct kring_shape *g, struct kring_reader *p, uint64_t head,
		const struct backend_sink *sink,
		int (*release)(void *arg, const struct kring_reader *p), void *arg);
/* What was lost so far, with what the next drain will not find any more. */
void kring_lost(const struct kring_shape *g, const struct kring_reader *p,
		struct source_counts *losses);

#endif
