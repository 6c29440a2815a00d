/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/export/track.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "tracer/base/hash.h"

#define TRACKS_MAX 65536u       /* further threads are shown on the track of their CPU */
#define DEPTH_MAX 1024u         /* slices that are open at a time on one track */

struct tracks {
	struct maker *m;
	const struct track_form *form;
	void *arg;
	struct timeline **table;   /* by tid, open addressing; elements are owned */
	uint32_t count, size;   /* size: a power of two */
	uint32_t kinds;
	int32_t *current;       /* the thread of each CPU; 0: not known */
	uint32_t cpus;
	uint64_t last;          /* time of the last event */
};

/* What tracks know about an event class: the row's state. The names' characters follow it. */
struct kind {
	enum { KIND_OTHER, KIND_SWITCH, KIND_PROCESS } is;
	enum pair_side { PAIR_NONE, PAIR_BEGIN, PAIR_END } side;
	uint64_t pair;          /* hash of the pair's name */
	struct track_name name, slice;
	int tid, pid, procname; /* indices of contexts; -1: absent */
	int fields[8];          /* of KIND_SWITCH and KIND_PROCESS, see below */
};

enum { PREV_COMM, NEXT_COMM, PREV_TID, NEXT_TID, PREV_PRIO, NEXT_PRIO, PREV_STATE };
enum { STATE_NAME, STATE_TID, STATE_PID };

/* ---- pairs ---- */

static bool begins_with(struct text s, const char *word)
{
	size_t n = strlen(word);

	return s.n > n && !memcmp(s.p, word, n);
}

/* Whether the last word is this one: before it is '_' or ':', and something before that. */
static bool ends_with(struct text s, const char *word)
{
	size_t n = strlen(word);

	return s.n > n + 1 && !memcmp(s.p + s.n - n, word, n) &&
	       (s.p[s.n - n - 1] == '_' || s.p[s.n - n - 1] == ':');
}

/* Whether an event of this name begins or ends a slice, and the name of the slice. */
static enum pair_side pair_of(struct text event, struct text *slice, uint64_t *pair)
{
	static const struct word { const char *text; enum pair_side side; } words[] = {
		{ "begin", PAIR_BEGIN }, { "end", PAIR_END },
		{ "entry", PAIR_BEGIN }, { "exit", PAIR_END },
	};
	static const struct word calls[] = { { "syscall_entry_", PAIR_BEGIN },
					     { "syscall_exit_", PAIR_END } };
	struct text name = event;

	if (begins_with(name, "compat_"))
		name = (struct text){ name.p + 7, name.n - 7 };
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(calls[i].text);

		if (!begins_with(name, calls[i].text))
			continue;
		*slice = (struct text){ name.p + n, name.n - n };
		*pair = hash_bytes(hash_step(HASH_START, 's'), slice->p, slice->n);
		return calls[i].side;
	}
	for (size_t i = 0; i < 4; i++) {
		if (!ends_with(event, words[i].text))
			continue;
		*slice = (struct text){ event.p, event.n - strlen(words[i].text) - 1 };
		/* begin and end, and entry and exit, are two kinds of pairs. */
		*pair = hash_bytes(hash_step(HASH_START, i / 2), slice->p, slice->n);
		return words[i].side;
	}
	return PAIR_NONE;
}

bool track_is_counter(const struct row *r)
{
	const struct md_field *f = r->class->fields;

	return r->class->field_count == 1 && !strcmp(f->name, "value") &&
	       (f->type.kind == MD_INT || f->type.kind == MD_FLOAT);
}

/* ---- kinds of events ---- */

/* The index of the integer or enumeration with the first name, else with the other one. */
static int find_integer(const struct md_field *fields, uint32_t count, const char *name,
			const char *other)
{
	int i = row_find(fields, count, name);

	if (i >= 0 && (fields[i].type.kind == MD_INT || fields[i].type.kind == MD_ENUM))
		return i;
	return other ? find_integer(fields, count, other, NULL) : -1;
}

