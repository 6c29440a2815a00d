/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/export/event_kind.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/program.h"
#include "tracer/base/hash.h"

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

/* The index of the integer or enumeration with the first name, else with the other one. */
static int find_integer(const struct md_field *fields, uint32_t count, const char *name,
			const char *other)
{
	int i = row_find(fields, count, name);

	if (i >= 0 && (fields[i].type.kind == MD_INT || fields[i].type.kind == MD_ENUM))
		return i;
	return other ? find_integer(fields, count, other, NULL) : -1;
}


static bool is_number(const struct md_type *t)
{
	return (t->kind == MD_INT && !md_type_is_enum(t)) || t->kind == MD_FLOAT;
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

/* System calls that do not return: their entry is an event, and begins no slice. */
static bool never_returns(const struct pair_rule *rule)
{
	static const char *const names[] = { "exit", "exit_group", "rt_sigreturn", "sigreturn" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && *rule->prefix; i++)
		if (rule->name_len == strlen(names[i]) &&
		    !memcmp(rule->name, names[i], rule->name_len))
			return true;
	return false;
}

static void find_pair(struct event_kind *k, const struct pair_rule *rule, bool of_program)
{
	uint64_t h = hash_bytes(HASH_START, rule->prefix, strlen(rule->prefix));

	k->is_call = *rule->prefix;
	/* A thread is in one system call at a time, and in none when its program runs. */
	k->leaves_calls = rule->begins && (k->is_call || of_program);
	if (never_returns(rule))
		return;
	k->side = rule->begins ? PAIR_BEGIN : PAIR_END;
	k->pair = hash_bytes(hash_step(h, rule->words), rule->name, rule->name_len);
	k->of_cpu = rule->by == PAIR_CPU;
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

struct event_kind *event_kind_create(const struct row *r, uint32_t number)
{
	struct md_buf name = MD_BUF_INIT, json = MD_BUF_INIT, slice_json = MD_BUF_INIT;
	const struct md_field *contexts = r->stream->context;
	uint32_t n = r->stream->context_count;
	struct text plain, slice = { "", 0 };
	struct event_kind *k = NULL;
	struct pair_rule rule;
	bool pair;

	md_name_event(r->class->name, &name);
	plain = (struct text){ md_buf_str(&name), name.len };
	md_json_escape_put(plain.p, plain.n, &json);
	/* Names of programs' events have a colon. A wakeup is no slice of the thread that wakes. */
	pair = pair_rule_find(plain.p, !strchr(plain.p, ':'), &rule) &&
	       (rule.by != PAIR_FIELDS || !strcmp(rule.name, "block_rq"));
	if (pair)
		slice = (struct text){ rule.name, rule.name_len };
	md_json_escape_put(slice.p, slice.n, &slice_json);
	if (!name.failed && !json.failed && !slice_json.failed)
		k = calloc(1, sizeof(*k) + plain.n + json.len + slice.n + slice_json.len);
	if (k) {
		*k = (struct event_kind){ .tid = find_integer(contexts, n, "vtid", "tid"),
					  .pid = find_integer(contexts, n, "vpid", "pid"),
					  .procname = row_find(contexts, n, "procname") };
		set_text(&k->slice, slice, &slice_json,
			 set_text(&k->name, plain, &json, (char *)(k + 1)));
		k->name.number = k->slice.number = number;
		find_fields(k, r->class);
		find_counters(k, r->class);
		if (pair)
			find_pair(k, &rule, strchr(plain.p, ':'));
	}
	md_buf_deinit(&name);
	md_buf_deinit(&json);
	md_buf_deinit(&slice_json);
	return k;
}
