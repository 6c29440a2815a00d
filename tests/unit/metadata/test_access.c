/* SPDX-License-Identifier: MIT */
/*
 * Routes to the fields of random events, and to all parts of these: the values are those that stand
 * there one after the other in the decoded event, and print as the lines of the event. In events
 * that are cut or change after they were decoded, nothing outside them is read: each event has
 * memory of exactly its size, and SAN=1 sees more.
 */
#include "metadata/access.h"

#include <ctype.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/text.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

#define CONTEXTS 3

struct visit {                  /* of one event, whose bytes have memory of their own */
	const struct md_stream *s;
	struct md_occurrence o;
	bool damaged;
	unsigned int found;
};

/* ---- JSON ---- */

static const char *skip_value(const char *p, int depth);

static const char *skip_json_string(const char *p)
{
	for (p++; *p && *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (!*p || !strchr("\"\\bfnrtu", *p))
			return NULL;
		for (int i = 0; *p == 'u' && i < 4; i++)
			if (!isxdigit((unsigned char)p[i + 1]))
				return NULL;
	}
	return *p ? p + 1 : NULL;
}

/* Members up to the closing bracket; close 0: up to the end. */
static const char *skip_members(const char *p, bool named, char close, int depth)
{
	bool first = true;

	for (; p && *p != close; first = false) {
		if (!first && *p++ != ',')
			return NULL;
		if (named) {
			p = *p == '"' ? skip_json_string(p) : NULL;
			if (!p || *p++ != ':')
				return NULL;
		}
		p = skip_value(p, depth);
	}
	return p && close ? p + 1 : p;
}

static const char *skip_value(const char *p, int depth)
{
	char *end;

	if (depth > 100)
		return NULL;
	if (*p == '"')
		return skip_json_string(p);
	if (*p == '{' || *p == '[')
		return skip_members(p + 1, *p == '{', *p == '{' ? '}' : ']', depth + 1);
	if (!strncmp(p, "null", 4))
		return p + 4;
	if (!(isdigit((unsigned char)*p) || *p == '-'))
		return NULL;
	strtod(p, &end);
	return end > p ? end : NULL;
}

/* ---- all parts of a value ---- */

/* The route to `path` leads to this value, if the event is as it was. */
static void check_route(struct visit *at, const char *path, const struct md_value *want)
{
	struct md_buf out = MD_BUF_INIT;
	struct md_route r;
	struct md_value v;
	uint64_t n = 0, same = 0;
	bool known = md_route_find(at->s, at->o.event, path, &r);
	bool have = md_access_value(&r, &at->o, &v);
	bool number = md_access_integer(&r, &at->o, &n);

	if (have) {
		CHECK(known && v.p >= at->o.context && v.end <= at->o.end && v.p <= v.end);
		CHECK(number == md_value_integer(&v, &same) && n == same);
		md_value_text(&v, &out);
		md_value_json(&v, &out);
		md_value_show(&v, &out);
		CHECK(!out.failed);
	}
	md_buf_deinit(&out);
	if (at->damaged)
		return;
	at->found += have;
	CHECK(have == (want && want->p));
	CHECK(!have || (v.type == want->type && v.p == want->p && v.end == want->end));
}

static void visit_members(struct visit *at, const char *path, const struct md_field *fields,
			  uint32_t count, const uint8_t *p, const uint8_t *end);

/* The value with this path, and its parts. p NULL: the event ends before it. */
static const uint8_t *visit_value(struct visit *at, const char *path, const struct md_type *t,
				  const uint8_t *p, const uint8_t *end)
{
	struct md_value v = { t, NULL, NULL };
	char part[400];
	uint64_t n = 0;
	const uint8_t *next = p ? md_cut(t, p, end, &v) : NULL, *element = p;

	check_route(at, path, next ? &v : NULL);
	if (t->kind == MD_STRUCT) {
		visit_members(at, path, t->members, t->count, p, end);
	} else if ((t->kind == MD_ARRAY || t->kind == MD_SEQUENCE) && *path != '$') {
		element = p ? md_elements(t, p, end, &n) : NULL;
		n = element ? n : t->count;
		for (uint64_t i = 0; i < n && i < 8; i++) {
			snprintf(part, sizeof(part), "%s[%u]", path, (unsigned int)i);
			element = visit_value(at, part, t->element, element, end);
		}
		if (next && n < 8) {
			snprintf(part, sizeof(part), "%s[%u]", path, (unsigned int)n);
			check_route(at, part, NULL);
		}
	}
	return next;
}

