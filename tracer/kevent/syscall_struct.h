/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies behind pointers that system calls are given: bytes that the backend copied, a `__captured KIND NAME` in the format. A value that could not
 * be read has no bytes; it is zeros, or empty, then.
 *
 *	int		an integer
 *	ints		two of them
 *	fd_set		a sequence of bytes, hexadecimal
 *	family port v4addr v6addr	of a socket's address; the latter are zero or empty if it is of another family
 *	pollfds polled	a sequence of what is asked for, of what there was
 *	epoll_event epoll_events	one, a sequence
 */
#ifndef TRACER_KEVENT_SYSCALL_STRUCT_H
#define TRACER_KEVENT_SYSCALL_STRUCT_H

#include "tracer/kevent/format.h"

/* Sets kind, sizes and place from KIND; false: there is no such. */
bool kstruct_set(struct kformat_field *f, const char *kind, size_t len);

/* The type of one element of a KFORMAT_STRUCT or KFORMAT_STRUCTS, by field.structure. False: no memory; md_type_deinit all the same. */
bool kstruct_type(unsigned int structure, struct md_type *t);

/* Bytes of an element, before and after. */
size_t kstruct_size(unsigned int structure);
size_t kstruct_payload(unsigned int structure);

/* The payload of one element; false: it is not to be in the trace. from NULL: zeros. */
bool kstruct_put(unsigned int structure, const uint8_t *from, uint8_t *to);

/* Part (of KFORMAT_PORT …) of a socket's address; empty if there is none. */
const uint8_t *kstruct_address(unsigned int kind, const uint8_t *from, size_t len, size_t *n);

#endif
