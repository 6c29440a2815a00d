/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MAX (UINT64_C(1) << 27)
#define STEPS_MAX (1u << 20)
#define PATH_MOST 4096u         /* bytes of the path of a field */

static const char *const scope_names[SCOPES] = {
	"trace.packet.header", "stream.packet.context", "stream.event.header",
	"stream.event.context", "event.context", "event.fields"
};

static void compile_type(struct compiler *c, const struct tsdl_type *t, struct md_type *to);

void layout_fail(struct compiler *c, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!c->failed)
		c->failed = tr_fail(c->err, -EINVAL, "%s: %s", c->file, text);
}

void layout_fail_memory(struct compiler *c)
{
	if (!c->failed)
		c->failed = tr_fail(c->err, -ENOMEM, "out of memory");
}

void layout_use_memory(struct compiler *c, uint64_t bytes)
{
	c->used += bytes;
	if (c->used > LAYOUT_MEMORY_MAX)
		layout_fail(c, "the types have too many parts" OWN_LIMIT);
}

static void *grow(struct compiler *c, void *array, size_t count, size_t size)
{
	void *more = array;

	/* The caller drops what is returned then: the array must not move. */
	if (c->failed)
		return NULL;
	if (count >= STEPS_MAX)
		layout_fail(c, "the types have too many parts" OWN_LIMIT);
	else if (!(count & (count - 1)) && !(more = realloc(array, (count ? 2 * count : 1) * size)))
		layout_fail_memory(c);
	return c->failed ? NULL : more;
}

uint32_t layout_add_step(struct compiler *c, const struct step *s)
{
	struct step *more = grow(c, c->out->steps, c->out->step_count, sizeof(*more));

	layout_use_memory(c, 256);      /* the field, and its part of two programs */
	if (!more)
		return 0;
	c->out->steps = more;
	more[c->out->step_count] = *s;
	return (uint32_t)c->out->step_count++;
}

/* Ends a list of steps. */
static void end_steps(struct compiler *c)
{
	struct step end = { .code = STEP_END };

	layout_add_step(c, &end);
}

/* ---- names ---- */

/* Enters a member: its path is c->path. Returns the length before. */
static size_t enter(struct compiler *c, const char *name)
{
	size_t len = c->path.len;

	md_buf_putc(&c->path, '.');
	md_buf_puts(&c->path, name);
	layout_use_memory(c, 64 + 2 * strlen(name));
	c->work += c->path.len;
	if (c->path.len > PATH_MOST)
		layout_fail(c, "the names of a field are too long" OWN_LIMIT);
	return len;
}

void layout_add_symbol(struct compiler *c, uint32_t slot, const struct tsdl_type *t)
{
	struct symbol *more = grow(c, c->symbols, c->symbol_count, sizeof(*more));

	if (!more)
		return;
	c->symbols = more;
	more += c->symbol_count;
	*more = (struct symbol){ strdup(md_buf_str(&c->path)), slot,
				 c->block ? c->block->id : 0, c->field, t };
	if (!more->path)
		layout_fail_memory(c);
	else
		c->symbol_count++;
}

/* Counts comparisons. False: these are too many. */
static bool may_work(struct compiler *c, uint64_t n)
{
	c->work += n;
	if (c->work > WORK_MAX)
		layout_fail(c, "the types have too many parts" OWN_LIMIT);
	return !c->failed;
}

static const struct symbol *find_path(struct compiler *c, const char *prefix, size_t n,
				      const char *ref)
{
	if (!may_work(c, c->symbol_count * (1 + n / 16)))
		return NULL;
	for (size_t i = c->symbol_count; i--;) {
		const char *path = c->symbols[i].path;

		if (!n && !strcmp(path, ref))
			return &c->symbols[i];
		if (n && !strncmp(path, prefix, n) && path[n] == '.' && !strcmp(path + n + 1, ref))
			return &c->symbols[i];
	}
	return NULL;
}

static bool is_in_block(const struct block *b, uint32_t id)
{
	while (id && b && b->id != id)
		b = b->up;
	return !id || b;
}

