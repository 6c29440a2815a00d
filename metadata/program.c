/* SPDX-License-Identifier: MIT */
/* Compiles types to walks and steps: see program.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/form.h"
#include "metadata/program.h"

struct compiler {
	enum md_form form;
	bool ctf1;              /* text of CTF 1.8: md_stream.ctf1 */
	const struct form *is;
	struct md_buf walk, steps, labels;      /* arrays of struct md_walk, md_step, md_label */
	struct md_buf text;
	size_t literal;         /* place in text of the next step's literal */
	uint64_t pending;       /* bytes of fixed size not yet in walk */
};

/* Minimum and maximum of a piece of the program. */
struct bounds {
	uint64_t min;           /* bytes of data */
	bool fixed;
	uint64_t base;          /* text that does not depend on the data */
	uint64_t per_byte;      /* text per byte of data, beyond base */
};

enum {
	INT_TEXT = 66,          /* the longest integer: 0b and 64 digits */
	FLOAT_TEXT = 32,
	ENUM_TEXT = INT_TEXT + sizeof("( { <unknown> } : container =  )"),  /* JSON's is shorter */
	INDEX_TEXT = 32,        /* `, [18446744073709551615] = ` */
	PER_BYTE_MAX = 64,      /* loops above this make room for each turn */
};

/* Adds a step of the walk, with the pending bytes of fixed size; returns its index. */
static size_t add_walk(struct compiler *c, struct md_walk *w)
{
	w->before = c->pending;
	c->pending = 0;
	md_buf_put(&c->walk, w, sizeof(*w));
	return c->walk.len / sizeof(*w) - 1;
}

/* Adds a step with the text since the last one as its literal; returns its index. */
static size_t add_step(struct compiler *c, struct md_step *s)
{
	s->literal = (uint32_t)c->literal;
	s->literal_len = (uint32_t)(c->text.len - c->literal);
	c->literal = c->text.len;
	md_buf_put(&c->steps, s, sizeof(*s));
	return c->steps.len / sizeof(*s) - 1;
}

static struct md_step *step_at(struct compiler *c, size_t i)
{
	return (struct md_step *)(void *)c->steps.data + i;
}

static struct md_walk *walk_at(struct compiler *c, size_t i)
{
	return (struct md_walk *)(void *)c->walk.data + i;
}

static uint8_t int_op(const struct md_type *t)
{
	bool swapped = t->big_endian && t->size > 1;

	if (t->show == MD_SHOW_BOOL)
		return MD_STEP_BOOL;
	if (t->bits || swapped || (t->base && t->base != 10))
		return t->bits ? MD_STEP_BITS : MD_STEP_INT;
	return (uint8_t)(MD_STEP_U8 + 2 * __builtin_ctz(t->size) + t->is_signed);
}

static struct bounds compile_scalar(struct compiler *c, const struct md_type *t, uint8_t op)
{
	struct md_step s = { .op = op, .size = t->size, .base = t->base ? t->base : 10,
			     .is_signed = t->is_signed, .big_endian = t->big_endian,
			     .bits = md_shown_bits(t),
			     .count = t->bits | (uint32_t)t->shift << 8 };

	add_step(c, &s);
	c->pending += t->size;
	return (struct bounds){ .min = t->size, .fixed = true,
				.base = op == MD_STEP_FLOAT ? FLOAT_TEXT : INT_TEXT };
}

/* The labels' texts go into the buffer of literals, before the literal of the step. */
static struct bounds compile_enum(struct compiler *c, const struct md_type *t)
{
	struct md_step s = { .op = t->show == MD_SHOW_FLAGS ? MD_STEP_FLAGS
				   : c->form == MD_FORM_TEXT && !c->ctf1 ? MD_STEP_LABELS
									 : MD_STEP_ENUM,
			     .size = t->size, .base = t->base ? t->base : 10,
			     .bits = md_shown_bits(t), .is_signed = t->is_signed,
			     .big_endian = t->big_endian };
	struct bounds b = { .min = t->size, .fixed = true, .base = ENUM_TEXT };
	struct md_sorted_mapping *entries = md_sort_mappings(t);
	struct md_label label = { 0 };
	uint32_t i;

