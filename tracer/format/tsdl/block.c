/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/tsdl/tsdl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "metadata/model.h"

#define PROPOSAL_MINOR 6        /* of the version of the last trace that is as the proposal says */

/*
 * What the proposal names without a definition in the metadata: the headers of sections 5.1 and
 * 6.1, byte-packed.
 */
static const char proposal[] =
	"struct event_packet_header { uint32_t magic; uint8_t trace_uuid[16];"
	"	uint32_t stream_id; };"
	"struct event_header_1 { uint5_t id; uint27_t timestamp; } align(8);"
	"struct event_header_1_ext { uint32_t id; uint64_t timestamp;"
	"	uint1_t missing_fields[NR_FIELDS]; };"
	"struct event_header_2 { uint32_t timestamp; uint16_t id; };"
	"struct event_header_2_ext { uint64_t timestamp; uint32_t id;"
	"	uint1_t missing_fields[NR_FIELDS]; };";

/* ---- names of types ---- */

/* A new name: words and `*`, as `struct page *`. */
static void read_new_name(struct tsdl_parser *p, char *name, size_t size)
{
	size_t n = 0;

	*name = 0;
	while (!p->failed && (p->token == TOKEN_NAME || tsdl_is(p, "*"))) {
		const char *word = p->token == TOKEN_NAME ? p->text : "*";

		if (n + strlen(word) + 2 > size) {
			tsdl_fail(p, "the name of a type is too long" OWN_LIMIT);
			break;
		}
		n += (size_t)snprintf(name + n, size - n, "%s%s", n ? " " : "", word);
		tsdl_next(p);
	}
	if (!n)
		tsdl_fail(p, "expected the name of a type" IN_CTF("C.2.3"));
}

void tsdl_typealias(struct tsdl_parser *p)
{
	const struct tsdl_type *t = tsdl_type(p);
	char name[600] = "";

	tsdl_expect(p, ":=");
	read_new_name(p, name, sizeof(name));
	tsdl_expect(p, ";");
	tsdl_name_type(p, name, t);
}

void tsdl_typedef(struct tsdl_parser *p)
{
	const struct tsdl_type *t = tsdl_type(p);
	char name[600] = "";

	read_new_name(p, name, sizeof(name));
	t = tsdl_dimensions(p, NULL, t);
	tsdl_expect(p, ";");
	tsdl_name_type(p, name, t);
}

/* ---- blocks ---- */

/* What the attributes of a block fill. */
struct block {
	struct tsdl_clock *clock;
	struct tsdl_stream *stream;
	struct tsdl_event *event;
};

/* A value that nothing needs. */
static void skip_value(struct tsdl_parser *p)
{
	while (!p->failed && p->token != TOKEN_END && !tsdl_is(p, ";"))
		tsdl_next(p);
}

static const char *read_text(struct tsdl_parser *p)
{
	const char *text = tsdl_copy(p, p->text);

	if (p->token != TOKEN_STRING && p->token != TOKEN_NAME)
		tsdl_fail(p, "expected a string" IN_CTF("C.1.6"));
	tsdl_next(p);
	return text;
}

static void set_uuid(struct tsdl_parser *p)
{
	const char *text = read_text(p);

	if (p->failed)
		return;
	if (uuid_parse(text, p->t->uuid))
		tsdl_fail(p, "'%.60s' is not a uuid" IN_CTF("7.1"), text);
	p->t->has_uuid = true;
}

static void set_order(struct tsdl_parser *p)
{
	const char *text = read_text(p);

	if (p->failed)
		return;
	p->t->big_endian = !strcmp(text, "be") || !strcmp(text, "network");
	if (!p->t->big_endian && strcmp(text, "le"))
		tsdl_fail(p, "expected the byte order le or be" IN_CTF("4.1.3"));
}

/* The bits of a word of the machine that was traced: those of `long`. */
static void set_word_size(struct tsdl_parser *p)
{
	int64_t bits = tsdl_integer(p);

	if (bits != 32 && bits != 64)
		tsdl_fail(p, "the word_size must be 32 or 64 bits" IN_PROPOSAL("7"));
	p->t->word_size = (uint8_t)bits;
}

static void set_trace(struct tsdl_parser *p, struct block *b, const char *key)
{
	(void)b;
	if (!strcmp(key, "byte_order"))
		set_order(p);
	else if (!strcmp(key, "uuid"))
		set_uuid(p);
	else if (!strcmp(key, "word_size"))
		set_word_size(p);
	else if (!strcmp(key, "minor"))
		p->t->proposal |= tsdl_integer(p) <= PROPOSAL_MINOR;
	else if (!strcmp(key, "major") && tsdl_integer(p) != 1)
		tsdl_fail(p, "expected CTF 1.8" IN_CTF("7.1"));
	else
		skip_value(p);
}

