/* SPDX-License-Identifier: MIT */
/*
 * metadata/: the type model of a trace, and what reads it. Knows neither sessions nor the daemon.
 *
 *   model.h    (this file) traces, stream classes, events, types
 *   model.c, check.c, digest.c  the model; which types are supported; digests of layouts
 *   ctf.h      CTF metadata (ctf.c: 1.8; ctf2.c: 2; packets.c), packet headers, index files
 *   decode.h   decodes events
 *   text.h     events as text, in the form of babeltrace2
 *   json.h     events as JSON
 *   value.h    the fields of an event as single values
 *   access.h   reaches single fields by their paths; whose event it is
 *   name.h     names of fields and events in the form that readers see
 *   program.h  the compiled form of an event's fields (form.h: its literals; mappings.c: sorted
 *              enumerations); run.h, put.h, run_steps.inc  runs it for a printer; text_values.inc,
 *              text_pieces.h  text that is written (text.c) or only counted (text_length.c)
 *   number.h   numbers as text
 *   escape.h   strings as text
 *   buf.h      a growable buffer
 *
 * Sources of events (user space, kernel) fill the model; printers and decoders read it. All types
 * but bit fields are byte aligned (align = 8 bits); the byte order is the host's unless a field
 * says big-endian.
 *
 * Locks: none here. An md_event is immutable once it is in a stream class. A stream class only
 * grows; one thread at a time may add to it (the owner's lock), while md_stream_event may run in
 * any thread without a lock.
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
	MD_VARIANT,     /* a tag (signed, 8 bits), the index of the option that follows */
};

#define MD_HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

enum md_encoding { MD_ENCODING_NONE, MD_ENCODING_UTF8 };

/* How a value is shown that is not just one of its kind. */
enum md_show {
	MD_SHOW_PLAIN,
	MD_SHOW_BOOL,           /* MD_INT of a byte: false or true */
	MD_SHOW_FLAGS,          /* MD_ENUM, unsigned: its mappings are ranges of bits */
	/*
	 * MD_ARRAY, MD_SEQUENCE of MD_INT of a byte: bytes. In text, an array if the stream class
	 * says so.
	 */
	MD_SHOW_BLOB,
	MD_SHOW_BRACES,         /* MD_VARIANT that is optional: text has braces around its value */
};

struct md_mapping {             /* one name of an enumeration: begin <= value <= end */
	char *name;
	int64_t begin, end;     /* as uint64_t when the container is unsigned */
};

struct md_field;

struct md_type {
	uint8_t kind;           /* enum md_kind */
	uint8_t size;           /* MD_INT, MD_FLOAT, MD_ENUM: bytes */
	/*
	 * MD_INT: 0, or the bits of a bit field, 1 to 64. It begins `shift` bits after the last
	 * byte boundary, where the bit field before it ends, and lies in at most 8 bytes; from the
	 * least significant bit on, on a big-endian host from the most significant one. `size` then
	 * is the number of bytes that it begins, maybe 0.
	 */
	uint8_t bits, shift;
	/* MD_INT, MD_ENUM: how many bits base 2, 8 and 16 show; 0: all of `bits` or `size` */
	uint8_t shown_bits;
	bool is_signed;         /* MD_INT, MD_ENUM */
	bool big_endian;        /* MD_INT, MD_ENUM, MD_FLOAT: on every host */
	uint8_t base;           /* MD_INT: 10, 16, 8 or 2: how it is shown */
	uint8_t encoding;       /* MD_INT of 8 bits as element: text if MD_ENCODING_UTF8 */
	uint8_t show;           /* enum md_show */
	uint8_t length_size;    /* MD_SEQUENCE: bytes of the unsigned length */
	/* MD_SEQUENCE, MD_VARIANT: another field shows the length or tag; text omits this one. */
	bool quiet;
	/*
	 * MD_VARIANT: a value that may be missing: option 0 is an empty structure, option 1 the
	 * value. Text has the value alone, or `<none>`.
	 */
	bool optional;
	uint32_t count;         /* elements, mappings, members or options, by kind */
	char *media_type;               /* MD_SHOW_BLOB: or NULL; owned */
	struct md_type *element;        /* MD_ARRAY, MD_SEQUENCE; owned */
	struct md_mapping *mappings;    /* MD_ENUM; owned */
	struct md_field *members;       /* MD_STRUCT; MD_VARIANT: options; owned */
};

struct md_field {
	char *name;             /* without the leading underscore of CTF; owned */
	bool group;             /* text shows it and those after it in braces of their own */
	bool exact;             /* its name is shown as it is: md_name_put */
	/* Bytes at the beginning of the name that text does not show */
	uint8_t omitted;
	struct md_type type;
};

#define MD_LOGLEVEL_NONE (-1)   /* of kernel events */

struct md_program;              /* compiled decoder and text formatter: decode.h, text.h */

struct md_event {
	uint32_t id;            /* unique in its stream class */
	int loglevel;           /* 0 … 14 or MD_LOGLEVEL_NONE */
	char *name;             /* "provider:event"; owned */
	char *emf_uri;          /* or NULL; owned */
	uint32_t field_count;
	bool no_fields;                 /* not even an empty structure: text has no `{ }` */
	uint8_t empty_before, empty_after;      /* `{ }` of text around the fields */
	struct md_field *fields;        /* owned */
	struct md_program *program;     /* made by md_stream_add; owned */
	struct md_program *json;        /* made by the first md_json_event; atomic; owned */
};

