/* SPDX-License-Identifier: MIT */
/*
 * The type model: what an event is, in one place. Sources (user space, kernel) fill it, printers (CTF 1.8) and
 * decoders read it. Everything is byte aligned (align = 8 bits) and the trace's byte order is little endian
 * unless a field says otherwise.
 *
 * Concurrency: an md_event is immutable once it is added to a stream class. A stream class only grows; adding is for
 * one thread at a time (the owner's lock), looking up (md_stream_event) needs no lock and may run beside it.
 */
#ifndef METADATA_MODEL_H
#define METADATA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum md_kind {
	MD_INT = 1,     /* size 1, 2, 4 or 8 bytes */
	MD_FLOAT,       /* size 4 or 8 bytes, IEEE 754 */
	MD_STRING,      /* NUL terminated */
	MD_ENUM,        /* an integer with named ranges */
	MD_ARRAY,       /* count elements */
	MD_SEQUENCE,    /* a length integer, then that many elements */
	MD_STRUCT,      /* count members, for kernel structures */
	MD_VARIANT,     /* a tag (signed, 8 bits), then the one of count options that it is the index of */
};

enum md_encoding { MD_ENCODING_NONE, MD_ENCODING_UTF8 };

struct md_mapping {             /* one name of an enumeration: begin <= value <= end */
	char *name;
	int64_t begin, end;     /* as uint64_t when the container is unsigned */
};

struct md_field;

struct md_type {
	uint8_t kind;           /* enum md_kind */
	uint8_t size;           /* MD_INT, MD_FLOAT, MD_ENUM: bytes */
	bool is_signed;         /* MD_INT, MD_ENUM */
	bool big_endian;        /* MD_INT, MD_ENUM, MD_FLOAT */
	uint8_t base;           /* MD_INT: 10, 16, 8 or 2: how it is shown */
	uint8_t encoding;       /* MD_INT of 8 bits as element: text if MD_ENCODING_UTF8 */
	uint8_t length_size;    /* MD_SEQUENCE: bytes of the unsigned length integer before the elements */
	uint32_t count;         /* MD_ARRAY: elements; MD_ENUM: mappings; MD_STRUCT: members; MD_VARIANT: options */
	struct md_type *element;        /* MD_ARRAY, MD_SEQUENCE; owned */
	struct md_mapping *mappings;    /* MD_ENUM; owned */
	struct md_field *members;       /* MD_STRUCT; MD_VARIANT: options; owned */
};

struct md_field {
	char *name;             /* as the user wrote it, without the leading underscore of CTF; owned */
	struct md_type type;
};

#define MD_LOGLEVEL_NONE (-1)   /* kernel events have none */

struct md_program;              /* the compiled decoder and text formatter of an event: decode.h, text.h */

struct md_event {
	uint32_t id;            /* unique in its stream class */
	int loglevel;           /* 0 … 14 or MD_LOGLEVEL_NONE */
	char *name;             /* "provider:event"; owned */
	char *emf_uri;          /* or NULL; owned */
	uint32_t field_count;
	struct md_field *fields;        /* owned */
	struct md_program *program;     /* made by md_stream_add; owned */
};

enum md_header { MD_HEADER_COMPACT, MD_HEADER_LARGE };  /* event header: 5 + 27 bits, or 16 + 32 bits */

struct md_stream {              /* a stream class: one channel */
	uint32_t id;
	enum md_header header;
	uint32_t context_count;
	struct md_field *context;       /* event contexts, in every event of the stream before its fields; owned */
	struct md_program *context_program;     /* or NULL if there are none */
	struct md_event **chunks[256];  /* id >> 8, then id & 255; published with release, read with acquire */
	uint32_t event_count;           /* for the owner */
};

struct md_env {
	char *name;
	char *value;            /* a string value, or NULL: the number */
	int64_t number;
};

struct md_trace {
	uint8_t uuid[16];
	uint8_t clock_uuid[16];
	uint64_t clock_offset;          /* ns from the epoch to the clock's zero */
	uint32_t env_count;
	struct md_env *env;             /* owned */
	uint32_t stream_count;
	struct md_stream **streams;     /* owned; index is not the id */
};

#define MD_EVENT_ID_MAX 65535u

/*
 * md_type_deinit frees what a type owns; md_field_deinit also its name.
 */
void md_type_deinit(struct md_type *t);
void md_field_deinit(struct md_field *f);

/*
 * Makes *t the type of an application's context: a variant of nothing, the integers, float, double and string, in the order
 * of LTTng's tags (none, int8 … int64, uint8 … uint64, float, double, string). 0 or -ENOMEM; nothing is held then.
 */
int md_type_dynamic(struct md_type *t);

/* All return NULL when memory ran out. Strings are copied. */
struct md_event *md_event_create(const char *name, int loglevel, uint32_t field_count);
void md_event_destroy(struct md_event *e);      /* NULL is allowed */

struct md_stream *md_stream_create(uint32_t id, enum md_header header);
void md_stream_destroy(struct md_stream *s);    /* with its events */
/*
 * Sets the event contexts; takes ownership of the array (from malloc, with its fields) when it returns 0. Before the
 * first event: -EBUSY afterwards; -EINVAL, -ENOMEM as for md_stream_add.
 */
int md_stream_set_context(struct md_stream *s, struct md_field *context, uint32_t count);
/*
 * Takes ownership of e when it returns 0; compiles its program. -EEXIST: the id is taken; -EINVAL: the id is above
 * MD_EVENT_ID_MAX, a type is not one the decoder can do, or two members of one structure have the same name (a CTF
 * reader would refuse the whole trace); -ENOMEM.
 */
int md_stream_add(struct md_stream *s, struct md_event *e);
/* NULL if there is none. Lock free; the result lives as long as the stream class. */
const struct md_event *md_stream_event(const struct md_stream *s, uint32_t id);

struct md_trace *md_trace_create(const uint8_t uuid[16]);
void md_trace_destroy(struct md_trace *t);      /* with its stream classes */
int md_trace_env(struct md_trace *t, const char *name, const char *value, int64_t number);  /* value NULL: number; replaces */
int md_trace_add(struct md_trace *t, struct md_stream *s);

/* A digest of name, level, all field types and the model's URI, equal for equal layouts: FNV-1a, 64 bits. */
uint64_t md_event_digest(const struct md_event *e);

#endif