static void visit_members(struct visit *at, const char *path, const struct md_field *fields,
			  uint32_t count, const uint8_t *p, const uint8_t *end)
{
	bool context = *path == '$';
	struct md_buf name = MD_BUF_INIT;
	char part[400];

	for (uint32_t i = 0; i < count; i++) {
		md_buf_reset(&name);
		md_name_field(fields[i].name, &name);
		snprintf(part, sizeof(part), "%s%s%s", path, *path && !context ? "." : "",
			 md_buf_str(&name));
		p = visit_value(at, part, &fields[i].type, p, end);
	}
	md_buf_deinit(&name);
}

static void visit_event(struct visit *at)
{
	const struct md_event *e = at->o.event;

	visit_members(at, "$ctx.", at->s->context, at->s->context_count, at->o.context,
		      at->o.payload);
	visit_members(at, "", e->fields, e->field_count, at->o.payload, at->o.end);
	check_route(at, "absent", NULL);
	check_route(at, "$app.a:absent", NULL);
}

/* ---- random events ---- */

static struct md_stream *random_stream(uint64_t *seed)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_field *context = calloc(CONTEXTS, sizeof(*context));

	s->ctf1 = true;
	/* (A context has no parts that a path can name.) */
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		char name[8] = "c0";

		name[1] = (char)('0' + i);
		set_field(&context[i], name, i == 1 ? random_variant(seed, 2) : random_int(seed));
	}
	CHECK(!md_stream_set_context(s, context, CONTEXTS));
	CHECK(!md_stream_add(s, random_event(seed, 0)));
	return s;
}

/* The line of the event ends with its contexts and fields as values of structures. */
static void check_lines(const struct md_stream *s, const struct md_occurrence *o)
{
	const struct md_type types[] = {
		{ .kind = MD_STRUCT, .count = s->context_count, .members = s->context },
		{ .kind = MD_STRUCT, .count = o->event->field_count, .members = o->event->fields },
	};
	const struct md_value values[] = { { &types[0], o->context, o->payload },
					   { &types[1], o->payload, o->end } };
	struct md_buf line = MD_BUF_INIT, want = MD_BUF_INIT;
	struct md_text text;

	md_text_init(&text, 0, "");
	md_text_event(&text, o, s, 0, &line);
	md_value_text(&values[0], &want);
	md_buf_puts(&want, ", ");
	md_value_text(&values[1], &want);
	md_buf_putc(&want, '\n');
	CHECK(line.len > want.len && !memcmp(line.data + line.len - want.len, want.data, want.len));
	md_buf_reset(&line);
	md_buf_reset(&want);
	md_json_event(0, "", o, s, 0, &line);
	md_buf_puts(&want, "\"context\":");
	md_value_json(&values[0], &want);
	md_buf_puts(&want, ",\"fields\":");
	md_value_json(&values[1], &want);
	md_buf_puts(&want, "}\n");
	CHECK(line.len > want.len && !memcmp(line.data + line.len - want.len, want.data, want.len));
	md_buf_deinit(&line);
	md_buf_deinit(&want);
}

/* Values are whole in their form even if their bytes change between two looks. */
static void check_torn(uint64_t *seed, const struct md_event *e, struct visit *at, uint8_t *bytes)
{
	struct md_value *v = calloc(e->field_count + 1, sizeof(*v));
	struct md_buf out = MD_BUF_INIT;
	const char *end;

	if (md_values_cut(e->fields, e->field_count, at->o.payload, at->o.end, v)) {
		for (uint64_t k = below(seed, 4); k && at->o.end > at->o.context; k--)
			bytes[below(seed, (uint64_t)(at->o.end - at->o.context))] =
				(uint8_t)rnd(seed);
		for (uint32_t i = 0; i < e->field_count; i++) {
			md_buf_reset(&out);
			md_value_json(&v[i], &out);
			end = skip_value(md_buf_str(&out), 0);
			CHECK(end && !*end);
			md_value_text(&v[i], &out);
			md_value_show(&v[i], &out);
		}
	}
	md_buf_deinit(&out);
	free(v);
}

/* The same event where it is cut off, and with other bytes than those that were decoded */
static void damage(uint64_t *seed, const struct visit *good)
{
	size_t size = (size_t)(good->o.end - good->o.context), fields;

	for (int i = 0; i < 12; i++) {
		size_t n = below(seed, 2) ? size : below(seed, size + 1);
		uint8_t *copy = malloc(n + !n);
		struct visit at = *good;

		memcpy(copy, good->o.context, n);
		for (uint64_t k = below(seed, 4); k && n && i % 3; k--)
			copy[below(seed, n)] = (uint8_t)(below(seed, 2) ? rnd(seed)
									: 255 * below(seed, 2));
		fields = (size_t)(good->o.payload - good->o.context);
		at.o.context = copy;
		at.o.payload = copy + (fields < n ? fields : n);
		at.o.end = at.o.limit = copy + n;
		at.damaged = true;
		visit_event(&at);
		check_torn(seed, at.o.event, &at, copy);
		free(copy);
	}
}