	if (!entries) {
		c->text.failed = true;
		return b;
	}
	s.labels = (uint32_t)(c->labels.len / sizeof(label));
	s.label_count = t->count;
	add_step(c, &s);
	for (i = 0; i < t->count; i++) {
		const struct md_mapping *m = entries[i].mapping;

		if (!i || entries[i].name != entries[i - 1].name) {
			label.text = (uint32_t)c->text.len;
			c->is->escape(m->name, strlen(m->name), &c->text);
			label.text_len = (uint32_t)(c->text.len - label.text);
			b.base += label.text_len + 2;
		}
		label.name = entries[i].name;
		label.begin = m->begin;
		label.end = m->end;
		md_buf_put(&c->labels, &label, sizeof(label));
	}
	free(entries);
	c->literal = c->text.len;
	c->pending += t->size;
	return b;
}

static struct bounds compile_type(struct compiler *c, const struct md_type *t);
static struct bounds compile_fields(struct compiler *c, const struct md_field *fields,
				    uint32_t count);

static struct bounds compile_length(struct compiler *c, const struct md_type *t)
{
	struct md_step s = { .op = t->quiet ? MD_STEP_QUIET_LENGTH : MD_STEP_LENGTH,
			     .size = t->length_size, .base = 10 };

	add_step(c, &s);
	return (struct bounds){ .min = s.size, .base = INT_TEXT };
}

static struct bounds compile_tag(struct compiler *c, const struct md_type *t)
{
	struct md_step s = { .op = t->quiet ? MD_STEP_QUIET_TAG : MD_STEP_TAG, .size = 1,
			     .base = 10, .is_signed = true, .label_count = t->count,
			     .labels = (uint32_t)(c->labels.len / sizeof(struct md_label)) };
	struct bounds b = { .min = 1, .base = ENUM_TEXT };
	struct md_label label;
	uint32_t i;

	add_step(c, &s);
	for (i = 0; i < t->count; i++) {
		label = (struct md_label){ .begin = i, .end = i, .name = i };
		label.text = (uint32_t)c->text.len;
		/*
		 * The labels keep the underscore, which readers strip from the names of the
		 * options.
		 */
		md_buf_puts(&c->text, "\"_");
		md_name_field(t->members[i].name, &c->text);
		md_buf_putc(&c->text, '"');
		label.text_len = (uint32_t)(c->text.len - label.text);
		b.base += label.text_len;
		md_buf_put(&c->labels, &label, sizeof(label));
	}
	c->literal = c->text.len;
	return b;
}

/* Compiles option i of a variant: its step and its walk, each with a body and an end. */
static struct bounds compile_option(struct compiler *c, const struct md_type *of, uint32_t i)
{
	struct md_step s = { .op = MD_STEP_OPTION }, end = { .op = MD_STEP_END };
	struct md_walk w = { .op = MD_WALK_OPTION }, walk_end = { .op = MD_WALK_END };
	const struct md_type *t = &of->members[i].type;
	size_t step = add_step(c, &s), walk = add_walk(c, &w), last;
	bool json = c->form == MD_FORM_JSON, empty = t->kind == MD_STRUCT && !t->count;
	bool none = json ? empty : of->optional && !i;
	bool braces = of->show == MD_SHOW_BRACES && !none;
	struct bounds b = { .fixed = true };

	md_buf_puts(&c->text, !none ? braces ? c->is->option_open : "" : json ? "null" : "<none>");
	if (!none)
		b = compile_type(c, t);
	md_buf_puts(&c->text, braces ? c->is->option_close : "");
	add_step(c, &end);
	last = add_walk(c, &walk_end);
	if (!c->steps.failed) {
		step_at(c, step)->body = (uint32_t)(c->steps.len / sizeof(s) - 1 - step);
		step_at(c, step)->body_min = b.min;
	}
	if (!c->walk.failed)
		walk_at(c, walk)->body = (uint32_t)(last - walk);
	return b;
}

