/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles integers, enumerations, floating point numbers and strings. */
#include "tracer/format/import/layout.h"

#include <stdlib.h>
#include <string.h>

enum role layout_role(const struct compiler *c, const char *name)
{
	static const struct { enum scope scope; const char *name; enum role role; } roles[] = {
		{ SCOPE_HEADER, "magic", ROLE_MAGIC },
		{ SCOPE_HEADER, "stream_id", ROLE_STREAM },
		{ SCOPE_HEADER, "stream_instance_id", ROLE_INSTANCE },
		{ SCOPE_PACKET, "timestamp_begin", ROLE_BEGIN },
		{ SCOPE_PACKET, "timestamp_end", ROLE_END },
		{ SCOPE_PACKET, "content_size", ROLE_CONTENT },
		{ SCOPE_PACKET, "packet_size", ROLE_PACKET },
		{ SCOPE_PACKET, "cpu_id", ROLE_CPU },
		{ SCOPE_PACKET, "checksum", ROLE_CHECKSUM },
		{ SCOPE_PACKET, "checksum_scheme", ROLE_CHECKSUM_SCHEME },
		{ SCOPE_PACKET, "compression_scheme", ROLE_COMPRESSION },
		{ SCOPE_PACKET, "encryption_scheme", ROLE_ENCRYPTION },
		{ SCOPE_PACKET, "events_discarded", ROLE_DISCARDED },
		{ SCOPE_PACKET, "packet_seq_num", ROLE_SEQUENCE },
		{ SCOPE_PACKET, "stream_packet_count", ROLE_SEQUENCE },
		{ SCOPE_PACKET, "stream_packet_count_bits", ROLE_SEQUENCE_BITS },
		{ SCOPE_EVENT_HEADER, "id", ROLE_ID },
	};

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (roles[i].scope == c->scope && !strcmp(roles[i].name, name))
			return roles[i].role;
	return ROLE_NONE;
}

bool layout_has_roles_only(const struct tsdl_type *t)
{
	if (t->kind == TSDL_ARRAY || t->kind == TSDL_SEQUENCE || t->kind == TSDL_OPTIONAL)
		return layout_has_roles_only(t->element);
	if (t->kind != TSDL_VARIANT)
		return t->roles != 0;
	for (uint32_t i = 0; i < t->count; i++)
		if (!layout_has_roles_only(t->members[i].type))
			return false;
	return true;
}

/* The last name of the path. */
static const char *last_name(struct compiler *c)
{
	const char *name = strrchr(md_buf_str(&c->path), c->t->ctf2 ? '\xff' : '.');

	return name ? name + 1 : "";
}

/* The roles that CTF 2 has in each scope: sections 5.6.1 and 5.8.1. */
static const uint32_t allowed[SCOPES] = {
	[SCOPE_HEADER] = 1u << ROLE_MAGIC | 1u << ROLE_STREAM | 1u << ROLE_INSTANCE |
			 1u << ROLE_UUID,
	[SCOPE_PACKET] = 1u << ROLE_CLOCK | 1u << ROLE_END | 1u << ROLE_CONTENT |
			 1u << ROLE_PACKET | 1u << ROLE_DISCARDED | 1u << ROLE_SEQUENCE,
	[SCOPE_EVENT_HEADER] = 1u << ROLE_CLOCK | 1u << ROLE_ID,
};

/* Those that it has not, and our traces have by name. */
static uint32_t named_role(struct compiler *c)
{
	const uint32_t seal = 1u << ROLE_CHECKSUM | 1u << ROLE_CHECKSUM_SCHEME |
			      1u << ROLE_COMPRESSION | 1u << ROLE_ENCRYPTION;
	uint32_t role = layout_is_top(c) ? 1u << layout_role(c, last_name(c)) : 0;

	return role & (1u << ROLE_CPU | (c->sealed ? seal : 0));
}

