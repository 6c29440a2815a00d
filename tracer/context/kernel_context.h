/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts of the kernel domain: their names, as LTTng has them, what the backend can tell of them, and their bytes in front of an event, which are
 * the same in records of trail.ko and in the trace.
 */
#ifndef TRACER_CONTEXT_KERNEL_CONTEXT_H
#define TRACER_CONTEXT_KERNEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/abi/filter_bytecode.h"

/* The backend records them all; else there are only pid, tid, procname and cpu_id. Said once, before anybody asks. */
void kcontext_have_all(bool all);

/* enum trail_context, but of counters; -EOPNOTSUPP: the backend does not tell it; -ENOENT. any: whatever the backend. */
int kcontext_kind(const char *name, size_t len, bool any);
bool kcontext_counters(bool any);               /* perf:cpu:NAME can be had */
const char *kcontext_refusal(void);             /* why -EOPNOTSUPP: behind the name */
void kcontext_available(struct md_buf *out);    /* names, one per line */
int kcontext_type(uint32_t kind, struct md_type *out);  /* 0 or -ENOMEM */
/* FILTER_SIGNED …; FILTER_NONE: filters cannot use it. */
int kcontext_value_type(uint32_t kind);
/* Bytes; of a callstack those of its length. */
size_t kcontext_size(uint32_t kind);
/* Where those of a kind are among the bytes of several; NULL: they are not there, or the bytes are not those of these kinds. */
const uint8_t *kcontext_find(const uint32_t *kinds, uint32_t count, uint32_t kind, const uint8_t *bytes, size_t len);
bool kcontext_fits(const uint32_t *kinds, uint32_t count, const uint8_t *bytes, size_t len);
void kcontext_value(uint32_t kind, const uint8_t *at, struct filter_value *out);

#endif
