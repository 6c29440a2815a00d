/* SPDX-License-Identifier: MIT */
/* The values of random events are those of their JSON. */
#include "metadata/decode.h"
#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/plain.h"
#include "metadata/value.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

#define FIELDS_MAX 16

static void put_member(const struct md_field *f, const struct md_value *v, struct md_buf *out)
{
	bool is_enum = v->type->kind == MD_ENUM && v->type->count;
	struct md_buf shown = MD_BUF_INIT;
	enum md_shown as = md_value_show(v, &shown);
	uint64_t n = 0;

	md_buf_putc(out, '"');
	md_name_field(f->name, out);
	md_buf_puts(out, "\":");
	if (is_enum) {
		CHECK(md_value_integer(v, &n));
		md_buf_printf(out, v->type->is_signed ? "{\"value\":%lld,\"label\":"
						      : "{\"value\":%llu,\"label\":", (long long)n);
	}
	if (as == MD_SHOWN_NONE || (is_enum && as == MD_SHOWN_NUMBER)) {
		md_buf_puts(out, "null");
	} else if (as == MD_SHOWN_TEXT) {
		md_buf_putc(out, '"');
		md_json_escape_put(shown.data, shown.len, out);
		md_buf_putc(out, '"');
	} else {
		md_buf_put(out, shown.data, shown.len);
	}
	if (is_enum)
		md_buf_putc(out, '}');
	md_buf_deinit(&shown);
}

/* The object that the values make, which `want` has. */
static void same_object(const struct md_field *fields, uint32_t count, const uint8_t *p,
			const uint8_t *end, const char *want, size_t want_len)
{
	struct md_value values[FIELDS_MAX];
	struct md_buf have = MD_BUF_INIT;

	CHECK(count <= FIELDS_MAX && md_values_cut(fields, count, p, end, values));
	md_buf_putc(&have, '{');
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			md_buf_putc(&have, ',');
		put_member(&fields[i], &values[i], &have);
	}
	md_buf_putc(&have, '}');
	CHECK(have.len == want_len && !memcmp(have.data, want, want_len));
	/* Bytes that are cut off are not read; a copy, so that ASan sees one too many. */
	for (size_t n = 0; n < (size_t)(end - p); n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, p, n);
		CHECK(!md_values_cut(fields, count, copy, copy + n, values));
		free(copy);
	}
	md_buf_deinit(&have);
}

static void one_event(uint64_t *seed)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_field *context = calloc(2, sizeof(*context));
	struct md_event *e = random_event(seed, 0);
	struct md_buf b = MD_BUF_INIT, json = MD_BUF_INIT;
	struct md_json_parts at;
	struct md_occurrence o;
	struct md_decoder d;

	random_fields(seed, context, 2, 0);
	CHECK(!md_stream_set_context(s, context, 2) && !md_stream_add(s, e));
	put_header(s, 0, 0, 1, false, &b);
	random_values(seed, context, 2, &b);
	random_values(seed, e->fields, e->field_count, &b);
	d = (struct md_decoder){ .stream = s, .p = (uint8_t *)b.data,
				 .end = (uint8_t *)b.data + b.len };
	CHECK(md_decoder_next(&d, &o) == 1 && md_json_parts(&o, s, &json, &at));
	same_object(context, 2, o.context, o.payload, json.data + at.context,
		    at.context_end - at.context);
	same_object(e->fields, e->field_count, o.payload, o.end, json.data + at.fields,
		    at.fields_end - at.fields);
	md_buf_deinit(&b);
	md_buf_deinit(&json);
	md_stream_destroy(s);
}

static void as_json(void)
{
	uint64_t seed = 22;

	random_optional = true;
	for (int i = 0; i < 3000; i++)
		one_event(&seed);
}

static void text(void)
{
	struct md_buf out = MD_BUF_INIT;

	md_value_put_text("a\302\205\xff\303\251\303", 7, &out);
	CHECK_STR(md_buf_str(&out), "a\302\205\xef\xbf\xbd\303\251\xef\xbf\xbd");
	md_buf_reset(&out);
	md_value_put_text("0123456789abcdef\300x\0y", 20, &out);
	CHECK_STR(md_buf_str(&out), "0123456789abcdef\xef\xbf\xbdx");
	md_buf_deinit(&out);
}

/* Each byte at each place of strings of each length, and no byte beyond them */
static void plain(void)
{
	for (size_t n = 0; n < 27; n++) {
		char *s = malloc(n + !n), *o = malloc(n + !n);

		memset(s, 'x', n);
		CHECK(md_copy_if_plain(o, s, n, '"', ',') && !memcmp(o, s, n));
		for (size_t i = 0; i < 256 * n; i++) {
			unsigned char c = (unsigned char)i;
			bool is_plain = c >= 0x20 && c < 0x7f && c != '"' && c != ',';

			s[i / 256] = (char)c;
			CHECK(md_copy_if_plain(o, s, n, '"', ',') == is_plain);
			CHECK(!is_plain || !memcmp(o, s, n));
			s[i / 256] = 'x';
		}
		free(s);
		free(o);
	}
}

int main(void)
{
	CASE(plain);
	CASE(as_json);
	CASE(text);
	return test_summary();
}