/* The field that a length or a tag names: of the nearest structure around, or by its whole path. */
static const struct symbol *find_symbol(struct compiler *c, const char *ref)
{
	const struct symbol *s = NULL;
	const char *path = md_buf_str(&c->path);
	size_t n = c->path.len, least = strlen(scope_names[c->scope]);

	while (!s && !c->failed && n >= least) {
		s = find_path(c, path, n, ref);
		do
			n--;
		while (n > least && path[n] != '.');
	}
	if (!s && !c->failed)
		s = find_path(c, NULL, 0, ref);
	if (!s)
		layout_fail(c, "there is no field '%.80s' before its use as a length or a tag"
			    IN_CTF("7.3.2"), ref);
	else if (!is_in_block(c->block, s->block))
		layout_fail(c, "the length or tag '%.80s' is in an option or an element, and may "
			    "have no value" IN_CTF("7.3.2"), ref);
	return c->failed ? NULL : s;
}

/* Compiles the type of an option or of elements. */
static void compile_block(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct block block = { c->block, ++c->block_count };

	c->block = &block;
	compile_type(c, t, to);
	c->block = block.up;
}

/* ---- compounds ---- */

static bool is_byte(const struct tsdl_type *t)
{
	return t->kind == TSDL_INT && t->size == 8 && t->align == 8 && !t->clock;
}

/* Whether the type is that of this member of the scope. */
static bool is_member(struct compiler *c, const char *name)
{
	return !strcmp(md_buf_str(&c->path) + strlen(scope_names[c->scope]) + 1, name);
}

/* 1 + the field that has this value, if it may be missing, and is not the one that is compiled. */
static uint32_t needed_field(const struct compiler *c, const struct symbol *s)
{
	return s && s->field != c->field ? s->field : 0;
}

static void compile_array(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = is_byte(t->element) ? STEP_BYTES : STEP_LOOP, .count = t->count,
			  .align = t->align, .slot = NO_SLOT, .hidden = c->hidden };
	const struct symbol *length;
	bool sequence = t->kind == TSDL_SEQUENCE;
	uint32_t at;

	if (layout_compile_missing(c, t))
		return;
	length = t->ref ? find_symbol(c, t->ref) : NULL;
	s.needs = needed_field(c, length);
	if (t->length)
		s.slot = layout_compile_length(c, t->length);
	if (length && (length->type->kind == TSDL_FLOAT || length->type->is_signed))
		layout_fail(c, "the length '%.80s' is not an unsigned integer" IN_CTF("4.2.4"),
			    t->ref);
	if (c->failed)
		return;
	if (length)
		s.slot = length->slot;
	else if (!sequence && s.code == STEP_BYTES && s.count == 16 && c->scope == SCOPE_HEADER &&
		 (is_member(c, "uuid") || is_member(c, "trace_uuid")))
		s.role = ROLE_UUID;
	else if (!sequence && s.code == STEP_BYTES && s.count <= 32 && c->scope == SCOPE_PACKET &&
		 is_member(c, "checksum"))
		s.role = ROLE_CHECKSUM, c->checksums++;
	*to = (struct md_type){ .kind = sequence ? MD_SEQUENCE : MD_ARRAY, .count = t->count,
				.quiet = sequence, .length_size = sequence ? 4 : 0 };
	to->element = calloc(1, sizeof(*to->element));
	if (!to->element) {
		layout_fail_memory(c);
		return;
	}
	at = layout_add_step(c, &s);
	compile_block(c, t->element, to->element);
	end_steps(c);
	if (!c->failed)
		c->out->steps[at].body = (uint32_t)(c->out->step_count - 1 - at);
}

static const char *plain_name(const char *name)
{
	return name[0] == '_' && name[1] ? name + 1 : name;
}

/*
 * Members of the packet context that text does not show: those that babeltrace2 leaves out, and
 * those about its checksum and compression, which are undone.
 */
