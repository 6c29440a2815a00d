/* SPDX-License-Identifier: MIT */
/* Prints CTF 2 metadata: see ctf.h. Each fragment is one line of JSON after a record separator. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/ctf.h"
#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/program.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_ORDER "big"
#else
#define HOST_ORDER "little"
#endif

#define UNSIGNED(length, alignment, more) \
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":" length \
	",\"byte-order\":\"" HOST_ORDER "-endian\",\"alignment\":" alignment more "}"
#define ROLE(role) ",\"roles\":[\"" role "\"]"
#define MEMBER(name, class) "{\"name\":\"" name "\",\"field-class\":" class "}"
#define STRUCTURE(members) "{\"type\":\"structure\",\"member-classes\":[" members "]}"
#define STAMP(length, alignment) \
	MEMBER("timestamp", UNSIGNED(length, alignment, ROLE("default-clock-timestamp")))

static const char packet_header[] = STRUCTURE(
	MEMBER("magic", UNSIGNED("32", "8", ROLE("packet-magic-number"))) ","
	MEMBER("uuid", "{\"type\":\"static-length-blob\",\"length\":16"
		       ROLE("metadata-stream-uuid") "}") ","
	MEMBER("stream_id", UNSIGNED("32", "8", ROLE("data-stream-class-id"))) ","
	MEMBER("stream_instance_id", UNSIGNED("64", "8", ROLE("data-stream-id"))));

/* (EXTRA: more members) */
#define PACKET_CONTEXT(extra) STRUCTURE( \
	MEMBER("timestamp_begin", UNSIGNED("64", "8", ROLE("default-clock-timestamp"))) "," \
	MEMBER("timestamp_end", \
	       UNSIGNED("64", "8", ROLE("packet-end-default-clock-timestamp"))) "," \
	MEMBER("content_size", UNSIGNED("64", "8", ROLE("packet-content-length"))) "," \
	MEMBER("packet_size", UNSIGNED("64", "8", ROLE("packet-total-length"))) "," \
	MEMBER("packet_seq_num", UNSIGNED("64", "8", ROLE("packet-sequence-number"))) "," \
	MEMBER("events_discarded", \
	       UNSIGNED("64", "8", ROLE("discarded-event-record-counter-snapshot"))) "," \
	MEMBER("cpu_id", UNSIGNED("32", "8", "")) extra)

static const char packet_context[] = PACKET_CONTEXT("");
static const char sealed_context[] = PACKET_CONTEXT(
	"," MEMBER("checksum", UNSIGNED("32", "8", "")) ","
	MEMBER("compression_scheme", UNSIGNED("8", "8", "")) ","
	MEMBER("encryption_scheme", UNSIGNED("8", "8", "")) ","
	MEMBER("checksum_scheme", UNSIGNED("8", "8", "")));

#define OPTION(name, first, last, class) \
	"{\"name\":\"" name "\",\"selector-field-ranges\":[[" first "," last \
	"]],\"field-class\":" class "}"

/* The id of an event is in the first member, or, if that has its largest value, in the option. */
#define EVENT_HEADER(id, alignment, last, more, extended, stamp) \
	"{\"type\":\"structure\",\"minimum-alignment\":8,\"member-classes\":[" \
	MEMBER("id", UNSIGNED(id, alignment, ROLE("event-record-class-id"))) "," \
	MEMBER("v", "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"id\"]}," \
		    "\"options\":[" \
		    OPTION("compact", "0", last, STRUCTURE(STAMP(stamp, alignment))) "," more \
		    OPTION("extended", extended, extended, STRUCTURE( \
			    MEMBER("id", UNSIGNED("32", "8", ROLE("event-record-class-id"))) "," \
			    STAMP("64", "8"))) "]}") "]}"

static const char compact_header[] = EVENT_HEADER(
	"5", "1", "29",
	OPTION("wide", "30", "30", STRUCTURE(
		STAMP("27", "1") "," MEMBER("id", UNSIGNED("16", "1",
							   ROLE("event-record-class-id"))))) ",",
	"31", "27");
static const char large_header[] = EVENT_HEADER("16", "8", "65534", "", "65535", "32");

static void put_string(const char *s, struct md_buf *out)
{
	md_buf_putc(out, '"');
	md_json_escape_put(s, strlen(s), out);
	md_buf_putc(out, '"');
}

static void put_uuid(const uint8_t u[16], struct md_buf *out)
{
	md_buf_putc(out, '"');
	for (int i = 0; i < 16; i++)
		md_buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
	md_buf_putc(out, '"');
}

