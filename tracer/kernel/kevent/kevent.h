/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/kevent/: kernel events: their formats in tracefs, the events in the trace with the
 * names and types of LTTng, and the conversion of records.
 *
 *   kevent.h          (this file) formats, labels of enumerations, kernel symbols
 *   format.c          parses format files
 *   field_type.c      the type of a field
 *   ctf_type.c        the event class, and the event for filters
 *   enum_labels.c     labels from print formats
 *   kallsyms.c        functions of the kernel by address
 *   syscall_string.c  arguments of system calls that are strings
 *   lttng_names.h     LTTng's names and types (lttng_names.def)
 *   syscall_struct.h  structures that system calls point to
 *   extra_pointer.h   extra data that the kernel could not read
 *   transcode.h       records to payloads
 *   kernel_filter.h   filters for tracefs and for trail.ko
 *   bpf_filter.h      filters in BPF programs
 *   record_stack.h    stacks that the kernel records after events
 *   ring_page.h       pages of the kernel's ring buffer
 *
 * No lock: a format does not change after it was parsed. Any thread may call these functions. The
 * texts of tracefs are not trusted: fields lie inside 64 KiB, and lists are bounded.
 *
 * Fields of a record, and their types in the trace:
 *
 *     integers of 1, 2, 4, 8 bytes, bool, enum       the same; arguments of system calls: as
 *                                                    wide as their C type
 *     pointers                                       unsigned, hexadecimal
 *     pointers to strings, of system calls           a string as in LTTng: the address as text
 *     char NAME[16] where NAME ends in `comm`        16 bytes of text, all NUL after the first NUL
 *     char NAME[N]                                   a string
 *     __data_loc char[] NAME, __rel_loc char[] NAME  a string
 *     __data_loc bytes[] NAME                        a sequence of bytes, shown as text
 *     T NAME[N], __data_loc T[] NAME                 an array, a sequence of integers; of bytes:
 *                                                    hexadecimal
 *     T NAME[] of size 0                             a sequence: the rest of the record
 *     bitmaps (cpumask_t, unsigned long *[])         a sequence of integers, hexadecimal
 *     structures, other sizes                        an array or a sequence of bytes, hexadecimal
 *     __captured KIND NAME                           see kevent/syscall_struct.h
 *     __trailfs_*                                    not in the payload: kevent/extra_pointer.h
 *     common_*                                       not in the payload
 */
#ifndef TRACER_KEVENT_KEVENT_H
#define TRACER_KEVENT_KEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/model.h"
#include "tracer/base/filter/filter.h"

#define KFORMAT_TEXT_MAX (1u << 20)     /* bytes of a format file */
#define KFORMAT_FIELDS_MAX 256u         /* of one event */
#define KFORMAT_RECORD_MAX 65536u       /* bytes: all fields lie below */

enum kformat_kind {
	KFORMAT_INT = 1,
	KFORMAT_TEXT,           /* char[N] */
	KFORMAT_ARRAY,          /* count integers */
	KFORMAT_STRING,
	KFORMAT_SEQUENCE,       /* never with place KFORMAT_FIXED */
	KFORMAT_ADDRESS,        /* of a string that was not read; in the trace "0x…" */
	KFORMAT_RWBS,           /* char[N] with letters; in the trace LTTng's integer of flags */
	KFORMAT_SYMBOL,         /* an address; in the trace the name of the kernel function */
	/*
	 * See kevent/syscall_struct.h; always with place KFORMAT_LOC. The first two are zeros
	 * without data.
	 */
	KFORMAT_LOC_INT, KFORMAT_LOC_ARRAY, KFORMAT_PORT, KFORMAT_V4, KFORMAT_V6,
	KFORMAT_STRUCT, KFORMAT_STRUCTS,
	KFORMAT_UNREAD,         /* in the trace names of items; not in the record */
};

enum kformat_place {
	KFORMAT_FIXED,          /* at its offset */
	KFORMAT_LOC,            /* where __data_loc says */
	KFORMAT_REL_LOC,        /* as __rel_loc: relative to the end of the 4 bytes */
	KFORMAT_REST,           /* at its offset, to the end of the record */
};

struct kformat_field {
	char *name;             /* in the trace */
	/* In the kernel's filter files. Fields added by lttng_names.def share it with another. */
	char *kernel_name;
	uint32_t offset, size;  /* in the record; of a dynamic field: its place and length */
	uint8_t kind;           /* enum kformat_kind */
	uint8_t from;           /* bytes of the integer or element in the record */
	uint8_t to;             /* bytes in the trace */
	bool is_signed;         /* in the trace */
	bool extend;            /* sign-extended when it is widened */
	bool hex, big_endian;
	bool text;              /* KFORMAT_SEQUENCE: bytes that are shown as text */
	bool process;           /* a thread that kcode_process replaces by its process */
	uint8_t place;          /* enum kformat_place */
	uint8_t structure;      /* KFORMAT_STRUCT, _STRUCTS: which structure */
	uint32_t count;         /* _TEXT, _ARRAY: elements; fixed _STRING, _RWBS: most bytes */
	uint32_t item;          /* its bit in kformat_pointer.items; 0: its value is always read */
	uint32_t label_count;   /* KFORMAT_INT: of its enumeration; 0: no enumeration */
	struct md_mapping *labels;
};

