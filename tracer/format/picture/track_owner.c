/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/hash_table.h"
#include "tracer/format/picture/event_kind.h"

/* ---- counters ---- */

#define COUNTERS_MAX 65536u     /* further counters are shown as instants */

struct counter_entry {
	uint64_t key[3];
	struct track_counter counter;   /* the characters of its names follow */
};

struct counters {
	struct counter_entry **all;     /* owned, elements too */
	struct hash_table table;        /* of `all`, by key */
	struct counter_entry *last;     /* the one that was found last */
};

struct counters *counters_create(void)
{
	return calloc(1, sizeof(struct counters));
}

void counters_destroy(struct counters *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->table.count; i++)
		free(all->all[i]);
	free(all->all);
	hash_deinit(&all->table);
	free(all);
}

static struct counter_entry *create_entry(const uint64_t key[3], int32_t pid, const char *name)
{
	struct md_buf json = MD_BUF_INIT;
	size_t n = strlen(name);
	struct counter_entry *e = NULL;
	char *p;

	md_json_escape_put(name, n, &json);
	if (!json.failed)
		e = calloc(1, sizeof(*e) + n + json.len);
	if (e) {
		p = (char *)(e + 1);
		memcpy(e->key, key, sizeof(e->key));
		e->counter.pid = pid;
		e->counter.plain = (struct text){ p, n };
		e->counter.json = (struct text){ mempcpy(p, name, n), json.len };
		memcpy(p + n, json.data, json.len);
	}
	md_buf_deinit(&json);
	return e;
}

static void name_counter(const struct row *r, const struct event_kind *kind, uint32_t i,
			 char name[256])
{
	static const char *const members[] = { "file", "anon", "swap", "shmem" };
	int64_t n;

	if (kind->is == KIND_FREQUENCY) {
		n = row_number(r->fields, kind->fields[FREQUENCY_CPU]);
		snprintf(name, 256, "CPU %" PRId64 " frequency, kHz", n);
	} else if (kind->is == KIND_RSS) {
		n = row_number(r->fields, kind->fields[RSS_MEMBER]);
		snprintf(name, 256, "memory %s, bytes", n >= 0 && n < 4 ? members[n] : "other");
	} else if (kind->plain_counter) {
		snprintf(name, 256, "%.*s", (int)kind->name.plain.n, kind->name.plain.p);
	} else {
		snprintf(name, 256, "%.*s.%.*s", (int)kind->name.plain.n, kind->name.plain.p,
			 (int)r->names[r->stream->context_count + i].n,
			 r->names[r->stream->context_count + i].p);
	}
}

/* What a counter is known by, and the process that it belongs to; 0: that is not known. */
static int32_t key_of(const struct mark *k, const struct event_kind *kind, uint32_t i,
		      uint64_t key[3])
{
	const struct md_value *fields = k->row->fields;
	int32_t pid = track_pid(k->track);

	key[0] = kind->name.number;
	key[1] = i;
	key[2] = (uint32_t)pid;
	if (kind->is == KIND_FREQUENCY) {
		key[2] = (uint64_t)row_number(fields, kind->fields[FREQUENCY_CPU]);
		return SLICE_CPUS;
	}
	if (kind->is == KIND_RSS) {
		key[1] = (uint64_t)row_number(fields, kind->fields[RSS_MEMBER]);
		key[2] = (uint64_t)row_number(fields, kind->fields[RSS_MM]);
		/* The memory of another process: whose is known if it has had such an event. */
		return row_number(fields, kind->fields[RSS_CURRENT]) == 0 ? 0 : pid;
	}
	return pid;
}

struct track_counter *counters_find(struct counters *all, const struct mark *k,
				    const struct event_kind *kind, uint32_t i)
{
	struct counter_entry *e = NULL;
	char name[256];
	uint64_t key[3], hash;
	int32_t pid = key_of(k, kind, i, key);

	if (all->last && !memcmp(all->last->key, key, sizeof(all->last->key)))
		return &all->last->counter;
	hash = hash_bytes(HASH_START, key, sizeof(key));
	for (uint32_t at = 0, n; (n = hash_find(&all->table, hash, &at)) != HASH_NONE;)
		if (!memcmp(all->all[n]->key, key, sizeof(key))) {
			all->last = all->all[n];
			return &all->last->counter;
		}
	if (pid && all->table.count < COUNTERS_MAX && array_double(all->all, all->table.count)) {
		name_counter(k->row, kind, i, name);
		e = create_entry(key, pid, name);
	}
	if (!e || !hash_add(&all->table, hash)) {
		free(e);
		return NULL;
	}
	e->counter.number = all->table.count - 1;
	all->last = all->all[e->counter.number] = e;
	return &e->counter;
}