static void set_clock(struct tsdl_parser *p, struct block *b, const char *key)
{
	struct tsdl_clock *c = b->clock;

	if (!strcmp(key, "name"))
		c->name = read_text(p);
	else if (!strcmp(key, "freq"))
		c->freq = (uint64_t)tsdl_integer(p);
	else if (!strcmp(key, "offset_s"))
		c->offset_s = tsdl_integer(p);
	else if (!strcmp(key, "offset"))
		c->offset = (uint64_t)tsdl_integer(p);
	else
		skip_value(p);
	if (!c->freq)
		tsdl_fail(p, "the frequency of a clock is 0" IN_CTF("8"));
}

static void set_env(struct tsdl_parser *p, struct block *b, const char *key)
{
	struct tsdl *t = p->t;
	struct tsdl_env *e;

	(void)b;
	t->env = tsdl_grow(p, t->env, t->env_count, sizeof(*e));
	if (t->env_count == TSDL_ENV_MAX)
		tsdl_fail(p, "more than %u variables in env" OWN_LIMIT, TSDL_ENV_MAX);
	if (p->failed)
		return;
	e = &t->env[t->env_count++];
	e->name = key;
	e->text = NULL;
	if (p->token == TOKEN_STRING)
		e->text = read_text(p);
	else
		e->number = tsdl_integer(p);
}

static void set_stream(struct tsdl_parser *p, struct block *b, const char *key)
{
	if (!strcmp(key, "id"))
		b->stream->id = (uint64_t)tsdl_integer(p);
	else
		skip_value(p);
}

static void set_event(struct tsdl_parser *p, struct block *b, const char *key)
{
	struct tsdl_event *e = b->event;

	if (!strcmp(key, "name"))
		e->name = read_text(p);
	else if (!strcmp(key, "id"))
		e->id = (uint64_t)tsdl_integer(p);
	else if (!strcmp(key, "stream_id") || !strcmp(key, "stream"))
		e->stream_id = (uint64_t)tsdl_integer(p);
	else if (!strcmp(key, "loglevel"))
		e->loglevel = tsdl_integer(p);
	else
		skip_value(p);
}

/*
 * `KEY := TYPE;`, or as the proposal has it `KEY = TYPE;`: where the type goes. NULL: such a key is
 * not of a type.
 */
static const struct tsdl_type **type_slot(struct tsdl_parser *p, struct block *b, const char *key)
{
	struct tsdl_stream *s = b->stream;

	if (b->event) {
		return !strcmp(key, "fields")	 ? &b->event->fields
		       : !strcmp(key, "context") ? &b->event->context
						 : NULL;
	}
	if (!s)
		return !strcmp(key, "packet.header") ? &p->t->packet_header : NULL;
	return !strcmp(key, "packet.context") || !strcmp(key, "packet.context_type")
		       ? &s->packet_context
	       : !strcmp(key, "event.header") || !strcmp(key, "event.header_type")
		       ? &s->event_header
	       : !strcmp(key, "event.context") || !strcmp(key, "event.context_type")
		       ? &s->event_context
	       : !strcmp(key, "event.header_type_ext") ? &s->event_header_ext
						       : NULL;
}

/* Also the name of a structure without `struct`, as in `header_type = event_header_1;`. */
static void read_type(struct tsdl_parser *p, struct block *b, const char *key)
{
	const struct tsdl_type **slot = type_slot(p, b, key), *t = NULL;

	if (p->token == TOKEN_NAME && (t = tsdl_structure(p, p->text)))
		tsdl_next(p);
	else
		t = tsdl_type(p);
	if (p->failed)
		return;
	if (!slot)      /* as an attribute that is not known */
		return;
	if (t->kind != TSDL_STRUCT)
		tsdl_fail(p, "expected a structure for '%.60s'" IN_CTF("7.4"), key);
	else
		*slot = t;
}

typedef void (*set_t)(struct tsdl_parser *p, struct block *b, const char *key);

static void read_entries(struct tsdl_parser *p, struct block *b, set_t set, const char *prefix);

/* `KEY = VALUE;`, `KEY := TYPE;`, or a block of the proposal in a stream, `event { … }`. */
static void read_entry(struct tsdl_parser *p, struct block *b, set_t set, const char *prefix)
{
	const char *key = p->token == TOKEN_STRING ? read_text(p) : tsdl_path(p);
	char path[600];

	if (p->failed)
		return;
	if (*prefix) {
		snprintf(path, sizeof(path), "%s.%.560s", prefix, key);
		key = path;
	}
	if (!*prefix && b->stream && tsdl_is(p, "{") &&
	    (!strcmp(key, "event") || !strcmp(key, "packet"))) {
		p->t->proposal = true;
		read_entries(p, b, set, key);
		tsdl_take(p, ";");
		return;
	}
	if (tsdl_take(p, ":=") || (type_slot(p, b, key) && tsdl_take(p, "="))) {
		read_type(p, b, key);
	} else {
		tsdl_expect(p, "=");
		if (!p->failed)
			set(p, b, key);
	}
	tsdl_expect(p, ";");
}

