// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/field_look.h"

#include <string.h>

#include "metadata/json.h"

void field_look_text(const struct field_look *f, struct md_buf *out)
{
	if (f->nowrite)
		md_buf_puts(out, "nowrite ");
	if (f->enum_name) {
		md_buf_puts(out, "enum ");
		md_buf_escape(out, f->enum_name, strlen(f->enum_name));
		md_buf_puts(out, *f->enum_name ? " " : "");
	}
	md_buf_printf(out, "%s%s%s ", f->hex ? "hex " : "", f->big_endian ? "be " : "", f->type);
	if (f->media_type && *f->media_type) {
		md_buf_escape(out, f->media_type, strlen(f->media_type));
		md_buf_putc(out, ' ');
	}
	md_buf_escape(out, f->name, strlen(f->name));
	if (f->array)
		md_buf_printf(out, "[%u]", f->length);
	else if (f->sequence)
		md_buf_puts(out, "[]");
	if (f->address)
		md_buf_puts(out, " (its address: this kernel does not record the text)");
}

static void put_word(const char *before, const char *text, struct md_buf *out)
{
	md_buf_printf(out, "%s\"", before);
	md_json_escape_put(text, strlen(text), out);
	md_buf_putc(out, '"');
}

void field_look_json(const struct field_look *f, struct md_buf *out)
{
	put_word("{\"name\":", f->name, out);
	put_word(",\"type\":", f->type, out);
	if (f->enum_name)
		put_word(",\"enum\":", f->enum_name, out);
	if (f->media_type && *f->media_type)
		put_word(",\"media_type\":", f->media_type, out);
	if (f->array)
		md_buf_printf(out, ",\"length\":%u", f->length);
	else if (f->sequence)
		md_buf_puts(out, ",\"length\":null");
	md_buf_puts(out, f->hex ? ",\"hex\":true" : "");
	md_buf_puts(out, f->big_endian ? ",\"big_endian\":true" : "");
	md_buf_puts(out, f->nowrite ? ",\"nowrite\":true" : "");
	md_buf_puts(out, f->address ? ",\"address\":true" : "");
}
