/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/ctf.h"
#include "metadata/model.h"
#include "tracer/format/ctf2/ctf2.h"

/* ---- what several fragments have ---- */

#define IDENTITY "namespace name uid "

static void check_identity(struct tsdl_parser *p, const struct json *v)
{
	ctf2_get(p, v, "namespace", JSON_STRING, false);
	ctf2_get(p, v, "name", JSON_STRING, false);
	ctf2_get(p, v, "uid", JSON_STRING, false);
}

/* The structure of a scope; NULL: there is none, or failed. */
static const struct tsdl_type *read_scope(struct tsdl_parser *p, const struct json *v,
					  const char *name)
{
	const struct json *m = p->failed ? NULL : json_member(v, name);
	const struct tsdl_type *t = m ? ctf2_class(p, v, name) : NULL;

	if (t && t->kind != TSDL_STRUCT)
		CTF2_FAIL(p, m, "expected a structure as '%s'" IN_CTF2("5.3"), name);
	return t;
}

static struct tsdl_stream *find_stream(const struct tsdl *t, uint64_t id)
{
	struct tsdl_stream *s = t->streams;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* ---- preamble ---- */

static void read_uuid(struct tsdl_parser *p, const struct json *v)
{
	const struct json *list = ctf2_get(p, v, "uuid", JSON_ARRAY, false), *m;
	int i = 0;

	if (!list)
		return;
	for (m = list->first; m && i < 16; m = m->next) {
		if (m->kind != JSON_INTEGER || m->minus || m->number > 255)
			break;
		p->t->uuid[i++] = (uint8_t)m->number;
	}
	if (m || i < 16)
		CTF2_FAIL(p, list, "expected 16 bytes as the UUID" IN_CTF2("5.4"));
	p->t->has_uuid = true;
}

static void read_preamble(struct tsdl_parser *p, const struct json *v)
{
	if (p->t->has_trace)
		CTF2_FAIL(p, v, "a second preamble" IN_CTF2("5.4"));
	ctf2_object(p, v, "version uuid ");
	if (ctf2_number(p, v, "version", CTF2_REQUIRED) != 2)
		CTF2_FAIL(p, v, "expected version 2" IN_CTF2("5.4"));
	read_uuid(p, v);
	p->t->has_trace = true;
}

/* ---- trace class ---- */

static void add_env(struct tsdl_parser *p, const struct json *v)
{
	struct tsdl *t = p->t;
	struct tsdl_env *e;

	t->env = tsdl_grow(p, t->env, t->env_count, sizeof(*e));
	if (t->env_count == TSDL_ENV_MAX)
		CTF2_FAIL(p, v, "more than %u entries in an environment" OWN_LIMIT2,
			  TSDL_ENV_MAX);
	if (v->kind != JSON_STRING && v->kind != JSON_INTEGER)
		CTF2_FAIL(p, v, "expected a string or an integer as '%.60s'" IN_CTF2("5.6"),
			  v->name);
	if (p->failed)
		return;
	e = &t->env[t->env_count++];
	e->name = tsdl_copy(p, v->name);
	e->text = v->kind == JSON_STRING ? tsdl_copy(p, v->text) : NULL;
	e->number = (int64_t)v->number;
}

static bool has_role(const struct tsdl_type *t, enum role role)
{
	bool found = t->roles & 1u << role;

	if (t->element)
		found |= has_role(t->element, role);
	for (uint32_t i = 0; t->members && i < t->count && !found; i++)
		found = has_role(t->members[i].type, role);
	return found;
}

/* The magic number is the first member, of 32 bits. */
static void check_header(struct tsdl_parser *p, const struct json *v, const struct tsdl_type *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct tsdl_type *m = t->members[i].type;

		if (has_role(m, ROLE_MAGIC) &&
		    (i || !(m->roles & 1u << ROLE_MAGIC) || m->size != 32 || m->leb128))
			CTF2_FAIL(p, v, "packet-magic-number must be the first member, of 32 bits"
				  IN_CTF2("5.6.1"));
		if (has_role(m, ROLE_UUID) && !p->t->has_uuid)
			CTF2_FAIL(p, v, "there is a metadata-stream-uuid, but no UUID in the "
				  "preamble" IN_CTF2("5.6.1"));
	}
}

static void read_trace(struct tsdl_parser *p, const struct json *v, bool *any)
{
	const struct json *env, *e;

	if (*any || p->t->streams)
		CTF2_FAIL(p, v, "a trace class after another one, or after a data stream class"
			  IN_CTF2("5"));
	*any = true;
	ctf2_object(p, v, IDENTITY "environment packet-header-field-class ");
	check_identity(p, v);
	env = ctf2_get(p, v, "environment", JSON_OBJECT, false);
	for (e = env ? env->first : NULL; e && !p->failed; e = e->next)
		add_env(p, e);
	p->t->packet_header = read_scope(p, v, "packet-header-field-class");
	if (p->t->packet_header && !p->failed)
		check_header(p, v, p->t->packet_header);
}