static uint32_t roles_of(struct compiler *c, const struct tsdl_type *t)
{
	enum role role;

	if (!c->t->ctf2) {
		role = t->kind == TSDL_FLOAT ? ROLE_NONE : layout_role(c, last_name(c));
		/* The proposal's example names the scheme as the checksum before it: 5.2. */
		if (role == ROLE_CHECKSUM && c->checksums++)
			role = ROLE_CHECKSUM_SCHEME;
		return role ? 1u << role : 0;
	}
	if (t->roles & ~allowed[c->scope])
		layout_fail(c, "'%.60s' has a role that it cannot have in %s"
			    IN_CTF2("5.3.3"), last_name(c), layout_scope_name(c->scope));
	if (t->roles & (1u << ROLE_CLOCK | 1u << ROLE_END) && !c->clock)
		layout_fail(c, "'%.60s' has the time of a clock, and the data stream class has "
			    "none" IN_CTF2("5.8.1"), last_name(c));
	if (!t->roles)
		return t->kind == TSDL_INT || t->kind == TSDL_ENUM ? named_role(c) : 0;
	return t->roles & 1u << ROLE_CLOCK && c->scope == SCOPE_PACKET
		       ? t->roles | 1u << ROLE_BEGIN
		       : t->roles;
}

static bool is_big(const struct compiler *c, const struct tsdl_type *t)
{
	return t->order == TSDL_BE || (t->order == TSDL_NATIVE && c->t->big_endian);
}

static uint8_t bytes_for(unsigned int bits)
{
	return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

static void copy_mappings(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	layout_use_memory(c, t->count * sizeof(*to->mappings));
	if (c->failed)
		return;
	to->mappings = calloc(t->count + 1, sizeof(*to->mappings));
	if (!to->mappings) {
		layout_fail_memory(c);
		return;
	}
	for (; to->count < t->count && !c->failed; to->count++) {
		const struct tsdl_mapping *m = &t->mappings[to->count];

		to->mappings[to->count] = (struct md_mapping){ strdup(m->label), m->begin, m->end };
		if (!to->mappings[to->count].name) {
			layout_fail_memory(c);
			return;
		}
		layout_use_memory(c, 64 + 2 * strlen(m->label));
	}
}

/* The clock of which the integer has the low bits; NULL: none. */
static const struct clock_class *clock_of(struct compiler *c, const struct tsdl_type *t,
					  const char *name, uint32_t roles)
{
	const struct tsdl_clock *clock = t->clock ? tsdl_clock(c->t, t->clock) : NULL;

	if (c->t->ctf2)
		return t->roles & 1u << ROLE_CLOCK ? c->clock : NULL;
	if (roles & 1u << ROLE_END || t->kind == TSDL_FLOAT)
		return NULL;
	if (!t->clock && (roles & 1u << ROLE_BEGIN ||
			  (c->scope == SCOPE_EVENT_HEADER && !strcmp(name, "timestamp")))) {
		/* As babeltrace2 does it: the only clock, or one of nanoseconds since the epoch. */
		if (c->t->clock_count > 1)
			layout_fail(c, "'%.80s' does not say of which clock it is" IN_CTF("8"),
				    name);
		return &c->out->clocks[0];
	}
	for (uint32_t i = 0; i < c->t->clock_count; i++)
		if (clock && c->t->clocks[i] == clock)
			return &c->out->clocks[i];
	if (t->clock)
		layout_fail(c, "there is no clock '%.80s'" IN_CTF("8"), t->clock);
	return NULL;
}

uint32_t layout_compile_length(struct compiler *c, const struct tsdl_type *t)
{
	struct step s = { .code = STEP_INT, .size = t->size, .is_signed = t->is_signed,
			  .big_endian = is_big(c, t), .align = t->align, .slot = c->slots++ };

	layout_add_step(c, &s);
	return s.slot;
}

bool layout_compile_missing(struct compiler *c, const struct tsdl_type *t)
{
	const struct tsdl_type *bit = t->element;
	const char *path = md_buf_str(&c->path), *name = strrchr(path, '.');
	struct step s = { .code = STEP_MISSING };

	if (c->scope != SCOPE_EVENT_HEADER || !t->ref || strcmp(t->ref, "NR_FIELDS") || !name ||
	    strcmp(name, ".missing_fields"))
		return false;
	if (bit->kind != TSDL_INT)
		layout_fail(c, "the elements of missing_fields are not integers"
			    IN_PROPOSAL("6.1.2"));
	s.size = bit->size;
	s.align = bit->align;
	s.big_endian = is_big(c, bit);
	layout_add_step(c, &s);
	c->missing = true;
	return true;
}

/* The formats of float and double are copied; others become a double. */
static bool is_copied(const struct tsdl_type *t)
{
	return (t->size == 32 && t->exponent == 8) || (t->size == 64 && t->exponent == 11);
}

static void compile_float(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = STEP_FLOAT, .size = t->size, .exponent = t->exponent,
			  .big_endian = is_big(c, t), .reversed = t->reversed,
			  .align = t->align };

	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_FLOAT, .size = 8 };
}