/* ---- processes ---- */

struct processes {
	struct track_process **all;     /* owned, elements too */
	struct hash_table table;        /* of `all`, by pid */
	struct track_process *last;     /* the one that was found last */
};

struct processes *processes_create(void)
{
	return calloc(1, sizeof(struct processes));
}

void processes_destroy(struct processes *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->table.count; i++)
		free(all->all[i]);
	free(all->all);
	hash_deinit(&all->table);
	free(all);
}

/* The name of a process that stands for hardware; NULL: of another one. */
static const char *name_hardware(int32_t pid)
{
	return pid == SLICE_CPUS ? "CPUs" : pid == SLICE_DISKS ? "Block devices"
	       : pid == TRACK_LOSSES ? "Losses" : NULL;
}

static void set_text(char *to, uint32_t *len, size_t room, const char *text, size_t n,
		     bool *described)
{
	n = n < room ? n : room;
	if (*len == n && !memcmp(to, text, n))
		return;
	memcpy(to, text, n);
	*len = (uint32_t)n;
	*described = false;
}

struct track_process *processes_find(struct processes *all, int32_t pid)
{
	uint64_t hash = hash_step(HASH_START, (uint32_t)pid);
	const char *name = name_hardware(pid);
	struct track_process *p;

	if (all->last && all->last->pid == pid)
		return all->last;
	for (uint32_t at = 0, i; (i = hash_find(&all->table, hash, &at)) != HASH_NONE;)
		if (all->all[i]->pid == pid)
			return all->last = all->all[i];
	p = array_double(all->all, all->table.count) ? calloc(1, sizeof(*p)) : NULL;
	if (!p || !hash_add(&all->table, hash)) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	all->all[all->table.count - 1] = p;
	if (name)
		process_learn(p, pid, name, strlen(name));
	return all->last = p;
}

void process_learn(struct track_process *p, int32_t tid, const char *name, size_t n)
{
	/* Threads have the name of their process until one renames itself. */
	if (!n || (tid != p->pid && p->name_len))
		return;
	set_text(p->name, &p->name_len, sizeof(p->name), name, n, &p->described);
}

void process_join(struct track_process *p, const struct md_value *group)
{
	char text[TRACK_NAME_MAX];
	const char *s;
	uint64_t number;
	size_t n;

	if (md_value_string(group, &s, &n) && n) {
		struct md_buf clean = MD_BUF_INIT;

		md_value_put_text(s, n, &clean);
		set_text(p->group, &p->group_len, sizeof(p->group), md_buf_str(&clean), clean.len,
			 &p->described);
		md_buf_deinit(&clean);
	} else if (md_value_integer(group, &number) && number) {
		n = (size_t)snprintf(text, sizeof(text), "cgroup %" PRIu64, number);
		set_text(p->group, &p->group_len, sizeof(p->group), text, n, &p->described);
	}
}

/* ---- the names of tracks ---- */

void timeline_set_name(struct timeline *t, const char *name, size_t n)
{
	if (n > sizeof(t->name))
		n = sizeof(t->name);
	if (!n || (t->name_len == n && !memcmp(t->name, name, n)))
		return;
	memcpy(t->name, name, n);
	t->name_len = (uint32_t)n;
	t->described = false;
}

void timeline_name_hardware(struct timeline *t, int32_t pid, const char *fmt, ...)
{
	char name[TRACK_NAME_MAX];
	va_list args;

	t->pid = pid;
	va_start(args, fmt);
	timeline_set_name(t, name, (size_t)vsnprintf(name, sizeof(name), fmt, args));
	va_end(args);
}

void timeline_name(struct timeline *t)
{
	int32_t tid = t->slices.tid;

	if (t->pid || tid < SLICE_CPUS || tid >= TRACK_LOSSES)
		return;
	if (tid >= SLICE_DISKS)
		timeline_name_hardware(t, SLICE_DISKS, "%u:%u",
				       (unsigned int)(t->slices.dev >> 20),
				       (unsigned int)(t->slices.dev & 0xfffff));
	else if (tid >= SLICE_INTERRUPTS)
		timeline_name_hardware(t, SLICE_CPUS, "CPU %d interrupts", tid - SLICE_INTERRUPTS);
	else
		timeline_name_hardware(t, SLICE_CPUS, "CPU %d", tid - SLICE_CPUS);
}
