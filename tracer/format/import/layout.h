/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compiled form of types (../tsdl/tsdl.h): steps that read the bits of a packet and write the
 * values in the form of metadata/decode.h. Private to import/.
 */
#ifndef TRACER_IMPORT_LAYOUT_H
#define TRACER_IMPORT_LAYOUT_H

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/abi/wide.h"
#include "tracer/format/tsdl/tsdl.h"

/* Bytes of the types and names of all traces of an import, as layout_use_memory counts them */
#define LAYOUT_MEMORY_MAX (UINT64_C(256) << 20)

enum step_code {
	STEP_END, STEP_ALIGN, STEP_INT,
	STEP_COPY,              /* `count` bytes of integers: the `body` steps after it are these */
	STEP_FLOAT, STEP_STRING, STEP_LOOP, STEP_BYTES,
	STEP_LEB128,            /* an integer of CTF 2, of 7 bits a byte */
	STEP_TEXT,              /* a string of as many bytes, up to a NUL */
	STEP_VARIANT,
	STEP_HIDDEN,            /* its body is read, and nothing is written */
	STEP_FORGET,            /* `count` slots from `slot` on have no value */
	STEP_MISSING,           /* a bit for each field of the event: it is missing */
	STEP_OPTIONAL           /* a field that may be missing: its body */
};

#define NO_SLOT UINT32_MAX

struct step {
	uint8_t code;           /* enum step_code */
	uint8_t size;           /* STEP_INT, STEP_FLOAT: bits read */
	uint8_t exponent;       /* STEP_FLOAT: exp_dig; the rest is mant_dig. A double is written */
	uint8_t unit;           /* STEP_INT: bits of the unit that it lies in; 0: anywhere */
	uint8_t bytes;          /* STEP_INT: bytes written: 1, 2, 4 or 8; 0: of a hidden field */
	bool is_signed, big_endian;
	bool reversed;          /* STEP_INT, _FLOAT: its bits are in the other order */
	bool boolean;           /* STEP_INT: 1 if a bit is set, else 0 */
	bool tracked;           /* STEP_INT, _LEB128: note that its slot has a value now */
	bool used;              /* STEP_INT: a length or a tag is the value of its slot */
	bool checked;           /* STEP_LOOP, _BYTES, _TEXT, _VARIANT: its slot may have no value */
	bool empty;             /* STEP_LOOP: its elements may have no bits */
	uint8_t encoding;       /* STEP_STRING, _TEXT: enum tsdl_encoding */
	uint32_t roles;         /* STEP_INT, _LEB128, _BYTES: bit ROLE_… */
	uint32_t align;         /* bits, from the start of the packet */
	/* STEP_INT: its value is kept here; STEP_LOOP, _BYTES: slot of the count; or NO_SLOT */
	uint32_t slot;
	/* STEP_ALIGN, STEP_INT with a unit: slot of the place where its structure begins */
	uint32_t begin;
	/* STEP_LOOP, _BYTES without a slot; _COPY; _VARIANT: ranges; _OPTIONAL: which field */
	uint32_t count;
	/* STEP_LOOP, _BYTES, _VARIANT: 1 + the field that has the count or the tag; 0: any */
	uint32_t needs;
	uint32_t ranges;        /* STEP_VARIANT: the first one, in layout.ranges */
	uint32_t other;         /* STEP_VARIANT: the option if no range has the tag; 0: an error */
	uint32_t body;          /* STEP_LOOP, _OPTIONAL, …: steps, with their STEP_END */
	const struct clock_class *clock;        /* STEP_INT: it is the low bits of this clock */
};

struct range { int64_t begin, end; bool is_signed; uint8_t option; uint32_t step; };

struct clock_class { uint64_t freq; int64_t base; };    /* base: ns from the epoch to its zero */

struct trace_layout {                 /* of one trace */
	struct clock_class clocks[TSDL_CLOCKS_MAX];
	struct step *steps;
	size_t step_count;
	struct range *ranges;
	size_t range_count;
	uint32_t slot_count;    /* the most that a program uses */
	uint32_t header;        /* program of the packet header: index of its first step */
	bool ctf2;              /* for sentences about what its packets have */
};

/*
 * A field in an option of a variant, or in an element, has no value if no such option or element
 * was read. So only other fields of this option or element may refer to it.
 */
struct block { const struct block *up; uint32_t id; bool is_loop; };

