/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "tracer/format/ctf2/ctf2.h"

#define UP_MAX 64u              /* of a location */

/* Whether a list of names, each with a space after it, has this one. */
static bool has_name(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, " ") + 1)
		if (!strncmp(at, name, n) && at[n] == ' ')
			return true;
	return false;
}

/* An extension may change what the rest of the metadata means. */
static void check_extensions(struct tsdl_parser *p, const struct json *v)
{
	const struct json *m = v->kind == JSON_OBJECT ? v->first : NULL, *name = NULL;

	if (v->kind != JSON_OBJECT)
		CTF2_FAIL(p, v, "expected an object as extensions" IN_CTF2("5.1"));
	if (m && m->kind == JSON_OBJECT)
		name = m->first;
	if (m)
		CTF2_FAIL(p, m, "there is no support for the extension '%.60s%s%.60s'"
			  IN_CTF2("5.1"), m->name, name ? "/" : "", name ? name->name : "");
}

void ctf2_object(struct tsdl_parser *p, const struct json *v, const char *known)
{
	const struct json *m;

	if (p->failed)
		return;
	if (v->kind != JSON_OBJECT) {
		CTF2_FAIL(p, v, "expected an object" IN_CTF2("5"));
		return;
	}
	for (m = v->first; m && !p->failed; m = m->next) {
		if (!strcmp(m->name, "extensions"))
			check_extensions(p, m);
		else if (!strcmp(m->name, "attributes") && m->kind != JSON_OBJECT)
			CTF2_FAIL(p, m, "expected an object as attributes" IN_CTF2("5.2"));
		else if (strcmp(m->name, "attributes") != 0 && strcmp(m->name, "type") != 0 &&
			 !has_name(known, m->name))
			CTF2_FAIL(p, m, "there is no property '%.60s' here, expected one of: %s"
				  IN_CTF2("5"), m->name, known);
	}
}

const struct json *ctf2_get(struct tsdl_parser *p, const struct json *v, const char *name,
			    enum json_kind kind, bool required)
{
	static const char *const kinds[] = { "null", "false", "true", "a string", "an array",
					     "an object", "an integer", "a number" };
	const struct json *m = p->failed ? NULL : json_member(v, name);

	if (p->failed)
		return NULL;
	if (!m && required)
		CTF2_FAIL(p, v, "expected the property '%s'" IN_CTF2("5"), name);
	if (m && m->kind != kind) {
		CTF2_FAIL(p, m, "expected %s as '%s'" IN_CTF2("5"), kinds[kind], name);
		return NULL;
	}
	return m;
}

const char *ctf2_string(struct tsdl_parser *p, const struct json *v, const char *name,
			bool required)
{
	const struct json *m = ctf2_get(p, v, name, JSON_STRING, required);

	return m ? tsdl_copy(p, m->text) : NULL;
}

uint64_t ctf2_number(struct tsdl_parser *p, const struct json *v, const char *name,
		     uint64_t otherwise)
{
	const struct json *m = ctf2_get(p, v, name, JSON_INTEGER, otherwise == CTF2_REQUIRED);

	if (m && m->minus)
		CTF2_FAIL(p, m, "'%s' is negative" IN_CTF2("5"), name);
	return m ? m->number : otherwise;
}

uint32_t ctf2_alignment(struct tsdl_parser *p, const struct json *v, const char *name)
{
	uint64_t n = ctf2_number(p, v, name, 1);

	if (!n || n > 1 << 20 || n & (n - 1))
		CTF2_FAIL(p, v, "'%s' must be a power of two up to 1048576" IN_CTF2("6.4.1"),
			  name);
	return p->failed ? 1 : (uint32_t)n;
}

int ctf2_word(struct tsdl_parser *p, const struct json *v, const char *name,
	      const char *const *words, int otherwise)
{
	const struct json *m = ctf2_get(p, v, name, JSON_STRING, otherwise < 0);

	for (int i = 0; m && words[i]; i++)
		if (!strcmp(m->text, words[i]))
			return i;
	if (m)
		CTF2_FAIL(p, m, "'%.60s' is no %s, one is '%s'" IN_CTF2("5.3"), m->text, name,
			  words[0]);
	return otherwise < 0 ? 0 : otherwise;
}

/* ---- ranges ---- */

