/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/stack.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "metadata/access.h"
#include "metadata/escape.h"
#include "metadata/json.h"
#include "metadata/value.h"
#include "tracer/view/merge.h"
#include "tracer/view/stack_field.h"

#define FIELDS_MAX 256          /* of an event, or contexts; further ones are not looked at */

struct stacks {
	pthread_mutex_t lock;
	struct symbols *symbols;
	uint64_t known;         /* events up to this time have been collected, trace clock */
	struct md_value values[FIELDS_MAX];
};

/* ---- fields ---- */

static uint32_t count_of(uint32_t count)
{
	return count < FIELDS_MAX ? count : FIELDS_MAX;
}

static bool cut(struct stacks *k, const struct md_field *fields, uint32_t count, const uint8_t *p,
		const uint8_t *end)
{
	return md_values_cut(fields, count_of(count), p, end, k->values);
}

static bool cut_contexts(struct stacks *k, const struct cursor *c)
{
	return cut(k, c->stream.class->context, c->stream.class->context_count, c->o.context,
		   c->o.payload);
}

static bool cut_fields(struct stacks *k, const struct cursor *c)
{
	const struct md_event *e = c->o.event;

	return cut(k, e->fields, e->field_count, c->o.payload, c->o.end);
}

/* The value of a field that was cut. NULL: there is none. */
static const struct md_value *value_of(const struct stacks *k, const struct md_field *fields,
				       uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count_of(count); i++)
		if (!strcmp(fields[i].name, name))
			return k->values[i].p ? &k->values[i] : NULL;
	return NULL;
}

/* The process of the event, whose contexts are cut; 0: not known. */
static int32_t process_of(const struct stacks *k, const struct cursor *c)
{
	int i = md_access_process(c->stream.class).any;
	uint64_t pid;

	if (i >= 0 && i < FIELDS_MAX && md_value_integer(&k->values[i], &pid))
		return pid <= INT32_MAX ? (int32_t)pid : 0;
	return (int32_t)c->stream.trace->pid;
}

bool stacks_of(const struct md_stream *class, const struct md_event *e)
{
	return is_sample(e) || any_stack(class->context, class->context_count);
}

bool stacks_has(const struct stream *s)
{
	bool found = any_stack(s->class->context, s->class->context_count);
	uint32_t left;

	pthread_mutex_lock(&s->trace->lock);
	left = s->class->event_count;
	pthread_mutex_unlock(&s->trace->lock);
	for (uint32_t id = 0; left && id <= MD_EVENT_ID_MAX && !found; id++) {
		const struct md_event *e = md_stream_event(s->class, id);

		left -= !!e;
		found = e && is_sample(e);
	}
	return found;
}

/* ---- mappings ---- */

/* Events about mappings. */
static const struct source {
	const char *name;
	const char *start;      /* field */
	const char *id;         /* field: build id of what begins there; NULL: it is a mapping */
} sources[] = {
	{ "lttng_ust_statedump:bin_info", "baddr", NULL },
	{ "lttng_ust_statedump:build_id", "baddr", "build_id" },
	{ "lttng_ust_lib:load", "baddr", NULL },
	{ "lttng_ust_lib:build_id", "baddr", "build_id" },
	{ "lttng_statedump_process_mapping", "start", NULL },
};

static uint64_t number_of(const struct stacks *k, const struct md_event *e, const char *name,
			  uint64_t otherwise)
{
	const struct md_value *v = value_of(k, e->fields, e->field_count, name);
	uint64_t n;

	return v && md_value_integer(v, &n) ? n : otherwise;
}

/* Two hexadecimal digits for each byte. */
static size_t parse_id(const char *text, size_t length, uint8_t id[SYMBOL_ID_MAX])
{
	size_t n = 0;

	for (; n < length / 2 && n < SYMBOL_ID_MAX; n++)
		if (sscanf(text + 2 * n, "%2hhx", &id[n]) != 1)
			return 0;
	return n;
}

