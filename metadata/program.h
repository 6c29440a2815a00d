/* SPDX-License-Identifier: MIT */
/*
 * The compiled form of an event's fields (or of a stream's contexts): made once by
 * md_program_create, then run for every event by the decoder (for the event's size) and by the text
 * formatter. Private to metadata/.
 *
 * A program has the literals of one form: text, or JSON.
 *
 * It has two lists. `walk` has sizes only: adjacent fields of fixed size are one number. `steps`
 * has text: each step first prints a literal (everything between two values: ` }, { a = `), then
 * formats one value. The body of a loop follows its step and has an end of its own.
 */
#ifndef METADATA_PROGRAM_H
#define METADATA_PROGRAM_H

#include "metadata/model.h"

enum md_walk_op {
	MD_WALK_END,            /* of the program or of a loop's body */
	MD_WALK_STRING,
	MD_WALK_SEQUENCE,       /* a length of length_size bytes, then elements of `bytes` bytes */
	MD_WALK_LOOP,           /* body `bytes` times, or as often as a length says */
	MD_WALK_VARIANT,        /* a tag byte, then one of `bytes` options; they are its body */
	MD_WALK_OPTION,         /* its body has an end of its own */
};

struct md_walk {
	uint8_t op;
	uint8_t length_size;    /* MD_WALK_SEQUENCE; MD_WALK_LOOP: 0 for a fixed count */
	/* MD_WALK_LOOP, _VARIANT, _OPTION: steps of the body with its end */
	uint32_t body;
	uint64_t before;        /* bytes of fixed size before it */
	uint64_t bytes;
};

enum md_step_op {
	MD_STEP_END,            /* of the program or of a loop's body */
	/* the host's byte order, decimal: the most frequent */
	MD_STEP_U8, MD_STEP_S8, MD_STEP_U16, MD_STEP_S16,
	MD_STEP_U32, MD_STEP_S32, MD_STEP_U64, MD_STEP_S64,
	MD_STEP_INT,            /* any other integer of whole bytes */
	MD_STEP_BITS,           /* a bit field: count is its bits | shift << 8 */
	MD_STEP_FLOAT,
	MD_STEP_STRING,
	MD_STEP_ENUM,
	MD_STEP_LENGTH,         /* prints a length and keeps it for the next step */
	MD_STEP_QUIET_LENGTH,   /* keeps a length for the next step */
	MD_STEP_BOOL,
	MD_STEP_FLAGS,
	MD_STEP_LABELS,         /* MD_STEP_ENUM with several labels in braces */
	MD_STEP_TEXT,           /* `count` bytes of text, or as many as the length says */
	MD_STEP_BLOB,           /* the same of data */
	MD_STEP_LOOP,           /* body `count` times, or as often as the length says */
	MD_STEP_TAG,            /* prints a tag as an enumeration and keeps it for the next step */
	MD_STEP_QUIET_TAG,      /* keeps a tag for the next step */
	MD_STEP_VARIANT,        /* one of `count` options, selected by the tag; they are its body */
	MD_STEP_OPTION,         /* its body has an end of its own */
};

struct md_step {
	uint8_t op;
	uint8_t size;           /* of the integer, float or length */
	uint8_t base;
	bool is_signed, big_endian;
	bool by_length;         /* MD_STEP_TEXT, _BLOB, _LOOP: the count is the last length read */
	bool careful;           /* MD_STEP_LOOP: one turn may be long, make room for each */
	uint8_t bits;           /* of an integer: those that base 2, 8 and 16 show */
	uint32_t literal, literal_len;  /* in md_program.text */
	uint32_t count;
	/* MD_STEP_LOOP, _VARIANT, _OPTION: steps of the body with its end */
	uint32_t body;
	uint64_t body_min;      /* MD_STEP_LOOP: least bytes of a turn; else of the body */
	uint64_t rest;          /* least bytes of what follows this step in its list */
	/* MD_STEP_ENUM, _LABELS, _FLAGS, _TAG: in md_program.labels */
	uint32_t labels, label_count;
};

