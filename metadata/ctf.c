/* SPDX-License-Identifier: MIT */
/* Prints CTF 1.8 metadata as LTTng 2.13 does: see ctf.h. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "metadata/ctf.h"
#include "metadata/name.h"
#include "metadata/program.h"

static const char preamble[] =
	"/* CTF 1.8 */\n"
	"\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n"
	"\n";

static const char trace_types[] =
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	"\tbyte_order = be;\n"
#else
	"\tbyte_order = le;\n"
#endif
	"\tpacket.header := struct {\n"
	"\t\tuint32_t magic;\n"
	"\t\tuint8_t  uuid[16];\n"
	"\t\tuint32_t stream_id;\n"
	"\t\tuint64_t stream_instance_id;\n"
	"\t};\n"
	"};\n"
	"\n";

#define CLOCK_ALIAS(size, align) \
	"typealias integer {\n" \
	"\tsize = " size "; align = " align "; signed = false;\n" \
	"\tmap = clock.%s.value;\n" \
	"} := uint" size "_clock_monotonic_t;\n" \
	"\n"

/*
 * more, option: further ids of the enumeration, and their options. An option is aligned as its
 * members are: one that begins within a byte must have none that is aligned to 8 bits.
 */
#define EVENT_HEADER(name, id, last, more, extended, stamp, option) \
	"struct event_header_" name " {\n" \
	"\tenum : " id " { compact = 0 ... " last ", " more "extended = " extended " } id;\n" \
	"\tvariant <id> {\n" \
	"\t\tstruct {\n" \
	"\t\t\t" stamp " timestamp;\n" \
	"\t\t} compact;\n" \
	option \
	"\t\tstruct {\n" \
	"\t\t\tuint32_t id;\n" \
	"\t\t\tuint64_clock_monotonic_t timestamp;\n" \
	"\t\t} extended;\n" \
	"\t} v;\n" \
	"} align(8);\n" \
	"\n"

static const char header_types[] =
	CLOCK_ALIAS("27", "1")
	CLOCK_ALIAS("32", "8")
	CLOCK_ALIAS("64", "8")
	"struct packet_context {\n"
	"\tuint64_clock_monotonic_t timestamp_begin;\n"
	"\tuint64_clock_monotonic_t timestamp_end;\n"
	"\tuint64_t content_size;\n"
	"\tuint64_t packet_size;\n"
	"\tuint64_t packet_seq_num;\n"
	"\tunsigned long events_discarded;\n"
	"\tuint32_t cpu_id;\n"
	"%s"
	"};\n"
	"\n"
	EVENT_HEADER("compact", "uint5_t", "29", "wide = 30, ", "31", "uint27_clock_monotonic_t",
		     "\t\tstruct {\n"
		     "\t\t\tuint27_clock_monotonic_t timestamp;\n"
		     "\t\t\tinteger { size = 16; align = 1; signed = false; } id;\n"
		     "\t\t} wide;\n")
	EVENT_HEADER("large", "uint16_t", "65534", "", "65535", "uint32_clock_monotonic_t", "");

static const char sealed_fields[] =
	"\tuint32_t checksum;\n"
	"\tuint8_t  compression_scheme;\n"
	"\tuint8_t  encryption_scheme;\n"
	"\tuint8_t  checksum_scheme;\n";

static void put_tabs(unsigned int n, struct md_buf *out)
{
	while (n--)
		md_buf_putc(out, '\t');
}

static void put_quoted(const char *s, struct md_buf *out)
{
	md_buf_putc(out, '"');
	md_buf_escape(out, s, strlen(s));
	md_buf_putc(out, '"');
}

static void put_uuid(const uint8_t u[16], struct md_buf *out)
{
	int i;

	for (i = 0; i < 16; i++)
		md_buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}

