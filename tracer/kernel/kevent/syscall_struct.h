/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that arguments of system calls point to: the backend copied it into the record, as
 * `__captured KIND NAME` in the format. A value that was not readable has no bytes; in the trace it
 * is zeros, or empty.
 *
 *	int		an integer
 *	ints		two integers
 *	fd_set		a sequence of bytes, hexadecimal
 *	family port v4addr v6addr	parts of a socket address; zero or empty for another family
 *	pollfds polled	a sequence of requested events, of returned events
 *	epoll_event epoll_events	one, a sequence
 */
#ifndef TRACER_KEVENT_SYSCALL_STRUCT_H
#define TRACER_KEVENT_SYSCALL_STRUCT_H

#include "tracer/kernel/kevent/kevent.h"

/* Sets kind, sizes and place from KIND; false: unknown. */
bool kstruct_set(struct kformat_field *f, const char *kind, size_t len);

/*
 * The type of an element of a KFORMAT_STRUCT or KFORMAT_STRUCTS. False: no memory; md_type_deinit
 * is needed all the same.
 */
bool kstruct_type(unsigned int structure, struct md_type *t);

/* Bytes of an element in the record, and in the payload. */
size_t kstruct_size(unsigned int structure);
size_t kstruct_payload(unsigned int structure);

/* Writes the payload of one element; false: it is not recorded. from NULL: zeros. */
bool kstruct_put(unsigned int structure, const uint8_t *from, uint8_t *to);

/* A part (KFORMAT_PORT …) of a socket address; empty if the address has none. */
const uint8_t *kstruct_address(unsigned int kind, const uint8_t *from, size_t len, size_t *n);

#endif
