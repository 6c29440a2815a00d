/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel event as its `format` file in tracefs describes it, and as the trace shows it: with the names and types of LTTng, where
 * LTTng has the event (kevent/lttng_names.h). The text is not trusted: whatever it says, fields lie inside 64 KiB and lists are bounded.
 *
 * What there is in a record, and what becomes of it:
 *
 *	integers of 1, 2, 4, 8 bytes, bool, enum                the same; syscall arguments get their C type's size
 *	pointers                                                unsigned, hexadecimal
 *	pointers to strings that system calls are given         a string, as LTTng's, but what it says is the address
 *	char NAME[16] where NAME ends in `comm`                 16 bytes of text, NUL after the first NUL
 *	char NAME[N]                                            a string
 *	__data_loc char[] NAME, __rel_loc char[] NAME           a string
 *	T NAME[N], __data_loc T[] NAME                          an array, a sequence of integers; hexadecimal for bytes
 *	T NAME[] of size 0                                      a sequence: the rest of the record
 *	bitmaps (cpumask_t, unsigned long *[])                  a sequence of integers, hexadecimal
 *	structures and what has another size                    an array or a sequence of bytes, hexadecimal
 *	__captured KIND NAME                                    see kevent/syscall_struct.h
 *	common_*                                                not in the payload
 */
#ifndef TRACER_KEVENT_FORMAT_H
#define TRACER_KEVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/model.h"
#include "tracer/filter/filter.h"

#define KFORMAT_TEXT_MAX (1u << 20)     /* bytes of a format file */
#define KFORMAT_FIELDS_MAX 256u         /* of one event */
#define KFORMAT_RECORD_MAX 65536u       /* bytes: no field lies behind */

enum kformat_kind {
	KFORMAT_INT = 1,
	KFORMAT_TEXT,           /* char[N] */
	KFORMAT_ARRAY,          /* count integers */
	KFORMAT_STRING,
	KFORMAT_SEQUENCE,       /* never at a KFORMAT_FIXED place */
	KFORMAT_ADDRESS,        /* of a string that nobody read; in the trace "0x…" */
	KFORMAT_RWBS,           /* char[N] with letters, in the trace the integer of flags that LTTng makes of them */
	KFORMAT_SYMBOL,         /* an address, in the trace the name of the kernel's function there */
	/* kevent/syscall_struct.h, always at a KFORMAT_LOC place; the first two are zeros if nothing is there */
	KFORMAT_LOC_INT, KFORMAT_LOC_ARRAY, KFORMAT_PORT, KFORMAT_V4, KFORMAT_V6, KFORMAT_STRUCT, KFORMAT_STRUCTS,
};

enum kformat_place {
	KFORMAT_FIXED,          /* at its offset */
	KFORMAT_LOC,            /* where __data_loc says */
	KFORMAT_REL_LOC,        /* as __rel_loc: from behind the 4 bytes */
	KFORMAT_REST,           /* at its offset, to the end of the record */
};

struct kformat_field {
	char *name;             /* in the trace */
	char *kernel_name;      /* in the kernel's filter files; of two fields in the case of those that kevent/lttng_names.def adds */
	uint32_t offset, size;  /* in the record; of a dynamic field: its 4 bytes of place and length */
	uint8_t kind;           /* enum kformat_kind */
	uint8_t from;           /* bytes of the integer or element in the record */
	uint8_t to;             /* and in the trace */
	bool is_signed;         /* in the trace */
	bool extend;            /* its sign, when it is made larger */
	bool hex, big_endian;
	bool process;           /* the record has a thread where the trace is to have its process: kcode_process */
	uint8_t place;          /* enum kformat_place */
	uint8_t structure;      /* _STRUCT, _STRUCTS: which */
	uint32_t count;         /* _TEXT, _ARRAY: elements; _STRING, _RWBS, if fixed: most bytes */
	uint32_t label_count;   /* KFORMAT_INT: of its enumeration; 0: is none */
	struct md_mapping *labels;
};

struct kformat {
	int refs;               /* atomic */
	char *system, *name;    /* the kernel's */
	char *event;            /* in the trace: LTTng's name */
	uint32_t id;            /* the record's common_type */
	uint32_t size;          /* least bytes of a record */
	uint32_t field_count;   /* without the common fields */
	struct kformat_field *fields;
	struct trail_reg_field *filter_fields;  /* one for each, at most TRAIL_EVENT_FIELDS_MAX */
	char *filter_strings;
};

/*
 * 0; -EINVAL: this is no format file, or of a kind that is not understood; -ENOMEM. The file does not say its system (the
 * directory above the event's).
 */
int kformat_parse(const char *system, const char *text, size_t len, struct kformat **out);
struct kformat *kformat_get(struct kformat *f);         /* one more who has to free it */
void kformat_free(struct kformat *f);   /* NULL is allowed */

/*
 * LTTng's name of a kernel event, by which it is listed; needs no format. Two events of a kernel that get the same one
 * (none of the kernels tried has such): `prefixed` gives SYSTEM_EVENT. -ENAMETOOLONG.
 */
#define KFORMAT_NAME_MAX 255
int kformat_event_name(const char *system, const char *event, bool prefixed,
		       char name[KFORMAT_NAME_MAX + 1]);
const char *kformat_name(const struct kformat *f);
int kformat_rename(struct kformat *f, const char *event);       /* 0 or -ENOMEM */

/* The event class, its id 0. NULL: no memory. */
struct md_event *kformat_event(const struct kformat *f);

/* For filters on the payload that kcode_run makes. The tables are f's. */
void kformat_filter_event(const struct kformat *f, struct filter_event *e);

#endif
