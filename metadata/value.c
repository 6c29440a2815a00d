/* SPDX-License-Identifier: MIT */
#include "metadata/value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "metadata/form.h"
#include "metadata/number.h"
#include "metadata/program.h"

/* ---- places ---- */

static bool is_scalar(const struct md_type *t)
{
	return t->kind == MD_INT || t->kind == MD_ENUM || t->kind == MD_FLOAT;
}

const uint8_t *md_elements(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			   uint64_t *n)
{
	*n = t->count;
	if (t->kind == MD_ARRAY)
		return p;
	if (t->length_size > (size_t)(end - p))
		return NULL;
	*n = md_load_field(p, t->length_size, 0);
	/* Checked, and used: the compiler must not read the bytes again, which may have changed. */
	__asm__ volatile("" : "+m"(*n));
	return p + t->length_size;
}

const uint8_t *md_skip_elements(const struct md_type *element, uint64_t n, const uint8_t *p,
				const uint8_t *end)
{
	if (is_scalar(element))
		return n <= (size_t)(end - p) / element->size ? p + n * element->size : NULL;
	/* Each element has at least one byte: check.c. */
	while (p && n--)
		p = md_skip(element, p, end);
	return p;
}

/* The option of the variant at p; NULL: there is none. */
static const struct md_field *option_of(const struct md_type *t, const uint8_t *p,
					const uint8_t *end)
{
	uint8_t tag = p < end ? *p : UINT8_MAX;

	/* As in md_elements */
	__asm__ volatile("" : "+r"(tag));
	return tag < t->count ? &t->members[tag] : NULL;
}

const uint8_t *md_skip(const struct md_type *t, const uint8_t *p, const uint8_t *end)
{
	const struct md_field *option;
	const uint8_t *nul;
	uint64_t n;

	switch (t->kind) {
	case MD_STRING:
		nul = memchr(p, 0, (size_t)(end - p));
		return nul ? nul + 1 : NULL;
	case MD_ARRAY:
	case MD_SEQUENCE:
		p = md_elements(t, p, end, &n);
		return p ? md_skip_elements(t->element, n, p, end) : NULL;
	case MD_STRUCT:
		for (uint32_t i = 0; p && i < t->count; i++)
			p = md_skip(&t->members[i].type, p, end);
		return p;
	case MD_VARIANT:
		option = option_of(t, p, end);
		return option ? md_skip(&option->type, p + 1, end) : NULL;
	default:
		return t->size <= (size_t)(end - p) ? p + t->size : NULL;
	}
}

static inline const uint8_t *cut_scalar(const struct md_type *t, const uint8_t *p,
					const uint8_t *end, struct md_value *v)
{
	const uint8_t *next = t->size <= (size_t)(end - p) ? p + t->size : NULL;

	*v = (struct md_value){ t, p, next };
	return next;
}

static inline const uint8_t *cut_string(const struct md_type *t, const uint8_t *p,
					const uint8_t *end, struct md_value *v)
{
	const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
	const uint8_t *next = nul ? nul + 1 : NULL;

	*v = (struct md_value){ t, p, next };
	return next;
}

const uint8_t *md_cut(const struct md_type *t, const uint8_t *p, const uint8_t *end,
		      struct md_value *v)
{
	const struct md_field *option = NULL;
	const uint8_t *next;

	if (is_scalar(t))
		return cut_scalar(t, p, end, v);
	if (t->kind == MD_STRING)
		return cut_string(t, p, end, v);
	while (t->kind == MD_VARIANT) {
		option = option_of(t, p++, end);
		if (!option)
			return NULL;
		t = &option->type;
	}
	next = md_skip(t, p, end);
	*v = (struct md_value){ t, p, next };
	if (option && t->kind == MD_STRUCT && !t->count)
		v->p = NULL;    /* the option `none` */
	return next;
}

