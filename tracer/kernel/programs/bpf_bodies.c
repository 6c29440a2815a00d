// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs of events: what is attached, and bodies in maps, to which it jumps. One write
 * replaces a body, so every event is recorded by the old one or by the new one. The bodies of
 * tracepoints' programs share one map. Those that get arguments are of a type that is bound to
 * their tracepoint, and the kernel wants all programs of a map to have one type.
 */
#include "tracer/kernel/programs/bpf_typed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Entries of the map of bodies. A stub of an event that was dropped stays attached for some
 * milliseconds: no other event may have its entry so soon.
 */
#define BODIES_MAX (4u * BPF_SLOTS)

static int create_map(uint32_t entries)
{
	return bpf_map_create(&(struct bpf_map_spec){
		.type = BPF_MAP_TYPE_PROG_ARRAY, .key_size = 4, .value_size = 4,
		.entries = entries, .name = "trailfs_bodies" });
}

/* Makes a map of the channel if it is missing. */
static int open_map(struct bpf_channel *c, int *map, uint32_t entries, const char *kept)
{
	if (*map < 0) {
		*map = create_map(entries);
		bpf_channel_keep_one(c, kept, *map);
	}
	return *map < 0 ? tr_fail(&c->why, *map, "the kernel makes no map of BPF programs: %s",
				  strerror(-*map))
			: 0;
}

static int put_into_map(struct bpf_channel *c, int map, uint32_t at, int program)
{
	int ret = bpf_map_set(map, &at, &program);

	return ret ? tr_fail(&c->why, ret, "the kernel takes the BPF program into no map: %s",
			     strerror(-ret))
		   : 0;
}

static struct bpf_event *add_event(struct bpf_channel *c, const char *name, uint32_t slot,
				   const struct bpf_event *like)
{
	struct bpf_event *e = bpf_channel_room(c, slot, name);

	if (!e)
		return NULL;
	e->kind = like->kind;
	e->program = like->program;
	e->link = like->link;
	e->own = like->own;
	bpf_kept_event(c, e);
	return e;
}

/* Attaches a program, which is closed on an error. */
static int attach(struct bpf_channel *c, const char *name, uint32_t slot, uint32_t id,
		  const struct bpf_event *like)
{
	struct bpf_event e = *like;

	e.link = e.kind == BPF_KIND_TYPED ? bpf_attach_typed(e.program) : bpf_attach(e.program, id);
	if (e.link == -E2BIG)
		tr_fail(&c->why, e.link, "the kernel runs at most 64 programs at a tracepoint");
	else if (e.link == -EACCES && e.kind == BPF_KIND_PLAIN)
		tr_fail(&c->why, e.link,
			"the program cannot be attached: perf_event_open(2) is not permitted; "
			"kernel.perf_event_paranoid above 2 leaves it to root");
	else if (e.link < 0)
		tr_fail(&c->why, e.link, "the program cannot be attached: %s", strerror(-e.link));
	if (e.link < 0) {
		close(e.program);
		return e.link;
	}
	if (add_event(c, name, slot, &e))
		return 0;
	bpf_detach(e.link, e.program);
	return -ENOMEM;
}

int bpf_channel_add(struct bpf_channel *c, const char *name, uint32_t slot, uint32_t id,
		    struct bpf_code *code)
{
	struct bpf_event e = { .kind = BPF_KIND_PLAIN, .link = -1, .own = -1 };

	e.program = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, &c->why);
	return e.program < 0 ? e.program : attach(c, name, slot, id, &e);
}

/* The same for what gets arguments. */
static int add_typed(struct bpf_channel *c, const char *name, uint32_t slot,
		     const struct bpf_hook *hook, int own, struct bpf_code *code)
{
	struct bpf_event e = { .kind = BPF_KIND_TYPED, .link = -1, .own = own };
	int ret;

	e.program = bpf_load_typed(hook, code, &c->why);
	if (e.program < 0)
		return e.program;
	ret = attach(c, name, slot, 0, &e);
	/* (It takes 38 programs at a function: -E2BIG.) */
	if (ret && ret != -ENOMEM && ret != -E2BIG && hook->at != BPF_TRACE_RAW_TP)
		bpf_typed_no_functions(c);
	return ret;
}

