/* SPDX-License-Identifier: MIT */
/*
 * The compiled form of an event's fields (or of a stream's contexts): made once by md_program_create, then run for
 * every event by the decoder (how long is it?) and by the text formatter. Private to metadata/.
 *
 * Two flat lists. `walk` knows sizes only: all fields of fixed size before one that has none are one number. `steps`
 * knows text: each step first puts a literal (everything between two values: ` }, { a = `), then formats one value. A
 * loop step is followed by its body, which has an end of its own.
 */
#ifndef METADATA_PROGRAM_H
#define METADATA_PROGRAM_H

#include "metadata/model.h"

enum md_walk_op {
	MD_WALK_END,            /* of the program or of a loop's body */
	MD_WALK_STRING,
	MD_WALK_SEQUENCE,       /* a length of length_size bytes, then elements of `bytes` bytes */
	MD_WALK_LOOP,           /* body `bytes` times, or as often as a length of length_size bytes says */
	MD_WALK_VARIANT,        /* a tag byte, then the one of `bytes` options that it says; they are its body */
	MD_WALK_OPTION,         /* its body has an end of its own */
};

struct md_walk {
	uint8_t op;
	uint8_t length_size;    /* MD_WALK_SEQUENCE; MD_WALK_LOOP: 0 for a fixed count */
	uint32_t body;          /* MD_WALK_LOOP, _VARIANT, _OPTION: steps of the body, its end included */
	uint64_t before;        /* bytes of fixed size before it */
	uint64_t bytes;
};

enum md_step_op {
	MD_STEP_END,            /* of the program or of a loop's body */
	MD_STEP_U8, MD_STEP_S8, MD_STEP_U16, MD_STEP_S16,       /* little endian, decimal: the many */
	MD_STEP_U32, MD_STEP_S32, MD_STEP_U64, MD_STEP_S64,
	MD_STEP_INT,            /* any other integer */
	MD_STEP_FLOAT,
	MD_STEP_STRING,
	MD_STEP_ENUM,
	MD_STEP_LENGTH,         /* prints a length and keeps it for the next step */
	MD_STEP_TEXT,           /* `count` bytes of text, or as many as the length says */
	MD_STEP_LOOP,           /* body `count` times, or as often as the length says */
	MD_STEP_TAG,            /* prints a tag as an enumeration and keeps it for the next step */
	MD_STEP_VARIANT,        /* the one of `count` options that the tag says; they are its body */
	MD_STEP_OPTION,         /* its body has an end of its own */
};

struct md_step {
	uint8_t op;
	uint8_t size;           /* of the integer, float or length */
	uint8_t base;
	bool is_signed, big_endian;
	bool by_length;         /* MD_STEP_TEXT, MD_STEP_LOOP: the count is the last length read */
	bool careful;           /* MD_STEP_LOOP: one turn may be long, make room for each */
	uint32_t literal, literal_len;  /* in md_program.text */
	uint32_t count;
	uint32_t body;          /* MD_STEP_LOOP, _VARIANT, _OPTION: steps of the body, its end included */
	uint64_t body_min;      /* MD_STEP_LOOP: least bytes of one turn; _VARIANT, _OPTION: of the body */
	uint64_t rest;          /* least bytes of what follows this step in its list */
	uint32_t labels, label_count;   /* MD_STEP_ENUM, _TAG: in md_program.labels */
};

struct md_label {               /* one range of an enumeration; labels of the same name stand together */
	int64_t begin, end;
	uint32_t name, text, text_len;  /* name: number of the label in its enumeration; text: quoted, escaped */
};

struct md_program {
	uint64_t min;           /* least bytes */
	bool fixed;             /* then min is the size */
	uint32_t title_len;     /* events: `name: { cpu_id = `, at the start of text */
	uint64_t text_base;     /* most text for what does not depend on the data, all literals once */
	uint64_t text_per_byte; /* and most text per byte of the data beyond that */
	struct md_walk *walk;
	struct md_step *steps;
	struct md_label *labels;
	char *text;             /* literals; MD_TEXT_SLACK readable bytes behind the last */
};

#define MD_TEXT_SLACK 32        /* literals and strings are copied in pieces of up to this size */
#define MD_DEPTH_MAX 16         /* of nested structures, arrays, sequences and variants */
#define MD_OPTION_MAX 127u      /* options of a variant: what a tag can tell */
#define MD_FIXED_MAX (UINT64_C(1) << 30)        /* bytes: no event is that long */

/* Both return 0, -EINVAL (a type that cannot be done) or -ENOMEM. */
int md_program_create(const struct md_event *e, struct md_program **result);
int md_program_create_context(const struct md_field *context, uint32_t count,
			      struct md_program **result);
void md_program_destroy(struct md_program *p);  /* NULL is allowed */

/* 0 if the decoder, the printers and a CTF reader can all do these fields, or -EINVAL or -ENOMEM. */
int md_type_check_fields(const struct md_field *fields, uint32_t count, unsigned int depth);

/* Elements that are shown as one string. */
static inline bool md_type_is_text(const struct md_type *element)
{
	return element->kind == MD_INT && element->size == 1 &&
	       element->encoding == MD_ENCODING_UTF8;
}

/* An enumeration without a name has no form in TSDL; it is treated as its integer. */
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