static bool is_hidden(struct compiler *c, const struct tsdl_member *m)
{
	enum role role = layout_role(c, m->name);

	return c->scope == SCOPE_PACKET && c->path.len == strlen(scope_names[SCOPE_PACKET]) &&
	       (m->type->kind == TSDL_INT || m->type->kind == TSDL_ENUM ||
		(role == ROLE_CHECKSUM && m->type->kind == TSDL_ARRAY &&
		 is_byte(m->type->element))) &&
	       (role == ROLE_BEGIN || role == ROLE_END || role == ROLE_CONTENT ||
		role == ROLE_PACKET || role == ROLE_DISCARDED || role == ROLE_CHECKSUM ||
		role == ROLE_CHECKSUM_SCHEME || role == ROLE_COMPRESSION ||
		role == ROLE_ENCRYPTION ||
		!strcmp(m->name, "packet_seq_num"));
}

/* A field of an event that may be missing: section 6.1.2. */
static void compile_optional(struct compiler *c, const struct tsdl_type *t, uint32_t field,
			     struct md_type *to)
{
	struct step s = { .code = STEP_OPTIONAL, .count = field };
	uint32_t at = layout_add_step(c, &s);

	*to = (struct md_type){ .kind = MD_VARIANT, .quiet = true, .optional = true, .count = 2 };
	to->members = calloc(2, sizeof(*to->members));
	if (!to->members || !(to->members[0].name = strdup("missing")) ||
	    !(to->members[1].name = strdup("value"))) {
		to->count = to->members ? 2 : 0;
		layout_fail_memory(c);
		return;
	}
	to->members[0].type.kind = MD_STRUCT;
	c->field = field + 1;
	compile_type(c, t, &to->members[1].type);
	c->field = 0;
	end_steps(c);
	if (!c->failed)
		c->out->steps[at].body = (uint32_t)(c->out->step_count - 1 - at);
}

static void compile_members(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	bool optional = c->missing && c->scope == SCOPE_FIELDS &&
			c->path.len == strlen(scope_names[SCOPE_FIELDS]);

	to->members = calloc(t->count + 1, sizeof(*to->members));
	if (!to->members) {
		layout_fail_memory(c);
		return;
	}
	for (uint32_t i = 0; i < t->count && !c->failed; i++) {
		struct md_field *f = &to->members[to->count];
		bool hidden = is_hidden(c, &t->members[i]);
		size_t len = enter(c, t->members[i].name);

		f->name = strdup(plain_name(t->members[i].name));
		c->hidden |= hidden;
		if (!f->name)
			layout_fail_memory(c);
		else if (optional)
			compile_optional(c, t->members[i].type, i, &f->type);
		else
			compile_type(c, t->members[i].type, &f->type);
		c->path.len = len;
		to->count++;
		if (hidden) {
			md_field_deinit(&to->members[--to->count]);
			*f = (struct md_field){ 0 };
			c->hidden = false;
		}
	}
}

static bool has_bit_fields(const struct tsdl_type *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->members[i].type->unit)
			return true;
	return false;
}

static void compile_struct(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = STEP_ALIGN, .align = t->align, .begin = NO_SLOT };
	uint32_t begin = c->begin;

	*to = (struct md_type){ .kind = MD_STRUCT };
	if (has_bit_fields(t))
		s.begin = c->slots++;
	if (t->align > 1 || s.begin != NO_SLOT)
		layout_add_step(c, &s);
	c->begin = s.begin;
	compile_members(c, t, to);
	c->begin = begin;
}

/* Adds the values of the tag that select an option, by the label that has the option's name. */
static void add_ranges(struct compiler *c, const struct tsdl_type *tag, const char *name,
		       uint8_t option, uint32_t step)
{
	if (!may_work(c, tag->count))
		return;
	for (uint32_t i = 0; i < tag->count && !c->failed; i++) {
		const struct tsdl_mapping *m = &tag->mappings[i];
		struct range *more;

		if (strcmp(m->label, name) && strcmp(plain_name(m->label), plain_name(name)))
			continue;
		more = grow(c, c->out->ranges, c->out->range_count, sizeof(*more));
		if (!more)
			return;
		c->out->ranges = more;
		more[c->out->range_count++] = (struct range){ m->begin, m->end, tag->is_signed,
							      option, step };
	}
}