/* Puts a body into a map, and attaches a stub of the event if it is new. */
static int set_plain(struct bpf_channel *c, const struct bpf_place *p, struct bpf_code *code)
{
	uint32_t at = p->token % BODIES_MAX;
	int ret = open_map(c, &c->bodies, BODIES_MAX, BPF_KEPT_BODIES), body;

	if (ret)
		return ret;
	body = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, &c->why);
	if (body < 0)
		return body;
	ret = put_into_map(c, c->bodies, at, body);
	close(body);                    /* the map has it */
	if (ret || bpf_channel_find(c, p->event))
		return ret;
	bpf_program_stub(code, c->bodies, at, false);
	ret = bpf_channel_add(c, p->event, p->slot, p->id, code);
	if (ret)
		bpf_map_remove(c->bodies, &at);
	return ret;
}

static int set_typed(struct bpf_channel *c, const struct bpf_place *p, struct bpf_code *code)
{
	const struct bpf_event *e = bpf_channel_find(c, p->event);
	int body = bpf_load_typed(&p->typed->tracepoint->hook, code, &c->why), map, ret;
	const uint32_t at = 0;

	if (body < 0)
		return body;
	map = e ? e->own : create_map(1);
	ret = map < 0 ? map : put_into_map(c, map, at, body);
	close(body);
	if (!ret && !e) {
		bpf_program_stub(code, map, at, true);
		ret = add_typed(c, p->event, p->slot, &p->typed->tracepoint->hook, map, code);
	}
	if (ret && !e && map >= 0)
		close(map);
	return ret;
}

/* Makes the maps of texts that are read at the end of calls, if they are missing. */
static int open_late(struct bpf_channel *c)
{
	if (c->late_table < 0) {
		c->late_table = bpf_map_create(&(struct bpf_map_spec){
			.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .entries = 1,
			.value_size = sizeof(struct bpf_late_table), .name = "trailfs_late" });
		bpf_channel_keep_one(c, BPF_KEPT_LATE_TABLE, c->late_table);
	}
	if (c->late_table < 0)
		return c->late_table;
	return open_map(c, &c->late_bodies, BPF_LATE_LOOK + 1, BPF_KEPT_LATE_BODIES);
}

/* Makes what looks for texts at the end of calls. Without it late_table stays -1. */
static void set_look(struct bpf_channel *c, const struct bpf_hook *hook,
		     struct bpf_calls_code *calls, struct bpf_code *code)
{
	int look;

	if (open_late(c))
		return;
	calls->late_table = c->late_table;
	calls->late_bodies = c->late_bodies;
	bpf_program_look(code, calls);
	look = bpf_load_typed(hook, code, &c->why);
	if (look < 0 || put_into_map(c, c->late_bodies, BPF_LATE_LOOK, look))
		calls->late_table = -1;
	if (look >= 0)
		close(look);
}

/* Attaches #enter or #exit, if it is missing. first: the call that is wanted. */
static int attach_calls(struct bpf_channel *c, bool exit, uint32_t first)
{
	struct bpf_calls_code calls = { .first = first, .calls = c->calls[exit],
					.late_table = -1 };
	struct bpf_hook hook = { .at = BPF_TRACE_RAW_TP };
	struct bpf_code *code;
	int ret;

	if (bpf_channel_find(c, bpf_typed_program(exit)))
		return 0;
	ret = bpf_typed_calls(c, exit, &hook.type, &calls);
	if (ret)
		return ret;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	if (exit)
		set_look(c, &hook, &calls, code);
	bpf_program_calls(code, &calls);
	ret = add_typed(c, bpf_typed_program(exit), BPF_SLOTS, &hook, -1, code);
	free(code);
	return ret;
}

static int set_call(struct bpf_channel *c, const struct bpf_place *p, struct bpf_code *code)
{
	struct bpf_event new = { .kind = BPF_KIND_CALL, .link = -1, .own = -1 };
	uint32_t number = p->typed->number;
	bool exit = p->typed->exit;
	int *map = &c->calls[exit], ret;
	struct bpf_event *e;

	ret = open_map(c, map, BPF_CALLS_MAX, exit ? BPF_KEPT_EXITS : BPF_KEPT_ENTRIES);
	if (!ret)
		ret = attach_calls(c, exit, number);
	if (ret)
		return ret;
	new.program = bpf_load_typed(&p->typed->tracepoint->hook, code, &c->why);
	if (new.program < 0)
		return new.program;
	ret = put_into_map(c, *map, number, new.program);
	e = bpf_channel_find(c, p->event);
	if (!ret && !e) {
		e = add_event(c, p->event, p->slot, &new);
		ret = e ? 0 : -ENOMEM;
		if (ret)
			bpf_map_remove(*map, &number);
	} else if (!ret) {
		close(e->program);
		e->program = new.program;
		bpf_kept_event(c, e);
	}
	if (ret)
		close(new.program);
	return ret;
}