static void put_int(unsigned int size, bool is_signed, const char *encoding, unsigned int base,
		    bool big_endian, struct md_buf *out)
{
	md_buf_printf(out,
		      "integer { size = %u; align = 8; signed = %d; encoding = %s; base = %u;%s }",
		      8 * size, is_signed, encoding, base ? base : 10,
		      big_endian ? " byte_order = be;" : "");
}

static void put_int_type(const struct md_type *t, struct md_buf *out)
{
	/* Readers accept only bytes as text. */
	bool text = t->kind == MD_INT && t->encoding == MD_ENCODING_UTF8 && t->size == 1;

	if (t->bits) {
		md_buf_printf(out, "integer { size = %u; align = %d; signed = %d; base = %u; }",
			      t->bits, t->shift ? 1 : 8, t->is_signed, t->base ? t->base : 10);
		return;
	}
	put_int(t->size, t->is_signed, text ? "UTF8" : "none", t->base, t->big_endian, out);
}

static void put_float_type(const struct md_type *t, struct md_buf *out)
{
	md_buf_printf(out, "floating_point { exp_dig = %d; mant_dig = %d; align = 8;%s }",
		      t->size == 4 ? 8 : 11, t->size == 4 ? 24 : 53,
		      t->big_endian ? " byte_order = be;" : "");
}

/* The value as an enumeration of that signedness prints it. */
static void put_value(int64_t v, bool is_signed, struct md_buf *out)
{
	if (is_signed)
		md_buf_printf(out, "%" PRId64, v);
	else
		md_buf_printf(out, "%" PRIu64, (uint64_t)v);
}

static void put_enum_type(const struct md_type *t, unsigned int indent, struct md_buf *out)
{
	uint32_t i;

	md_buf_puts(out, "enum : ");
	put_int_type(t, out);
	md_buf_puts(out, " {\n");
	for (i = 0; i < t->count; i++) {
		const struct md_mapping *m = &t->mappings[i];

		put_tabs(indent + 1, out);
		put_quoted(m->name, out);
		md_buf_puts(out, " = ");
		put_value(m->begin, t->is_signed, out);
		if (m->begin != m->end) {
			md_buf_puts(out, " ... ");
			put_value(m->end, t->is_signed, out);
		}
		md_buf_puts(out, ",\n");
	}
	put_tabs(indent, out);
	md_buf_putc(out, '}');
}

/* The tag of a variant; its labels are the names of the options with their underscores. */
static void put_tag(const struct md_field *f, unsigned int indent, struct md_buf *out)
{
	uint32_t i;

	put_tabs(indent, out);
	md_buf_puts(out, "enum : ");
	put_int(1, true, "none", 10, false, out);
	md_buf_puts(out, " {\n");
	for (i = 0; i < f->type.count; i++) {
		put_tabs(indent + 1, out);
		md_buf_puts(out, "\"_");
		md_name_field(f->type.members[i].name, out);
		md_buf_printf(out, "\" = %" PRIu32 ",\n", i);
	}
	put_tabs(indent, out);
	md_buf_puts(out, "} _");
	md_name_field(f->name, out);
	md_buf_puts(out, "_tag;\n");
}

static void put_fields(const struct md_field *fields, uint32_t count, unsigned int indent,
		       struct md_buf *out);

/* The type before the name: of an array, the type of its innermost element. */
static void put_type(const struct md_type *t, unsigned int indent, struct md_buf *out)
{
	switch (t->kind) {
	case MD_ENUM:
		if (md_type_is_enum(t))
			put_enum_type(t, indent, out);
		else
			put_int_type(t, out);
		break;
	case MD_FLOAT:
		put_float_type(t, out);
		break;
	case MD_STRING:
		md_buf_puts(out, "string");
		break;
	case MD_ARRAY:
	case MD_SEQUENCE:
		put_type(t->element, indent, out);
		break;
	case MD_STRUCT:
		md_buf_puts(out, "struct {\n");
		put_fields(t->members, t->count, indent + 1, out);
		put_tabs(indent, out);
		md_buf_putc(out, '}');
		break;
	default:
		put_int_type(t, out);
	}
}

