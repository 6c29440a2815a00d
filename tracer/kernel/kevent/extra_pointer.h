/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pointers on the way to extra data of rules (probe/extra.h), which the record has in hidden
 * fields. A bad one means that the value it leads to was not read.
 */
#ifndef TRACER_KEVENT_EXTRA_POINTER_H
#define TRACER_KEVENT_EXTRA_POINTER_H

#include "tracer/kernel/kevent/kevent.h"
#include "tracer/base/probe/format_line.h"
#include "tracer/base/probe/extra.h"

#define KEXTRA_TEXT_MAX (EXTRA_MAX * EXTRA_NAME_MAX)    /* bytes that kextra_put writes */

/*
 * 1: the field was a pointer, and f has it; 0: another field; -EINVAL: a field after a pointer that
 * is none, or too many; -ENOMEM.
 */
int kpointer_add(struct kformat *f, const struct format_line *l);
/* After the last field: marks the items, and adds the field EXTRA_SIGN. 0 or -ENOMEM. */
int kpointers_finish(struct kformat *f);

/* The pointers of one event, for many records; NULL: no memory. Does not keep f. */
struct kextra *kextra_make(const struct kformat *f);
void kextra_free(struct kextra *x);                     /* NULL is allowed */
/* The items whose values were not read: bits of struct kformat_pointer. */
uint32_t kextra_unread(const struct kextra *x, const uint8_t *record);
/* Writes their names with blanks between them, and a NUL. The end; NULL: no room. */
uint8_t *kextra_put(const struct kextra *x, uint32_t unread, uint8_t *to, const uint8_t *end);

#endif
