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

/* Between the names in a path; CTF 2 allows any character in a name. */
#define SEPARATOR '.'
#define CTF2_SEPARATOR '\xff'

const char *layout_scope_name(enum scope scope)
{
	return scope_names[scope];
}

bool layout_is_top(struct compiler *c)
{
	const char *path = md_buf_str(&c->path) + strlen(scope_names[c->scope]);

	return *path && !strchr(path + 1, c->t->ctf2 ? CTF2_SEPARATOR : SEPARATOR);
}

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

void *layout_grow(struct compiler *c, void *array, size_t count, size_t size)
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
	struct step *more = layout_grow(c, c->out->steps, c->out->step_count, sizeof(*more));

	layout_use_memory(c, 256);      /* the field, and its part of two programs */
	if (!more)
		return 0;
	c->out->steps = more;
	more[c->out->step_count] = *s;
	return (uint32_t)c->out->step_count++;
}

void layout_end_steps(struct compiler *c)
{
	struct step end = { .code = STEP_END };

	layout_add_step(c, &end);
}

/* Ends the body of the step at `at`. */
static void end_body(struct compiler *c, uint32_t at)
{
	layout_end_steps(c);
	if (!c->failed)
		c->out->steps[at].body = (uint32_t)(c->out->step_count - 1 - at);
}

/* ---- names ---- */

size_t layout_enter(struct compiler *c, const char *name)
{
	size_t len = c->path.len;

	md_buf_putc(&c->path, c->t->ctf2 ? CTF2_SEPARATOR : SEPARATOR);
	md_buf_puts(&c->path, name);
	layout_use_memory(c, 64 + 2 * strlen(name));
	c->work += c->path.len;
	if (c->path.len > PATH_MOST)
		layout_fail(c, "the names of a field are too long" OWN_LIMIT);
	return len;
}

bool layout_may_work(struct compiler *c, uint64_t n)
{
	c->work += n;
	if (c->work > WORK_MAX)
		layout_fail(c, "the types have too many parts" OWN_LIMIT);
	return !c->failed;
}

void layout_compile_block(struct compiler *c, const struct tsdl_type *t, bool is_loop,
			  struct md_type *to)
{
	struct block block = { c->block, ++c->block_count, is_loop };

	c->block = &block;
	compile_type(c, t, to);
	c->block = block.up;
}

/* ---- compounds ---- */

static bool is_byte(const struct tsdl_type *t)
{
	return t->kind == TSDL_INT && t->size == 8 && t->align == 8 && !t->clock && !t->roles &&
	       !t->reversed && !t->leb128;
}

/* Whether the type is that of this member of the scope. */
static bool is_member(struct compiler *c, const char *name)
{
	return !strcmp(md_buf_str(&c->path) + strlen(scope_names[c->scope]) + 1, name);
}

/* The role of an array of bytes, by its name in CTF 1.8. */
static uint32_t role_of_bytes(struct compiler *c, uint32_t count)
{
	if (count == 16 && c->scope == SCOPE_HEADER &&
	    (is_member(c, "uuid") || is_member(c, "trace_uuid")))
		return 1u << ROLE_UUID;
	if (count > 32 || c->scope != SCOPE_PACKET || !is_member(c, "checksum") ||
	    (c->t->ctf2 && !c->sealed))
		return 0;
	c->checksums++;
	return 1u << ROLE_CHECKSUM;
}

/* Whether the model would have a value of no bytes, which cannot be an element. */
static bool has_no_bytes(const struct tsdl_type *t)
{
	if (t->kind == TSDL_ARRAY)
		return !t->count || has_no_bytes(t->element);
	if (t->kind != TSDL_STRUCT)
		return t->kind == TSDL_BLOB && !t->at && !t->count;
	for (uint32_t i = 0; i < t->count; i++)
		if (!has_no_bytes(t->members[i].type))
			return false;
	return true;
}

/* An element of no bytes is one that may be missing, and never is: it has a tag. */
static void compile_element(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = STEP_OPTIONAL };
	uint32_t at;

	if (!c->t->ctf2 || !has_no_bytes(t)) {
		layout_compile_block(c, t, true, to);
		return;
	}
	at = layout_add_step(c, &s);
	if (!layout_init_optional(c, to))
		return;
	layout_compile_block(c, t, true, &to->members[1].type);
	end_body(c, at);
}

static void compile_array(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = is_byte(t->element) ? STEP_BYTES : STEP_LOOP, .count = t->count,
			  .align = t->align, .slot = NO_SLOT, .empty = t->element->empty };
	const struct layout_symbol *length;
	bool sequence = t->kind == TSDL_SEQUENCE;
	uint32_t at;

	if (layout_compile_missing(c, t))
		return;
	length = t->ref || t->at ? layout_find_field(c, t, &s.checked) : NULL;
	s.needs = layout_needed_field(c, length);
	if (t->length)
		s.slot = layout_compile_length(c, t->length);
	if (length && (length->type->kind == TSDL_FLOAT || length->type->kind == TSDL_BOOL ||
		       length->type->is_signed))
		layout_fail(c, c->t->ctf2 ? "the length '%.80s' is not an unsigned integer"
					    IN_CTF2("5.3.1")
					  : "the length '%.80s' is not an unsigned integer"
					    IN_CTF("4.2.4"),
			    t->ref ? t->ref : t->at->names[t->at->count - 1]);
	if (c->failed)
		return;
	if (length)
		s.slot = length->slot;
	else if (!sequence && s.code == STEP_BYTES)
		s.roles = role_of_bytes(c, s.count);
	*to = (struct md_type){ .kind = sequence ? MD_SEQUENCE : MD_ARRAY, .count = t->count,
				.quiet = sequence, .length_size = sequence ? 4 : 0 };
	to->element = calloc(1, sizeof(*to->element));
	if (!to->element) {
		layout_fail_memory(c);
		return;
	}
	at = layout_add_step(c, &s);
	compile_element(c, t->element, to->element);
	end_body(c, at);
}

