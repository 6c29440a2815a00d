// SPDX-License-Identifier: GPL-2.0-or-later
/* The events of a channel that BPF programs record. */
#include "tracer/kernel/programs/bpf_typed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/programs/bpf_refused.h"

/* ---- the channel ---- */

int bpf_channel_create(struct backend *b, const char *name, const struct backend_geometry *g,
		       struct bpf_channel **out)
{
	struct bpf_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->refused = bpf_refused_new();
	if (!c->refused) {
		free(c);
		return -ENOMEM;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->b = b;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->hash = hash_string(HASH_START, name);
	c->geometry = *g;
	c->ring = (struct bpf_ring){ .map = -1, .records = MD_BUF_INIT };
	c->threads = c->groups = c->bodies = c->calls[0] = c->calls[1] = c->call_stacks = -1;
	c->late_table = c->late_bodies = c->refused_file = -1;
	*out = c;
	return 0;
}

/* From now on no body records the event of the slot, or the one with this token does. */
static void set_token(struct bpf_channel *c, uint32_t slot, uint32_t token)
{
	for (uint32_t cpu = 0; slot < BPF_SLOTS && cpu < c->ring.cpus; cpu++)
		__atomic_store_n(&bpf_ring_control(&c->ring, cpu)->tokens[slot], token,
				 __ATOMIC_RELAXED);
}

static void close_event(const struct bpf_event *e)
{
	bpf_detach(e->link, e->program);
	if (e->own >= 0)
		close(e->own);
	free(e->filter);
}

static void drop_event(struct bpf_channel *c, struct bpf_event *e)
{
	bpf_misses_drop(c, e);
	bpf_bodies_remove(c, e);
	if (c->ring.map >= 0)
		set_token(c, e->slot, 0);
	bpf_kept_drop_event(c, e);
	close_event(e);
	*e = c->events[--c->count];
}

/* Whether an event of this side is left. */
static bool has_calls(const struct bpf_channel *c, bool exit)
{
	uint32_t number;
	bool side;

	for (size_t i = 0; i < c->count; i++)
		if (bpf_bodies_is_late(&c->events[i])
			    ? exit && c->events[i].kind == BPF_KIND_CALL
			    : c->events[i].kind == BPF_KIND_CALL &&
				      bpf_typed_number(c->events[i].name, &side, &number) &&
				      side == exit)
			return true;
	return false;
}

/* Closes a map of the channel, which the keeper drops, too. */
static void drop_map(struct bpf_channel *c, int *map, const char *kept)
{
	if (*map < 0)
		return;
	bpf_kept_drop_one(c, kept);
	close(*map);
	*map = -1;
}

/* Detaches the program of all entries or exits, and closes its map. */
static void detach_side(struct bpf_channel *c, bool exit)
{
	struct bpf_event *e = bpf_channel_find(c, bpf_typed_program(exit));

	if (e)
		drop_event(c, e);
	/* It may run for a while: the next one must not share its bodies. */
	drop_map(c, &c->calls[exit], exit ? BPF_KEPT_EXITS : BPF_KEPT_ENTRIES);
	if (exit)
		drop_map(c, &c->late_bodies, BPF_KEPT_LATE_BODIES);
}

/* Detaches programs of system calls that no event needs. */
static void detach_calls(struct bpf_channel *c)
{
	for (int exit = 0; exit < 2; exit++)
		if (!has_calls(c, exit))
			detach_side(c, exit);
}

void bpf_channel_drop_calls(struct bpf_channel *c)
{
	detach_side(c, false);
	detach_side(c, true);
	drop_map(c, &c->late_table, BPF_KEPT_LATE_TABLE);
	for (size_t i = c->count; i-- > 0;)
		if (c->events[i].kind == BPF_KIND_CALL)
			drop_event(c, &c->events[i]);
}

/* Drops what reads the texts of the event's call at its end. */
static void drop_late(struct bpf_channel *c, const char *event)
{
	struct bpf_event *late = bpf_bodies_find_late(c, event);

	if (late)
		drop_event(c, late);
}

/* Drops the map of bodies of which no event has one. */
static void drop_bodies(struct bpf_channel *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->events[i].kind == BPF_KIND_PLAIN && c->events[i].slot < BPF_SLOTS)
			return;
	/* A stub may run for a while: the next ones must not share its map. */
	drop_map(c, &c->bodies, BPF_KEPT_BODIES);
}