/*
 * step: the one of its value; field: as in struct step, `needs`; loop: the innermost block that is
 * of an element; 0: none
 */
struct layout_symbol {
	char *path;
	uint32_t slot, step, block, loop, field;
	const struct tsdl_type *type;
};

struct compiler {
	const struct tsdl *t;
	struct trace_layout *out;
	const char *file;       /* the metadata, for errors */
	struct tr_err *err;
	int failed;
	enum scope scope;
	struct layout_symbol *symbols; /* of all scopes compiled so far */
	size_t symbol_count;
	uint32_t slots;
	uint32_t begin;         /* slot of the place of the innermost structure; or NO_SLOT */
	const struct block *block;      /* the innermost one; NULL: none */
	uint32_t block_count;
	const struct clock_class *clock;        /* of CTF 2: of the stream class; NULL: none */
	bool sealed;            /* of CTF 2: the packet context has the names of a checksum, … */
	bool missing;           /* headers of the stream class say which fields are missing */
	uint32_t field;         /* 1 + the field being compiled, if it may be missing; else 0 */
	uint32_t checksums;     /* members of this name in the packet context so far */
	struct md_buf path;     /* of the structure that is compiled, with its scope */
	uint64_t used;          /* about the bytes of all traces of the import so far */
	uint64_t work;          /* of all searches: hostile metadata must not take for ever */
};

/*
 * Compiles the members of a structure (NULL: none) after those of the scopes before it. *first: its
 * program. fields and count, if not NULL: the same as fields of the model; the caller frees them
 * (layout_free_fields). 0, or -EINVAL with a sentence, -ENOMEM.
 */
int layout_compile(struct compiler *c, enum scope scope, const struct tsdl_type *type,
		   uint32_t *first, struct md_field **fields, uint32_t *count);
/* Counts memory that the model and the layout need. Fails if it is more than LAYOUT_MEMORY_MAX. */
void layout_use_memory(struct compiler *c, uint64_t bytes);
void layout_free_fields(struct md_field *fields, uint32_t count);
/*
 * Joins integers that follow each other and whose bytes are the output. Call it when all programs
 * are compiled: a field of any later program may have named one of them.
 */
void layout_join(struct trace_layout *l);
/* Forgets the symbols and slots after these numbers, for the next structure of the same scope. */
void layout_forget(struct compiler *c, size_t symbols, uint32_t slots);
void layout_deinit(struct trace_layout *l);

/* ---- for the files of the compiler: layout.c, layout_scalar.c ---- */