const char *layout_plain_name(const struct compiler *c, const char *name)
{
	return !c->t->ctf2 && name[0] == '_' && name[1] ? name + 1 : name;
}

/*
 * Members of the packet context that text does not show: those that babeltrace2 leaves out, and
 * those about its checksum and compression, which are undone.
 */
static bool is_hidden(struct compiler *c, const struct tsdl_member *m)
{
	const uint32_t hidden = 1u << ROLE_BEGIN | 1u << ROLE_END | 1u << ROLE_CONTENT |
				1u << ROLE_PACKET | 1u << ROLE_DISCARDED;
	const uint32_t seal = 1u << ROLE_CHECKSUM | 1u << ROLE_CHECKSUM_SCHEME |
			      1u << ROLE_COMPRESSION | 1u << ROLE_ENCRYPTION;
	bool top = c->path.len == strlen(scope_names[SCOPE_PACKET]);
	enum role role = layout_role(c, m->name);

	if (c->scope != SCOPE_PACKET || (c->t->ctf2 && layout_has_roles_only(m->type)))
		return c->scope == SCOPE_PACKET;
	if (!top || (c->t->ctf2 && !c->sealed))
		return false;
	if (m->type->kind == TSDL_INT || m->type->kind == TSDL_ENUM)
		return (c->t->ctf2 ? seal : hidden | seal) & 1u << role ||
		       (!c->t->ctf2 && !strcmp(m->name, "packet_seq_num"));
	return role == ROLE_CHECKSUM && m->type->kind == TSDL_ARRAY && is_byte(m->type->element);
}

/* A field of an event that may be missing: section 6.1.2. */
static void compile_optional(struct compiler *c, const struct tsdl_type *t, uint32_t field,
			     struct md_type *to)
{
	struct step s = { .code = STEP_OPTIONAL, .count = field };
	uint32_t at = layout_add_step(c, &s);

	if (!layout_init_optional(c, to))
		return;
	c->field = field + 1;
	compile_type(c, t, &to->members[1].type);
	c->field = 0;
	end_body(c, at);
}

/* A member that is read, and not shown. */
static void compile_hidden(struct compiler *c, const struct tsdl_type *t)
{
	struct step s = { .code = STEP_HIDDEN };
	uint32_t at = layout_add_step(c, &s);
	struct md_type unused = { 0 };

	compile_type(c, t, &unused);
	end_body(c, at);
	md_type_deinit(&unused);
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
		const struct tsdl_member *m = &t->members[i];
		bool hidden = is_hidden(c, m);
		struct md_field *f = &to->members[to->count];
		size_t len = layout_enter(c, m->name);

		if (hidden) {
			compile_hidden(c, m->type);
			c->path.len = len;
			continue;
		}
		to->count++;
		f->exact = c->t->ctf2;
		f->name = strdup(layout_plain_name(c, m->name));
		if (!f->name)
			layout_fail_memory(c);
		else if (optional)
			compile_optional(c, m->type, i, &f->type);
		else
			compile_type(c, m->type, &f->type);
		c->path.len = len;
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

static void compile_type(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	switch (t->kind) {
	case TSDL_STRING:
		layout_compile_string(c, t, to);
		break;
	case TSDL_TEXT:
	case TSDL_BLOB:
		layout_compile_bytes(c, t, to);
		break;
	case TSDL_ARRAY:
	case TSDL_SEQUENCE:
		compile_array(c, t, to);
		break;
	case TSDL_STRUCT:
		compile_struct(c, t, to);
		break;
	case TSDL_VARIANT:
		layout_compile_variant(c, t, to);
		break;
	case TSDL_OPTIONAL:
		layout_compile_optional(c, t, to);
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
	layout_end_steps(c);
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

/* Whether the bytes of the integer are those that are written, and it has no other use. */
static bool is_plain(const struct step *s)
{
	return s->code == STEP_INT && s->bytes && s->size == 8 * s->bytes && !s->unit &&
	       (s->big_endian == MD_HOST_IS_BIG || s->bytes == 1) && !s->reversed &&
	       !s->boolean && !s->tracked && !s->used && !s->roles && !s->clock;
}

/* No step leads to the middle of a row of integers: its target follows a step of another kind. */
void layout_join(struct trace_layout *l)
{
	for (size_t i = 0; i < l->step_count; i++) {
		struct step *s = &l->steps[i];

		if (!is_plain(s) || s->align < 8)
			continue;
		s->code = STEP_COPY;
		s->count = s->bytes;
		while (is_plain(&s[s->body + 1]) && s[s->body + 1].align <= 8)
			s->count += s[++s->body].bytes;
		i += s->body;
	}
}

void layout_deinit(struct trace_layout *l)
{
	free(l->steps);
	free(l->ranges);
}
