// SPDX-License-Identifier: GPL-2.0-or-later
/* What fills the fields of hooks: see enum hook_value of hook.h. */
#include "tracer/base/rule/hook_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define AS " as "

/* Extra data of a probe has ` as NAME`, too, but no `=` after it. */
const char *hook_sources_begin(const char *line)
{
	const char *at = strstr(line, AS);

	for (; at; at = strstr(at + 1, AS)) {
		size_t n = strspn(at + strlen(AS), NAME_CHARACTERS);

		if (n && at[strlen(AS) + n] == '=')
			return at;
	}
	return line + strlen(line);
}

void hook_sources_free(struct hook *h)
{
	for (size_t i = 0; i < h->source_count; i++) {
		free(h->sources[i].field);
		free(h->sources[i].name);
	}
	free(h->sources);
	h->sources = NULL;
	h->source_count = 0;
}

/* Whether LKET's hook has the field: `fd:INT64 count:INT64`. */
static bool has_field(const struct hook *h, const char *name, size_t len)
{
	for (const char *p = h->fields; p && *p; p += strspn(p, " ")) {
		if (!strncmp(p, name, len) && p[len] == ':')
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

/* A number up to the end of the source. */
static bool read_number(const char *text, const char *end, uint64_t *out)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &stop, 0);
	return stop == end;
}

/* NAME, -NAME, NAME&MASK, FUNCTION(NAME), $name and its like, or a number. name: in the text. */
static bool read_source(const char *text, const char *end, struct hook_source *s,
			const char **name, size_t *len)
{
	static const struct {
		const char *begin;
		enum hook_value value;
	} others[] = { { "$name", HOOK_NAME }, { "$tid", HOOK_TID }, { "$pid", HOOK_PID },
		       { "$ppid", HOOK_PPID } },
	  functions[] = { { "major(", HOOK_MAJOR }, { "minor(", HOOK_MINOR },
			  { "ip(", HOOK_IP }, { "port(", HOOK_PORT } };
	bool closes = false;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i].begin) == (size_t)(end - text) &&
		    !memcmp(others[i].begin, text, (size_t)(end - text))) {
			s->value = others[i].value;
			return true;
		}
	s->value = HOOK_NUMBER;
	if (read_number(text, end, &s->number))
		return true;
	s->value = *text == '-' ? HOOK_NEGATIVE : HOOK_FIELD;
	text += *text == '-';
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && !closes; i++)
		if (!strncmp(text, functions[i].begin, strlen(functions[i].begin))) {
			s->value = functions[i].value;
			text += strlen(functions[i].begin);
			closes = true;
		}
	*name = text;
	*len = strspn(text, NAME_CHARACTERS);
	text += *len;
	if (!*len || **name <= '9')
		return false;
	if (closes)
		return end - text == 1 && *text == ')';
	if (text < end && *text == '&' && s->value == HOOK_FIELD) {
		s->value = HOOK_BITS;
		return read_number(text + 1, end, &s->number) && s->number;
	}
	return text == end;
}

static int add_source(struct hook *h, const char *text, const char *end, int first, int last,
		      struct tr_err *err)
{
	struct hook_source s = { .first = first, .last = last };
	const char *equals = memchr(text, '=', (size_t)(end - text)), *name = NULL;
	size_t len = 0;

	if (!equals || !has_field(h, text, (size_t)(equals - text)))
		return tr_fail_at(err, -EINVAL, text, 0,
				  "FIELD=SOURCE is expected, with one of the hook's fields");
	if (!read_source(equals + 1, end, &s, &name, &len))
		return tr_fail_at(err, -EINVAL, text, (int)(equals + 1 - text),
				  "a source is NAME, -NAME, NAME&MASK, major(NAME), minor(NAME), "
				  "ip(NAME), port(NAME), $name, $tid, $pid, $ppid or a number");
	if (!array_room(h->sources, h->source_count + 1))
		return -ENOMEM;
	s.field = strndup(text, (size_t)(equals - text));
	s.name = name ? strndup(name, len) : NULL;
	if (!s.field || (name && !s.name)) {
		free(s.field);
		free(s.name);
		return -ENOMEM;
	}
	h->sources[h->source_count++] = s;
	return 0;
}

int hook_sources_add(struct hook *h, const char *text, int first, int last, struct tr_err *err)
{
	int ret = 0;

	if (!*text)
		return 0;
	text += strlen(AS);
	while (!ret) {
		const char *end;

		text += strspn(text, " \t");
		end = text + strcspn(text, ", \t");
		ret = add_source(h, text, end, first, last, err);
		text = end + strspn(end, " \t");
		if (!ret && !*text)
			break;
		if (!ret && *text++ != ',')
			ret = tr_fail_at(err, -EINVAL, end, 0, "',' is expected");
	}
	return ret;
}