bool md_values_cut(const struct md_field *fields, uint32_t count, const uint8_t *p,
		   const uint8_t *end, struct md_value *values)
{
	const uint8_t *next;

	for (uint32_t i = 0; i < count; i++, p = next) {
		const struct md_type *t = &fields[i].type;

		/* Nearly all fields are scalars or strings: these need no call. */
		if (is_scalar(t))
			next = cut_scalar(t, p, end, &values[i]);
		else if (t->kind == MD_STRING)
			next = cut_string(t, p, end, &values[i]);
		else
			next = md_cut(t, p, end, &values[i]);
		if (!next)
			return false;
	}
	return true;
}

static inline uint64_t load_integer(const struct md_type *t, const uint8_t *p)
{
	unsigned int unused = 64 - 8u * t->size;
	uint64_t n;

	if (t->bits)
		return md_load_bits(p, t->shift, t->bits, t->is_signed);
	/* The most frequent sizes without a call */
	if (t->size == 4 && !t->big_endian)
		n = md_load32(p);
	else if (t->size == 8 && !t->big_endian)
		n = md_load64(p);
	else
		n = md_load_field(p, t->size, t->big_endian);
	return t->is_signed ? (uint64_t)((int64_t)(n << unused) >> unused) : n;
}

bool md_value_integer(const struct md_value *v, uint64_t *n)
{
	if (v->type->kind != MD_INT && v->type->kind != MD_ENUM)
		return false;
	*n = load_integer(v->type, v->p);
	return true;
}

static bool is_array(const struct md_type *t)
{
	return t->kind == MD_ARRAY || t->kind == MD_SEQUENCE;
}

bool md_value_integers(const struct md_value *v, uint64_t *n)
{
	const struct md_type *e = v->p && is_array(v->type) ? v->type->element : NULL;
	const uint8_t *p;

	if (!e || (e->kind != MD_INT && e->kind != MD_ENUM))
		return false;
	p = md_elements(v->type, v->p, v->end, n);
	/* The bytes may have changed since the value was cut. */
	return p && *n <= (uint64_t)(v->end - p) / e->size;
}

uint64_t md_value_element(const struct md_value *v, uint64_t i)
{
	const struct md_type *t = v->type, *e = t->element;

	return load_integer(e, v->p + (t->kind == MD_ARRAY ? 0 : t->length_size) + i * e->size);
}

bool md_value_string(const struct md_value *v, const char **s, size_t *n)
{
	const uint8_t *p = v->p;
	uint64_t count = (uint64_t)(v->end - p);

	if (is_array(v->type) && md_type_is_text(v->type->element))
		p = md_elements(v->type, p, v->end, &count);
	else if (v->type->kind != MD_STRING)
		return false;
	if (count > (uint64_t)(v->end - p))
		count = (uint64_t)(v->end - p);
	*s = (const char *)p;
	*n = strnlen(*s, (size_t)count);
	return true;
}

/* ---- values ---- */

static void put_integer(const struct md_type *t, uint64_t n, enum md_form form, struct md_buf *out)
{
	char *o = md_buf_room(out, 80);

	if (o && form == MD_FORM_TEXT)
		o = md_put_int(o, n, md_shown_bits(t), t->base ? t->base : 10, t->is_signed);
	else if (o)
		o = t->is_signed ? md_put_s64(o, (int64_t)n) : md_put_u64(o, n);
	if (o)
		out->len = (size_t)(o - out->data);
}

bool md_value_float(const struct md_value *v, double *d)
{
	if (v->type->kind != MD_FLOAT)
		return false;
	*d = md_load_float(v->p, v->type->size, v->type->big_endian);
	return true;
}

bool md_value_shown_float(const struct md_value *v, double *d)
{
	if (!md_value_float(v, d))
		return false;
	if (v->type->size == 4)
		*d = md_json_widen((float)*d);
	return true;
}

static void put_float(const struct md_type *t, double d, enum md_form form, struct md_buf *out)
{
	char *o = md_buf_room(out, 40);

	if (o)
		out->len = (size_t)((form == MD_FORM_TEXT ? md_put_double(o, d)
				     : md_json_put_double(o, d, t->size == 4)) - out->data);
}

/* ---- in a form ---- */

/* Bytes that change meanwhile cannot break the form: a part that is not complete is left out. */

static void put_value(const struct md_value *v, enum md_form form, struct md_buf *out);