static void open_fragment(const char *type, struct md_buf *out)
{
	md_buf_printf(out, "\x1e{\"type\":\"%s\"", type);
}

static void close_fragment(struct md_buf *out)
{
	md_buf_puts(out, "}\n");
}

/* ---- field classes ---- */

/* The name of a field as the text has it, between `before` and `after`. */
static void put_name(const char *before, const char *name, const char *after, struct md_buf *out)
{
	md_buf_printf(out, "\"%s", before);
	md_name_field(name, out);
	md_buf_printf(out, "%s\"", after);
}

static void open_bits(const char *type, unsigned int bits, unsigned int alignment, bool big_endian,
		      struct md_buf *out)
{
	md_buf_printf(out,
		      "{\"type\":\"fixed-length-%s\",\"length\":%u,\"byte-order\":\"%s-endian\","
		      "\"alignment\":%u",
		      type, bits, big_endian ? "big" : HOST_ORDER, alignment);
}

static void open_number(const char *type, unsigned int size, bool big_endian, struct md_buf *out)
{
	open_bits(type, 8 * size, 8, big_endian, out);
}

static void open_int(const struct md_type *t, struct md_buf *out)
{
	open_bits(t->is_signed ? "signed-integer" : "unsigned-integer",
		  t->bits ? t->bits : 8u * t->size, t->shift ? 1 : 8, t->big_endian, out);
	if (t->base && t->base != 10)
		md_buf_printf(out, ",\"preferred-display-base\":%u", t->base);
}

static void put_range(int64_t first, int64_t last, bool is_signed, struct md_buf *out)
{
	if (is_signed)
		md_buf_printf(out, "[%" PRId64 ",%" PRId64 "]", first, last);
	else
		md_buf_printf(out, "[%" PRIu64 ",%" PRIu64 "]", (uint64_t)first, (uint64_t)last);
}

/* A label is one member of the object, with all its ranges. */
static void put_enum(const struct md_type *t, struct md_buf *out)
{
	struct md_sorted_mapping *m = md_sort_mappings(t);

	open_int(t, out);
	out->failed |= !m;
	for (uint32_t i = 0; m && i < t->count; i++) {
		if (i && m[i].name == m[i - 1].name) {
			md_buf_putc(out, ',');
		} else {
			md_buf_puts(out, i ? "]," : ",\"mappings\":{");
			put_string(m[i].mapping->name, out);
			md_buf_puts(out, ":[");
		}
		put_range(m[i].mapping->begin, m[i].mapping->end, t->is_signed, out);
	}
	md_buf_puts(out, "]}}");
	free(m);
}

static void put_members(const struct md_field *fields, uint32_t count, struct md_buf *out);

/* The name is of the field, whose hidden length precedes a sequence. */
static void put_length(const char *name, struct md_buf *out)
{
	md_buf_puts(out, ",\"length-field-location\":{\"path\":[");
	put_name("_", name, "_length", out);
	md_buf_puts(out, "]}");
}

static void put_class(const struct md_type *t, const char *name, struct md_buf *out);

static void put_elements(const struct md_type *t, const char *name, struct md_buf *out)
{
	const struct md_type *e = t->element;
	bool is_text = e->kind == MD_INT && e->size == 1 && e->encoding == MD_ENCODING_UTF8;

	md_buf_printf(out, "{\"type\":\"%s-length-%s\"",
		      t->kind == MD_ARRAY ? "static" : "dynamic", is_text ? "string" : "array");
	if (t->kind == MD_ARRAY)
		md_buf_printf(out, ",\"length\":%" PRIu32, t->count);
	else
		put_length(name, out);
	if (!is_text) {
		md_buf_puts(out, ",\"element-field-class\":");
		put_class(e, name, out);
	}
	md_buf_putc(out, '}');
}

static void put_variant(const struct md_type *t, const char *name, struct md_buf *out)
{
	md_buf_puts(out, "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[");
	put_name("", name, "_tag", out);
	md_buf_puts(out, "]},\"options\":[");
	for (uint32_t i = 0; i < t->count; i++) {
		md_buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
		put_name("", t->members[i].name, "", out);
		md_buf_printf(out,
			      ",\"selector-field-ranges\":[[%" PRIu32 ",%" PRIu32
			      "]],\"field-class\":",
			      i, i);
		put_class(&t->members[i].type, t->members[i].name, out);
		md_buf_putc(out, '}');
	}
	md_buf_puts(out, "]}");
}

