/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What records of OTLP consist of: values as AnyValue (opentelemetry/proto/common/v1), and ids.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/program.h"
#include "metadata/value.h"
#include "tracer/base/base.h"
#include "tracer/base/hash.h"
#include "tracer/format/export/otlp.h"
#include "tracer/session/session.h"

/* ---- attributes ---- */

static void begin(struct md_buf *out, const char *prefix, const char *name, size_t n)
{
	if (out->len && out->data[out->len - 1] == '}')
		md_buf_putc(out, ',');
	md_buf_puts(out, "{\"key\":\"");
	md_buf_puts(out, prefix);
	md_json_escape_put(name, n, out);
	md_buf_puts(out, "\",\"value\":{");
}

static void put_quoted(struct md_buf *out, const char *member, const char *s, size_t n)
{
	md_buf_printf(out, "\"%s\":\"", member);
	md_json_escape_put(s, n, out);
	md_buf_putc(out, '"');
}

/* Numbers of 64 bits are strings in JSON of protobuf. What no int64 holds is text. */
static void put_integer(struct md_buf *out, uint64_t n, bool is_signed)
{
	if (is_signed)
		md_buf_printf(out, "\"intValue\":\"%" PRId64 "\"", (int64_t)n);
	else
		md_buf_printf(out, "\"%s\":\"%" PRIu64 "\"",
			      n > INT64_MAX ? "stringValue" : "intValue", n);
}

static void put_double(struct md_buf *out, double d, bool is_float)
{
	char number[48];

	*md_json_put_double(number, d, is_float) = 0;
	md_buf_printf(out, "\"doubleValue\":%s", number);
}

static void put_blob(struct md_buf *out, const struct md_value *v, uint64_t n)
{
	uint8_t *bytes = malloc(n + 1);
	char *p;

	if (!bytes) {
		out->failed = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)md_value_element(v, i);
	md_buf_puts(out, "\"bytesValue\":\"");
	p = md_buf_room(out, 4 * (n / 3 + 1));
	if (p)
		out->len += (size_t)(md_json_put_base64(p, bytes, n) - p);
	md_buf_putc(out, '"');
	free(bytes);
}

static void put_integers(struct md_buf *out, const struct md_value *v, uint64_t n)
{
	md_buf_puts(out, "\"arrayValue\":{\"values\":[");
	for (uint64_t i = 0; i < n; i++) {
		md_buf_puts(out, i ? ",{" : "{");
		put_integer(out, md_value_element(v, i), v->type->element->is_signed);
		md_buf_putc(out, '}');
	}
	md_buf_puts(out, "]}");
}

/* What has no kind of its own: as people read it. */
static void put_shown(struct md_buf *out, const struct md_value *v)
{
	struct md_buf text = MD_BUF_INIT;
	enum md_shown shown = md_value_show(v, &text);

	out->failed |= text.failed;
	if (shown == MD_SHOWN_JSON && v->type->kind == MD_INT)
		md_buf_printf(out, "\"boolValue\":%s", md_buf_str(&text));
	else if (shown != MD_SHOWN_NONE)
		put_quoted(out, "stringValue", md_buf_str(&text), text.len);
	md_buf_deinit(&text);
}

void otlp_put_value(struct md_buf *out, const char *prefix, struct text name,
		    const struct md_value *v)
{
	uint64_t n;
	double d;

	if (!v->p)
		return;
	begin(out, prefix, name.p, name.n);
	if (md_type_is_number(v->type) && md_value_integer(v, &n))
		put_integer(out, n, v->type->is_signed);
	else if (v->type->kind == MD_FLOAT && md_value_float(v, &d))
		put_double(out, d, v->type->size == 4);
	else if (v->type->show == MD_SHOW_BLOB && md_value_integers(v, &n))
		put_blob(out, v, n);
	else if ((v->type->kind == MD_ARRAY || v->type->kind == MD_SEQUENCE) &&
		 md_type_is_number(v->type->element) &&
		 v->type->element->encoding == MD_ENCODING_NONE && md_value_integers(v, &n))
		put_integers(out, v, n);
	else
		put_shown(out, v);
	md_buf_puts(out, "}}");
}

void otlp_put_string(struct md_buf *out, const char *key, const char *s, size_t n)
{
	begin(out, key, "", 0);
	put_quoted(out, "stringValue", s, n);
	md_buf_puts(out, "}}");
}