/* Compiles the value after the tag: `{ `the option` }`, or the option alone. */
static struct bounds compile_variant(struct compiler *c, const struct md_type *t)
{
	struct md_step s = { .op = MD_STEP_VARIANT, .count = t->count };
	struct md_walk w = { .op = MD_WALK_VARIANT, .bytes = t->count };
	struct bounds b = { .base = sizeof("{ <none> }") }, option;
	size_t step, walk;
	uint32_t i;

	md_buf_puts(&c->text, t->optional ? "" : c->is->option_open);
	step = add_step(c, &s);
	walk = add_walk(c, &w);
	for (i = 0; i < t->count; i++) {
		option = compile_option(c, t, i);
		b.min = !i || option.min < b.min ? option.min : b.min;
		b.base += option.base;
		b.per_byte = option.per_byte > b.per_byte ? option.per_byte : b.per_byte;
	}
	if (!c->steps.failed) {
		step_at(c, step)->body = (uint32_t)(c->steps.len / sizeof(s) - 1 - step);
		step_at(c, step)->body_min = b.min;
	}
	if (!c->walk.failed)
		walk_at(c, walk)->body = (uint32_t)(c->walk.len / sizeof(w) - 1 - walk);
	md_buf_puts(&c->text, t->optional ? "" : c->is->option_close);
	return b;
}

/* Compiles an array or sequence that is one string, or data. */
static struct bounds compile_text(struct compiler *c, const struct md_type *t)
{
	struct md_step s = { .op = t->show == MD_SHOW_BLOB ? MD_STEP_BLOB : MD_STEP_TEXT,
			     .by_length = t->kind == MD_SEQUENCE,
			     .count = t->count };
	struct md_walk w = { .op = MD_WALK_SEQUENCE, .length_size = t->length_size, .bytes = 1 };
	/* `{ `, `}`, and the padding of base64; 3 bytes or 4/3 of each are less than an escape. */
	struct bounds b = { .base = 8, .per_byte = c->is->escape_text };

	add_step(c, &s);
	if (s.by_length) {
		add_walk(c, &w);
	} else {
		c->pending += t->count;
		b.min = t->count;
		b.fixed = true;
	}
	return b;
}

/*
 * Compiles the body of a loop. A body of fixed size needs no loop in the walk: its walk steps are
 * removed.
 */
static struct bounds compile_loop(struct compiler *c, const struct md_type *t)
{
	bool by_length = t->kind == MD_SEQUENCE;
	struct md_step s = { .op = MD_STEP_LOOP, .by_length = by_length,
			     .count = by_length ? 0 : t->count };
	struct md_walk w = { .op = MD_WALK_LOOP, .bytes = s.count,
			     .length_size = by_length ? t->length_size : 0 };
	struct md_step end = { .op = MD_STEP_END };
	struct md_walk walk_end = { .op = MD_WALK_END };
	uint64_t pending = c->pending, share;
	size_t walk_len = c->walk.len, text_len, step, walk;
	struct bounds b, body;

	md_buf_putc(&c->text, '[');
	step = add_step(c, &s);
	walk = add_walk(c, &w);
	text_len = c->text.len;
	body = compile_type(c, t->element);
	add_step(c, &end);
	body.base += c->text.len - text_len;
	if (body.fixed) {
		c->walk.len = walk_len;
		c->pending = pending;
		if (by_length) {
			w.op = MD_WALK_SEQUENCE;
			w.bytes = body.min;
			add_walk(c, &w);
		} else {
			c->pending += body.min * t->count;
		}
	} else {
		size_t last = add_walk(c, &walk_end);

		if (!c->walk.failed)
			walk_at(c, walk)->body = (uint32_t)(last - walk);
	}
	share = (INDEX_TEXT + body.base + body.min - 1) / body.min;
	b = (struct bounds){ .min = by_length ? 0 : body.min * t->count,
			     .fixed = body.fixed && !by_length,
			     .base = INDEX_TEXT + body.base, .per_byte = body.per_byte };
	if (!c->steps.failed) {
		step_at(c, step)->body = (uint32_t)(c->steps.len / sizeof(s) - 1 - step);
		step_at(c, step)->body_min = body.min;
		step_at(c, step)->careful = share + body.per_byte > PER_BYTE_MAX;
	}
	if (share + body.per_byte <= PER_BYTE_MAX)
		b.per_byte += share;
	md_buf_puts(&c->text, c->is->array_close);
	return b;
}

