/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/event_kind.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/program.h"
#include "tracer/session/session.h"
#include "tracer/view/function_name.h"

/* The kernel's events that are more than instants: by name, with the names of their fields. */
static const struct known {
	const char *event;
	enum kind_is is;
	struct { const char *name, *other; } fields[8];
} known[] = {
	{ "sched_switch", KIND_SWITCH, {
		[PREV_COMM] = { "prev_comm", NULL }, [NEXT_COMM] = { "next_comm", NULL },
		[PREV_TID] = { "prev_tid", "prev_pid" }, [NEXT_TID] = { "next_tid", "next_pid" },
		[PREV_PRIO] = { "prev_prio", NULL }, [NEXT_PRIO] = { "next_prio", NULL },
		[PREV_STATE] = { "prev_state", NULL } } },
	{ "lttng_statedump_process_state", KIND_PROCESS, {
		[STATE_NAME] = { "name", NULL }, [STATE_TID] = { "tid", NULL },
		[STATE_PID] = { "pid", NULL } } },
	{ "sched_waking", KIND_WAKEUP, { [WAKEUP_TID] = { "tid", "pid" } } },
	{ "sched_wakeup", KIND_WAKEUP, { [WAKEUP_TID] = { "tid", "pid" } } },
	{ "sched_wakeup_new", KIND_WAKEUP, { [WAKEUP_TID] = { "tid", "pid" } } },
	{ "block_rq_issue", KIND_REQUEST, {
		[REQUEST_DEV] = { "dev", NULL }, [REQUEST_SECTOR] = { "sector", NULL } } },
	{ "block_rq_complete", KIND_REQUEST, {
		[REQUEST_DEV] = { "dev", NULL }, [REQUEST_SECTOR] = { "sector", NULL } } },
	{ "power_cpu_frequency", KIND_FREQUENCY, { [FREQUENCY_CPU] = { "cpu_id", NULL } } },
	{ "kmem_rss_stat", KIND_RSS, {
		[RSS_MM] = { "mm_id", NULL }, [RSS_MEMBER] = { "member", NULL },
		[RSS_CURRENT] = { "curr", NULL } } },
};

static int find_field(const struct md_event *e, const char *name, const char *other)
{
	int i = name ? row_find(e->fields, e->field_count, name) : -1;

	return i < 0 && other ? find_field(e, other, NULL) : i;
}

static bool is_number(const struct md_type *t)
{
	return md_type_is_number(t) || t->kind == MD_FLOAT;
}

static void find_fields(struct event_kind *k, const struct md_event *e)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].event, e->name) != 0)
			continue;
		k->is = known[i].is;
		for (size_t n = 0; n < 8; n++)
			k->fields[n] = find_field(e, known[i].fields[n].name,
						  known[i].fields[n].other);
	}
}

static bool has_last_word(struct text s, const char *word)
{
	size_t n = strlen(word);

	return s.n > n && !memcmp(s.p + s.n - n, word, n) &&
	       (s.p[s.n - n - 1] == '_' || s.p[s.n - n - 1] == ':');
}

/*
 * The fields that are counters: `value`, if it is the only field; all numbers of an event whose
 * last word is counter; the kernel's frequencies and sizes of memory.
 */
static void find_counters(struct event_kind *k, const struct md_event *e)
{
	const char *only = k->is == KIND_FREQUENCY ? "state" : k->is == KIND_RSS ? "size" : NULL;
	uint32_t n = e->field_count < UINT8_MAX ? e->field_count : UINT8_MAX;
	bool all = has_last_word(k->name.plain, "counter");

	if (!only && !all && n == 1)
		only = "value";
	k->plain_counter = !all;
	for (uint32_t i = 0; i < n && k->counter_count < KIND_COUNTERS; i++)
		if ((all || (only && !strcmp(e->fields[i].name, only))) &&
		    is_number(&e->fields[i].type))
			k->counters[k->counter_count++] = (uint8_t)i;
}

/* Sets the name to these characters and their JSON, which are at p. Returns the place after. */
static char *set_text(struct track_name *name, struct text plain, const struct md_buf *json,
		      char *p)
{
	name->plain = (struct text){ p, plain.n };
	p = mempcpy(p, plain.p, plain.n);
	name->json = (struct text){ p, json->len };
	return json->len ? mempcpy(p, json->data, json->len) : p;
}

/* As many characters as set_text needs. */
static size_t length_of(const struct md_buf *plain, const struct md_buf *json)
{
	return plain->len + json->len;
}

