/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts of the kernel domain: LTTng's names, which of them the backend records, and their bytes
 * before an event's fields, which are the same in records of trail.ko and in the trace.
 */
#ifndef TRACER_CONTEXT_KERNEL_CONTEXT_H
#define TRACER_CONTEXT_KERNEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/abi/filter_bytecode.h"

#define KCONTEXT_ALL UINT64_MAX
/*
 * What the backend records besides what the thread table and /proc have, and what of that filters
 * can use: bit N is enum trail_context N; KCONTEXT_ALL: everything. Called once, before the other
 * functions.
 */
void kcontext_have(uint64_t kinds, uint64_t in_filters);
uint64_t kcontext_of_proc(void);        /* what the thread table and /proc have */

/*
 * The enum trail_context of a name, except of counters; -ENOENT; -EOPNOTSUPP: the backend does not
 * record it. any: whatever the backend records.
 */
int kcontext_kind(const char *name, size_t len, bool any);
bool kcontext_in_filters(uint32_t kind);        /* a known context */
bool kcontext_counters(bool any);               /* true: perf:cpu:NAME can be recorded */
const char *kcontext_refusal(void);             /* the reason of -EOPNOTSUPP */
struct rows;
void kcontext_available(struct rows *r);        /* a row for each name */
int kcontext_type(uint32_t kind, struct md_type *out);  /* 0 or -ENOMEM */
/* FILTER_SIGNED …; FILTER_NONE: filters cannot use it. */
int kcontext_value_type(uint32_t kind);
/* Bytes of a value; of a callstack those of its length field. */
size_t kcontext_size(uint32_t kind);
/*
 * Finds the value of a kind in the bytes of several contexts. NULL: absent, or the bytes end too
 * early.
 */
const uint8_t *kcontext_find(const uint32_t *kinds, uint32_t count, uint32_t kind,
			     const uint8_t *bytes, size_t len);
/* True if the bytes are exactly the values of these kinds. */
bool kcontext_fits(const uint32_t *kinds, uint32_t count, const uint8_t *bytes, size_t len);
void kcontext_value(uint32_t kind, const uint8_t *at, struct filter_value *out);

#endif