/* The model's type of an integer that is not just a number. */
static void set_kind(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	switch (t->kind) {
	case TSDL_FLOAT:
		to->kind = MD_FLOAT;
		break;
	case TSDL_BOOL:
		to->show = MD_SHOW_BOOL;
		to->shown_bits = 0;
		break;
	case TSDL_FLAGS:
		to->show = MD_SHOW_FLAGS;
		to->kind = MD_ENUM;
		copy_mappings(c, t, to);
		break;
	case TSDL_ENUM:
		to->kind = MD_ENUM;
		copy_mappings(c, t, to);
		break;
	default:
		break;
	}
}

void layout_compile_int(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	uint8_t bytes = t->kind == TSDL_BOOL ? 1 : bytes_for(t->size);
	struct step s = { .code = t->leb128 ? STEP_LEB128 : STEP_INT, .size = t->size,
			  .bytes = bytes, .is_signed = t->is_signed, .big_endian = is_big(c, t),
			  .reversed = t->reversed, .boolean = t->kind == TSDL_BOOL,
			  .tracked = c->t->ctf2 && c->block, .align = t->unit ? 1 : t->align,
			  .unit = t->unit, .begin = c->begin };

	if (t->kind == TSDL_FLOAT && !is_copied(t)) {
		compile_float(c, t, to);
		return;
	}
	s.roles = roles_of(c, t);
	s.clock = clock_of(c, t, last_name(c), s.roles);
	s.slot = layout_add_symbol(c, t);
	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_INT, .size = bytes, .shown_bits = t->size,
				.is_signed = t->is_signed, .base = t->base };
	if (t->text && t->size == 8)
		to->encoding = MD_ENCODING_UTF8;
	set_kind(c, t, to);
}

void layout_compile_string(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = STEP_STRING, .align = 8, .encoding = t->encoding };

	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_STRING };
}

/* Whether a length can have this type. */
static bool is_length(const struct tsdl_type *t)
{
	return (t->kind == TSDL_INT || t->kind == TSDL_ENUM) && !t->is_signed;
}

void layout_compile_bytes(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	struct step s = { .code = t->kind == TSDL_TEXT ? STEP_TEXT : STEP_BYTES, .align = 8,
			  .count = t->count, .slot = NO_SLOT, .encoding = t->encoding,
			  .roles = t->roles };
	const struct layout_symbol *length = t->at ? layout_find_field(c, t, &s.checked) : NULL;

	if (length && !is_length(length->type))
		layout_fail(c, "the length of '%.60s' is not an unsigned integer"
			    IN_CTF2("5.3.1"), last_name(c));
	if (s.roles & ~allowed[c->scope])
		layout_fail(c, "'%.60s' has a role that it cannot have here"
			    IN_CTF2("5.3.3"), last_name(c));
	if (c->failed)
		return;
	if (length)
		s.slot = length->slot;
	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_STRING };
	if (t->kind == TSDL_TEXT)
		return;
	*to = (struct md_type){ .kind = length ? MD_SEQUENCE : MD_ARRAY, .count = t->count,
				.quiet = length != NULL, .length_size = length ? 4 : 0,
				.show = MD_SHOW_BLOB, .element = calloc(1, sizeof(*to)) };
	if (to->element)
		*to->element = (struct md_type){ .kind = MD_INT, .size = 1, .base = 16 };
	else
		layout_fail_memory(c);
}