static void put_variant(const struct md_field *f, unsigned int indent, struct md_buf *out)
{
	put_tag(f, indent, out);
	put_tabs(indent, out);
	md_buf_puts(out, "variant <_");
	md_name_field(f->name, out);
	md_buf_puts(out, "_tag> {\n");
	put_fields(f->type.members, f->type.count, indent + 1, out);
	put_tabs(indent, out);
	md_buf_puts(out, "} _");
	md_name_field(f->name, out);
	md_buf_puts(out, ";\n");
}

/* CTF 1.8 has no BLOBs: they are arrays of bytes, with the comment that LTTng 2.16 writes. */
static void put_blob_comment(const struct md_type *t, unsigned int indent, struct md_buf *out)
{
	md_buf_printf(out, "// %s length BLOB field", t->kind == MD_ARRAY ? "static" : "dynamic");
	if (t->media_type) {
		md_buf_puts(out, " with `");
		md_name_event(t->media_type, out);
		md_buf_puts(out, "` media type");
	}
	md_buf_putc(out, '\n');
	put_tabs(indent, out);
}

static void put_field(const struct md_field *f, unsigned int indent, struct md_buf *out)
{
	const struct md_type *t = &f->type;

	if (t->kind == MD_VARIANT) {
		put_variant(f, indent, out);
		return;
	}
	if (t->kind == MD_SEQUENCE) {
		put_tabs(indent, out);
		put_int(t->length_size, false, "none", 10, false, out);
		md_buf_puts(out, " __");
		md_name_field(f->name, out);
		md_buf_puts(out, "_length;\n");
	}
	put_tabs(indent, out);
	if (t->show == MD_SHOW_BLOB)
		put_blob_comment(t, indent, out);
	put_type(t, indent, out);
	md_buf_puts(out, " _");
	md_name_field(f->name, out);
	for (; t->kind == MD_ARRAY || t->kind == MD_SEQUENCE; t = t->element) {
		if (t->kind == MD_ARRAY) {
			md_buf_printf(out, "[%" PRIu32 "]", t->count);
		} else {
			md_buf_puts(out, "[ __");
			md_name_field(f->name, out);
			md_buf_puts(out, "_length ]");
		}
	}
	md_buf_puts(out, ";\n");
}

static void put_fields(const struct md_field *fields, uint32_t count, unsigned int indent,
		       struct md_buf *out)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		put_field(&fields[i], indent, out);
}

void md_ctf_print_event(const struct md_event *e, uint32_t stream_id, struct md_buf *out)
{
	struct md_buf name = MD_BUF_INIT;

	md_name_event(e->name, &name);
	md_buf_puts(out, "event {\n\tname = ");
	put_quoted(md_buf_str(&name), out);
	md_buf_printf(out, ";\n\tid = %" PRIu32 ";\n\tstream_id = %" PRIu32 ";\n", e->id,
		      stream_id);
	if (e->loglevel != MD_LOGLEVEL_NONE)
		md_buf_printf(out, "\tloglevel = %d;\n", e->loglevel);
	if (e->emf_uri) {
		md_buf_puts(out, "\tmodel.emf.uri = ");
		put_quoted(e->emf_uri, out);
		md_buf_puts(out, ";\n");
	}
	md_buf_puts(out, "\tfields := struct {\n");
	put_fields(e->fields, e->field_count, 2, out);
	md_buf_puts(out, "\t};\n};\n\n");
	out->failed |= name.failed;
	md_buf_deinit(&name);
}

void md_ctf_print_stream(const struct md_stream *s, struct md_buf *out)
{
	md_buf_printf(out,
		      "stream {\n\tid = %" PRIu32 ";\n\tevent.header := struct event_header_%s;\n",
		      s->id, s->header == MD_HEADER_COMPACT ? "compact" : "large");
	md_buf_puts(out, "\tpacket.context := struct packet_context;\n");
	if (s->context_count) {
		md_buf_puts(out, "\tevent.context := struct {\n");
		put_fields(s->context, s->context_count, 2, out);
		md_buf_puts(out, "\t};\n");
	}
	md_buf_puts(out, "};\n\n");
}