/* In one order of negative and of large numbers */
static bool is_above(const struct json *a, const struct json *b)
{
	return a->minus == b->minus ? a->number > b->number : b->minus;
}

static struct tsdl_range read_range(struct tsdl_parser *p, const struct json *v)
{
	const struct json *a = v->kind == JSON_ARRAY ? v->first : NULL, *b = a ? a->next : NULL;

	if (!b || b->next || a->kind != JSON_INTEGER || b->kind != JSON_INTEGER) {
		CTF2_FAIL(p, v, "expected a range [FIRST, LAST] of integers" IN_CTF2("5.3.2"));
		return (struct tsdl_range){ 0 };
	}
	if (is_above(a, b))
		CTF2_FAIL(p, v, "a range ends before it begins" IN_CTF2("5.3.2"));
	return (struct tsdl_range){ (int64_t)a->number, (int64_t)b->number, a->minus,
				    !b->minus && b->number > INT64_MAX };
}

struct tsdl_ranges ctf2_ranges(struct tsdl_parser *p, const struct json *v)
{
	struct tsdl_ranges r = { 0 };

	if (p->failed)
		return r;
	if (v->kind != JSON_ARRAY || !v->count) {
		CTF2_FAIL(p, v, "expected an array of ranges" IN_CTF2("5.3.2"));
		return r;
	}
	r.list = tsdl_alloc(p, v->count * sizeof(*r.list));
	for (v = v->first; v && !p->failed; v = v->next)
		r.list[r.count++] = read_range(p, v);
	return r;
}

/* ---- locations ---- */

/* `null` is the structure around: it takes the member before it off the path. */
static void add_step(struct tsdl_parser *p, struct tsdl_location *l, const struct json *v)
{
	if (v->kind == JSON_STRING)
		l->names[l->count++] = tsdl_copy(p, v->text);
	else if (v->kind != JSON_NULL)
		CTF2_FAIL(p, v, "expected a name or null in the path of a field"
			  IN_CTF2("5.3.1"));
	else if (l->count)
		l->count--;
	else if (l->origin != SCOPES || ++l->up > UP_MAX)
		CTF2_FAIL(p, v, "there is no structure around this one" IN_CTF2("6.4.2"));
}

const struct tsdl_location *ctf2_location(struct tsdl_parser *p, const struct json *v,
					  const char *name)
{
	static const char *const origins[] = {
		[SCOPE_HEADER] = "packet-header", [SCOPE_PACKET] = "packet-context",
		[SCOPE_EVENT_HEADER] = "event-record-header",
		[SCOPE_STREAM_EVENT] = "event-record-common-context",
		[SCOPE_EVENT] = "event-record-specific-context",
		[SCOPE_FIELDS] = "event-record-payload", [SCOPES] = NULL
	};
	const struct json *at = ctf2_get(p, v, name, JSON_OBJECT, true), *path, *step;
	struct tsdl_location *l;

	if (!at)
		return NULL;
	ctf2_object(p, at, "origin path ");
	path = ctf2_get(p, at, "path", JSON_ARRAY, true);
	l = tsdl_alloc(p, sizeof(*l));
	if (!path || !l)
		return NULL;
	l->origin = (enum scope)ctf2_word(p, at, "origin", origins, SCOPES);
	l->names = tsdl_alloc(p, (path->count + 1) * sizeof(*l->names));
	for (step = path->first; step && !p->failed; step = step->next) {
		add_step(p, l, step);
		if (!step->next && step->kind == JSON_NULL)
			CTF2_FAIL(p, step, "the path of a field ends with null" IN_CTF2("5.3.1"));
	}
	if (!path->count)
		CTF2_FAIL(p, path, "the path of a field is empty" IN_CTF2("5.3.1"));
	return l;
}

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void ctf2_unique(struct tsdl_parser *p, const struct json *at, const struct tsdl_member *members,
		 uint32_t count)
{
	const char **names = tsdl_alloc(p, (count + 1) * sizeof(*names));

	if (!names)
		return;
	for (uint32_t i = 0; i < count; i++)
		names[i] = members[i].name;
	qsort(names, count, sizeof(*names), compare_names);
	for (uint32_t i = 1; i < count; i++)
		if (!strcmp(names[i - 1], names[i]))
			CTF2_FAIL(p, at, "two members or options have the name '%.60s'"
				  IN_CTF2("5.3.18"), names[i]);
}