void bpf_channel_drop(struct bpf_channel *c, struct bpf_event *e)
{
	char name[BPF_EVENT_NAME];

	strcpy(name, e->name);
	drop_event(c, e);
	drop_late(c, name);
	detach_calls(c);
	drop_bodies(c);
}

/* Whether the keeper had all of the event. */
static bool is_whole(const struct bpf_channel *c, const struct bpf_event *e)
{
	if (e->program < 0)
		return false;
	/* A daemon was killed before it gave its body a token, or after it took that away. */
	if (e->slot < BPF_SLOTS && !bpf_ring_control(&c->ring, 0)->tokens[e->slot])
		return false;
	if (e->kind == BPF_KIND_CALL)
		return c->calls[0] >= 0 || c->calls[1] >= 0;
	return e->link >= 0 &&
	       (e->kind == BPF_KIND_TYPED || e->slot == BPF_SLOTS || c->bodies >= 0);
}

/* remove: the keeper drops them, too. */
static void close_maps(struct bpf_channel *c, bool remove)
{
	const struct { const char *kept; int *fd; } maps[] = {
		{ BPF_KEPT_THREADS, &c->threads }, { BPF_KEPT_GROUPS, &c->groups },
		{ BPF_KEPT_BODIES, &c->bodies },
		{ BPF_KEPT_ENTRIES, &c->calls[0] }, { BPF_KEPT_EXITS, &c->calls[1] },
		{ BPF_KEPT_LATE_TABLE, &c->late_table },
		{ BPF_KEPT_LATE_BODIES, &c->late_bodies },
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		if (remove) {
			drop_map(c, maps[i].fd, maps[i].kept);
		} else if (*maps[i].fd >= 0) {
			close(*maps[i].fd);
			*maps[i].fd = -1;
		}
	}
	bpf_counters_close(c, remove);
}

/* Entries with this id have texts. */
static void mark_id(struct bpf_channel *c, uint32_t id)
{
	if (id <= UINT16_MAX)
		__atomic_fetch_or(&c->with_text[id / 8], (uint8_t)(1 << id % 8), __ATOMIC_RELAXED);
}

static void mark_adopted(struct bpf_channel *c, const struct bpf_event *late)
{
	int id = tracefs_event_id(c->b, "syscalls", strchr(late->name, ':') + 1);

	if (id > 0)
		mark_id(c, (uint32_t)id);
}

void bpf_channel_adopt(struct bpf_channel *c)
{
	int kept = bpf_kept_take(c), ring = kept;
	const struct bpf_control *control;

	bpf_refused_take(c);
	if (ring >= 0 && bpf_ring_open(&c->ring, ring, c->name, &c->geometry, NULL))
		ring = -1;
	if (ring >= 0) {
		control = bpf_ring_control(&c->ring, 0);
		bpf_misses_adopt(c);
		c->on = control->on;
		c->tracked = control->tracked;
	}
	/* An event without its ring, or half of one, is made again. */
	for (size_t i = c->count; i-- > 0;)
		if (i < c->count && (ring < 0 || !is_whole(c, &c->events[i])))
			bpf_channel_drop(c, &c->events[i]);
	for (size_t i = 0; i < c->count; i++)
		if (bpf_bodies_is_late(&c->events[i]))
			mark_adopted(c, &c->events[i]);
	if (ring >= 0)
		return;
	/* Its programs may run for a while: the next ones must not share its maps. */
	close_maps(c, true);
	c->dropped = kept >= 0 ? c->geometry.cpus : 0;
	if (kept >= 0)
		bpf_kept_drop_one(c, BPF_KEPT_RING);
}

void bpf_channel_free(struct bpf_channel *c, bool remove)
{
	if (!c)
		return;
	if (remove)
		bpf_channel_drop_calls(c);
	while (c->count && remove)
		bpf_channel_drop(c, &c->events[c->count - 1]);
	close_maps(c, remove);
	if (remove && c->ring.map >= 0)
		bpf_kept_drop_one(c, BPF_KEPT_RING);
	for (size_t i = 0; i < c->count; i++)
		close_event(&c->events[i]);
	bpf_refused_free(c, remove);
	bpf_typed_done(c);
	bpf_ring_close(&c->ring);
	bpf_plain_free(c);
	pthread_mutex_destroy(&c->lock);
	free(c->contexts);
	free(c->events);
	free(c);
}