static void find_fields(struct kind *k, const struct md_event *e)
{
	const struct md_field *f = e->fields;
	uint32_t n = e->field_count;

	if (!strcmp(e->name, "sched_switch")) {
		k->is = KIND_SWITCH;
		k->fields[PREV_COMM] = row_find(f, n, "prev_comm");
		k->fields[NEXT_COMM] = row_find(f, n, "next_comm");
		k->fields[PREV_TID] = find_integer(f, n, "prev_tid", "prev_pid");
		k->fields[NEXT_TID] = find_integer(f, n, "next_tid", "next_pid");
		k->fields[PREV_PRIO] = find_integer(f, n, "prev_prio", NULL);
		k->fields[NEXT_PRIO] = find_integer(f, n, "next_prio", NULL);
		k->fields[PREV_STATE] = find_integer(f, n, "prev_state", NULL);
	} else if (!strcmp(e->name, "lttng_statedump_process_state")) {
		k->is = KIND_PROCESS;
		k->fields[STATE_NAME] = row_find(f, n, "name");
		k->fields[STATE_TID] = find_integer(f, n, "tid", NULL);
		k->fields[STATE_PID] = find_integer(f, n, "pid", NULL);
	}
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

static struct kind *create_kind(const struct row *r)
{
	struct md_buf name = MD_BUF_INIT, json = MD_BUF_INIT, slice_json = MD_BUF_INIT;
	const struct md_field *contexts = r->stream->context;
	uint32_t n = r->stream->context_count;
	struct text plain, slice = { "", 0 };
	struct kind *k = NULL;
	enum pair_side side;
	uint64_t pair = 0;

	md_name_event(r->class->name, &name);
	plain = (struct text){ md_buf_str(&name), name.len };
	md_json_escape_put(plain.p, plain.n, &json);
	side = pair_of(plain, &slice, &pair);
	md_json_escape_put(slice.p, slice.n, &slice_json);
	if (!name.failed && !json.failed && !slice_json.failed)
		k = calloc(1, sizeof(*k) + plain.n + json.len + slice.n + slice_json.len);
	if (k) {
		*k = (struct kind){ .side = side, .pair = pair,
				    .tid = find_integer(contexts, n, "vtid", "tid"),
				    .pid = find_integer(contexts, n, "vpid", "pid"),
				    .procname = row_find(contexts, n, "procname") };
		set_text(&k->slice, slice, &slice_json,
			 set_text(&k->name, plain, &json, (char *)(k + 1)));
		find_fields(k, r->class);
	}
	md_buf_deinit(&name);
	md_buf_deinit(&json);
	md_buf_deinit(&slice_json);
	return k;
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
	(*at)->number = v->count++;
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
static void learn(struct tracks *v, int64_t tid, int64_t pid, struct text name)
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
	if (!name.p || (name.n == t->name_len && !memcmp(name.p, t->name, t->name_len)))
		return;
	md_value_put_text(name.p, name.n, &text);
	set_name(t, text.data, text.len);
	md_buf_deinit(&text);
}

/* The integer with this index; -1: there is none. */
static int64_t number_of(const struct md_value *values, int i)
{
	uint64_t n;

	return i >= 0 && md_value_integer(&values[i], &n) ? (int64_t)n : -1;
}

static struct text text_of(const struct md_value *values, int i)
{
	struct text text;

	if (i < 0 || !md_value_string(&values[i], &text.p, &text.n))
		return (struct text){ NULL, 0 };
	return text;
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

static struct timeline *track_of(struct tracks *v, const struct row *r, const struct kind *kind)
{
	int64_t tid = number_of(r->context, kind->tid), pid = number_of(r->context, kind->pid);
	const int32_t *current = current_of(v, r->cpu);
	struct timeline *t = NULL;

	if (tid < 0)
		tid = current && *current ? *current : pid;
	if (tid > 0 && tid < TRACK_CPUS) {
		learn(v, tid, pid, text_of(r->context, kind->procname));
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

static void add_mark(struct tracks *v, struct timeline *t, const struct row *r,
		     const struct kind *kind)
{
	struct mark k = { .track = t, .time = r->time, .name = &kind->slice,
			  .event = &kind->name, .row = r };

	describe(v, t);
	if (kind->side == PAIR_BEGIN && (k.slice = push(t))) {
		*k.slice = (struct open_slice){ .pair = kind->pair, .begin = r->time };
		if (v->form->begin)
			v->form->begin(v->arg, &k);
		return;
	}
	if (kind->side == PAIR_END && end_pair(v, t, k, kind->pair))
		return;
	k.name = &kind->name;
	if (v->form->instant)
		v->form->instant(v->arg, &k);
}

static void add_switch(struct tracks *v, const struct row *r, const struct kind *kind)
{
	const struct md_value *values = r->fields;
	const int *fields = kind->fields;
	struct cpu_switch w = {
		.row = r,
		.event = &kind->name,
		.prev_name = text_of(values, fields[PREV_COMM]),
		.next_name = text_of(values, fields[NEXT_COMM]),
		.prev_tid = number_of(values, fields[PREV_TID]),
		.next_tid = number_of(values, fields[NEXT_TID]),
		.prev_prio = number_of(values, fields[PREV_PRIO]),
		.next_prio = number_of(values, fields[NEXT_PRIO]),
		.prev_state = number_of(values, fields[PREV_STATE]),
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
	struct kind *k = *r->state;
	struct timeline *t;

	if (!k) {
		*r->state = k = create_kind(r);
		if (!k) {
			v->m->err = -ENOMEM;
			return;
		}
		k->name.number = k->slice.number = v->kinds++;
		if (v->form->classes)
			v->form->classes(v->arg, r, &k->name, &k->slice);
	}
	v->last = r->time;
	if (r->torn)
		return;
	if (k->is == KIND_SWITCH) {
		add_switch(v, r, k);
		return;
	}
	if (k->is == KIND_PROCESS)
		learn(v, number_of(r->fields, k->fields[STATE_TID]),
		      number_of(r->fields, k->fields[STATE_PID]),
		      text_of(r->fields, k->fields[STATE_NAME]));
	t = track_of(v, r, k);
	if (t)
		add_mark(v, t, r, k);
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

	maker_run(m, form->json ? ROW_JSON : ROW_VALUES, add_row, &v);
	for (uint32_t i = 0; i < v.size; i++) {
		if (!v.table[i])
			continue;
		close_open(&v, v.table[i]);
		free(v.table[i]->open);
		free(v.table[i]->note);
		free(v.table[i]);
	}
	free(v.table);
	free(v.current);
}