/* ---- texts that are read at the end of calls ---- */

#define LATE "#late"                    /* then a colon and the entry */

static void print_late(const char *event, char name[BPF_EVENT_NAME])
{
	snprintf(name, BPF_EVENT_NAME, LATE "%s", strchrnul(event, ':'));
}

bool bpf_bodies_is_late(const struct bpf_event *e)
{
	return !strncmp(e->name, LATE ":", strlen(LATE ":"));
}

struct bpf_event *bpf_bodies_find_late(struct bpf_channel *c, const char *event)
{
	char name[BPF_EVENT_NAME];

	print_late(event, name);
	return bpf_channel_find(c, name);
}

/* Puts a body into the maps and the list, and attaches #exit. */
static int add_late_body(struct bpf_channel *c, const char *name, const struct bpf_typed *typed,
			 struct bpf_code *code)
{
	struct bpf_event new = { .kind = BPF_KIND_CALL, .link = -1, .own = -1 };
	int ret;

	new.program = bpf_load_typed(&typed->tracepoint->hook, code, &c->why);
	if (new.program < 0)
		return new.program;
	ret = put_into_map(c, c->late_bodies, typed->number, new.program);
	if (!ret && !add_event(c, name, BPF_SLOTS, &new))
		ret = -ENOMEM;
	if (ret)
		close(new.program);
	return ret ? ret : attach_calls(c, true, typed->number);
}

int bpf_bodies_set_late(struct bpf_channel *c, const char *event, const struct bpf_source *source,
			bool function)
{
	struct bpf_late late = { .exits = -1 };
	struct bpf_typed typed = { 0 };
	struct bpf_recording r = { .source = source, .typed = &typed, .ring = &c->ring,
				   .threads = -1, .groups = -1, .late = &late };
	char name[BPF_EVENT_NAME];
	struct bpf_code *code;
	int ret;

	print_late(event, name);
	if (bpf_channel_find(c, name))
		return 0;
	ret = bpf_typed_late(c, event, source, function, &typed);
	if (!ret)
		ret = open_late(c);
	if (!ret && !function)
		ret = open_map(c, &c->calls[1], BPF_CALLS_MAX, BPF_KEPT_EXITS);
	code = ret ? NULL : calloc(1, sizeof(*code));
	if (!ret && !code)
		ret = -ENOMEM;
	if (!ret) {
		late.number = typed.number;
		if (!function)
			late.exits = c->calls[1];
		r.late_table = c->late_table;
		bpf_program_late(code, &r);
		ret = function ? add_typed(c, name, BPF_SLOTS, &typed.tracepoint->hook, -1, code)
			       : add_late_body(c, name, &typed, code);
	}
	free(code);
	free(typed.tracepoint);
	return ret;
}

/* ---- all ---- */

int bpf_bodies_set(struct bpf_channel *c, const struct bpf_place *p, struct bpf_code *code)
{
	if (!p->typed)
		return set_plain(c, p, code);
	return p->typed->kind == BPF_KIND_CALL ? set_call(c, p, code) : set_typed(c, p, code);
}

void bpf_bodies_remove(struct bpf_channel *c, struct bpf_event *e)
{
	uint32_t at;
	bool exit;

	if (bpf_bodies_is_late(e)) {
		char event[BPF_EVENT_NAME];

		snprintf(event, sizeof(event), "syscalls%.*s", BPF_EVENT_NAME - 9,
			 e->name + strlen(LATE));
		if (c->late_bodies >= 0 && bpf_typed_number(event, &exit, &at))
			bpf_map_remove(c->late_bodies, &at);
	} else if (e->kind == BPF_KIND_CALL) {
		if (bpf_typed_number(e->name, &exit, &at) && c->calls[exit] >= 0)
			bpf_map_remove(c->calls[exit], &at);
	}
	/*
	 * The body of a tracepoint's program stays in its map, without a token, until the map is
	 * dropped or a later body takes its entry: to remove it lasts a grace period of the kernel.
	 */
}