void bpf_channel_set(struct bpf_channel *c)
{
	for (uint32_t cpu = 0; c->ring.map >= 0 && cpu < c->ring.cpus; cpu++) {
		struct bpf_control *control = bpf_ring_control(&c->ring, cpu);

		__atomic_store_n(&control->tracked, c->tracked, __ATOMIC_RELAXED);
		__atomic_store_n(&control->on, c->on, __ATOMIC_RELEASE);
	}
}

/* ---- events ---- */

static uint32_t find_slot(const struct bpf_channel *c)
{
	uint32_t slot = 0;

	while (slot < BPF_SLOTS && bpf_ring_control(&c->ring, 0)->tokens[slot])
		slot++;
	return slot;
}

static int open_ring(struct bpf_channel *c)
{
	int ret = c->ring.map < 0 ? bpf_ring_open(&c->ring, -1, c->name, &c->geometry, &c->why)
				  : 1;

	if (!ret) {
		bpf_channel_set(c);
		bpf_channel_keep_one(c, BPF_KEPT_RING, c->ring.map);
	}
	return ret < 0 ? ret : 0;
}

/* Makes the body by the arguments of the tracepoint, or (typed NULL) by its record. */
static int set_body(struct bpf_channel *c, struct bpf_recording *r, const char *event,
		    const struct bpf_typed *typed, struct bpf_code *code)
{
	const struct bpf_place place = { .event = event, .slot = r->slot, .token = r->token,
					 .id = r->source->id, .typed = typed };

	r->typed = typed;
	bpf_program_body(code, r);
	return bpf_bodies_set(c, &place, code);
}

/*
 * Whether the event is to have its program at the function of a call. Not an exit: whenever a
 * program is attached to the function or detached from it, by whomever, the kernel leaves out what
 * is behind the function for all calls that have begun before, and does not count them.
 */
static bool wants_function(struct bpf_channel *c, const char *event,
			   const struct bpf_source *source)
{
	const struct bpf_event *e = bpf_channel_find(c, event);

	return !source->fixed && !source->exit && (e ? bpf_event_by_function(e) : c->few_calls);
}

/* The body by arguments. *lacks: the kernel takes no such program. */
static int make_typed(struct bpf_channel *c, struct bpf_recording *r, const char *event,
		      bool function, struct bpf_code *code, bool *lacks)
{
	struct bpf_typed typed = { 0 };
	int ret = bpf_typed_find(c, event, r->source, function, &typed);

	if (!ret) {
		ret = set_body(c, r, event, &typed, code);
		*lacks = ret != 0;
	}
	if (*lacks)
		bpf_refused_why(c, BPF_LACKS_ARGUMENTS);
	free(typed.tracepoint);
	return ret;
}

/* The body of a new event, by the arguments if the kernel takes such a program; or another one. */
static int make_body(struct bpf_channel *c, struct bpf_recording *r, const char *event,
		     struct bpf_code *code)
{
	const struct bpf_event *e = bpf_channel_find(c, event);
	bool is_plain = e && e->kind == BPF_KIND_PLAIN;
	bool lacks = is_plain && bpf_refused_lacks(c, e, BPF_LACKS_ARGUMENTS);
	bool function = wants_function(c, event, r->source);
	int ret = -ENOENT;

	if (!is_plain && function)
		ret = make_typed(c, r, event, true, code, &lacks);
	if (ret && ret != -ENOMEM && !is_plain && !(e && function))
		ret = make_typed(c, r, event, false, code, &lacks);
	/* (What is attached takes only bodies of its own kind.) */
	if (ret && ret != -ENOMEM && (!e || is_plain))
		ret = set_body(c, r, event, NULL, code);
	if (!ret)
		bpf_refused_set(c, r->slot, BPF_LACKS_ARGUMENTS, lacks);
	return ret;
}