static size_t id_of(const struct stacks *k, const struct md_event *e, const char *name,
		    uint8_t id[SYMBOL_ID_MAX])
{
	const struct md_value *v = value_of(k, e->fields, e->field_count, name);
	const char *text;
	uint64_t n = 0;
	size_t length;

	if (v && md_value_string(v, &text, &length))
		return parse_id(text, length, id);
	if (!v || !md_value_integers(v, &n) || n > SYMBOL_ID_MAX)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		id[i] = (uint8_t)md_value_element(v, i);
	return (size_t)n;
}

static void add_mapping(struct stacks *k, const struct md_event *e, int32_t pid, uint64_t time)
{
	const struct md_value *path = value_of(k, e->fields, e->field_count, "path");
	uint8_t id[SYMBOL_ID_MAX];
	struct symbol_mapping m = {
		.pid = (int32_t)number_of(k, e, "pid", (uint64_t)pid),
		.from = time,
		.start = number_of(k, e, "start", number_of(k, e, "baddr", 0)),
		.size = number_of(k, e, "size", number_of(k, e, "memsz", 0)),
		.offset = (int64_t)number_of(k, e, "offset", UINT64_MAX),
		.id = id,
		.id_size = id_of(k, e, "build_id", id),
	};

	if (path && md_value_string(path, &m.path, &m.path_len))
		symbols_add(k->symbols, &m);
}

/* Takes what the event says about mappings. Caller holds the lock. */
static void collect(struct stacks *k, uint64_t clock_offset, const struct cursor *c)
{
	const struct md_event *e = c->o.event;
	const struct source *from = NULL;
	uint8_t id[SYMBOL_ID_MAX];
	int32_t pid = 0;
	size_t size;

	if (c->o.ts <= k->known || strncmp(e->name, "lttng_", 6) != 0)
		return;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strcmp(e->name, sources[i].name))
			from = &sources[i];
	if (!from)
		return;
	if (cut_contexts(k, c))
		pid = process_of(k, c);
	if (!cut(k, e->fields, e->field_count, c->o.payload, c->o.end))
		return;
	if (!from->id) {
		add_mapping(k, e, pid, clock_offset + c->o.ts);
		return;
	}
	size = id_of(k, e, from->id, id);
	if (size)
		symbols_set_id(k->symbols, pid, number_of(k, e, from->start, 0), id, size);
}

/* ---- all of a session ---- */

static bool has_env(const struct md_trace *t, const char *name, const char *value, bool otherwise)
{
	for (uint32_t i = 0; i < t->env_count; i++)
		if (!strcmp(t->env[i].name, name))
			return t->env[i].value && !strcmp(t->env[i].value, value);
	return otherwise;
}

/*
 * Whether the trace of a stream was recorded by this machine since its boot. LTTng's traces have
 * the name of the host only: of them, symbol/ also checks the times.
 */
static bool is_here(const struct stream *s, const struct clock *clock)
{
	char host[65], boot[37];

	if (!s->input)
		return true;
	uuid_unparse_lower(clock->uuid, boot);
	return !gethostname(host, sizeof(host)) &&
	       has_env(s->trace->md, "hostname", host, false) &&
	       has_env(s->trace->md, "boot_id", boot, true);
}

static int collect_all(struct stacks *k, struct session *s)
{
	struct merge *m = merge_create();
	uint64_t now;
	struct cursor *c;
	int err = m ? merge_look_session(m, s, &now) : -ENOMEM;

	while (!err && (c = merge_top(m, now))) {
		collect(k, session_clock_offset(s), c);
		merge_next(m);
	}
	if (!err)
		err = merge_failed(m);
	merge_destroy(m);
	symbols_settle(k->symbols);
	k->known = err ? 0 : now;
	return err;
}

int stacks_create(struct session *s, struct stacks **out)
{
	struct stacks *k = calloc(1, sizeof(*k));
	struct stream_set set = { 0 };
	struct session_info info;
	bool here = true;
	int err = k ? session_streams(s, NULL, &set) : -ENOMEM;

	for (size_t i = 0; !err && i < set.count; i++)
		here &= is_here(&set.streams[i], session_clock(s));
	stream_set_deinit(&set);
	if (err) {
		free(k);
		return err;
	}
	pthread_mutex_init(&k->lock, NULL);
	session_info(s, &info);
	k->symbols = symbols_create(&(struct owner){ info.uid, info.gid, info.groups }, here);
	err = k->symbols ? collect_all(k, s) : -ENOMEM;
	if (err) {
		stacks_destroy(k);
		return err;
	}
	*out = k;
	return 0;
}

