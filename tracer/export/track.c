/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/export/track.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"

#define TRACKS_MAX 65536u       /* further threads are shown on the track of their CPU */
#define DEPTH_MAX 1024u         /* slices that are open at a time on one track */

struct tracks {
	struct maker *m;
	const struct track_form *form;
	void *arg;
	struct timeline **table;   /* by tid, open addressing; elements are owned */
	uint32_t count, size;   /* size: a power of two */
	int32_t *current;       /* the thread of each CPU; 0: not known */
	uint32_t cpus;
	uint64_t last;          /* time of the last event */
};

/* ---- pairs ---- */

enum pair_side { PAIR_NONE, PAIR_BEGIN, PAIR_END };

static bool begins_with(struct json s, const char *word)
{
	size_t n = strlen(word);

	return s.n > n && !memcmp(s.p, word, n);
}

/* Whether the last word is this one: before it is '_' or ':', and something before that. */
static bool ends_with(struct json s, const char *word)
{
	size_t n = strlen(word);

	return s.n > n + 1 && !memcmp(s.p + s.n - n, word, n) &&
	       (s.p[s.n - n - 1] == '_' || s.p[s.n - n - 1] == ':');
}

/* Whether an event of this name begins or ends a slice, and the name of the slice. */
static enum pair_side pair_of(struct json event, struct json *slice, uint64_t *pair)
{
	static const struct word { const char *text; enum pair_side side; } words[] = {
		{ "begin", PAIR_BEGIN }, { "end", PAIR_END },
		{ "entry", PAIR_BEGIN }, { "exit", PAIR_END },
	};
	static const struct word calls[] = { { "syscall_entry_", PAIR_BEGIN },
					     { "syscall_exit_", PAIR_END } };
	struct json name = event;

	if (begins_with(name, "compat_"))
		name = (struct json){ name.p + 7, name.n - 7 };
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(calls[i].text);

		if (!begins_with(name, calls[i].text))
			continue;
		*slice = (struct json){ name.p + n, name.n - n };
		*pair = hash_bytes(hash_step(HASH_START, 's'), slice->p, slice->n);
		return calls[i].side;
	}
	for (size_t i = 0; i < 4; i++) {
		if (!ends_with(event, words[i].text))
			continue;
		*slice = (struct json){ event.p, event.n - strlen(words[i].text) - 1 };
		/* begin and end, and entry and exit, are two kinds of pairs. */
		*pair = hash_bytes(hash_step(HASH_START, i / 2), slice->p, slice->n);
		return words[i].side;
	}
	return PAIR_NONE;
}

struct json track_counter(const struct row *r)
{
	const struct md_field *f = r->class->fields;

	if (r->class->field_count != 1 || strcmp(f->name, "value") ||
	    (f->type.kind != MD_INT && f->type.kind != MD_FLOAT))
		return (struct json){ NULL, 0 };
	return json_find(r->fields, "value");
}

/* ---- the table of tracks ---- */

static struct timeline **place_of(const struct tracks *v, int32_t tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u;

	while (v->table[i & (v->size - 1)] && v->table[i & (v->size - 1)]->tid != tid)
		i++;
	return &v->table[i & (v->size - 1)];
}

static bool grow(struct tracks *v)
{
	struct tracks old = *v;

	v->size = old.size ? 2 * old.size : 64;
	v->table = calloc(v->size, sizeof(*v->table));
	if (!v->table) {
		*v = old;
		return false;
	}
	for (uint32_t i = 0; i < old.size; i++)
		if (old.table[i])
			*place_of(v, old.table[i]->tid) = old.table[i];
	free(old.table);
	return true;
}

static void set_name(struct timeline *t, const char *name, size_t n)
{
	if (n > sizeof(t->name))
		n = sizeof(t->name);
	if (!n || (t->name_len == n && !memcmp(t->name, name, n)))
		return;
	memcpy(t->name, name, n);
	t->name_len = (uint32_t)n;
	t->described = false;
}

/* The track of a thread, a new one if there is none. NULL: there are too many, or no memory. */
static struct timeline *find_track(struct tracks *v, int32_t tid)
{
	struct timeline **at;

