/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LTTng's names and types of kernel events and fields: lookups in the tables of
 * kevent/lttng_names.def.
 */
#ifndef TRACER_KEVENT_LTTNG_NAMES_H
#define TRACER_KEVENT_LTTNG_NAMES_H

#include <stdint.h>

enum kname_type {
	KNAME_SAME,                             /* as in the kernel's format */
	KNAME_S8, KNAME_S16, KNAME_S32, KNAME_S64,
	KNAME_U8, KNAME_U16, KNAME_U32, KNAME_U64,
	KNAME_X8, KNAME_X16, KNAME_X32, KNAME_X64,      /* hexadecimal */
	KNAME_N16, KNAME_N32,                   /* unsigned, in network byte order */
	KNAME_TEXT,                             /* char[N]: N bytes; dynamic: 16 */
	KNAME_STRING,                           /* char[N] */
	KNAME_RWBS,
	/* with the labels of the print format, or of the table */
	KNAME_ENUM,
	/* T[N] that extends to the end of the record; hexadecimal */
	KNAME_REST,
	KNAME_DROP,
};

struct kname_field {
	const char *event;      /* in the trace; may end in a star */
	const char *field;      /* the kernel's */
	const char *name;
	uint8_t type;           /* enum kname_type */
};

struct kname_added {            /* an additional field */
	const char *event;
	const char *field;      /* the kernel's; NULL: common_pid */
	const char *name;
};

struct kname_label {
	const char *event;      /* in the trace */
	const char *field;      /* in the trace */
	int64_t value;
	const char *name;
};

struct kname_integer {          /* a C type */
	const char *type;
	uint8_t size;
	uint8_t is_signed;
};

/* The row for a field; NULL: it keeps name and type. */
const struct kname_field *kname_field(const char *event, const char *field);

/* The row'th field added to the event; NULL: there are no more. */
const struct kname_added *kname_added(const char *event, uint32_t row);

/* The row'th label of a field; NULL: there are no more. */
const struct kname_label *kname_label(const char *event, const char *field, uint32_t row);

/*
 * The integer of a C type, where the record does not give its size (system calls, elements); NULL:
 * not known.
 */
const struct kname_integer *kname_integer(const char *type);

#endif