void stacks_destroy(struct stacks *k)
{
	if (!k)
		return;
	pthread_mutex_destroy(&k->lock);
	symbols_free(k->symbols);
	free(k);
}

/* ---- names ---- */

struct place {
	int32_t pid;
	uint64_t time;
};

static void find(struct stacks *k, const struct place *at, enum is is, uint64_t i,
		 uint64_t address, struct symbol *out)
{
	if (is == IS_KERNEL)
		symbols_find_kernel(k->symbols, at->time, address, i > 0, out);
	else
		symbols_find(k->symbols, at->pid, at->time, address, i > 0, out);
}

static void put_symbol(const struct symbol *symbol, struct md_buf *out)
{
	if (symbol->name)
		md_buf_puts(out, symbol->name);
	else
		md_buf_puts(out, symbol->object ? symbol->object : "[unknown]");
	if (symbol->object)
		md_buf_printf(out, "+0x%" PRIx64, symbol->offset);
	if (symbol->name && symbol->object)
		md_buf_printf(out, " (%s)", symbol->object);
}

/* The names of an event, which are appended to its line. */
struct line {
	struct stacks *k;
	struct place at;
	enum stacks_form form;
	bool json, some;        /* some: a field has been put */
	struct md_buf *out;
};

static const struct {
	size_t cut;             /* bytes of the line's end that the names replace */
	const char *begin, *end;
} parts[] = {
	[STACKS_TEXT] = { 1, ", { ", " }\n" },
	[STACKS_JSON] = { 2, ",\"symbols\":{", "}}\n" },
	[STACKS_OBJECT] = { 0, "{", "}" },
};

static void put_address(const struct line *l, enum is is, uint64_t i, uint64_t address)
{
	struct md_buf text = MD_BUF_INIT;
	struct symbol symbol;

	find(l->k, &l->at, is, i, address, &symbol);
	put_symbol(&symbol, &text);
	if (l->json) {
		md_buf_putc(l->out, '"');
		md_json_escape_put(md_buf_str(&text), text.len, l->out);
		md_buf_putc(l->out, '"');
	} else {
		md_escape_put(md_buf_str(&text), text.len, l->out);
	}
	l->out->failed |= text.failed;
	md_buf_deinit(&text);
}

/* `name = "…"`, or `name = [ [0] = "…", … ]`; in JSON `"name":"…"`, or `"name":["…",…]` */
static void put_field(struct line *l, const char *name, enum is is, const struct md_value *v)
{
	struct md_buf *out = l->out;
	uint64_t n = 0, address;
	bool single = is == IS_PLACE;

	if (!v->p || !(single ? md_value_integer(v, &address) : md_value_integers(v, &n)) ||
	    (!single && !n))
		return;
	if (l->some) {
		md_buf_puts(out, l->json ? "," : ", ");
	} else {
		out->len -= parts[l->form].cut;
		md_buf_puts(out, parts[l->form].begin);
	}
	l->some = true;
	md_buf_printf(out, l->json ? "\"%s\":" : "%s = ", name);
	if (single) {
		put_address(l, is, 0, address);
		return;
	}
	md_buf_puts(out, "[");
	for (uint64_t i = 0; i < n && i < STACK_DEPTH; i++) {
		if (l->json)
			md_buf_puts(out, i ? "," : "");
		else
			md_buf_printf(out, "%s[%" PRIu64 "] = ", i ? ", " : " ", i);
		put_address(l, is, i, md_value_element(v, i));
	}
	md_buf_puts(out, l->json ? "]" : " ]");
}

static void put_stacks(struct line *l, const struct md_field *fields, uint32_t count)
{
	for (uint32_t i = 0; i < count_of(count); i++) {
		enum is is = kind_of(&fields[i]);

		if (is)
			put_field(l, is == IS_KERNEL ? "callstack_kernel"
				     : is == IS_USER ? "callstack_user"
						     : "ip",
				  is, &l->k->values[i]);
	}
}

