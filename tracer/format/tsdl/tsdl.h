/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/format/tsdl/: the metadata of a CTF trace as a tree of types, clocks, streams and events;
 * and the parser of the text of CTF 1.8 (TSDL), or of its proposal (1.6), which makes it.
 *
 *   tsdl.h   (this file) the tree, and its memory
 *   lexer.c  tokens; memory
 *   scalar.c integers, floating point numbers, strings
 *   type.c   all types
 *   block.c  names of types; blocks: trace, env, clock, stream, event
 *
 * CTF 2 has another text, which ../ctf2/ reads with the functions for its parser.
 *
 * The text is hostile: its length, the memory of the tree, the depth of types and the number of
 * named types are limited. A type that is named twice is one node with two users, so `nodes` counts
 * what a copy would have.
 *
 * Locks: none here. A tree belongs to the thread that opens an input.
 */
#ifndef TRACER_FORMAT_TSDL_TSDL_H
#define TRACER_FORMAT_TSDL_TSDL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"
#include "tracer/format/tsdl/section.h"

#define TSDL_TEXT_MAX (UINT64_C(64) << 20)      /* bytes of a metadata file */
#define TSDL_MEMORY_MAX (UINT64_C(512) << 20)
#define TSDL_DEPTH_MAX 12u      /* of types; the model's own limit is MD_DEPTH_MAX */
#define TSDL_NODES_MAX 8192u   /* of one structure with all that it contains */
#define TSDL_FLOAT_MAX 128      /* bits */
#define TSDL_MANTISSA_MAX 113   /* of them */
#define TSDL_NAMES_MAX 4096u    /* named types */
#define TSDL_BUCKETS 1024u      /* a power of two */
#define TSDL_CLOCKS_MAX 64u
#define TSDL_ENV_MAX 1024u
#define TSDL_STREAMS_MAX 256u
#define TSDL_EVENTS_MAX 262144u

enum tsdl_kind {
	TSDL_INT, TSDL_FLOAT, TSDL_STRING, TSDL_ENUM, TSDL_STRUCT, TSDL_VARIANT, TSDL_ARRAY,
	TSDL_SEQUENCE,
	/* CTF 2 has these as well: */
	TSDL_BOOL,
	TSDL_FLAGS,             /* an integer whose mappings name its bits */
	TSDL_TEXT,              /* a string of `count` bytes, or as many as a length says */
	TSDL_BLOB,              /* bytes, as many as of TSDL_TEXT */
	TSDL_OPTIONAL           /* `element`, or nothing */
};
enum tsdl_order { TSDL_NATIVE, TSDL_LE, TSDL_BE };
enum tsdl_encoding { TSDL_UTF8, TSDL_UTF16LE, TSDL_UTF16BE, TSDL_UTF32LE, TSDL_UTF32BE };

/* Fields that say something about their packet or event: by their names, in CTF 2 by `roles`. */
enum role {
	ROLE_NONE, ROLE_MAGIC, ROLE_STREAM, ROLE_INSTANCE, ROLE_BEGIN, ROLE_END, ROLE_CONTENT,
	ROLE_PACKET, ROLE_CPU, ROLE_CHECKSUM, ROLE_CHECKSUM_SCHEME, ROLE_COMPRESSION,
	ROLE_ENCRYPTION, ROLE_ID, ROLE_UUID, ROLE_DISCARDED, ROLE_SEQUENCE, ROLE_SEQUENCE_BITS,
	ROLE_CLOCK,             /* of types only: the default clock has this value */
	ROLES
};

struct tsdl_mapping { const char *label; int64_t begin, end; };

/* Values of a selector. Its type is not known here: whether it can have them. */
struct tsdl_range {
	int64_t begin, end;     /* as uint64_t if the selector is unsigned */
	bool negative;          /* `begin` is below 0: only for a signed one */
	bool large;             /* `end` is above INT64_MAX: only for an unsigned one */
};

struct tsdl_ranges { struct tsdl_range *list; uint32_t count; };

/* The scopes in which a type may name fields of those before it. */
enum scope { SCOPE_HEADER, SCOPE_PACKET, SCOPE_EVENT_HEADER, SCOPE_STREAM_EVENT, SCOPE_EVENT,
	     SCOPE_FIELDS, SCOPES };