/* On the way to the values of extra data: see probe/extra.h. */
struct kformat_pointer {
	uint32_t offset;        /* in the record, 8 bytes */
	uint32_t items;         /* whose values need the pointer */
	bool user;              /* the kernel reads the process's memory there */
};

struct kformat {
	int refs;               /* atomic */
	char *system, *name;    /* the kernel's */
	char *event;            /* in the trace: LTTng's name */
	uint32_t id;            /* the record's common_type */
	uint32_t size;          /* least bytes of a record */
	uint32_t field_count;   /* without the common fields */
	struct kformat_field *fields;
	uint32_t pointer_count;
	struct kformat_pointer *pointers;
	struct trail_reg_field *filter_fields;  /* one per field, at most TRAIL_EVENT_FIELDS_MAX */
	char *filter_strings;
};

/*
 * 0; -EINVAL: not a format file, or of an unknown form; -ENOMEM. system: the directory above the
 * event's, which the file does not contain.
 */
int kformat_parse(const char *system, const char *text, size_t len, struct kformat **out);
struct kformat *kformat_get(struct kformat *f);         /* takes a reference */
void kformat_free(struct kformat *f);                   /* drops a reference; NULL is allowed */

/*
 * LTTng's name of a kernel event, under which it is listed; needs no format. If two events of a
 * kernel get the same name (no tested kernel has such), `prefixed` gives SYSTEM_EVENT.
 * -ENAMETOOLONG.
 */
#define KFORMAT_NAME_MAX 255
int kformat_event_name(const char *system, const char *event, bool prefixed,
		       char name[KFORMAT_NAME_MAX + 1]);
const char *kformat_name(const struct kformat *f);
int kformat_rename(struct kformat *f, const char *event);       /* 0 or -ENOMEM */

/* The event class, with id 0. NULL: no memory. */
struct md_event *kformat_event(const struct kformat *f);

/* The event for filters on the payload of kcode_run. f owns its tables. */
void kformat_filter_event(const struct kformat *f, struct filter_event *e);

/* ---- types of fields (field_type.c) ---- */

struct format_line;

/* Sets kind, sizes and place of f from the line's type. f->kind is 0 if the type is unknown. */
void kfield_set_type(struct kformat_field *f, struct format_line *l);
/* The same for an argument of a system call; event: its kernel name. */
void kfield_set_argument(struct kformat_field *f, const char *event, const struct format_line *l);
/* Changes f to a type of lttng_names.def (enum kname_type). */
void kfield_change_type(struct kformat_field *f, unsigned int type);

/* ---- labels of enumerations (enum_labels.c) ---- */

#define KLABELS_MAX 4096u       /* of an enumeration */

/*
 * Reads the labels of f's values from __print_symbolic and __print_flags in the print format. No
 * labels if the format has none or their values are not numbers. 0 or -ENOMEM.
 */
int klabels_parse(const char *print, size_t len, struct kformat_field *f);
/* The same from kevent/lttng_names.def, by names in the trace. */
int klabels_known(const char *event, const char *field, struct kformat_field *f);
/* Sets the tables of kformat_filter_event (ctf_type.c). 0 or -ENOMEM. */
int kformat_make_filter(struct kformat *k);

/* ---- functions of the kernel (kallsyms.c) ---- */

struct ksyms;

#define KSYMS_FILE "/proc/kallsyms"
#define KSYMS_NAME_MAX 511u

/* Reads the functions. NULL: the file is not readable or hides the addresses, or no memory. */
struct ksyms *ksyms_load(const char *path);
void ksyms_free(struct ksyms *s);       /* NULL is allowed */
/* "": none is near. If a function has several names, the first in the file, as in the kernel. */
const char *ksyms_find(const struct ksyms *s, uint64_t address);
/* The same, with the offset from the function's address. NULL: none is near. */
const char *ksyms_find_at(const struct ksyms *s, uint64_t address, uint64_t *offset);
/* The name that ksyms_find gives for the function of this name; NULL: there is no such function. */
const char *ksyms_first(const struct ksyms *s, const char *name);
/* True if the file is readable and has addresses: kernel.kptr_restrict may hide them from root. */
bool ksyms_readable(const char *path);

/* ---- arguments of system calls (syscall_string.c) ---- */

/*
 * True if the caller passes a string in this argument: `const char * filename` and the like.
 * syscall is the kernel's name without a prefix (`openat`); type and name are those of the argument
 * in the format file.
 */
bool syscall_takes_string(const char *syscall, const char *type, const char *name);

#endif