/* The place of an event whose own fields are cut. */
static struct place place_of_sample(const struct stacks *k, uint64_t clock_offset,
				    const struct cursor *c)
{
	return (struct place){ (int32_t)number_of(k, c->o.event, "pid", 0),
			       clock_offset + c->o.ts };
}

/* The functions that -finstrument-functions reports are fields of the event. */
static void put_functions(struct line *l, const struct cursor *c)
{
	static const char *const names[] = { "addr", "call_site" };
	const struct md_event *e = c->o.event;

	if (strncmp(e->name, "lttng_ust_cyg_profile", 21) != 0 ||
	    !cut(l->k, e->fields, e->field_count, c->o.payload, c->o.end))
		return;
	for (size_t i = 0; i < 2; i++) {
		const struct md_value *v = value_of(l->k, e->fields, e->field_count, names[i]);

		if (v)
			put_field(l, names[i], IS_PLACE, v);
	}
}

void stacks_put(struct stacks *k, uint64_t clock_offset, const struct cursor *c,
		enum stacks_form form, struct md_buf *out)
{
	const struct md_stream *class = c->stream.class;
	struct line l = { .k = k, .form = form, .json = form != STACKS_TEXT, .out = out };

	pthread_mutex_lock(&k->lock);
	collect(k, clock_offset, c);
	if (!out->failed && cut_contexts(k, c)) {
		l.at = (struct place){ process_of(k, c), clock_offset + c->o.ts };
		put_stacks(&l, class->context, class->context_count);
		put_functions(&l, c);
		if (is_sample(c->o.event) && cut_fields(k, c)) {
			l.at = place_of_sample(k, clock_offset, c);
			put_stacks(&l, c->o.event->fields, c->o.event->field_count);
		}
	}
	if (l.some && !out->failed)
		md_buf_puts(out, parts[form].end);
	pthread_mutex_unlock(&k->lock);
}

static void read_field(struct stacks *k, const struct place *at, enum is is,
		       const struct md_value *v, struct stack *out)
{
	uint64_t n, address;

	if (!md_value_integers(v, &n))
		return;
	for (uint64_t i = 0; i < n && out->count < STACK_DEPTH; i++) {
		address = md_value_element(v, i);
		/* The stack had more addresses than the event. */
		if (address == UINT64_MAX)
			break;
		find(k, at, is, i, address, &out->frames[out->count++]);
	}
}

/* The stacks of the fields, which are cut; the kernel's first. */
static void read_stacks(struct stacks *k, const struct place *at, const struct md_field *fields,
			uint32_t count, struct stack *out)
{
	static const enum is order[] = { IS_KERNEL, IS_USER };

	count = count_of(count);
	for (uint32_t i = 0; i < 2 * count; i++)
		if (kind_of(&fields[i % count]) == order[i / count])
			read_field(k, at, order[i / count], &k->values[i % count], out);
}

bool stacks_read(struct stacks *k, uint64_t clock_offset, const struct cursor *c,
		 struct stack *out)
{
	const struct md_stream *class = c->stream.class;
	struct place at;

	out->count = 0;
	pthread_mutex_lock(&k->lock);
	collect(k, clock_offset, c);
	if (is_sample(c->o.event) && cut_fields(k, c)) {
		at = place_of_sample(k, clock_offset, c);
		read_stacks(k, &at, c->o.event->fields, c->o.event->field_count, out);
	}
	if (!out->count && cut_contexts(k, c)) {
		at = (struct place){ process_of(k, c), clock_offset + c->o.ts };
		read_stacks(k, &at, class->context, class->context_count, out);
	}
	pthread_mutex_unlock(&k->lock);
	return out->count > 0;
}

void stacks_find(struct stacks *k, uint64_t clock_offset, const struct cursor *c, uint64_t address,
		 struct symbol *out)
{
	struct place at = { 0, clock_offset + c->o.ts };

	pthread_mutex_lock(&k->lock);
	if (cut_contexts(k, c))
		at.pid = process_of(k, c);
	find(k, &at, IS_USER, 0, address, out);
	pthread_mutex_unlock(&k->lock);
}
