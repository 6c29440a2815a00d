/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts kernel records to the payload of the event class of kformat_event: a list of copies,
 * compiled once per event. Threads may share it, because it does not change afterwards.
 */
#ifndef TRACER_KEVENT_TRANSCODE_H
#define TRACER_KEVENT_TRANSCODE_H

#include <sys/types.h>

#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/ring_page.h"

struct kcode;

struct kcode *kcode_make(const struct kformat *f);      /* NULL: no memory. Does not keep f */
/*
 * Whether it needs the names of functions. The caller keeps s until it frees c. Without s names are
 * empty.
 */
bool kcode_has_symbols(const struct kcode *c);
void kcode_symbols(struct kcode *c, const struct ksyms *s);
void kcode_free(struct kcode *c);                       /* NULL is allowed */

/*
 * Bytes of the payload. -ENOSPC: more than room; -EBADMSG: the record is shorter than its fields. A
 * dynamic field that lies outside the record becomes empty.
 */
ssize_t kcode_run(const struct kcode *c, const uint8_t *record, size_t len, uint8_t *to,
		  size_t room);

/*
 * The place in the payload of the n'th field (int32) that shall be a process. It has the thread of
 * the record, which is right for processes with one thread; the caller replaces it if it knows the
 * process. SIZE_MAX: no more such fields.
 */
size_t kcode_process(const struct kcode *c, uint32_t n);

/* The room that is always enough for a record of len bytes. */
size_t kcode_bound(const struct kcode *c, size_t len);

#endif