/* ---- clock class ---- */

static void check_origin(struct tsdl_parser *p, const struct json *v)
{
	const struct json *m = p->failed ? NULL : json_member(v, "origin");

	if (!m || (m->kind == JSON_STRING && !strcmp(m->text, "unix-epoch")))
		return;
	if (m->kind != JSON_OBJECT) {
		CTF2_FAIL(p, m, "expected 'unix-epoch' or an object as the origin"
			  IN_CTF2("5.7"));
		return;
	}
	ctf2_object(p, m, IDENTITY);
	ctf2_get(p, m, "name", JSON_STRING, true);
	ctf2_get(p, m, "uid", JSON_STRING, true);
	ctf2_get(p, m, "namespace", JSON_STRING, false);
}

static void read_offset(struct tsdl_parser *p, const struct json *v, struct tsdl_clock *c)
{
	const struct json *at = ctf2_get(p, v, "offset-from-origin", JSON_OBJECT, false), *s;

	if (!at)
		return;
	ctf2_object(p, at, "seconds cycles ");
	s = ctf2_get(p, at, "seconds", JSON_INTEGER, false);
	if (s && !s->minus && s->number > INT64_MAX)
		CTF2_FAIL(p, s, "an offset is of more than 2^63 seconds" OWN_LIMIT2);
	c->offset_s = s ? (int64_t)s->number : 0;
	c->offset = ctf2_number(p, at, "cycles", 0);
	if (c->offset >= c->freq)
		CTF2_FAIL(p, at, "the cycles of an offset are not less than the frequency"
			  IN_CTF2("5.7.2"));
}

static void read_clock(struct tsdl_parser *p, const struct json *v)
{
	struct tsdl_clock *c = tsdl_alloc(p, sizeof(*c));

	ctf2_object(p, v, IDENTITY "id frequency origin offset-from-origin precision accuracy "
		    "description ");
	check_identity(p, v);
	if (p->failed)
		return;
	c->name = ctf2_string(p, v, "id", true);
	c->freq = ctf2_number(p, v, "frequency", CTF2_REQUIRED);
	ctf2_number(p, v, "precision", 0);
	ctf2_number(p, v, "accuracy", 0);
	ctf2_get(p, v, "description", JSON_STRING, false);
	check_origin(p, v);
	if (!c->freq)
		CTF2_FAIL(p, v, "the frequency of a clock is 0" IN_CTF2("5.7"));
	read_offset(p, v, c);
	if (p->failed)
		return;
	if (tsdl_clock(p->t, c->name))
		CTF2_FAIL(p, v, "there are two clocks with the id '%.60s'" IN_CTF2("5.7"),
			  c->name);
	else if (p->t->clock_count == TSDL_CLOCKS_MAX)
		CTF2_FAIL(p, v, "more than %u clock classes" OWN_LIMIT2, TSDL_CLOCKS_MAX);
	else
		p->t->clocks[p->t->clock_count++] = c;
}

/* ---- data stream class ---- */

static void read_stream(struct tsdl_parser *p, const struct json *v)
{
	struct tsdl_stream *s = tsdl_alloc(p, sizeof(*s));
	const char *clock;

	ctf2_object(p, v, IDENTITY "id default-clock-class-id packet-context-field-class "
		    "event-record-header-field-class event-record-common-context-field-class ");
	check_identity(p, v);
	if (p->failed)
		return;
	s->id = ctf2_number(p, v, "id", 0);
	if (find_stream(p->t, s->id))
		CTF2_FAIL(p, v, "there are two data stream classes with the id %llu"
			  IN_CTF2("5.8"), (unsigned long long)s->id);
	if (p->t->stream_count++ == TSDL_STREAMS_MAX)
		CTF2_FAIL(p, v, "more than %u data stream classes" OWN_LIMIT2,
			  TSDL_STREAMS_MAX);
	clock = ctf2_string(p, v, "default-clock-class-id", false);
	if (clock && !p->failed && !(s->clock = tsdl_clock(p->t, clock)))
		CTF2_FAIL(p, v, "there is no clock class '%.60s' before this" IN_CTF2("5.8"),
			  clock);
	s->packet_context = read_scope(p, v, "packet-context-field-class");
	s->event_header = read_scope(p, v, "event-record-header-field-class");
	s->event_context = read_scope(p, v, "event-record-common-context-field-class");
	s->next = p->t->streams;
	p->t->streams = s;
}

/* ---- event record class ---- */

/* What LTTng and babeltrace2 add to an event; another form of it is no error: section 5.2. */
static void read_attributes(struct tsdl_parser *p, const struct json *v, struct tsdl_event *e)
{
	static const char *const namespaces[] = { "lttng.org,2009", "babeltrace.org,2020" };
	const struct json *all = p->failed ? NULL : json_member(v, "attributes");

	for (size_t i = 0; all && i < sizeof(namespaces) / sizeof(*namespaces); i++) {
		const struct json *of = json_member(all, namespaces[i]), *m;

		m = of ? json_member(of, "log-level") : NULL;
		if (m && m->kind == JSON_STRING)
			e->loglevel = md_ctf2_level(m->text);
		m = of ? json_member(of, "emf-uri") : NULL;
		if (m && m->kind == JSON_STRING)
			e->emf_uri = tsdl_copy(p, m->text);
	}
}

