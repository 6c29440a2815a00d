/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters that run in the kernel, so that unwanted events are not recorded. The daemon applies the
 * whole filter to what is recorded, so these must never reject more than it does. An operand of &&
 * that the kernel cannot evaluate is left out; an || with such an operand is left out as a whole.
 *
 * The language of tracefs (events/…/filter) has comparisons of the record's integers with
 * constants, joined by && and ||. If the trace has fewer bytes of an integer than the record, as
 * for many arguments of system calls, the text tests single bits. Programs for trail.ko evaluate
 * all fields but those whose values the daemon makes: processes from threads, addresses as text,
 * names of functions, flags of block requests.
 */
#ifndef TRACER_KEVENT_KERNEL_FILTER_H
#define TRACER_KEVENT_KERNEL_FILTER_H

#include "metadata/buf.h"
#include "tracer/kernel/kevent/kevent.h"

#define KFILTER_MAX 4000u       /* bytes: the kernel accepts less than a page */

/*
 * Appends a text that is true if any of the filters is; nothing if the kernel cannot help. Returns
 * true if the text is exact: it is not true for an event that the filters reject.
 */
bool kfilter_print(const struct filter *const *filters, size_t count, const struct kformat *f,
		   struct md_buf *out);
/* The same as a program that runs on the record (abi/filter_bytecode.h). */
bool kfilter_compile(const struct filter *const *filters, size_t count, const struct kformat *f,
		     struct md_buf *out);

#endif