static void read_entries(struct tsdl_parser *p, struct block *b, set_t set, const char *prefix)
{
	uint32_t names = p->name_count;

	tsdl_expect(p, "{");
	while (!p->failed && !tsdl_is(p, "}")) {
		if (tsdl_take_name(p, "typealias"))
			tsdl_typealias(p);
		else if (tsdl_take_name(p, "typedef"))
			tsdl_typedef(p);
		else
			read_entry(p, b, set, prefix);
	}
	tsdl_expect(p, "}");
	tsdl_forget_names(p, names);
}

static void read_block(struct tsdl_parser *p, struct block *b, set_t set)
{
	read_entries(p, b, set, "");
	tsdl_expect(p, ";");
}

static void read_clock(struct tsdl_parser *p)
{
	struct block b = { .clock = tsdl_alloc(p, sizeof(*b.clock)) };

	if (p->failed)
		return;
	b.clock->name = "";
	b.clock->freq = 1000000000;
	read_block(p, &b, set_clock);
	if (p->t->clock_count == TSDL_CLOCKS_MAX)
		tsdl_fail(p, "more than %u clocks" OWN_LIMIT, TSDL_CLOCKS_MAX);
	else
		p->t->clocks[p->t->clock_count++] = b.clock;
}

static void read_stream(struct tsdl_parser *p)
{
	struct block b = { .stream = tsdl_alloc(p, sizeof(*b.stream)) };

	if (p->failed)
		return;
	if (p->t->stream_count++ == TSDL_STREAMS_MAX)
		tsdl_fail(p, "more than %u streams" OWN_LIMIT, TSDL_STREAMS_MAX);
	read_block(p, &b, set_stream);
	b.stream->next = p->t->streams;
	p->t->streams = b.stream;
}

static void read_event(struct tsdl_parser *p)
{
	struct block b = { .event = tsdl_alloc(p, sizeof(*b.event)) };

	if (p->failed)
		return;
	b.event->name = "";
	b.event->loglevel = MD_LOGLEVEL_NONE;
	if (p->t->event_count++ == TSDL_EVENTS_MAX)
		tsdl_fail(p, "more than %u events" OWN_LIMIT, TSDL_EVENTS_MAX);
	read_block(p, &b, set_event);
	b.event->next = p->t->events;
	p->t->events = b.event;
}

static void read_top(struct tsdl_parser *p)
{
	struct block none = { 0 }, skipped = { 0 };

	if (tsdl_take_name(p, "trace")) {
		read_block(p, &none, set_trace);
		p->t->has_trace = true;
	} else if (tsdl_take_name(p, "env")) {
		read_block(p, &none, set_env);
	} else if (tsdl_take_name(p, "clock")) {
		read_clock(p);
	} else if (tsdl_take_name(p, "stream")) {
		read_stream(p);
	} else if (tsdl_take_name(p, "event")) {
		read_event(p);
	} else if (tsdl_take_name(p, "callsite")) {
		skipped.clock = tsdl_alloc(p, sizeof(*skipped.clock));
		if (skipped.clock)
			skipped.clock->freq = 1;
		read_block(p, &skipped, set_clock);
	} else if (tsdl_take_name(p, "typealias")) {
		tsdl_typealias(p);
	} else if (tsdl_take_name(p, "typedef")) {
		tsdl_typedef(p);
	} else if (tsdl_is_name(p, "struct") || tsdl_is_name(p, "enum") ||
		   tsdl_is_name(p, "variant")) {
		tsdl_type(p);
		tsdl_expect(p, ";");
	} else if (!tsdl_take(p, ";")) {
		tsdl_fail(p, "expected a block: trace, env, clock, stream, event or a type"
			  IN_CTF("C.2.3"));
	}
}

static void read_text_of(struct tsdl_parser *p, const char *text, size_t n)
{
	p->p = text;
	p->end = text + n;
	p->line = 1;
	tsdl_next(p);
	while (!p->failed && p->token != TOKEN_END)
		read_top(p);
}

int tsdl_parse(struct tsdl *t, const char *text, size_t n, const char *file, struct tr_err *err)
{
	struct tsdl_parser *p = calloc(1, sizeof(*p));

	*t = (struct tsdl){ 0 };
	if (!p || !(p->names = calloc(TSDL_NAMES_MAX, sizeof(*p->names)))) {
		free(p);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	p->t = t;
	p->file = file;
	p->err = err;
	t->word_size = 64;
	read_text_of(p, proposal, sizeof(proposal) - 1);
	read_text_of(p, text, n);
	if (t->proposal && !t->packet_header)
		t->packet_header = tsdl_structure(p, "event_packet_header");
	/* The events are of the only stream then. */
	if (!t->streams)
		t->streams = tsdl_alloc(p, sizeof(*t->streams));
	if (!t->has_trace)
		tsdl_fail(p, "expected a block `trace { … };`" IN_CTF("7.4"));
	n = (size_t)-p->failed;
	free(p->names);
	free(p);
	return -(int)n;
}

const struct tsdl_clock *tsdl_clock(const struct tsdl *t, const char *name)
{
	for (uint32_t i = 0; i < t->clock_count; i++)
		if (!strcmp(t->clocks[i]->name, name))
			return t->clocks[i];
	return NULL;
}