static void put_blob(const struct md_type *t, const char *name, struct md_buf *out)
{
	md_buf_printf(out, "{\"type\":\"%s-length-blob\"",
		      t->kind == MD_ARRAY ? "static" : "dynamic");
	if (t->kind == MD_ARRAY)
		md_buf_printf(out, ",\"length\":%" PRIu32, t->count);
	else
		put_length(name, out);
	if (t->media_type) {
		md_buf_puts(out, ",\"media-type\":");
		put_string(t->media_type, out);
	}
	md_buf_putc(out, '}');
}

static void put_class(const struct md_type *t, const char *name, struct md_buf *out)
{
	switch (t->kind) {
	case MD_FLOAT:
		open_number("floating-point-number", t->size, t->big_endian, out);
		md_buf_putc(out, '}');
		break;
	case MD_STRING:
		md_buf_puts(out, "{\"type\":\"null-terminated-string\"}");
		break;
	case MD_ARRAY:
	case MD_SEQUENCE:
		(t->show == MD_SHOW_BLOB ? put_blob : put_elements)(t, name, out);
		break;
	case MD_STRUCT:
		put_members(t->members, t->count, out);
		break;
	case MD_VARIANT:
		put_variant(t, name, out);
		break;
	default:
		if (md_type_is_enum(t)) {
			put_enum(t, out);
		} else {
			open_int(t, out);
			md_buf_putc(out, '}');
		}
	}
}

/* The length of a sequence, the tag of a variant: a member before it. */
static void put_hidden(const struct md_field *f, struct md_buf *out)
{
	const struct md_type *t = &f->type;

	if (t->kind != MD_SEQUENCE && t->kind != MD_VARIANT)
		return;
	md_buf_puts(out, "{\"name\":");
	put_name(t->kind == MD_SEQUENCE ? "_" : "", f->name,
		 t->kind == MD_SEQUENCE ? "_length" : "_tag", out);
	md_buf_puts(out, ",\"field-class\":");
	if (t->kind == MD_SEQUENCE) {
		open_number("unsigned-integer", t->length_size, false, out);
	} else {
		open_number("signed-integer", 1, false, out);
		md_buf_puts(out, ",\"mappings\":{");
		for (uint32_t i = 0; i < t->count; i++) {
			put_name("", t->members[i].name, "", out);
			md_buf_printf(out, ":[[%" PRIu32 ",%" PRIu32 "]]%s", i, i,
				      i + 1 < t->count ? "," : "}");
		}
	}
	md_buf_puts(out, "}},");
}

static void put_members(const struct md_field *fields, uint32_t count, struct md_buf *out)
{
	md_buf_puts(out, "{\"type\":\"structure\",\"member-classes\":[");
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			md_buf_putc(out, ',');
		put_hidden(&fields[i], out);
		md_buf_puts(out, "{\"name\":");
		put_name("", fields[i].name, "", out);
		md_buf_puts(out, ",\"field-class\":");
		put_class(&fields[i].type, fields[i].name, out);
		md_buf_putc(out, '}');
	}
	md_buf_puts(out, "]}");
}

/* ---- fragments ---- */

/* LTTng's, by number */
static const char *const levels[] = {
	"emergency",	 "alert",	  "critical",	   "error",	   "warning",
	"notice",	 "info",	  "debug:system",  "debug:program", "debug:process",
	"debug:module",	 "debug:unit",	  "debug:function", "debug:line",   "debug",
};

int md_ctf2_level(const char *name)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i], name))
			return (int)i;
	return MD_LOGLEVEL_NONE;
}

static void put_attributes(const char *level, const char *emf_uri, struct md_buf *out)
{
	md_buf_puts(out, ",\"attributes\":{\"lttng.org,2009\":{");
	if (level)
		md_buf_printf(out, "\"log-level\":\"%s\"%s", level, emf_uri ? "," : "");
	if (emf_uri) {
		md_buf_puts(out, "\"emf-uri\":");
		put_string(emf_uri, out);
	}
	md_buf_puts(out, "}}");
}

