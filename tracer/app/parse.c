/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of registration files, hostile until checked: see app/parse.h. All checks are made
 * on a copy that the application cannot change any more.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/app/app.h"
#include "tracer/base/base.h"
#include "tracer/app/parse.h"
#include "tracer/app/plugin_clock.h"

enum {
	OBJECT_MAX = 4095,              /* bytes of the path kept for display */
	/* of one field of fixed length; no sub-buffer's event has more */
	ARRAY_BYTES_MAX = 1 << 20,
	/* of all events, with one enumeration for each field that has one */
	LABELS_MAX = 4 * TRAIL_LABEL_MAX,
	LABEL_BYTES_MAX = 4 << 20,      /* that any file may have of them */
};

struct parse {
	const uint8_t *data;
	size_t size;
	struct trail_reg head;
	const char *strings;
	uint64_t expanded;              /* bytes of all names of all events, written out */
	uint32_t expanded_fields, expanded_labels;
	uint64_t label_bytes;           /* of expanded_labels */
	const char **refused;           /* for each event: the reason, or NULL */
	const char *reason;
};

static bool fail(struct parse *p, const char *reason)
{
	p->reason = reason;
	return false;
}

/*
 * True if count things of `unit` bytes at offset lie in the file. None of the factors is above
 * 2^32.
 */
static bool fits(const struct parse *p, uint32_t offset, uint32_t count, size_t unit)
{
	return offset % 8 == 0 && offset >= sizeof(p->head) &&
	       (uint64_t)offset + (uint64_t)count * unit <= p->size;
}

static bool check_head(struct parse *p)
{
	const struct trail_reg *h = &p->head;

	if (p->size < sizeof(*h))
		return fail(p, "the file is too short");
	memcpy(&p->head, p->data, sizeof(p->head));
	if (h->magic != TRAIL_REG_MAGIC)
		return fail(p, "wrong magic number");
	if (h->version != TRAIL_ABI_VERSION)
		return fail(p, "another version of the interface");
	if ((h->word_bits & ~TRAIL_REG_CLOCK) != 32 && (h->word_bits & ~TRAIL_REG_CLOCK) != 64)
		return fail(p, "wrong word size");
	if (h->size != p->size)
		return fail(p, "the header tells another size");
	if (h->event_count > TRAIL_EVENT_MAX || h->field_count > TRAIL_FIELD_MAX)
		return fail(p, "too many tracepoints or fields");
	if (h->enum_count > TRAIL_ENUM_MAX || h->label_count > TRAIL_LABEL_MAX)
		return fail(p, "too many enumerations or labels");
	if (!fits(p, h->state_offset, h->event_count, sizeof(uint32_t)) ||
	    (h->missed_offset && !fits(p, h->missed_offset, h->event_count, sizeof(uint64_t))) ||
	    !fits(p, h->event_offset, h->event_count, sizeof(struct trail_reg_event)) ||
	    !fits(p, h->field_offset, h->field_count, sizeof(struct trail_reg_field)) ||
	    (h->enum_count &&
	     !fits(p, h->enum_offset, h->enum_count, sizeof(struct trail_reg_enum))) ||
	    (h->label_count &&
	     !fits(p, h->label_offset, h->label_count, sizeof(struct trail_reg_label))) ||
	    !fits(p, h->string_offset, h->string_size, 1))
		return fail(p, "a table lies outside the file");
	if (!h->string_size || p->data[(uint64_t)h->string_offset + h->string_size - 1])
		return fail(p, "the strings are not terminated");
	p->strings = (const char *)p->data + h->string_offset;
	if (h->object >= h->string_size)
		return fail(p, "the path lies outside the strings");
	return true;
}

/* Length of the string at offset, or -1 if it lies outside or is longer than max. */
static ssize_t text_length(const struct parse *p, uint32_t offset, size_t max)
{
	size_t len;

	if (offset >= p->head.string_size)
		return -1;
	/* The last byte of all strings is NUL. */
	len = strnlen(p->strings + offset, max + 1);
	return len <= max ? (ssize_t)len : -1;
}

/* Length of the string at offset, or 0 if it is no name: outside, empty or too long. */
static size_t name_length(const struct parse *p, uint32_t offset)
{
	ssize_t len = text_length(p, offset, TRAIL_NAME_MAX);

	return len > 0 ? (size_t)len : 0;
}

/*
 * What can be printed as it is, and be a word in a rule: no control bytes, blanks, quotes,
 * backslashes; UTF-8.
 */
static bool is_printable(const char *s, size_t len, bool colon)
{
	const unsigned char *c = (const unsigned char *)s, *end = c + len;

	while (c < end) {
		size_t n = md_utf8_char(c, (size_t)(end - c));

		if (!n || !trail_name_has(*c, colon) || (*c == 0xc2 && c[1] < 0xa0))
			return false;
		c += n;
	}
	return true;
}

