// SPDX-License-Identifier: GPL-2.0-or-later
/* Captured values: as text as a line of `text` has them, as JSON as one of `export/json`. */
#include <string.h>

#include "metadata/access.h"
#include "metadata/json.h"
#include "tracer/trigger/event.h"

static void print_one(const char *name, const struct md_value *v, bool json, struct md_buf *out)
{
	if (json) {
		md_buf_putc(out, '"');
		md_json_escape_put(name, strlen(name), out);
		md_buf_puts(out, v ? "\":" : "\":null");
		if (v)
			md_value_json(v, out);
	} else {
		md_buf_printf(out, "%s = %s", name, v ? "" : "unavailable");
		if (v)
			md_value_text(v, out);
	}
}

void captures_print(const struct condition *c, const struct md_stream *class,
		    const struct md_occurrence *o, bool json, struct md_buf *out)
{
	struct md_route route;
	struct md_value v;

	for (size_t i = 0; i < c->capture_count; i++) {
		bool have = md_route_find(class, o->event, c->captures[i].text, &route) &&
			    md_access_value(&route, o, &v);

		md_buf_puts(out, !i ? "" : json ? "," : ", ");
		print_one(c->captures[i].text, have ? &v : NULL, json, out);
	}
}