/* Where a length or a selector of CTF 2 is: section 5.3.1. */
struct tsdl_location {
	enum scope origin;      /* SCOPES: the structure around the type */
	uint32_t up;            /* how many structures further out than `origin` */
	uint32_t count;
	const char **names;     /* of members, from there on */
};

struct tsdl_type {
	uint8_t kind;           /* enum tsdl_kind */
	uint8_t size;           /* TSDL_INT, TSDL_ENUM, TSDL_FLOAT: bits */
	uint8_t exponent;       /* TSDL_FLOAT: exp_dig */
	uint8_t unit;           /* TSDL_INT, TSDL_ENUM: bits of the type of a C bit field; or 0 */
	uint8_t base;
	uint8_t order;          /* enum tsdl_order */
	bool is_signed, text;   /* text: its elements are characters */
	bool empty;             /* it may have no bits */
	uint8_t depth;
	uint32_t align;         /* bits; a structure's is at least that of its members */
	uint32_t nodes;
	const char *clock;      /* TSDL_INT: the value of this clock; NULL */
	uint32_t count;         /* members, options, mappings or elements */
	struct tsdl_member *members;
	struct tsdl_mapping *mappings;
	const struct tsdl_type *element;
	const char *ref;        /* path of the length (TSDL_SEQUENCE), the tag (TSDL_VARIANT) */
	const struct tsdl_type *length; /* TSDL_SEQUENCE without ref: it precedes the elements */
	/* of CTF 2: */
	bool reversed;          /* the first bit is not the one that its byte order has first */
	bool leb128;            /* TSDL_INT, TSDL_ENUM: of bytes with 7 bits each */
	uint8_t encoding;       /* TSDL_STRING, TSDL_TEXT: enum tsdl_encoding */
	uint32_t roles;         /* bit ROLE_… */
	const struct tsdl_location *at; /* instead of ref; NULL: none */
	struct tsdl_ranges ranges;      /* TSDL_OPTIONAL: without one its selector is a boolean */
};

/* ranges: of an option of CTF 2. */
struct tsdl_member {
	const char *name;
	const struct tsdl_type *type;
	struct tsdl_ranges ranges;
};

struct tsdl_clock {
	const char *name;
	uint64_t freq;
	int64_t offset_s;
	uint64_t offset;        /* cycles */
};

struct tsdl_env { const char *name, *text; int64_t number; };   /* text NULL: the number */

struct tsdl_event {
	const char *name;
	uint64_t id, stream_id;
	int64_t loglevel;       /* MD_LOGLEVEL_NONE: none */
	const char *emf_uri;    /* NULL: none */
	const struct tsdl_type *context, *fields;       /* NULL: none */
	struct tsdl_event *next;
};

struct tsdl_stream {
	uint64_t id;
	const struct tsdl_type *packet_context, *event_header, *event_context;
	const struct tsdl_type *event_header_ext;       /* follows a header with the largest id */
	const struct tsdl_clock *clock; /* of CTF 2: its default clock; NULL: none */
	struct tsdl_stream *next;
};

struct tsdl {
	struct tsdl_memory { struct tsdl_memory *next; } *memory;
	uint64_t used;          /* bytes of memory */
	bool has_trace, big_endian, has_uuid;
	bool proposal;          /* of the proposal: sizes of packets are in bytes */
	bool ctf2;              /* of CTF 2 */
	uint8_t word_size;      /* bits of `long` */
	uint8_t uuid[16];
	const struct tsdl_type *packet_header;
	struct tsdl_clock *clocks[TSDL_CLOCKS_MAX];
	uint32_t clock_count;
	struct tsdl_env *env;
	uint32_t env_count;
	uint32_t stream_count, event_count;
	struct tsdl_stream *streams;
	struct tsdl_event *events;      /* the last one first */
};

/*
 * Parses a text of n bytes. file: its name for errors. 0; -EINVAL with the line and what was
 * expected, or -ENOMEM; the caller calls tsdl_deinit in all cases.
 */
int tsdl_parse(struct tsdl *t, const char *text, size_t n, const char *file, struct tr_err *err);
void tsdl_deinit(struct tsdl *t);
const struct tsdl_clock *tsdl_clock(const struct tsdl *t, const char *name);