struct md_label {               /* one range of values or flags; those of one label are adjacent */
	int64_t begin, end;
	uint32_t name;          /* number of the label in its enumeration */
	uint32_t text, text_len;        /* quoted and escaped */
};

struct md_program {
	uint64_t min;           /* least bytes */
	bool fixed;             /* then min is the size */
	bool plain;             /* nothing but integers of the host, in decimal, and strings */
	/* events: `name: { cpu_id = ` or `,"event":"name"`, at the start of text */
	uint32_t title_len;
	uint64_t text_base;     /* maximum of text that does not depend on the data */
	uint64_t text_per_byte; /* maximum of further text per byte of data */
	struct md_walk *walk;
	struct md_step *steps;
	struct md_label *labels;
	char *text;             /* literals, followed by MD_TEXT_SLACK readable bytes */
};

#define MD_TEXT_SLACK 32        /* literals and strings are copied in pieces of up to this size */
#define MD_DEPTH_MAX 16         /* of nested structures, arrays, sequences and variants */
#define MD_OPTION_MAX 127u      /* options of a variant: the range of a tag */
#define MD_FIXED_MAX (UINT64_C(1) << 30)        /* bytes: no event is that long */

enum md_form { MD_FORM_TEXT, MD_FORM_JSON };    /* text.h, json.h */

/*
 * Compiles the fields of an event of s, or, if e is NULL, the contexts of s. 0, -EINVAL (a type is
 * not supported) or -ENOMEM.
 */
int md_program_create(const struct md_event *e, const struct md_stream *s, enum md_form form,
		      struct md_program **result);
/* Whether the list is that of a plain program. */
bool md_program_is_plain(const struct md_step *list);
/* Sets `rest` of each step in the list, bodies included. */
void md_program_set_rest(struct md_step *list);
void md_program_destroy(struct md_program *p);  /* NULL is allowed */

/* 0 if the decoder, the printers and CTF readers support these fields; or -EINVAL or -ENOMEM. */
int md_type_check_fields(const struct md_field *fields, uint32_t count, unsigned int depth);

struct md_sorted_mapping {
	const struct md_mapping *mapping;
	uint32_t place;         /* in md_type.mappings */
	uint32_t name;          /* place of the first mapping with this name */
};

/*
 * Sorts the mappings of an enumeration. babeltrace2 prints a label once, with all its ranges, at
 * its first place: so equal names are adjacent, in the order of their first places. Returns an
 * array of t->count, which the caller frees; NULL: no memory.
 */
struct md_sorted_mapping *md_sort_mappings(const struct md_type *t);

/* Elements that are shown as one string. */
static inline bool md_type_is_text(const struct md_type *element)
{
	return element->kind == MD_INT && element->size == 1 &&
	       element->encoding == MD_ENCODING_UTF8;
}

static inline uint8_t md_shown_bits(const struct md_type *t)
{
	return t->shown_bits ? t->shown_bits : t->bits ? t->bits : (uint8_t)(8 * t->size);
}

/* The type of a value that may be missing, where it is not. */
static inline const struct md_type *md_type_present(const struct md_type *t)
{
	return t->optional ? &t->members[1].type : t;
}

/* An integer that is shown as a number: neither labels nor true and false. */
static inline bool md_type_is_number(const struct md_type *t)
{
	return t->kind == MD_INT && t->show == MD_SHOW_PLAIN;
}

/* TSDL has no enumeration without labels: it is handled as its integer. */
static inline bool md_type_is_enum(const struct md_type *t)
{
	return t->kind == MD_ENUM && t->count;
}

static inline const struct md_event *md_stream_lookup(const struct md_stream *s, uint32_t id)
{
	struct md_event **chunk;

	if (id > MD_EVENT_ID_MAX)
		return NULL;
	/* Both pair with the releases in md_stream_add. */
	chunk = __atomic_load_n(&s->chunks[id >> 8], __ATOMIC_ACQUIRE);
	return chunk ? __atomic_load_n(&chunk[id & 255], __ATOMIC_ACQUIRE) : NULL;
}

#endif