void md_ctf2_print_event(const struct md_event *e, uint32_t stream_id, struct md_buf *out)
{
	size_t known = sizeof(levels) / sizeof(levels[0]);
	const char *level = e->loglevel >= 0 && (size_t)e->loglevel < known ? levels[e->loglevel]
									    : NULL;
	struct md_buf name = MD_BUF_INIT;

	md_name_event(e->name, &name);
	open_fragment("event-record-class", out);
	md_buf_printf(out, ",\"id\":%" PRIu32 ",\"data-stream-class-id\":%" PRIu32 ",\"name\":",
		      e->id, stream_id);
	put_string(md_buf_str(&name), out);
	if (level || e->emf_uri)
		put_attributes(level, e->emf_uri, out);
	md_buf_puts(out, ",\"payload-field-class\":");
	put_members(e->fields, e->field_count, out);
	close_fragment(out);
	out->failed |= name.failed;
	md_buf_deinit(&name);
}

void md_ctf2_print_stream(const struct md_trace *t, const struct md_stream *s, bool sealed,
			  struct md_buf *out)
{
	open_fragment("data-stream-class", out);
	md_buf_printf(out,
		      ",\"id\":%" PRIu32 ",\"default-clock-class-id\":\"%s\","
		      "\"packet-context-field-class\":%s,\"event-record-header-field-class\":%s",
		      s->id, md_clock_name(t), sealed ? sealed_context : packet_context,
		      s->header == MD_HEADER_COMPACT ? compact_header : large_header);
	if (s->context_count) {
		md_buf_puts(out, ",\"event-record-common-context-field-class\":");
		put_members(s->context, s->context_count, out);
	}
	close_fragment(out);
}

static void put_events(const struct md_stream *s, struct md_buf *out)
{
	for (uint32_t id = 0; id <= MD_EVENT_ID_MAX; id++) {
		const struct md_event *e = md_stream_lookup(s, id);

		if (e)
			md_ctf2_print_event(e, s->id, out);
		else if (!s->chunks[id >> 8])
			id |= 255;
	}
}

static void put_trace(const struct md_trace *t, struct md_buf *out)
{
	open_fragment("trace-class", out);
	md_buf_puts(out, ",\"namespace\":\"lttng.org,2009\",\"name\":\"\",\"uid\":");
	put_uuid(t->uuid, out);
	md_buf_printf(out, ",\"packet-header-field-class\":%s,\"environment\":{", packet_header);
	for (uint32_t i = 0; i < t->env_count; i++) {
		if (i)
			md_buf_putc(out, ',');
		md_buf_putc(out, '"');
		md_name_plain(t->env[i].name, out);
		md_buf_puts(out, "\":");
		if (t->env[i].value)
			put_string(t->env[i].value, out);
		else
			md_buf_printf(out, "%" PRId64, t->env[i].number);
	}
	md_buf_putc(out, '}');
	close_fragment(out);
}

static void put_clock(const struct md_trace *t, struct md_buf *out)
{
	open_fragment("clock-class", out);
	md_buf_printf(out, ",\"id\":\"%s\",\"name\":\"%s\",\"uid\":", md_clock_name(t),
		      md_clock_name(t));
	put_uuid(t->clock_uuid, out);
	if (t->plugin.freq) {
		md_buf_puts(out, ",\"description\":");
		put_string(t->plugin.description, out);
	}
	md_buf_printf(out,
		      ",\"frequency\":%" PRIu64 ",\"origin\":\"unix-epoch\","
		      "\"offset-from-origin\":{\"seconds\":%" PRIu64 ",\"cycles\":%" PRIu64 "}",
		      t->plugin.freq ? t->plugin.freq : 1000000000,
		      t->clock_offset / 1000000000, t->clock_offset % 1000000000);
	close_fragment(out);
}

int md_ctf2_print(const struct md_trace *t, bool sealed, struct md_buf *out)
{
	open_fragment("preamble", out);
	md_buf_puts(out, ",\"version\":2,\"uuid\":[");
	for (int i = 0; i < 16; i++)
		md_buf_printf(out, i ? ",%u" : "%u", t->uuid[i]);
	md_buf_putc(out, ']');
	close_fragment(out);
	put_trace(t, out);
	put_clock(t, out);
	for (uint32_t i = 0; i < t->stream_count; i++) {
		md_ctf2_print_stream(t, t->streams[i], sealed, out);
		put_events(t->streams[i], out);
	}
	/* babeltrace2 2.1 reads no metadata without such a class. No stream has this id. */
	if (!t->stream_count) {
		open_fragment("data-stream-class", out);
		md_buf_printf(out, ",\"id\":%" PRIu32, UINT32_MAX);
		close_fragment(out);
	}
	return out->failed ? -ENOMEM : 0;
}