static void read_event(struct tsdl_parser *p, const struct json *v)
{
	struct tsdl_event *e = tsdl_alloc(p, sizeof(*e));

	ctf2_object(p, v, IDENTITY "id data-stream-class-id specific-context-field-class "
		    "payload-field-class ");
	check_identity(p, v);
	if (p->failed)
		return;
	e->name = ctf2_string(p, v, "name", false);
	if (!e->name)
		e->name = "<unknown>";  /* as babeltrace2 shows it */
	e->loglevel = MD_LOGLEVEL_NONE;
	e->id = ctf2_number(p, v, "id", 0);
	e->stream_id = ctf2_number(p, v, "data-stream-class-id", 0);
	if (!find_stream(p->t, e->stream_id))
		CTF2_FAIL(p, v, "there is no data stream class %llu before this" IN_CTF2("5.9"),
			  (unsigned long long)e->stream_id);
	if (p->t->event_count++ == TSDL_EVENTS_MAX)
		CTF2_FAIL(p, v, "more than %u event record classes" OWN_LIMIT2,
			  TSDL_EVENTS_MAX);
	read_attributes(p, v, e);
	e->context = read_scope(p, v, "specific-context-field-class");
	e->fields = read_scope(p, v, "payload-field-class");
	e->next = p->t->events;
	p->t->events = e;
}

/* ---- field class alias ---- */

static void read_alias(struct tsdl_parser *p, const struct json *v)
{
	const char *name;
	const struct tsdl_type *t;

	ctf2_object(p, v, "name field-class ");
	name = ctf2_string(p, v, "name", true);
	t = ctf2_class(p, v, "field-class");
	if (p->failed)
		return;
	if (tsdl_find_type(p, name))
		CTF2_FAIL(p, v, "there are two field class aliases '%.60s'" IN_CTF2("5.5"),
			  name);
	tsdl_name_type(p, name, t);
}

/* ---- the sequence ---- */

static void read_fragment(struct tsdl_parser *p, const struct json *v, bool *any_trace)
{
	const struct json *type;

	if (v->kind != JSON_OBJECT)
		CTF2_FAIL(p, v, "expected an object as a fragment" IN_CTF2("5"));
	type = ctf2_get(p, v, "type", JSON_STRING, true);
	if (!type)
		return;
	if (!strcmp(type->text, "preamble"))
		read_preamble(p, v);
	else if (!p->t->has_trace)
		CTF2_FAIL(p, v, "expected a preamble as the first fragment" IN_CTF2("5.4"));
	else if (!strcmp(type->text, "trace-class"))
		read_trace(p, v, any_trace);
	else if (!strcmp(type->text, "clock-class"))
		read_clock(p, v);
	else if (!strcmp(type->text, "data-stream-class"))
		read_stream(p, v);
	else if (!strcmp(type->text, "event-record-class"))
		read_event(p, v);
	else if (!strcmp(type->text, "field-class-alias"))
		read_alias(p, v);
	else
		CTF2_FAIL(p, type, "there is no fragment '%.60s'" IN_CTF2("5"), type->text);
}

static void read_sequence(struct tsdl_parser *p, const char *text, size_t n)
{
	struct json_reader r = { .line = 1 };
	const char *end = text + n, *next;
	bool any_trace = false;

	for (; text < end && !p->failed; text = next) {
		const struct json *v;

		if (*text == CTF2_MARK) {
			next = text + 1;
			continue;
		}
		next = memchr(text, CTF2_MARK, (size_t)(end - text));
		next = next ? next : end;
		v = json_read(&r, text, (size_t)(next - text));
		p->line = (int)r.line;
		if (!v)
			tsdl_fail(p, "%s (RFC 8259)", r.why);
		else
			read_fragment(p, v, &any_trace);
	}
	p->line = (int)r.line;
	if (!p->t->streams)
		tsdl_fail(p, "expected a data stream class" IN_CTF2("5"));
	json_free(&r);
}

int ctf2_parse(struct tsdl *t, const char *text, size_t n, const char *file, struct tr_err *err)
{
	struct tsdl_parser *p = calloc(1, sizeof(*p));
	int ret;

	*t = (struct tsdl){ .ctf2 = true, .word_size = 64 };
	if (!p || !(p->names = calloc(TSDL_NAMES_MAX, sizeof(*p->names)))) {
		free(p);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	p->t = t;
	p->file = file;
	p->err = err;
	read_sequence(p, text, n);
	ret = p->failed;
	free(p->names);
	free(p);
	return ret;
}