static void put_names(const char *name, size_t n, struct md_buf *plain, struct md_buf *json)
{
	md_buf_put(json, name, n);
	md_buf_putc(json, '\0');
	if (!json->failed)
		md_name_event(json->data, plain);
	json->len = 0;
	md_json_escape_put(md_buf_str(plain), plain->len, json);
}

static struct text text_in(struct md_buf *b)
{
	return (struct text){ md_buf_str(b), b->len };
}

/* Which context has the group of the event's process: its cgroup, or a name space of these. */
static int find_group(const struct md_stream *s)
{
	static const char names[][10] = { "cgroup", "cgroup_id", "cgroup_ns" };
	int found = -1;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && found < 0; i++)
		found = row_find(s->context, s->context_count, names[i]);
	return found;
}

struct event_kind *event_kind_create(const struct row *r)
{
	struct md_buf name = MD_BUF_INIT, json = MD_BUF_INIT, slice = MD_BUF_INIT,
		      slice_json = MD_BUF_INIT;
	const struct md_stream *s = r->stream;
	struct event_kind *k = NULL;
	struct slice_class c;

	slice_class_init(&c, s, r->class);
	put_names(r->class->name, strlen(r->class->name), &name, &json);
	if (c.side)
		put_names(c.rule.name, c.rule.name_len, &slice, &slice_json);
	if (!name.failed && !json.failed && !slice.failed && !slice_json.failed)
		k = calloc(1, sizeof(*k) + length_of(&name, &json) +
			      length_of(&slice, &slice_json));
	if (k) {
		*k = (struct event_kind){
			.slices = c,
			.procname = row_find(s->context, s->context_count, "procname"),
			.group = find_group(s),
		};
		set_text(&k->slice, text_in(&slice), &slice_json,
			 set_text(&k->name, text_in(&name), &json, (char *)(k + 1)));
		find_fields(k, r->class);
		find_counters(k, r->class);
	}
	md_buf_deinit(&name);
	md_buf_deinit(&json);
	md_buf_deinit(&slice);
	md_buf_deinit(&slice_json);
	return k;
}

/* ---- classes whose slices have the name of a function ---- */

#define FUNCTION_LISTS 4096u    /* a power of two */

struct function_kinds {
	struct function_names *names;   /* owned */
	struct function_kind *lists[FUNCTION_LISTS];    /* by hash; elements are owned */
};

struct function_kinds *function_kinds_create(void)
{
	struct function_kinds *all = calloc(1, sizeof(*all));

	if (all)
		all->names = function_names_create();
	if (all && all->names)
		return all;
	function_kinds_destroy(all);
	return NULL;
}

void function_kinds_destroy(struct function_kinds *all)
{
	for (uint32_t i = 0; all && i < FUNCTION_LISTS; i++)
		for (struct function_kind *k = all->lists[i], *next; k; k = next) {
			next = k->next;
			free(k);
		}
	if (all)
		function_names_destroy(all->names);
	free(all);
}

static struct function_kind *create_function_kind(const struct event_kind *kind,
						  const char *function, size_t n)
{
	struct md_buf name = MD_BUF_INIT, json = MD_BUF_INIT;
	struct function_kind *f = NULL;

	put_names(function, n, &name, &json);
	if (!name.failed && !json.failed)
		f = calloc(1, sizeof(*f) + length_of(&name, &json));
	if (f) {
		f->kind = kind;
		f->name = kind->name;
		set_text(&f->slice, text_in(&name), &json, (char *)(f + 1));
	}
	md_buf_deinit(&name);
	md_buf_deinit(&json);
	return f;
}

struct function_kind *function_kinds_find(struct function_kinds *all, struct maker *m,
					  const struct row *r, const struct event_kind *kind)
{
	const struct function_name *f;
	struct function_kind **list, *k;
	uint64_t address;

	if (!md_access_integer(&kind->slices.address, r->occurrence, &address))
		return NULL;
	f = function_names_find(all->names, maker_names(m, true), session_clock_offset(m->s),
				r->cursor, address);
	if (!f)
		return NULL;
	list = &all->lists[(f->number ^ kind->name.number << 8) & (FUNCTION_LISTS - 1)];
	for (k = *list; k; k = k->next)
		if (k->kind == kind && k->slice.plain.n == f->len &&
		    !memcmp(k->slice.plain.p, f->name, f->len))
			return k;
	k = create_function_kind(kind, f->name, f->len);
	if (!k)
		return NULL;
	k->next = *list;
	return *list = k;
}