/*
 * Headers of events. COMPACT: an id of 5 bits and 27 bits of the time; the id 30 says that the id
 * follows, in 16 bits. LARGE: 16 and 32 bits. With the largest id of either, the id follows in 32
 * bits and the time in 64.
 */
enum md_header { MD_HEADER_COMPACT, MD_HEADER_LARGE };

struct md_stream {              /* a stream class: one channel */
	uint32_t id;
	enum md_header header;
	bool no_cpu;                    /* packets do not name a CPU: text has no cpu_id */
	bool cpu_in_context;            /* the contexts have it: text has no cpu_id of its own */
	bool no_time;                   /* events have no times: text has none */
	bool empty_before;              /* text has `{ }` before the contexts */
	/*
	 * The trace is of CTF 1.8. Text has BLOBs as arrays, as this format has none, and several
	 * labels of a value without braces, as babeltrace2 2.0 prints them, which reads 1.8 alone.
	 * Set it before the first event.
	 */
	bool ctf1;
	uint32_t context_count;
	struct md_field *context;       /* event contexts, before the fields of each event; owned */
	struct md_program *context_program;     /* or NULL if there are none */
	struct md_program *context_json;        /* made by the first md_json_event; atomic */
	/* id >> 8, then id & 255; published with release, read with acquire */
	struct md_event **chunks[256];
	uint32_t event_count;           /* for the owner */
};

struct md_env {
	char *name;
	char *value;            /* a string value, or NULL: the number */
	int64_t number;
};

/* A clock that is not one of the host's: the plug-in of an application. */
#define MD_CLOCK_NAME_MAX 63u
#define MD_CLOCK_DESCRIPTION_MAX 191u
struct md_clock {
	uint64_t freq;                  /* Hz; 0: there is none */
	uint8_t uuid[16];
	char name[MD_CLOCK_NAME_MAX + 1];       /* an identifier */
	char description[MD_CLOCK_DESCRIPTION_MAX + 1];
};

struct md_trace {
	uint8_t uuid[16];
	uint8_t clock_uuid[16];
	uint64_t clock_offset;          /* ns from the epoch to the clock's zero */
	bool clock_is_tai;              /* the epoch is that of TAI */
	struct md_clock plugin;         /* freq not 0: instead of the host's clock; offset is 0 */
	bool is_ctf2;                   /* its metadata are of CTF 2, not of CTF 1.8 */
	bool in_packets;                /* its metadata are packets, not text */
	uint32_t env_count;
	struct md_env *env;             /* owned */
	uint32_t stream_count;
	struct md_stream **streams;     /* owned; index is not the id */
};

#define MD_EVENT_ID_MAX 65535u

/* md_type_deinit frees what a type owns; md_field_deinit also its name. */
void md_type_deinit(struct md_type *t);
void md_field_deinit(struct md_field *f);

/* A byte of text, as element: a plain char, as LTTng describes it. */
extern const struct md_type md_char;
/*
 * Make *t an array, or a sequence whose length has that many bytes, of the element, which *t takes
 * over. 0 or -ENOMEM; then the element is the caller's.
 */
int md_type_array(struct md_type *t, uint32_t count, const struct md_type *element);
int md_type_sequence(struct md_type *t, uint8_t length_size, const struct md_type *element);

/*
 * Makes *t the type of an application's context: a variant of nothing, the integers, float, double
 * and string, in the order of LTTng's tags (none, int8 … int64, uint8 … uint64, float, double,
 * string). 0 or -ENOMEM; then *t owns nothing.
 */
int md_type_dynamic(struct md_type *t);

/* All return NULL if memory is short. Strings are copied. */
struct md_event *md_event_create(const char *name, int loglevel, uint32_t field_count);
void md_event_destroy(struct md_event *e);      /* NULL is allowed */

struct md_stream *md_stream_create(uint32_t id, enum md_header header);
void md_stream_destroy(struct md_stream *s);    /* with its events */
/*
 * Sets the event contexts; takes ownership of the array (from malloc, with its fields) when it
 * returns 0. Before the first event; -EBUSY afterwards; -EINVAL, -ENOMEM as for md_stream_add.
 */
int md_stream_set_context(struct md_stream *s, struct md_field *context, uint32_t count);
/*
 * Takes ownership of e when it returns 0; compiles its program. -EEXIST: the id is in use; -EINVAL:
 * the id is above MD_EVENT_ID_MAX, the decoder does not support a type, or two members of one
 * structure have the same name (a CTF reader would reject the whole trace); -ENOMEM.
 */
int md_stream_add(struct md_stream *s, struct md_event *e);
/* NULL: no such event. Takes no lock; the result lives as long as the stream class. */
const struct md_event *md_stream_event(const struct md_stream *s, uint32_t id);

struct md_trace *md_trace_create(const uint8_t uuid[16]);
void md_trace_destroy(struct md_trace *t);      /* with its stream classes */
/* Sets an entry of the environment, or replaces it. value NULL: a number. */
int md_trace_env(struct md_trace *t, const char *name, const char *value, int64_t number);
int md_trace_add(struct md_trace *t, struct md_stream *s);
/* A number that grows with each stream class and event class that is added; not 0. */
uint64_t md_trace_version(const struct md_trace *t);

/*
 * A digest of name, level, all field types and the model's URI; equal layouts have equal digests.
 * FNV-1a, 64 bits.
 */
uint64_t md_event_digest(const struct md_event *e);

#endif