void otlp_put_number(struct md_buf *out, const char *key, int64_t number)
{
	begin(out, key, "", 0);
	put_integer(out, (uint64_t)number, true);
	md_buf_puts(out, "}}");
}

/* ---- ids ---- */

static const char *const specials[OTLP_SPECIALS] = {
	[OTLP_TRACE_ID] = "otel_trace_id",
	[OTLP_SPAN_ID] = "otel_span_id",
	[OTLP_SERVICE] = "otel_service",
	[OTLP_RESOURCE] = "otel_resource",
};

/* `otel.trace_id`, `otel_trace_id` or `$app.otel:trace_id`, or what a reader makes of them. */
static bool is_named(struct text name, const char *special)
{
	static const char app[] = "app_";
	char plain[32];
	const char *p = plain;
	size_t n = 0;

	if (name.n >= sizeof(plain))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = isalnum((unsigned char)name.p[i]) ? name.p[i] : '_';

		if (n || c != '_')
			plain[n++] = c;
	}
	plain[n] = 0;
	if (begins_with(p, app))
		p += sizeof(app) - 1;
	return !strcmp(p, special);
}

void otlp_find_specials(const struct text *names, uint32_t count, struct otlp_specials *out)
{
	for (int k = 0; k < OTLP_SPECIALS; k++) {
		out->at[k] = -1;
		for (uint32_t i = 0; i < count && out->at[k] < 0; i++)
			if (is_named(names[i], specials[k]))
				out->at[k] = (int)i;
	}
}

bool otlp_is_special(const struct otlp_specials *s, uint32_t i)
{
	for (int k = 0; k < OTLP_SPECIALS; k++)
		if (s->at[k] == (int)i)
			return true;
	return false;
}

bool otlp_id_is_set(const uint8_t *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (id[i])
			return true;
	return false;
}

static bool read_digits(const char *s, uint8_t *id, size_t n)
{
	for (size_t i = 0; i < 2 * n; i++) {
		char c = (char)tolower((unsigned char)s[i]);

		if (!isxdigit((unsigned char)c))
			return false;
		id[i / 2] = (uint8_t)(id[i / 2] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10));
	}
	return true;
}

static void read_id(const struct md_value *v, uint8_t *id, size_t n)
{
	const char *text;
	uint64_t number, count;
	size_t len;
	bool valid = true;

	if (md_value_string(v, &text, &len)) {
		valid = len == 2 * n && read_digits(text, id, n);
	} else if (md_value_integer(v, &number)) {
		for (int i = 0; i < 8; i++)
			id[n - 1 - (size_t)i] = (uint8_t)(number >> 8 * i);
	} else if (md_value_integers(v, &count) && count == n) {
		for (size_t i = 0; i < n; i++)
			id[i] = (uint8_t)md_value_element(v, i);
	}
	if (!valid)
		memset(id, 0, n);
}

void otlp_read_ids(const struct otlp_specials *s, const struct md_value *values,
		   struct otlp_ids *out)
{
	*out = (struct otlp_ids){ 0 };
	if (s->at[OTLP_TRACE_ID] >= 0 && values[s->at[OTLP_TRACE_ID]].p)
		read_id(&values[s->at[OTLP_TRACE_ID]], out->trace, sizeof(out->trace));
	if (s->at[OTLP_SPAN_ID] >= 0 && values[s->at[OTLP_SPAN_ID]].p)
		read_id(&values[s->at[OTLP_SPAN_ID]], out->span, sizeof(out->span));
}

void otlp_put_id(const uint8_t *id, size_t n, struct md_buf *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		md_buf_putc(out, digits[id[i] >> 4]);
		md_buf_putc(out, digits[id[i] & 15]);
	}
}

void otlp_make_id(uint8_t *id, size_t n, const uint64_t *numbers, size_t count)
{
	for (size_t at = 0; at < n; at += 8) {
		uint64_t h = HASH_START + at;

		h = hash_bytes(h, numbers, count * sizeof(*numbers));
		/* FNV leaves the high bits of short inputs alike: mix them (splitmix64). */
		h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
		h ^= h >> 31;
		h = h ? h : 1;
		memcpy(id + at, &h, 8);
	}
}
