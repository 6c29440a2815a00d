/* SPDX-License-Identifier: MIT */
/* What is between the values in each form. Private to program.c and value.c. */
#ifndef METADATA_FORM_H
#define METADATA_FORM_H

#include "metadata/escape.h"
#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/program.h"

struct form {
	const char *first, *next, *close;       /* members; `{` is before them */
	const char *before_name, *after_name;
	const char *array_close, *option_open, *option_close;
	uint32_t escape_text;   /* the longest escape of one byte */
	void (*escape)(const char *s, size_t n, struct md_buf *out);    /* of labels */
};

static const struct form forms[] = {
	[MD_FORM_TEXT] = { .first = " ", .next = ", ", .close = " }", .before_name = "",
			   .after_name = " = ", .array_close = " ]", .option_open = "{ ",
			   .option_close = " }", .escape_text = sizeof("\\x01") - 1,
			   .escape = md_escape_put },
	[MD_FORM_JSON] = { .first = "", .next = ",", .close = "}", .before_name = "\"",
			   .after_name = "\":", .array_close = "]", .option_open = "",
			   .option_close = "", .escape_text = sizeof("\\u0001") - 1,
			   .escape = md_json_escape_put },
};

/* `name = ` or `"name":`, with more before and after the name of the field */
static inline void form_put_name(enum md_form form, const char *before, const struct md_field *f,
				 const char *after, struct md_buf *out)
{
	struct md_buf name = MD_BUF_INIT;

	if (form == MD_FORM_TEXT)
		md_name_put_text(f, &name);
	else
		md_name_put(f, &name);
	md_buf_puts(out, forms[form].before_name);
	md_buf_puts(out, before);
	if (form == MD_FORM_JSON)
		md_json_escape_put(name.data ? name.data : "", name.len, out);
	else
		md_buf_put(out, name.data, name.len);
	md_buf_puts(out, after);
	md_buf_puts(out, forms[form].after_name);
	out->failed |= name.failed;
	md_buf_deinit(&name);
}

#endif
