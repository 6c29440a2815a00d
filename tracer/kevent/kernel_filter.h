/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters for the kernel, so that what is not wanted is not recorded in the first place. The daemon decides on what is recorded all the same, so
 * these only ever have to be no narrower. Of && what the kernel cannot do is left out, of || all is then.
 *
 * In the language of tracefs (events/…/filter) that is comparisons of the record's own integers with constants, joined by && and ||. Where the
 * trace has fewer bytes of an integer than the record, as of many arguments of system calls, they are tests of single bits. Programs for
 * trail.ko do all but fields whose values the daemon makes: processes from threads, addresses as text, names of functions, letters of block
 * requests.
 */
#ifndef TRACER_KEVENT_KERNEL_FILTER_H
#define TRACER_KEVENT_KERNEL_FILTER_H

#include "metadata/buf.h"
#include "tracer/kevent/format.h"

#define KFILTER_MAX 4000u       /* bytes: the kernel takes less than a page */

/*
 * Whether any of the filters is true of an event: appends a text. Nothing, where the kernel cannot help. Returns whether what was
 * appended is exact: true of no event that the filters reject.
 */
bool kfilter_print(const struct filter *const *filters, size_t count, const struct kformat *f,
		   struct md_buf *out);
/* Likewise a program that runs on the record (abi/filter_bytecode.h). */
bool kfilter_compile(const struct filter *const *filters, size_t count, const struct kformat *f,
		     struct md_buf *out);

#endif