/* Makes what reads the texts of the entry at the end of the call. Returns whether it is there. */
static bool make_late(struct bpf_channel *c, struct bpf_recording *r, const char *event)
{
	/* What is behind the function misses calls (see above); then the text counts as unread. */
	bool function = wants_function(c, event, r->source) &&
			!bpf_channel_find(c, bpf_typed_program(true));
	int ret = bpf_bodies_set_late(c, event, r->source, function);

	if (ret && ret != -ENOMEM && function)
		ret = bpf_bodies_set_late(c, event, r->source, false);
	mark_id(c, r->source->id);
	if (ret)
		bpf_refused_why(c, BPF_LACKS_LATE);
	else
		r->late_table = c->late_table;
	return !ret;
}

int bpf_channel_enable(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		       const struct bpf_filters *filters)
{
	struct bpf_event *e = bpf_channel_find(c, event);
	struct bpf_recording r = { .source = source, .ring = &c->ring, .filters = filters,
				   .contexts = c->contexts, .threads = c->threads,
				   .groups = c->groups, .late_table = -1 };
	struct bpf_code *code;
	bool late;
	int ret;

	c->why = (struct tr_err)TR_ERR_INIT;
	ret = open_ring(c);
	if (ret)
		return ret;
	r.slot = e ? e->slot : find_slot(c);
	if (r.slot == BPF_SLOTS)
		return tr_fail(&c->why, -ENOSPC, "a channel has at most %d programs", BPF_SLOTS);
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	r.token = e ? bpf_ring_control(&c->ring, 0)->tokens[r.slot]
		    : ++bpf_ring_control(&c->ring, 0)->last_token;
	late = !source->texts || make_late(c, &r, event);
	ret = make_body(c, &r, event, code);
	if (bpf_channel_find(c, event))
		bpf_refused_set(c, r.slot, BPF_LACKS_LATE, !late);
	else
		drop_late(c, event);
	if (!ret)
		set_token(c, r.slot, r.token);
	bpf_refused_keep(c);
	detach_calls(c);
	free(code);
	return ret;
}

/* ---- filters ---- */

static void put_filters(struct bpf_filters *f)
{
	while (f->count)
		filter_put(f->filters[--f->count]);
	free(f->filters);
	kformat_free(f->format);
}

/* The filters are as they were printed, so they can be parsed. */
static int parse_filters(const char *text, struct bpf_filters *out)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (!array_room(out->filters, out->count + 1))
			return -ENOMEM;
		if (filter_parse(SCAN(line, 0, NULL), DOMAIN_KERNEL, &out->filters[out->count]))
			return -EOPNOTSUPP;
		out->count++;
	}
	return 0;
}

static int find_filters(struct bpf_channel *c, const char *key, const char *text,
			struct bpf_source *source, struct bpf_filters *out)
{
	struct md_buf format = MD_BUF_INIT;
	char system[BPF_EVENT_NAME];
	size_t len = strcspn(key, ":");
	int ret;

	snprintf(system, sizeof(system), "%.*s", (int)len, key);
	ret = bpf_source_find(c->b, system, key + len + (key[len] != 0), c->whole, source,
			      &format);
	if (!ret)
		ret = kformat_parse(system, md_buf_str(&format), format.len, &out->format);
	if (!ret)
		ret = parse_filters(text, out);
	md_buf_deinit(&format);
	return ret;
}

int bpf_channel_filter(struct bpf_channel *c, const char *event, const char *text)
{
	struct bpf_event *e = bpf_channel_find(c, event);
	struct bpf_filters filters = { 0 };
	struct bpf_source source;
	int ret = find_filters(c, event, text, &source, &filters), without;

	if (e)
		bpf_misses_note(c, e);
	if (!ret)
		ret = bpf_channel_enable(c, event, &source, *text ? &filters : NULL);
	put_filters(&filters);
	e = bpf_channel_find(c, event);
	if (ret && e && e->filter) {
		/* The old filter must not stay. */
		without = bpf_channel_enable(c, event, &source, NULL);
		ret = without ? without : ret;
		e = bpf_channel_find(c, event);
	}
	if (e) {
		free(e->filter);
		e->filter = !ret && *text ? strdup(text) : NULL;
	}
	return ret;
}