static struct bounds compile_string(struct compiler *c)
{
	struct md_step s = { .op = MD_STEP_STRING };
	struct md_walk w = { .op = MD_WALK_STRING };

	add_step(c, &s);
	add_walk(c, &w);
	return (struct bounds){ .min = 1, .base = 2, .per_byte = c->is->escape_text };
}

static void add_bounds(struct bounds *sum, const struct bounds *b)
{
	sum->min += b->min;
	sum->fixed = sum->fixed && b->fixed;
	sum->base += b->base;
	/* Members have separate bytes, so the maximum of all members holds for each byte. */
	if (b->per_byte > sum->per_byte)
		sum->per_byte = b->per_byte;
}

/* A sequence or a variant whose length or tag is shown by another field. */
static struct bounds compile_quiet(struct compiler *c, const struct md_type *t)
{
	struct bounds sum = t->kind == MD_SEQUENCE ? compile_length(c, t) : compile_tag(c, t), b;
	struct md_type rest = *t;

	rest.quiet = false;
	b = compile_type(c, &rest);
	add_bounds(&sum, &b);
	return sum;
}

static struct bounds compile_type(struct compiler *c, const struct md_type *t)
{
	if (t->quiet)
		return compile_quiet(c, t);
	switch (t->kind) {
	case MD_FLOAT:
		return compile_scalar(c, t, MD_STEP_FLOAT);
	case MD_STRING:
		return compile_string(c);
	case MD_ARRAY:
	case MD_SEQUENCE:
		return md_type_is_text(t->element) || (t->show == MD_SHOW_BLOB && !c->ctf1)
			       ? compile_text(c, t) : compile_loop(c, t);
	case MD_STRUCT:
		return compile_fields(c, t->members, t->count);
	case MD_VARIANT:
		return compile_variant(c, t);
	default:
		return md_type_is_enum(t) ? compile_enum(c, t) : compile_scalar(c, t, int_op(t));
	}
}

/*
 * The hidden member before a sequence or a variant: its length or tag, which the walk reads
 * together with what follows. JSON has no text for it, so its step has the name of what follows as
 * its literal.
 */
static void compile_hidden(struct compiler *c, const struct md_field *f, struct bounds *sum)
{
	bool sequence = f->type.kind == MD_SEQUENCE, named = c->form == MD_FORM_TEXT;
	struct bounds b;

	if (f->type.quiet || (!sequence && f->type.kind != MD_VARIANT))
		return;
	if (named)
		form_put_name(c->form, sequence ? "_" : "", f,
			      sequence ? "_length" : "_tag", &c->text);
	b = sequence ? compile_length(c, &f->type) : compile_tag(c, &f->type);
	add_bounds(sum, &b);
	if (named)
		md_buf_puts(&c->text, c->is->next);
}

/* `{ a = `…`, _b_length = `…`, b = [`…` ], c_tag = `…`, c = { `…` } }`, or `{ }` */
static struct bounds compile_fields(struct compiler *c, const struct md_field *fields,
				    uint32_t count)
{
	struct bounds sum = { .fixed = true }, b;
	bool text = c->form == MD_FORM_TEXT;
	uint32_t i;

	md_buf_putc(&c->text, '{');
	for (i = 0; i < count; i++) {
		md_buf_puts(&c->text, !i		      ? c->is->first
				      : fields[i].group && text ? " }, { "
								: c->is->next);
		compile_hidden(c, &fields[i], &sum);
		form_put_name(c->form, "", &fields[i], "", &c->text);
		b = compile_type(c, &fields[i].type);
		add_bounds(&sum, &b);
	}
	md_buf_puts(&c->text, c->is->close);
	return sum;
}