/* The value that was cut from one of this type at p; text has braces around each option. */
static void put_part(const struct md_type *t, const uint8_t *p, const struct md_value *v,
		     enum md_form form, struct md_buf *out)
{
	const struct md_field *option;
	unsigned int braces = 0;
	bool none = false;

	for (; t->kind == MD_VARIANT && (option = option_of(t, p++, v->end)); t = &option->type) {
		bool missing = t->optional && option == t->members;
		bool open = !t->optional || (t->show == MD_SHOW_BRACES && !missing);

		none = missing && form == MD_FORM_TEXT;
		braces += open;
		md_buf_puts(out, open ? forms[form].option_open : "");
	}
	md_buf_puts(out, none ? "<none>" : "");
	if (!none)
		put_value(v, form, out);
	while (braces--)
		md_buf_puts(out, forms[form].option_close);
}

static void put_array(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	const struct md_type *t = v->type->element;
	struct md_value part;
	uint64_t n;
	const uint8_t *p = md_elements(v->type, v->p, v->end, &n), *next;

	md_buf_putc(out, '[');
	for (uint64_t i = 0; i < n && p && !out->failed; i++, p = next) {
		next = md_cut(t, p, v->end, &part);
		if (!next)
			break;
		md_buf_puts(out, i ? forms[form].next : forms[form].first);
		if (form == MD_FORM_TEXT)
			md_buf_printf(out, "[%" PRIu64 "] = ", i);
		put_part(t, p, &part, form, out);
	}
	md_buf_puts(out, forms[form].array_close);
}

/* In text, the length of a sequence and the tag of a variant are members before it. */
static void put_hidden(const struct md_field *f, const uint8_t *p, const uint8_t *end,
		       struct md_buf *out)
{
	const struct md_type *t = &f->type;
	const struct md_field *option;
	uint64_t n;

	if (t->quiet)
		return;
	if (t->kind == MD_SEQUENCE && md_elements(t, p, end, &n)) {
		form_put_name(MD_FORM_TEXT, "_", f, "_length", out);
		md_buf_printf(out, "%" PRIu64 ", ", n);
	} else if (t->kind == MD_VARIANT && (option = option_of(t, p, end))) {
		form_put_name(MD_FORM_TEXT, "", f, "_tag", out);
		md_buf_puts(out, "( \"_");
		md_name_field(option->name, out);
		md_buf_printf(out, "\" : container = %zu ), ", (size_t)(option - t->members));
	}
}

static void put_struct(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	const struct md_field *f = v->type->members;
	const uint8_t *p = v->p, *next;
	struct md_value part;

	md_buf_putc(out, '{');
	for (uint32_t i = 0; i < v->type->count; i++, p = next) {
		bool group = i && f[i].group && form == MD_FORM_TEXT;

		next = md_cut(&f[i].type, p, v->end, &part);
		if (!next)
			break;
		md_buf_puts(out, group ? " }, { " : i ? forms[form].next : forms[form].first);
		if (form == MD_FORM_TEXT)
			put_hidden(&f[i], p, v->end, out);
		form_put_name(form, "", &f[i], "", out);
		put_part(&f[i].type, p, &part, form, out);
	}
	md_buf_puts(out, forms[form].close);
}

/* `{"value":2,"label":"B"}`, `( "B" : container = 2 )` */
static void put_enum(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	uint64_t n = load_integer(v->type, v->p);
	bool json = form == MD_FORM_JSON, some = md_has_label(v->type, n);

	md_buf_puts(out, json ? "{\"value\":" : "( ");
	if (json)
		put_integer(v->type, n, form, out);
	md_buf_puts(out, !json ? "" : some ? ",\"label\":\"" : ",\"label\":");
	md_put_labels(v->type, n, forms[form].escape, out);
	md_buf_puts(out, some ? "" : json ? "null" : "<unknown>");
	md_buf_puts(out, !json ? " : container = " : some ? "\"}" : "}");
	if (json)
		return;
	put_integer(v->type, n, form, out);
	md_buf_puts(out, " )");
}