	if (v->count * 2 >= v->size && !grow(v)) {
		v->m->err = -ENOMEM;
		return NULL;
	}
	at = place_of(v, tid);
	if (*at || (v->count >= TRACKS_MAX && tid < TRACK_CPUS))
		return *at;
	*at = calloc(1, sizeof(**at));
	if (!*at) {
		v->m->err = -ENOMEM;
		return NULL;
	}
	(*at)->tid = tid;
	v->count++;
	return *at;
}

static struct timeline *find_cpu(struct tracks *v, uint32_t cpu)
{
	struct timeline *t = find_track(v, TRACK_CPUS + (int32_t)(cpu & 0xfffff));
	char name[TRACK_NAME_MAX];

	if (t && !t->pid) {
		t->pid = TRACK_CPUS;
		set_name(t, name, (size_t)snprintf(name, sizeof(name), "CPU %u", cpu));
	}
	return t;
}

/* What an event says about a thread. */
static void learn(struct tracks *v, int64_t tid, int64_t pid, struct json name)
{
	struct md_buf text = MD_BUF_INIT;
	struct timeline *t;

	if (tid <= 0 || tid >= TRACK_CPUS || !(t = find_track(v, (int32_t)tid)))
		return;
	if (pid > 0 && pid < TRACK_CPUS && t->pid != pid) {
		t->pid = (int32_t)pid;
		t->described = false;
	}
	/* Most names are as before: compare without a copy. */
	if (!json_is_string(name) ||
	    (name.n == t->name_len + 2 && !memcmp(name.p + 1, t->name, t->name_len)))
		return;
	json_characters(name, &text);
	set_name(t, text.data, text.len);
	md_buf_deinit(&text);
}

static int64_t find_integer(struct json object, const char *name, const char *other)
{
	int64_t n;

	if (json_integer(json_find(object, name), &n) ||
	    (other && json_integer(json_find(object, other), &n)))
		return n;
	return -1;
}

/* ---- events ---- */

static int32_t *current_of(struct tracks *v, uint32_t cpu)
{
	int32_t *more;

	if (cpu > 0xffff)
		return NULL;
	if (cpu >= v->cpus) {
		more = realloc(v->current, (cpu + 1) * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + v->cpus, 0, (cpu + 1 - v->cpus) * sizeof(*more));
		v->current = more;
		v->cpus = cpu + 1;
	}
	return &v->current[cpu];
}

static struct timeline *track_of(struct tracks *v, const struct row *r)
{
	int64_t tid = find_integer(r->context, "vtid", "tid"),
		pid = find_integer(r->context, "vpid", "pid");
	const int32_t *current = current_of(v, r->cpu);
	struct timeline *t = NULL;

	if (tid < 0)
		tid = current && *current ? *current : pid;
	if (tid > 0 && tid < TRACK_CPUS) {
		learn(v, tid, pid, json_find(r->context, "procname"));
		t = find_track(v, (int32_t)tid);
	}
	return t ? t : find_cpu(v, r->cpu);
}

/* The main thread of a process may have no event: the first thread that has one names it. */
static void describe_main(struct tracks *v, const struct timeline *t)
{
	struct timeline *main = find_track(v, t->pid);

	if (!main)
		return;
	main->pid = t->pid;
	if (!main->name_len)
		set_name(main, t->name, t->name_len);
	if (!main->described && v->form->describe)
		v->form->describe(v->arg, main);
	main->described = true;
}

static void describe(struct tracks *v, struct timeline *t)
{
	if (!t->described && t->pid && t->pid != t->tid && t->pid != TRACK_CPUS)
		describe_main(v, t);
	if (!t->described && v->form->describe)
		v->form->describe(v->arg, t);
	t->described = true;
}

static struct open_slice *push(struct timeline *t)
{
	struct open_slice *more;

	if (t->depth == t->room) {
		uint32_t room = t->room ? 2 * t->room : 8;

		more = room > DEPTH_MAX ? NULL : realloc(t->open, room * sizeof(*more));
		if (!more)
			return NULL;
		t->open = more;
		t->room = room;
	}
	return &t->open[t->depth++];
}