static int finish_program(struct compiler *c, const struct bounds *b, struct md_program *p)
{
	static const char slack[MD_TEXT_SLACK];
	struct md_step end = { .op = MD_STEP_END };
	struct md_walk walk_end = { .op = MD_WALK_END };

	add_step(c, &end);
	add_walk(c, &walk_end);
	/* Literals are copied in pieces that extend beyond them. */
	md_buf_put(&c->text, slack, sizeof(slack));
	if (c->walk.failed || c->steps.failed || c->labels.failed || c->text.failed)
		return -ENOMEM;
	/* Offsets are 32 bits. */
	if (c->text.len > UINT32_MAX / 2)
		return -EINVAL;
	p->min = b->min;
	p->fixed = b->fixed;
	p->text_base = b->base + c->text.len;
	p->text_per_byte = b->per_byte;
	p->walk = (void *)c->walk.data;
	p->steps = (void *)c->steps.data;
	p->labels = (void *)c->labels.data;
	p->text = c->text.data;
	p->plain = md_program_is_plain(p->steps);
	md_program_set_rest(p->steps);
	return 0;
}

/* What precedes the fields. name: of the event; NULL for contexts. n: of empty braces. */
static void begin_program(struct compiler *c, const char *name, uint8_t n, struct md_program *p)
{
	struct md_buf shown = MD_BUF_INIT;

	if (name && c->form == MD_FORM_TEXT) {
		md_name_event(name, &c->text);
		md_buf_puts(&c->text, ": { cpu_id = ");
	} else if (name) {
		md_name_event(name, &shown);
		md_buf_puts(&c->text, ",\"event\":\"");
		md_json_escape_put(shown.data, shown.len, &c->text);
		md_buf_putc(&c->text, '"');
		c->text.failed |= shown.failed;
		md_buf_deinit(&shown);
	}
	p->title_len = (uint32_t)c->text.len;
	c->literal = c->text.len;
	md_buf_puts(&c->text, c->form == MD_FORM_TEXT ? " }, "
			      : name		      ? ",\"fields\":"
						      : ",\"context\":");
	while (n-- && c->form == MD_FORM_TEXT)
		md_buf_puts(&c->text, "{ }, ");
}

/* Closes an event. ` }` after contexts is in the event's own program. */
static void end_program(struct compiler *c, const char *name, unsigned int n)
{
	while (n-- && c->form == MD_FORM_TEXT)
		md_buf_puts(&c->text, ", { }");
	if (name)
		md_buf_puts(&c->text, c->form == MD_FORM_TEXT ? "\n" : "}\n");
	else if (c->form == MD_FORM_TEXT)
		c->text.len -= c->text.failed ? 0 : 2;
}

int md_program_create(const struct md_event *e, const struct md_stream *s, enum md_form form,
		      struct md_program **result)
{
	const struct md_field *fields = e ? e->fields : s->context;
	uint32_t count = e ? e->field_count : s->context_count;
	const char *name = e ? e->name : NULL;
	struct md_program *p = calloc(1, sizeof(*p));
	struct compiler c = { .form = form, .is = &forms[form],
			      .ctf1 = form == MD_FORM_TEXT && s->ctf1 };
	struct bounds b;
	int ret = p ? md_type_check_fields(fields, count, 0) : -ENOMEM;

	if (ret)
		goto fail;
	begin_program(&c, name, e ? e->empty_before : s->empty_before, p);
	b = compile_fields(&c, fields, count);
	end_program(&c, name, e ? e->empty_after : 0);
	ret = finish_program(&c, &b, p);
	if (ret)
		goto fail;
	*result = p;
	return 0;
fail:
	md_buf_deinit(&c.walk);
	md_buf_deinit(&c.steps);
	md_buf_deinit(&c.labels);
	md_buf_deinit(&c.text);
	free(p);
	return ret;
}