static bool check_clock(struct parse *p)
{
	return !(p->head.word_bits & TRAIL_REG_CLOCK) || plugin_clock_check(p->data, &p->head) ||
	       fail(p, "bad description of a clock");
}

static void get_event(const struct parse *p, uint32_t i, struct trail_reg_event *e)
{
	memcpy(e, p->data + p->head.event_offset + i * sizeof(*e), sizeof(*e));
}

static void get_field(const struct parse *p, uint32_t i, struct trail_reg_field *f)
{
	memcpy(f, p->data + p->head.field_offset + i * sizeof(*f), sizeof(*f));
}

static void get_enum(const struct parse *p, uint32_t i, struct trail_reg_enum *e)
{
	memcpy(e, p->data + p->head.enum_offset + i * sizeof(*e), sizeof(*e));
}

static void get_label(const struct parse *p, uint32_t i, struct trail_reg_label *l)
{
	memcpy(l, p->data + p->head.label_offset + i * sizeof(*l), sizeof(*l));
}

/* Their texts are shown like those of strings, whatever they say; ranges may be any. */
static bool check_enums(struct parse *p)
{
	uint64_t labels = 0;
	uint32_t i;

	for (i = 0; i < p->head.enum_count; i++) {
		struct trail_reg_enum e;

		get_enum(p, i, &e);
		if (text_length(p, e.name, TRAIL_NAME_MAX) < 0)
			return fail(p, "bad name of an enumeration");
		if ((uint64_t)e.first_label + e.label_count > p->head.label_count)
			return fail(p, "the labels of an enumeration are outside the table");
		labels += e.label_count;
	}
	if (labels > p->head.label_count)
		return fail(p, "enumerations share labels");
	for (i = 0; i < p->head.label_count; i++) {
		struct trail_reg_label l;

		get_label(p, i, &l);
		if (text_length(p, l.name, TRAIL_NAME_MAX) < 0)
			return fail(p, "bad name of a label");
	}
	return true;
}