static void end_slice(struct tracks *v, struct timeline *t, struct mark k)
{
	k.slice = &t->open[t->depth - 1];
	if (v->form->end)
		v->form->end(v->arg, &k);
	t->depth--;
}

/* False: no slice of this pair is open. */
static bool end_pair(struct tracks *v, struct timeline *t, struct mark k, uint64_t pair)
{
	const struct row *row = k.row;
	uint32_t i = t->depth;

	while (i && t->open[i - 1].pair != pair)
		i--;
	if (!i)
		return false;
	k.row = NULL;
	while (t->depth > i)
		end_slice(v, t, k);
	k.row = row;
	end_slice(v, t, k);
	return true;
}

static void add_mark(struct tracks *v, struct timeline *t, const struct row *r)
{
	struct json event = { r->event.p + 1, r->event.n - 2 };
	struct mark k = { .track = t, .time = r->time, .name = event, .row = r };
	enum pair_side side;
	uint64_t pair = 0;

	describe(v, t);
	side = pair_of(event, &k.name, &pair);
	if (side == PAIR_BEGIN && (k.slice = push(t))) {
		*k.slice = (struct open_slice){ .pair = pair, .begin = r->time };
		if (v->form->begin)
			v->form->begin(v->arg, &k);
		return;
	}
	if (side == PAIR_END && end_pair(v, t, k, pair))
		return;
	k.name = event;
	if (v->form->instant)
		v->form->instant(v->arg, &k);
}

static void add_switch(struct tracks *v, const struct row *r)
{
	struct cpu_switch w = {
		.row = r,
		.prev_name = json_find(r->fields, "prev_comm"),
		.next_name = json_find(r->fields, "next_comm"),
		.prev_tid = find_integer(r->fields, "prev_tid", "prev_pid"),
		.next_tid = find_integer(r->fields, "next_tid", "next_pid"),
		.prev_prio = find_integer(r->fields, "prev_prio", NULL),
		.next_prio = find_integer(r->fields, "next_prio", NULL),
		.prev_state = find_integer(r->fields, "prev_state", NULL),
	};
	int32_t *current = current_of(v, r->cpu);
	struct timeline *cpu = find_cpu(v, r->cpu);

	learn(v, w.prev_tid, 0, w.prev_name);
	learn(v, w.next_tid, 0, w.next_name);
	if (current)
		*current = w.next_tid > 0 && w.next_tid < TRACK_CPUS ? (int32_t)w.next_tid : 0;
	if (!cpu)
		return;
	describe(v, cpu);
	w.track = cpu;
	w.was_running = cpu->running;
	cpu->running = w.next_tid > 0;
	if (v->form->switched)
		v->form->switched(v->arg, &w);
}

static void add_row(void *arg, const struct row *r)
{
	struct tracks *v = arg;
	struct timeline *t;

	v->last = r->time;
	if (r->event.n < 2 || !r->fields.n)
		return;
	if (!strcmp(r->class->name, "sched_switch")) {
		add_switch(v, r);
		return;
	}
	if (!strcmp(r->class->name, "lttng_statedump_process_state"))
		learn(v, find_integer(r->fields, "tid", NULL),
		      find_integer(r->fields, "pid", NULL), json_find(r->fields, "name"));
	t = track_of(v, r);
	if (t)
		add_mark(v, t, r);
}

static void close_open(struct tracks *v, struct timeline *t)
{
	struct mark k = { .track = t, .time = v->last };

	while (v->form->close_open && t->depth)
		end_slice(v, t, k);
}

void tracks_run(struct maker *m, const struct track_form *form, void *arg)
{
	struct tracks v = { .m = m, .form = form, .arg = arg };

	maker_run(m, true, add_row, &v);
	for (uint32_t i = 0; i < v.size; i++) {
		if (!v.table[i])
			continue;
		close_open(&v, v.table[i]);
		free(v.table[i]->open);
		free(v.table[i]);
	}
	free(v.table);
	free(v.current);
}