/* Set c->failed. */
void layout_fail(struct compiler *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void layout_fail_memory(struct compiler *c);
/* Of a member of this name in the scope. */
enum role layout_role(const struct compiler *c, const char *name);
/* Whether all values of the type have roles, so that text of CTF 2 does not have them. */
bool layout_has_roles_only(const struct tsdl_type *t);
/* Whether the path is that of a member of the scope's structure itself. */
bool layout_is_top(struct compiler *c);
/* Returns the index of the step; 0 if c->failed is set. */
uint32_t layout_add_step(struct compiler *c, const struct step *s);
/* The member at c->path has its value in the slot that this returns. */
uint32_t layout_add_symbol(struct compiler *c, const struct tsdl_type *t);
/* Also enumerations and floating point numbers. */
void layout_compile_int(struct compiler *c, const struct tsdl_type *t, struct md_type *to);
/* `missing_fields[NR_FIELDS]` of a header. False: the array is not that. */
bool layout_compile_missing(struct compiler *c, const struct tsdl_type *t);
/* The length before the elements of a sequence, which is not shown. Returns its slot. */
uint32_t layout_compile_length(struct compiler *c, const struct tsdl_type *t);
void layout_compile_string(struct compiler *c, const struct tsdl_type *t, struct md_type *to);
/* Strings and BLOBs of a length, of CTF 2 */
void layout_compile_bytes(struct compiler *c, const struct tsdl_type *t, struct md_type *to);
/* layout_choice.c */
void layout_compile_variant(struct compiler *c, const struct tsdl_type *t, struct md_type *to);
void layout_compile_optional(struct compiler *c, const struct tsdl_type *t, struct md_type *to);
/* Makes *to a value that may be missing; its value is the caller's to set. False: failed. */
bool layout_init_optional(struct compiler *c, struct md_type *to);
/*
 * The field that is the length or the tag of a type. *checked: it may have no value when it is
 * used. NULL: failed. Symbols move when one is added.
 */
const struct layout_symbol *layout_find_field(struct compiler *c, const struct tsdl_type *t,
				       bool *checked);
/* 1 + the field that has this value, if it may be missing, and is not the one that is compiled. */
uint32_t layout_needed_field(const struct compiler *c, const struct layout_symbol *s);

/* In layout.c. Compiles the type of an option, or (is_loop) of elements. */
void layout_compile_block(struct compiler *c, const struct tsdl_type *t, bool is_loop,
			  struct md_type *to);
/* Enters a member: its path is c->path. Returns the length before. */
size_t layout_enter(struct compiler *c, const char *name);
/* Ends a list of steps. */
void layout_end_steps(struct compiler *c);
/* Counts comparisons. False: these are too many. */
bool layout_may_work(struct compiler *c, uint64_t n);
/* An array that doubles, with room for one more. NULL: failed. */
void *layout_grow(struct compiler *c, void *array, size_t count, size_t size);
const char *layout_scope_name(enum scope scope);
const char *layout_plain_name(const struct compiler *c, const char *name);

/* ---- packet.c: reading ---- */

struct bits {                   /* bytes of a packet, from one of its bytes on */
	const uint8_t *data;
	uint64_t from;          /* place of data[0] in the packet, bits */
	uint64_t at;            /* the next bit */
	uint64_t end;           /* of the bits that can be read */
	/* The byte order of the number before `at`, if it ends in the byte of `at`; 0: not known */
	enum bits_order { BITS_LE = 1, BITS_BE } order;
};

/*
 * Steps, and bytes written, of one event or header: a bit of a packet may select thousands of empty
 * sequences, each with a length in the output.
 */
#define LAYOUT_WORK_MAX (UINT64_C(64) << 20)

enum { LAYOUT_SHORT = -1, LAYOUT_BAD = -2, LAYOUT_NOMEM = -3 };

struct packet_run {
	const struct trace_layout *layout;
	struct bits bits;
	struct md_buf *out;     /* the values; NULL: none are written */
	const struct clock_class *clock;
	uint64_t cycles;        /* of that clock, extended */
	uint64_t roles[ROLES];  /* values */
	uint8_t uuid[16];       /* the value of ROLE_UUID */
	uint8_t checksum[32];   /* the value of ROLE_CHECKSUM, if it is bytes */
	uint8_t checksum_size;  /* how many bytes; 0: it is an integer */
	uint32_t have;          /* bit ROLE_…: it has a value */
	uint64_t *slots;        /* layout.slot_count values, and whether each is one (tracked) */
	uint64_t work;          /* since the caller set it to 0 */
	/* STEP_MISSING: how many fields the event has of which this is the header; NULL: none */
	uint32_t (*count_fields)(const struct packet_run *r);
	bool any_missing;       /* the caller clears it */
	uint8_t missing[TSDL_NODES_MAX / 8];    /* valid if any_missing */
	const char *why;        /* of LAYOUT_BAD */
};

/*
 * packet_text.c: a number of other bits than a double has, rounded to one. exp_dig of 15 at most
 * is of an interchange format; else it is a number of the x87 in more bytes than it needs, whose
 * leading 1 is stored.
 */
double packet_double(struct wide v, unsigned int size, unsigned int exp_dig);

/*
 * packet_text.c: appends `n` bytes at p, or up to a NUL of the encoding, as UTF-8 with a NUL. A
 * character that is not valid becomes U+FFFD; UTF-8 is copied. As layout_run.
 */
int packet_text(struct packet_run *r, const struct step *s, const uint8_t *p, size_t n);
/* A string of another encoding than UTF-8 with a NUL, from this bit on. */
int packet_string(struct packet_run *r, const struct step *s, uint64_t at);

int layout_run_steps(struct packet_run *r, const struct step *s);

/*
 * Runs a program. 0; LAYOUT_SHORT: it needs bits after bits.end; LAYOUT_BAD: the bits are not
 * valid; LAYOUT_NOMEM. After an error, the members of r are as the program left them.
 */
static inline int layout_run(struct packet_run *r, uint32_t program)
{
	const struct step *s = r->layout->steps + program;

	return s->code == STEP_END ? 0 : layout_run_steps(r, s);
}

#endif
