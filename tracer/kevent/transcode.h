/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the bytes of a kernel record to the payload of the CTF event class that kformat_event makes: a list of copies, compiled once
 * for each event. Read only afterwards, so threads may share it.
 */
#ifndef TRACER_KEVENT_TRANSCODE_H
#define TRACER_KEVENT_TRANSCODE_H

#include <sys/types.h>

#include "tracer/kevent/format.h"
#include "tracer/kevent/ring_page.h"
#include "tracer/kevent/kallsyms.h"

struct kcode;

struct kcode *kcode_make(const struct kformat *f);      /* NULL: no memory. Does not need f afterwards */
/* Whether it needs the names of functions; which stay the caller's, until it is freed. Without them names are empty. */
bool kcode_has_symbols(const struct kcode *c);
void kcode_symbols(struct kcode *c, const struct ksyms *s);
void kcode_free(struct kcode *c);                       /* NULL is allowed */

/*
 * Bytes of the payload. -ENOSPC: more than room; -EBADMSG: the record is shorter than its fields. What a dynamic field says of its
 * place is checked; if it lies outside of the record, the value is empty.
 */
ssize_t kcode_run(const struct kcode *c, const uint8_t *record, size_t len, uint8_t *to,
		  size_t room);

/*
 * Where in the payload the n'th field stands that is to have a process (int32), and has the thread that the record knows of, which
 * is right for processes of one thread. The caller replaces it if it knows better. SIZE_MAX: there are no more.
 */
size_t kcode_process(const struct kcode *c, uint32_t n);

/* With this much room, there is no -ENOSPC for a record of len bytes. */
size_t kcode_bound(const struct kcode *c, size_t len);

#endif