static void put_stream(const struct md_stream *s, struct md_buf *out)
{
	uint32_t id;

	md_ctf_print_stream(s, out);
	for (id = 0; id <= MD_EVENT_ID_MAX; id++) {
		const struct md_event *e = md_stream_lookup(s, id);

		if (e)
			md_ctf_print_event(e, s->id, out);
		else if (!s->chunks[id >> 8])
			id |= 255;
	}
}

static void put_env(const struct md_trace *t, struct md_buf *out)
{
	uint32_t i;

	md_buf_puts(out, "env {\n");
	for (i = 0; i < t->env_count; i++) {
		md_buf_putc(out, '\t');
		md_name_plain(t->env[i].name, out);
		md_buf_puts(out, " = ");
		if (t->env[i].value)
			put_quoted(t->env[i].value, out);
		else
			md_buf_printf(out, "%" PRId64, t->env[i].number);
		md_buf_puts(out, ";\n");
	}
	md_buf_puts(out, "};\n\n");
}

const char *md_clock_name(const struct md_trace *t)
{
	return t->plugin.freq ? t->plugin.name : t->clock_is_tai ? "tai" : "monotonic";
}

static void put_clock(const struct md_trace *t, struct md_buf *out)
{
	md_buf_printf(out, "clock {\n\tname = \"%s\";\n\tuuid = \"", md_clock_name(t));
	put_uuid(t->clock_uuid, out);
	md_buf_puts(out, "\";\n\tdescription = ");
	put_quoted(t->plugin.freq    ? t->plugin.description
		   : t->clock_is_tai ? "International Atomic Time"
				     : "Monotonic Clock",
		   out);
	md_buf_printf(out,
		      ";\n"
		      "\tfreq = %" PRIu64 "; /* Frequency, in Hz */\n"
		      "\t/* clock value offset from Epoch is: offset * (1/freq) */\n"
		      "\toffset = %" PRIu64 ";\n"
		      "};\n"
		      "\n",
		      t->plugin.freq ? t->plugin.freq : 1000000000, t->clock_offset);
}

int md_ctf_print(const struct md_trace *t, bool sealed, struct md_buf *out)
{
	uint32_t i;

	md_buf_puts(out, preamble);
	md_buf_puts(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	put_uuid(t->uuid, out);
	md_buf_puts(out, "\";\n");
	md_buf_puts(out, trace_types);
	if (t->env_count)
		put_env(t, out);
	put_clock(t, out);
	md_buf_printf(out, header_types, md_clock_name(t), md_clock_name(t), md_clock_name(t),
		      sealed ? sealed_fields : "");
	for (i = 0; i < t->stream_count; i++)
		put_stream(t->streams[i], out);
	return out->failed ? -ENOMEM : 0;
}

void md_index_header_set(struct md_index_header *h)
{
	h->magic = htobe32(0xC1F1DCC1);
	h->major = htobe32(1);
	h->minor = htobe32(1);
	h->packet_index_len = htobe32(sizeof(struct md_index_entry));
}

void md_index_entry_set(struct md_index_entry *e, const struct md_packet *p, uint64_t offset)
{
	e->offset = htobe64(offset);
	e->packet_size = htobe64(p->packet_size);
	e->content_size = htobe64(p->content_size);
	e->timestamp_begin = htobe64(p->timestamp_begin);
	e->timestamp_end = htobe64(p->timestamp_end);
	e->events_discarded = htobe64(p->events_discarded);
	e->stream_id = htobe64(p->stream_id);
	e->stream_instance_id = htobe64(p->stream_instance_id);
	e->packet_seq_num = htobe64(p->packet_seq_num);
}