/* `0x11 { "A", "B" }` */
static void put_flags(const struct md_value *v, struct md_buf *out)
{
	uint64_t n = load_integer(v->type, v->p);

	put_integer(v->type, n, MD_FORM_TEXT, out);
	if (!md_has_label(v->type, n))
		return;
	md_buf_puts(out, " { ");
	md_put_labels(v->type, n, md_escape_put, out);
	md_buf_puts(out, " }");
}

static void put_blob(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	uint64_t n;
	const uint8_t *p = md_elements(v->type, v->p, v->end, &n);
	char *o;

	if (!p || n > (uint64_t)(v->end - p))
		n = 0;
	if (form == MD_FORM_TEXT) {
		md_buf_puts(out, "{ ");
		for (uint64_t i = 0; i < n; i++)
			md_buf_printf(out, "%02x ", p[i]);
		md_buf_putc(out, '}');
		return;
	}
	o = md_buf_room(out, n / 3 * 4 + 4);
	if (o)
		out->len = (size_t)(md_json_put_base64(o, p, n) - out->data);
}

/* Of those that are shown in another way than the rest of their kind. */
static void put_shown(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	const char *quote = form == MD_FORM_JSON ? "\"" : "";

	if (v->type->show == MD_SHOW_BOOL) {
		md_buf_puts(out, *v->p ? "true" : "false");
	} else if (v->type->show == MD_SHOW_BLOB) {
		md_buf_puts(out, quote);
		put_blob(v, form, out);
		md_buf_puts(out, quote);
	} else if (form == MD_FORM_TEXT) {
		put_flags(v, out);
	} else {
		put_enum(v, form, out);
	}
}

static void put_value(const struct md_value *v, enum md_form form, struct md_buf *out)
{
	bool json = form == MD_FORM_JSON;
	const char *s;
	uint64_t n;
	size_t len;
	double d;

	if (!v->p) {
		md_buf_puts(out, json ? "null" : "{ }");
	} else if (v->type->show) {
		put_shown(v, form, out);
	} else if (md_type_is_enum(v->type)) {
		put_enum(v, form, out);
	} else if (md_value_integer(v, &n)) {
		put_integer(v->type, n, form, out);
	} else if (md_value_float(v, &d)) {
		put_float(v->type, d, form, out);
	} else if (md_value_string(v, &s, &len)) {
		if (json)
			md_buf_putc(out, '"');
		forms[form].escape(s, len, out);
		if (json)
			md_buf_putc(out, '"');
	} else if (is_array(v->type)) {
		put_array(v, form, out);
	} else {
		put_struct(v, form, out);
	}
}

void md_value_text(const struct md_value *v, struct md_buf *out)
{
	put_value(v, MD_FORM_TEXT, out);
}

void md_value_json(const struct md_value *v, struct md_buf *out)
{
	put_value(v, MD_FORM_JSON, out);
}

enum md_shown md_value_show(const struct md_value *v, struct md_buf *out)
{
	const char *s;
	uint64_t n;
	size_t len;
	double d;

	if (!v->p)
		return MD_SHOWN_NONE;
	if (v->type->show == MD_SHOW_BOOL) {
		put_shown(v, MD_FORM_JSON, out);
		return MD_SHOWN_JSON;
	}
	if (v->type->show == MD_SHOW_BLOB) {
		put_blob(v, MD_FORM_JSON, out);
		return MD_SHOWN_TEXT;
	}
	if (md_value_integer(v, &n)) {
		if (!md_type_is_enum(v->type) || !md_has_label(v->type, n)) {
			put_integer(v->type, n, MD_FORM_JSON, out);
			return MD_SHOWN_NUMBER;
		}
		md_put_labels(v->type, n, md_value_put_text, out);
		return MD_SHOWN_TEXT;
	}
	if (md_value_string(v, &s, &len)) {
		md_value_put_text(s, len, out);
		return MD_SHOWN_TEXT;
	}
	if (md_value_float(v, &d)) {
		if (isfinite(d))
			put_float(v->type, d, MD_FORM_JSON, out);
		else
			md_buf_puts(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
		return isfinite(d) ? MD_SHOWN_NUMBER : MD_SHOWN_TEXT;
	}
	put_value(v, MD_FORM_JSON, out);
	return MD_SHOWN_JSON;
}
