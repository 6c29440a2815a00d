/* SPDX-License-Identifier: MIT */
/*
 * Runs a compiled program over the bytes of one event, and prints its literals and values. Each
 * printer (text.c, json.c) includes this file once, after it has defined how a value looks in its
 * form, so that the compiler makes one straight loop for each form:
 *
 *   put_int put_float put_enum     an integer with a base, a float, an enumeration
 *   put_escaped                    a string with its quotes
 *   put_length put_tag             the hidden length of a sequence, the hidden tag of a variant
 *   put_index                      what precedes an element of an array
 *
 * Each writes at o and returns the place after the text, within the bounds of program.c.
 */
static inline size_t left(const struct run *r)
{
	return (size_t)(r->end - r->p);
}

/*
 * Text of at most n bytes. Bytes that change meanwhile can mislead only this function, lengths and
 * loops; each checks at its end that the least bytes of the following steps remain.
 */
static inline char *put_text(struct run *r, const struct md_step *s, uint64_t n, char *o)
{
	const uint8_t *stop;

	if (n > left(r)) {
		r->torn = true;
		return o;
	}
	o = put_escaped(o, r->p, r->p + n, r->limit, &stop);
	r->p += n;
	r->torn = left(r) < s->rest;
	return o;
}

static inline char *put_c_string(struct run *r, const struct md_step *s, char *o)
{
	const uint8_t *stop;

	o = put_escaped(o, r->p, r->end, r->limit, &stop);
	r->p = stop + (stop < r->end);
	r->torn = left(r) < s->rest;
	return o;
}

static char *put_steps(struct run *r, const struct md_step *s, char *o);

/* Makes room for one more turn, for the remaining bytes, and for the text after the loop. */
static char *more_room(struct run *r, char *o)
{
	r->out->len = (size_t)(o - r->out->data);
	o = md_buf_room(r->out, r->base + r->per_byte * left(r));
	if (!o)
		r->torn = true;
	return o;
}

static char *put_loop(struct run *r, const struct md_step *s, uint64_t n, char *o)
{
	uint64_t i;

	for (i = 0; i < n && !r->torn; i++) {
		if (left(r) < s->body_min) {
			r->torn = true;
			return o;
		}
		if (s->careful) {
			o = more_room(r, o);
			if (!o)
				return NULL;
		}
		o = put_steps(r, s + 1, put_index(o, i));
	}
	if (!r->torn)
		r->torn = left(r) < s->rest;
	return o;
}

/* The tag is read once: see MD_STEP_LENGTH. */
static char *read_tag(struct run *r, const struct md_step *s, char *o)
{
	r->tag = *r->p++;
	__asm__ volatile("" : "+m"(r->tag));
	return put_tag(o, r->program, s, &r->tag);
}

static char *put_variant(struct run *r, const struct md_step *s, char *o)
{
	const struct md_step *option = s + 1;
	uint8_t tag = r->tag;

	if (tag >= s->count) {
		r->torn = true;
		return o;
	}
	while (tag--)
		option += 1 + option->body;
	if (left(r) < option->body_min) {
		r->torn = true;
		return o;
	}
	o = put_steps(r, option + 1, o);
	if (!r->torn)
		r->torn = left(r) < s->rest;
	return o;
}

/* Not inline: it is rare, and would take registers from the other steps. */
static __attribute__((cold, noinline)) char *put_rare(struct run *r, const struct md_step *s,
						      char *o)
{
	return s->op == MD_STEP_TAG ? read_tag(r, s, o) : put_variant(r, s, o);
}

/* Steps whose size is in the data, and tags. */
static inline char *put_variable(struct run *r, const struct md_step *s, uint64_t length, char *o)
{
	uint64_t count = s->by_length ? length : s->count;

	switch (s->op) {
	case MD_STEP_STRING:
		return put_c_string(r, s, o);
	case MD_STEP_TEXT:
		return put_text(r, s, count, o);
	case MD_STEP_LOOP:
		return put_loop(r, s, count, o);
	default:
		return put_rare(r, s, o);
	}
}

/*
 * Formats a list of steps from r->p, which has the least bytes of the list. Returns NULL without
 * memory; stops early, with r->torn set, if the bytes differ from the decoded ones.
 */
static char *put_steps(struct run *r, const struct md_step *s, char *o)
{
	const char *literals = r->program->text;
	/* a copy of r->p in a register; r->p is valid in put_variable */
	const uint8_t *p = r->p;
	uint64_t length = 0;

	for (;; s++) {
		o = put_literal(o, literals + s->literal, s->literal_len);
		switch (s->op) {
#define FIXED(step, bytes, text) \
		case step: \
			o = text; \
			p += (bytes); \
			continue
		FIXED(MD_STEP_U8, 1, md_put_small(o, *p));
		FIXED(MD_STEP_S8, 1, md_put_s32(o, (int8_t)*p));
		FIXED(MD_STEP_U16, 2, md_put_u32(o, md_load16(p)));
		FIXED(MD_STEP_S16, 2, md_put_s32(o, (int16_t)md_load16(p)));
		FIXED(MD_STEP_U32, 4, md_put_u32(o, md_load32(p)));
		FIXED(MD_STEP_S32, 4, md_put_s32(o, (int32_t)md_load32(p)));
		FIXED(MD_STEP_U64, 8, md_put_u64(o, md_load64(p)));
		FIXED(MD_STEP_S64, 8, md_put_s64(o, (int64_t)md_load64(p)));
		FIXED(MD_STEP_INT, s->size, put_int(o, s, load(s, p)));
		FIXED(MD_STEP_FLOAT, s->size, put_float(o, s, p));
		FIXED(MD_STEP_ENUM, s->size, put_enum(o, r->program, s, p));
#undef FIXED
		case MD_STEP_LENGTH:
			length = md_load(p, s->size, 0);
			/*
			 * Printed, and used by the next step: the compiler must not read the value
			 * again.
			 */
			__asm__ volatile("" : "+r"(length));
			o = put_length(o, length);
			p += s->size;
			continue;
		case MD_STEP_END:
			r->p = p;
			return o;
		default:
			r->p = p;
			o = put_variable(r, s, length, o);
			if (__builtin_expect(r->torn, 0))
				return o;
			p = r->p;
			s += s->body;   /* of a loop or variant; else 0 */
		}
	}
}

static inline char *put_program(struct run *r, const struct md_program *program, char *o)
{
	r->program = program;
	return put_steps(r, program->steps, o);
}