/* ---- for the files of the parser ---- */

enum tsdl_token { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN };

struct tsdl_parser {
	struct tsdl *t;
	const char *file;
	struct tr_err *err;
	const char *p, *end;
	int line;
	/* the current token */
	enum tsdl_token token;
	char sign[4];           /* TOKEN_SIGN: ":=", "...", "{" */
	char text[1024];        /* TOKEN_NAME, TOKEN_STRING: decoded, cut if it is longer */
	uint64_t number;        /* TOKEN_NUMBER */
	int failed;             /* -errno: every function returns at once */
	unsigned int nesting;
	/* named types of the open scopes, the last one last */
	struct tsdl_name {
		const char *name;
		const struct tsdl_type *type;
		uint32_t hash, next;    /* next: as in named */
	} *names;
	uint32_t name_count;
	uint32_t named[TSDL_BUCKETS];   /* by hash: 1 + the index of the last name; 0: none */
};

/* Makes the next token the current one; after a failure there is only TOKEN_END. */
void tsdl_next(struct tsdl_parser *p);
/* Whether the current token is this sign or (tsdl_is_name) name. */
bool tsdl_is(const struct tsdl_parser *p, const char *sign);
bool tsdl_is_name(const struct tsdl_parser *p, const char *name);
/* If it is, moves on. */
bool tsdl_take(struct tsdl_parser *p, const char *sign);
bool tsdl_take_name(struct tsdl_parser *p, const char *name);
/* Moves past the sign, or fails with "expected …". */
void tsdl_expect(struct tsdl_parser *p, const char *sign);
void tsdl_fail(struct tsdl_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Zeroed memory of the tree; never NULL unless p->failed is set. */
void *tsdl_alloc(struct tsdl_parser *p, size_t n);
/* A copy of the text of the current token. */
const char *tsdl_copy(struct tsdl_parser *p, const char *text);
/* An array of the tree that doubles: returns it with room for one more. */
void *tsdl_grow(struct tsdl_parser *p, void *array, uint32_t count, size_t size);
/* `a.b.c` as one string, from the current token on. NULL: failed. */
const char *tsdl_path(struct tsdl_parser *p);
/* A number with its sign. */
int64_t tsdl_integer(struct tsdl_parser *p);

struct tsdl_type *tsdl_new_type(struct tsdl_parser *p, enum tsdl_kind kind);
/* Adds to a type the depth, the parts and the alignment of one that it contains. */
void tsdl_contain(struct tsdl_parser *p, struct tsdl_type *t, const struct tsdl_type *inner);
/* The type of this name, as the metadata has it. NULL: none. */
const struct tsdl_type *tsdl_find_type(const struct tsdl_parser *p, const char *name);
/* The type that the CTF proposal or C gives a name, if the metadata does not. NULL: none. */
const struct tsdl_type *tsdl_builtin(struct tsdl_parser *p, const char *name);
/* The number of an `align`. */
uint32_t tsdl_align(struct tsdl_parser *p);
/* The attributes of a scalar, from the token after `integer` and the like on. */
const struct tsdl_type *tsdl_scalar(struct tsdl_parser *p, enum tsdl_kind kind);
/* A type, from the current token on, without declarators. NULL: failed. */
const struct tsdl_type *tsdl_type(struct tsdl_parser *p);
/* The structure with this name. NULL: none, or failed. */
const struct tsdl_type *tsdl_structure(struct tsdl_parser *p, const char *name);
/*
 * `[8]`, `[length]`, `[type]`, none or several: the first is the outermost. in: the structure
 * around, or NULL.
 */
const struct tsdl_type *tsdl_dimensions(struct tsdl_parser *p, const struct tsdl_type *in,
					const struct tsdl_type *type);
void tsdl_name_type(struct tsdl_parser *p, const char *name, const struct tsdl_type *type);
/* Forgets the named types of a scope: those after this number. */
void tsdl_forget_names(struct tsdl_parser *p, uint32_t count);
/* `typealias …;` or `typedef …;`, from the token after the word on. */
void tsdl_typealias(struct tsdl_parser *p);
void tsdl_typedef(struct tsdl_parser *p);

#endif
