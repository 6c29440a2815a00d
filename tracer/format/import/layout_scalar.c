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
					  const char *name, enum role role)
{
	const struct tsdl_clock *clock = t->clock ? tsdl_clock(c->t, t->clock) : NULL;

	if (role == ROLE_END || t->kind == TSDL_FLOAT)
		return NULL;
	if (!t->clock && (role == ROLE_BEGIN ||
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
			  .big_endian = is_big(c, t), .align = t->align };

	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_FLOAT, .size = 8 };
}

void layout_compile_int(struct compiler *c, const struct tsdl_type *t, struct md_type *to)
{
	const char *name = strrchr(md_buf_str(&c->path), '.');
	struct step s = { .code = STEP_INT, .size = t->size, .bytes = bytes_for(t->size),
			  .is_signed = t->is_signed, .big_endian = is_big(c, t),
			  .align = t->unit ? 1 : t->align, .slot = c->slots++,
			  .unit = t->unit, .begin = c->begin };

	if (t->kind == TSDL_FLOAT && !is_copied(t)) {
		compile_float(c, t, to);
		return;
	}
	if (t->kind != TSDL_FLOAT)
		s.role = (uint8_t)layout_role(c, name ? name + 1 : "");
	/* The proposal's example names the scheme as the checksum before it (section 5.2). */
	if (s.role == ROLE_CHECKSUM && c->checksums++)
		s.role = ROLE_CHECKSUM_SCHEME;
	s.clock = clock_of(c, t, name ? name + 1 : "", s.role);
	if (c->hidden)
		s.bytes = 0;
	layout_add_symbol(c, s.slot, t);
	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = t->kind == TSDL_FLOAT ? MD_FLOAT : MD_INT,
				.size = bytes_for(t->size), .shown_bits = t->size,
				.is_signed = t->is_signed, .base = t->base };
	if (t->text && t->size == 8)
		to->encoding = MD_ENCODING_UTF8;
	if (t->kind == TSDL_ENUM) {
		to->kind = MD_ENUM;
		copy_mappings(c, t, to);
	}
}

void layout_compile_string(struct compiler *c, struct md_type *to)
{
	struct step s = { .code = STEP_STRING, .align = 8 };

	layout_add_step(c, &s);
	*to = (struct md_type){ .kind = MD_STRING };
}