static bool is_size(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Bytes, and a media type, which is shown like a label: it may be any text. */
static bool check_blob(struct parse *p, const struct trail_reg_field *f)
{
	if ((f->kind != TRAIL_KIND_ARRAY && f->kind != TRAIL_KIND_SEQUENCE) || f->size != 1 ||
	    f->flags & (TRAIL_FIELD_SIGNED | TRAIL_FIELD_TEXT))
		return fail(p, "a blob is not of bytes");
	return text_length(p, f->name + (uint32_t)name_length(p, f->name) + 1,
			   TRAIL_NAME_MAX) >= 0 || fail(p, "bad media type of a blob");
}

static bool check_field(struct parse *p, const struct trail_reg_field *f)
{
	if (!name_length(p, f->name))
		return fail(p, "bad name of a field");
	if ((f->flags & TRAIL_FIELD_ENUM) &&
	    (f->kind != TRAIL_KIND_INT || f->count >= p->head.enum_count))
		return fail(p, "no such enumeration");
	if (f->kind == TRAIL_KIND_STRUCT || f->kind == TRAIL_KIND_VARIANT)
		return !f->flags || fail(p, "unknown flags of a structure or a variant");
	if ((f->flags & TRAIL_FIELD_FLOAT) &&
	    ((f->kind != TRAIL_KIND_ARRAY && f->kind != TRAIL_KIND_SEQUENCE) || f->size < 4 ||
	     f->flags & TRAIL_FIELD_TEXT))
		return fail(p, "bad size of floating point elements");
	if ((f->flags & TRAIL_FIELD_BLOB) && !check_blob(p, f))
		return false;
	switch (f->kind) {
	case TRAIL_KIND_STRING:
		return true;
	case TRAIL_KIND_FLOAT:
		return f->size == 4 || f->size == 8 || fail(p, "bad size of a field");
	case TRAIL_KIND_INT:
		return is_size(f->size) || fail(p, "bad size of a field");
	case TRAIL_KIND_BITS:
		return (f->size && f->size <= 64 && !(f->flags & ~TRAIL_FIELD_SIGNED)) ||
		       fail(p, "bad size or flags of a bit field");
	case TRAIL_KIND_ARRAY:
		if ((uint64_t)f->count * f->size > ARRAY_BYTES_MAX)
			return fail(p, "an array is too long");
		break;
	case TRAIL_KIND_SEQUENCE:
		if (!is_size(f->length))
			return fail(p, "bad size of a sequence's length");
		break;
	default:
		return fail(p, "unknown kind of a field");
	}
	if (!is_size(f->size) || ((f->flags & TRAIL_FIELD_TEXT) && f->size != 1))
		return fail(p, "bad size of a field's elements");
	return true;
}

static bool check_fields(struct parse *p)
{
	uint32_t i;

	for (i = 0; i < p->head.field_count; i++) {
		struct trail_reg_field f;

		get_field(p, i, &f);
		if (!check_field(p, &f))
			return false;
	}
	return true;
}

/*
 * What the labels of a field come to. Stops at the limit: many fields may have one long
 * enumeration.
 */
static bool expand_enum(struct parse *p, const struct trail_reg_field *f)
{
	struct trail_reg_enum e;
	uint32_t i;

	get_enum(p, f->count, &e);
	p->expanded_labels += e.label_count;
	for (i = 0; i < e.label_count && p->expanded_labels <= LABELS_MAX; i++) {
		struct trail_reg_label l;

		get_label(p, e.first_label + i, &l);
		p->label_bytes += (uint64_t)text_length(p, l.name, TRAIL_NAME_MAX) +
				  sizeof(struct md_mapping);
	}
	if (p->expanded_labels > LABELS_MAX ||
	    p->label_bytes > 16 * (uint64_t)p->size + LABEL_BYTES_MAX)
		return fail(p, "the labels of the tracepoints are out of proportion to the file");
	return true;
}

/*
 * Each structure and variant has its members or options within the event, and all of them are
 * recorded. A variant is in nothing, and has only numbers and strings in it.
 */
static bool check_members(struct parse *p, const struct trail_reg_event *e)
{
	uint32_t left[TRAIL_STRUCT_DEPTH], depth = 0, i;
	bool variant = false;

	for (i = 0; i < e->field_count; i++) {
		struct trail_reg_field f;

		get_field(p, e->first_field + i, &f);
		while (depth && !left[depth - 1])
			depth--;
		if (depth) {
			left[depth - 1]--;
			if (f.flags & TRAIL_FIELD_NOWRITE)
				return fail(p, "a member of a structure is for filters only");
			if (f.kind == TRAIL_KIND_BITS || f.kind == TRAIL_KIND_VARIANT)
				return fail(p, "a member of a structure is a bit field or a "
					       "variant");
			if (variant && f.kind > TRAIL_KIND_STRING)
				return fail(p, "an option is neither a number nor a string");
		}
		if (f.kind != TRAIL_KIND_STRUCT && f.kind != TRAIL_KIND_VARIANT)
			continue;
		if (depth == TRAIL_STRUCT_DEPTH || !f.count)
			return fail(p, "a structure is empty, or too deep in others");
		variant = f.kind == TRAIL_KIND_VARIANT;
		left[depth++] = f.count;
	}
	while (depth)
		if (left[--depth])
			return fail(p, "a structure has members outside of its event");
	return true;
}

static bool check_event_fields(struct parse *p, const struct trail_reg_event *e)
{
	bool unwritten = false;
	uint32_t i, used = 0;

	for (i = 0; i < e->field_count; i++) {
		struct trail_reg_field f;

		get_field(p, e->first_field + i, &f);
		p->expanded += name_length(p, f.name) + 1;
		if (f.flags & TRAIL_FIELD_BLOB)
			p->expanded += strlen(registration_media_type(p->strings, &f)) + 1;
		if (f.flags & TRAIL_FIELD_NOWRITE) {
			unwritten = true;
			continue;
		}
		if (unwritten)
			return fail(p, "a field follows one that is for filters only");
		used = f.kind == TRAIL_KIND_BITS ? (trail_bits_begin(used, f.size) + f.size) % 8
						 : 0;
		if ((f.flags & TRAIL_FIELD_ENUM) && !expand_enum(p, &f))
			return false;
	}
	return !used || fail(p, "a tracepoint ends within a byte");
}

static bool check_event(struct parse *p, const struct trail_reg_event *e)
{
	size_t provider = name_length(p, e->provider), name = name_length(p, e->name);
	ssize_t uri = e->uri == TRAIL_NO_STRING ? 0 : text_length(p, e->uri, TRAIL_URI_MAX);

	p->expanded += provider + name + 2 + (uri > 0 ? (size_t)uri : 0);
	if (!provider || !name)
		return fail(p, "its name is empty or too long");
	if (!is_printable(p->strings + e->provider, provider, false) ||
	    !is_printable(p->strings + e->name, name, true))
		return fail(p, "its name has a blank, a quote, a backslash, a control character or "
			       "no UTF-8, or its provider has a colon");
	if (e->refused)
		return fail(p, refused_why(e->refused));
	if (e->level >= LEVEL_COUNT)
		return fail(p, "no such log level");
	if (e->field_count > TRAIL_EVENT_FIELDS_MAX)
		return fail(p, "a tracepoint has too many fields");
	if ((uint64_t)e->first_field + e->field_count > p->head.field_count)
		return fail(p, "the fields of a tracepoint are outside the table");
	if (uri < 0)
		return fail(p, "bad URI of a tracepoint's model");
	p->expanded_fields += e->field_count;
	return check_members(p, e) && check_event_fields(p, e);
}

static bool check_events(struct parse *p)
{
	uint32_t i;

	for (i = 0; i < p->head.event_count; i++) {
		struct trail_reg_event e;

		get_event(p, i, &e);
		if (!check_event(p, &e))
			p->refused[i] = p->reason;
	}
	/*
	 * Tables may share fields and strings, but a small file must not stand for a lot of memory.
	 */
	if (p->expanded_fields > TRAIL_FIELD_MAX || p->expanded > 8 * (uint64_t)p->size + 65536)
		return fail(p, "the names of the tracepoints are out of proportion to the file");
	return true;
}

/* "provider:name"; a string that is no name is left out. */
static char *join(const struct parse *p, const struct trail_reg_event *e)
{
	const char *provider = p->strings + e->provider, *name = p->strings + e->name;
	size_t n = name_length(p, e->provider), m = name_length(p, e->name);
	char *s;

	return asprintf(&s, "%.*s:%.*s", (int)n, provider, (int)m, name) < 0 ? NULL : s;
}

static int copy_event(struct registration *r, const struct parse *p, uint32_t i)
{
	struct registration_event *to = &r->events[i];
	struct trail_reg_event e;
	struct md_event *model;

	get_event(p, i, &e);
	to->name = join(p, &e);
	if (!to->name)
		return -ENOMEM;
	r->event_count = i + 1;
	to->refused = p->refused[i];
	r->refused_count += to->refused != NULL;
	if (to->refused)
		return 0;
	to->level = e.level;
	to->first_field = e.first_field;
	to->field_count = e.field_count;
	while (to->written < e.field_count &&
	       !(r->fields[e.first_field + to->written].flags & TRAIL_FIELD_NOWRITE))
		to->written++;
	if (e.uri != TRAIL_NO_STRING && r->strings[e.uri])
		to->uri = r->strings + e.uri;
	model = registration_event(r, i);
	if (!model)
		return -ENOMEM;
	to->digest = md_event_digest(model);
	md_event_destroy(model);
	return 0;
}

/* NULL when memory ran out. */
static void *copy_table(const struct parse *p, uint32_t offset, uint32_t count, size_t unit)
{
	size_t size = count * unit;
	void *table = malloc(size + 1);

	/* The offset of a table without entries may be any. */
	if (table && size)
		memcpy(table, p->data + offset, size);
	return table;
}

static int copy(struct registration *r, const struct parse *p)
{
	const struct trail_reg *h = &p->head;
	uint32_t i;
	int ret = 0;

	r->strings = copy_table(p, h->string_offset, h->string_size, 1);
	r->fields = copy_table(p, h->field_offset, h->field_count, sizeof(*r->fields));
	r->enums = copy_table(p, h->enum_offset, h->enum_count, sizeof(*r->enums));
	r->labels = copy_table(p, h->label_offset, h->label_count, sizeof(*r->labels));
	r->events = calloc((size_t)h->event_count + 1, sizeof(*r->events));
	r->object = strndup(p->strings + h->object, OBJECT_MAX);
	if (!r->strings || !r->fields || !r->enums || !r->labels || !r->events || !r->object)
		return -ENOMEM;
	r->pid = h->pid;
	r->word_bits = h->word_bits & (uint16_t)~TRAIL_REG_CLOCK;
	r->size = h->size;
	r->state_offset = h->state_offset;
	r->missed_offset = h->missed_offset;
	r->field_count = h->field_count;
	r->enum_count = h->enum_count;
	r->label_count = h->label_count;
	if (h->word_bits & TRAIL_REG_CLOCK)
		ret = plugin_clock_copy(r, p->data, h);
	for (i = 0; i < h->event_count && !ret; i++)
		ret = copy_event(r, p, i);
	return ret;
}

int registration_parse(struct registration *r, const uint8_t *data, size_t size,
		       const char **reason)
{
	struct parse p = { .data = data, .size = size };
	int ret = -EBADMSG;

	if (check_head(&p)) {
		p.refused = calloc((size_t)p.head.event_count + 1, sizeof(*p.refused));
		if (!p.refused)
			return -ENOMEM;
		if (check_clock(&p) && check_enums(&p) && check_fields(&p) && check_events(&p))
			ret = copy(r, &p);
		free(p.refused);
	}
	if (ret == -EBADMSG)
		*reason = p.reason;
	else if (ret)
		registration_forget(r);
	return ret;
}
