/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types and fields as LTT's definitions, and the extents of values. */
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/format/export/ltt.h"

#define NUMBER(name) "    <field name=" name "><uint size=4/></field>\n"
#define LOADED \
	"    <field name=name><string/></field>\n" NUMBER("checksum") NUMBER("id")               \
	NUMBER("int_size") NUMBER("long_size") NUMBER("pointer_size") NUMBER("size_t_size")     \
	NUMBER("has_alignment") "  </event>\n"

const char ltt_core[] =
	"<?xml version=\"1.0\"?>\n"
	"<facility name=core>\n"
	"  <description>The core facility contains the basic tracing related events</description>\n"
	"  <event name=facility_load>\n" LOADED
	"  <event name=facility_unload>\n" NUMBER("id") "  </event>\n"
	"  <event name=time_heartbeat per_tracefile>\n"
	"    <field name=timestamp><uint size=8/></field>\n  </event>\n"
	"  <event name=state_dump_facility_load>\n" LOADED
	"</facility>\n";

void ltt_put_attribute(const char *name, const char *value, struct md_buf *out)
{
	md_buf_printf(out, " %s=\"", name);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c < 0x20 || c == 0x7f || strchr("\"&<>", c))
			md_buf_printf(out, "&#%u;", c);
		else
			md_buf_putc(out, (char)c);
	}
	md_buf_putc(out, '"');
}

static void put_integer(const struct md_type *t, struct md_buf *out)
{
	md_buf_printf(out, "<%s size=%u%s", t->is_signed ? "int" : "uint",
		      t->bits ? 8 : t->size, t->big_endian && t->size > 1 ? " network" : "");
	if (t->base && t->base != 10)
		md_buf_printf(out, " trail_base=%u", t->base);
	if (t->size == 1 && t->encoding == MD_ENCODING_UTF8)
		md_buf_puts(out, " trail_text=1");
	md_buf_puts(out, "/>");
}

static void put_number(const char *name, int64_t value, bool is_signed, struct md_buf *out)
{
	if (is_signed)
		md_buf_printf(out, " %s=%lld", name, (long long)value);
	else
		md_buf_printf(out, " %s=%llu", name, (unsigned long long)value);
}

static void put_enum(const struct md_type *t, struct md_buf *out)
{
	md_buf_printf(out, "<enum size=%u%s%s", t->size, t->is_signed ? "" : " trail_unsigned=1",
		      t->big_endian && t->size > 1 ? " network" : "");
	if (t->base && t->base != 10)
		md_buf_printf(out, " trail_base=%u", t->base);
	md_buf_putc(out, '>');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct md_mapping *m = &t->mappings[i];

		md_buf_puts(out, "<label");
		ltt_put_attribute("name", m->name, out);
		put_number("value", m->begin, t->is_signed, out);
		if (m->end != m->begin)
			put_number("trail_end", m->end, t->is_signed, out);
		md_buf_puts(out, "/>");
	}
	md_buf_puts(out, "</enum>");
}

static void put_type(const struct md_type *t, struct md_buf *out)
{
	switch (t->kind) {
	case MD_FLOAT:
		md_buf_printf(out, "<float size=%u%s/>", t->size, t->big_endian ? " network" : "");
		return;
	case MD_STRING:
		md_buf_puts(out, "<string/>");
		return;
	case MD_ARRAY:
		md_buf_printf(out, "<array size=%u>", t->count);
		put_type(t->element, out);
		md_buf_puts(out, "</array>");
		return;
	case MD_SEQUENCE:
		md_buf_printf(out, "<sequence><uint size=%u/>", t->length_size);
		put_type(t->element, out);
		md_buf_puts(out, "</sequence>");
		return;
	case MD_STRUCT:
		md_buf_puts(out, "<struct>");
		for (uint32_t i = 0; i < t->count; i++)
			ltt_put_field(&t->members[i], false, out);
		md_buf_puts(out, "</struct>");
		return;
	default:
		if (t->kind == MD_ENUM && t->count)
			put_enum(t, out);
		else
			put_integer(t, out);
	}
}

void ltt_put_field(const struct md_field *f, bool context, struct md_buf *out)
{
	struct md_buf name = MD_BUF_INIT;

	md_name_field(f->name, &name);
	md_buf_puts(out, "<field");
	ltt_put_attribute("name", md_buf_str(&name), out);
	out->failed |= name.failed;
	md_buf_deinit(&name);
	md_buf_puts(out, context ? " trail_context=1>" : ">");
	if (ltt_is_bytes(&f->type))
		md_buf_puts(out, "<sequence><uint size=4/><uint size=1/></sequence>");
	else
		put_type(&f->type, out);
	md_buf_puts(out, "</field>");
}

bool ltt_is_bytes(const struct md_type *t)
{
	if (t->kind == MD_ARRAY || t->kind == MD_SEQUENCE)
		return ltt_is_bytes(t->element);
	for (uint32_t i = 0; t->kind == MD_STRUCT && i < t->count; i++)
		if (ltt_is_bytes(&t->members[i].type))
			return true;
	return t->kind == MD_VARIANT;
}

static const uint8_t *skip_elements(const struct md_type *t, uint64_t n, const uint8_t *p,
				    const uint8_t *end)
{
	/* An element has at least a byte (metadata/check.c), so the bytes bound the loop. */
	while (p && n--)
		p = ltt_skip(t, p, end);
	return p;
}

const uint8_t *ltt_skip(const struct md_type *t, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q;

	switch (t->kind) {
	case MD_STRING:
		q = memchr(p, 0, (size_t)(end - p));
		return q ? q + 1 : NULL;
	case MD_ARRAY:
		return skip_elements(t->element, t->count, p, end);
	case MD_SEQUENCE:
		if (t->length_size > end - p)
			return NULL;
		return skip_elements(t->element, md_load_field(p, t->length_size, 0),
				     p + t->length_size,
				     end);
	case MD_STRUCT:
		for (uint32_t i = 0; p && i < t->count; i++)
			p = ltt_skip(&t->members[i].type, p, end);
		return p;
	case MD_VARIANT:
		if (p == end || *p >= t->count)
			return NULL;
		return ltt_skip(&t->members[*p].type, p + 1, end);
	default:
		return t->size <= end - p ? p + t->size : NULL;
	}
}