/* The options' steps follow the variant's, each with an end; ranges say where each begins. */
static void compile_variant(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = STEP_VARIANT };
	const struct symbol *tag = NULL;
	uint32_t *first = NULL, at;

	if (!t->ref)
		layout_fail(c, "a variant has no tag" IN_CTF("4.2.2"));
	else
		tag = find_symbol(c, t->ref);
	if (tag && tag->type->kind != TSDL_ENUM)
		layout_fail(c, "the tag '%.80s' is not an enumeration" IN_CTF("4.2.2"), t->ref);
	if (t->count > 127)
		layout_fail(c, "a variant has more than 127 options" OWN_LIMIT);
	if (c->failed)
		return;
	s.slot = tag->slot;
	s.needs = needed_field(c, tag);
	*to = (struct md_type){ .kind = MD_VARIANT, .quiet = true };
	to->members = calloc(t->count + 1, sizeof(*to->members));
	first = calloc(t->count + 1, sizeof(*first));
	if (!to->members || !first) {
		layout_fail_memory(c);
		free(first);
		return;
	}
	at = layout_add_step(c, &s);
	/* tag is not valid any more when symbols were added */
	for (uint32_t i = 0; i < t->count && !c->failed; i++) {
		size_t len = enter(c, t->members[i].name);

		first[i] = (uint32_t)c->out->step_count;
		to->members[i].name = strdup(plain_name(t->members[i].name));
		to->count = i + 1;
		compile_block(c, t->members[i].type, &to->members[i].type);
		end_steps(c);
		c->path.len = len;
	}
	tag = c->failed ? NULL : find_symbol(c, t->ref);
	if (tag) {
		c->out->steps[at].body = (uint32_t)(c->out->step_count - 1 - at);
		c->out->steps[at].ranges = (uint32_t)c->out->range_count;
		for (uint32_t i = 0; i < t->count; i++)
			add_ranges(c, tag->type, t->members[i].name, (uint8_t)i, first[i]);
		c->out->steps[at].count =
			(uint32_t)c->out->range_count - c->out->steps[at].ranges;
	}
	free(first);
}

static void compile_type(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	switch (t->kind) {
	case TSDL_STRING:
		layout_compile_string(c, to);
		break;
	case TSDL_ARRAY:
	case TSDL_SEQUENCE:
		compile_array(c, t, to);
		break;
	case TSDL_STRUCT:
		compile_struct(c, t, to);
		break;
	case TSDL_VARIANT:
		compile_variant(c, t, to);
		break;
	default:
		layout_compile_int(c, t, to);
	}
}

void layout_free_fields(struct md_field *fields, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		md_field_deinit(&fields[i]);
	free(fields);
}

int layout_compile(struct compiler *c, enum scope scope, const struct tsdl_type *type,
		   uint32_t *first, struct md_field **fields, uint32_t *count)
{
	struct md_type to = { .kind = MD_STRUCT };

	c->scope = scope;
	c->checksums = 0;
	md_buf_reset(&c->path);
	md_buf_puts(&c->path, scope_names[scope]);
	*first = (uint32_t)c->out->step_count;
	if (type && !c->failed)
		compile_struct(c, type, &to);
	end_steps(c);
	if (c->path.failed)
		layout_fail_memory(c);
	if (c->slots > c->out->slot_count)
		c->out->slot_count = c->slots;
	if (!fields || c->failed) {
		layout_free_fields(to.members, to.count);
		to.members = NULL;
		to.count = 0;
	}
	if (fields) {
		*fields = to.members;
		*count = to.count;
	}
	return c->failed;
}

void layout_forget(struct compiler *c, size_t symbols, uint32_t slots)
{
	while (c->symbol_count > symbols)
		free(c->symbols[--c->symbol_count].path);
	c->slots = slots;
}

void layout_deinit(struct layout *l)
{
	free(l->steps);
	free(l->ranges);
}