static unsigned int one_event(uint64_t *seed)
{
	struct md_stream *s = random_stream(seed);
	struct md_event *e = (struct md_event *)md_stream_event(s, 0);
	struct md_buf b = MD_BUF_INIT;
	struct visit at = { .s = s };
	struct md_decoder d;
	uint8_t *copy;

	put_header(s, 0, 0, 1, false, &b);
	random_values(seed, s->context, CONTEXTS, &b);
	random_values(seed, e->fields, e->field_count, &b);
	copy = malloc(b.len);
	memcpy(copy, b.data, b.len);
	d = (struct md_decoder){ .stream = s, .p = copy, .end = copy + b.len };
	CHECK(md_decoder_next(&d, &at.o) == 1 && at.o.end == copy + b.len);
	check_lines(s, &at.o);
	visit_event(&at);
	damage(seed, &at);
	free(copy);
	md_buf_deinit(&b);
	md_stream_destroy(s);
	return at.found;
}

static void random_events(void)
{
	uint64_t seed = 35;
	unsigned int found = 0;

	random_optional = true;
	for (int i = 0; i < 2000; i++)
		found += one_event(&seed);
	CHECK(found > 10000);
}

/* ---- paths, places, processes ---- */

static struct md_stream *stream_of(struct md_field *context, uint32_t count, struct md_event *e)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);

	CHECK(!md_stream_set_context(s, context, count) && !md_stream_add(s, e));
	return s;
}

static void paths(void)
{
	static const char *const none[] = {
		"", "a.", "a[", "a[]", "a[x]", "a[0", "a[4]", "a[4294967297]", "a[-1]", "a.x",
		"p.z", "p.x.", "p[0]", "s[0]", "b", "$ctx.a", "$ctx.", "$", "a[0]x", ".a", "[0]",
	};
	struct md_event *e = md_event_create("p:e", -1, 4);
	struct md_field *context = calloc(1, sizeof(*context));
	struct md_type point = t_struct(2);
	struct md_stream *s;
	struct md_route r;

	set_field(context, "vpid", t_s32());
	set_field(&point.members[0], "x", t_s32());
	set_field(&point.members[1], "y-1", t_int(8, false, 16, false));
	set_field(&e->fields[0], "a", t_array(t_int(2, false, 10, false), 4));
	set_field(&e->fields[1], "p", point);
	set_field(&e->fields[2], "s", t_string());
	set_field(&e->fields[3], "list", t_sequence(t_s32(), 4));
	s = stream_of(context, 1, e);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK(!md_route_find(s, e, none[i], &r) && !r.type);
	CHECK(md_route_find(s, e, "a[3]", &r) && !r.count && r.at == 6 && !r.quick && !r.context);
	CHECK(md_route_find(s, e, "p.x", &r) && !r.count && r.at == 8 && r.quick);
	CHECK(md_route_find(s, e, "p.y_1", &r) && !r.count && r.at == 12 && !r.quick);
	CHECK(md_route_find(s, e, "p.y-1", &r) && r.at == 12);
	CHECK(md_route_find(s, e, "list[7]", &r) && r.count == 2 && r.at == 20);
	CHECK(md_route_find(s, e, "$ctx.vpid", &r) && r.quick && r.context && !r.at);
	CHECK(!md_route_field(e, -1, &r) && !md_route_context(s, -1, &r) && !r.type);
	CHECK(md_route_field(e, 1, &r) && r.at == 8 && md_route_context(s, 0, &r) && r.quick);
	md_stream_destroy(s);
}

/* The contexts with these names, of four bytes; `*` before the name: text. */
static struct md_process process_of(const char *names)
{
	struct md_field context[8] = { 0 };
	struct md_stream s = { .context = context };
	struct md_process p;
	char name[32];
	int used;

	while (sscanf(names, " %31s%n", name, &used) == 1) {
		set_field(&context[s.context_count++], name + (*name == '*'),
			  *name == '*' ? t_string() : t_s32());
		names += used;
	}
	p = md_access_process(&s);
	for (uint32_t i = 0; i < s.context_count; i++)
		md_field_deinit(&context[i]);
	return p;
}

static void processes(void)
{
	struct md_process p = process_of("vtid *procname vpid tid pid vppid");

	CHECK(p.pid == 4 && p.tid == 3 && p.ppid == 5 && p.name == 1 && p.any == 4);
	p = process_of("ip vtid");
	CHECK(p.pid == -1 && p.tid == 1 && p.ppid == -1 && p.name == -1 && p.any == 1);
	p = process_of("*pid vpid *tid *vtid");
	CHECK(p.pid == 1 && p.tid == -1 && p.any == 1);
	p = process_of("*pid");
	CHECK(p.pid == -1 && p.any == -1);
}

int main(void)
{
	CASE(random_events);
	CASE(paths);
	CASE(processes);
	return test_summary();
}
