// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The set of threads that a channel's programs record. Programs keep it as the kernel keeps
 * those of tracefs: a thread that a thread of the set creates is added. One that ends records until
 * the last, so it is only marked; it is removed when the kernel frees it. The kernel may give its
 * number to another thread before: then that one's birth decides.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/probe/event_field.h"

#define THREADS_MAX 65536u
#define SYSTEM "sched"
#define BIRTH "sched_process_fork"
#define END "sched_process_exit"
#define FREE "sched_process_free"
/* Values of the map. */
enum { TRACKED = 1, ENDING = 2 };

/* The offset of an integer of 4 bytes in the records of an event; 0: there is none. */
static int find_number(const struct backend *b, const char *event, const char *name)
{
	struct md_buf text = MD_BUF_INIT;
	struct event_field f = { .offset = 0 };
	bool found = !tracefs_read_format(b, SYSTEM, event, &text) &&
		     event_field_find(md_buf_str(&text), name, strlen(name), &f);

	md_buf_deinit(&text);
	return found && f.size == 4 && f.offset >= 8 && f.offset < 4096 ? (int)f.offset : 0;
}

/* Loads a number of the event to a place on the stack, as a key. */
static void put_key(struct bpf_code *c, int offset, int place)
{
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_6, offset);
	bpf_store(c, BPF_W, BPF_REG_10, place, BPF_REG_1);
}

/* Register 0: the address of the value of the key at this place on the stack, or 0. */
static void look_up(struct bpf_code *c, int map, int place)
{
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, place);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
}

static void delete(struct bpf_code *c, int map, int place)
{
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, place);
	bpf_call(c, BPF_FUNC_map_delete_elem);
}

/* groups: as of struct bpf_channel; the parent runs. */
static void make_birth(struct bpf_code *c, int map, int groups, int parent, int child)
{
	int other = bpf_label(c), tracked = bpf_label(c);

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	put_key(c, parent, -4);
	put_key(c, child, -8);
	if (groups >= 0)
		bpf_groups_check(c, groups, tracked);
	look_up(c, map, -4);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, other);
	bpf_here(c, tracked);
	bpf_store_number(c, BPF_W, BPF_REG_10, -12, TRACKED);
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, -8);
	bpf_set_stack(c, BPF_REG_3, -12);
	bpf_set(c, BPF_REG_4, BPF_ANY);
	bpf_call(c, BPF_FUNC_map_update_elem);
	bpf_pass(c);
	bpf_here(c, other);
	delete(c, map, -8);
	bpf_pass(c);
}

static void make_end(struct bpf_code *c, int map, int thread)
{
	int end = bpf_label(c);

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	put_key(c, thread, -4);
	look_up(c, map, -4);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, end);
	bpf_store_number(c, BPF_W, BPF_REG_0, 0, ENDING);
	bpf_here(c, end);
	bpf_pass(c);
}

static void make_free(struct bpf_code *c, int map, int thread)
{
	int end = bpf_label(c);

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	put_key(c, thread, -4);
	look_up(c, map, -4);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, end);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_0, 0);
	bpf_jump_if(c, BPF_JNE, BPF_REG_1, ENDING, end);
	delete(c, map, -4);
	bpf_here(c, end);
	bpf_pass(c);
}

/* Makes the programs. 0 or -errno. */
static int follow_threads(struct bpf_channel *c, struct bpf_code *code)
{
	static const struct {
		const char *name, *event, *thread;
		void (*make)(struct bpf_code *c, int map, int thread);
	} programs[] = {
		{ "@birth", BIRTH, "child_pid", NULL },
		{ "@end", END, "pid", make_end },
		{ "@free", FREE, "pid", make_free },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs) && !ret; i++) {
		int thread = find_number(c->b, programs[i].event, programs[i].thread);
		int parent = programs[i].make ? 0 : find_number(c->b, BIRTH, "parent_pid");
		int id = tracefs_event_id(c->b, SYSTEM, programs[i].event);

		if (id < 0 || !thread || (!programs[i].make && !parent))
			return -EOPNOTSUPP;
		if (bpf_channel_find(c, programs[i].name))
			continue;
		bpf_code_begin(code);
		if (programs[i].make)
			programs[i].make(code, c->threads, thread);
		else
			make_birth(code, c->threads, c->groups, parent, thread);
		ret = bpf_channel_add(c, programs[i].name, BPF_SLOTS, (uint32_t)id, code);
	}
	return ret;
}

/* Programs that were loaded without the map do not know the set: loads them again. */
static int load_again(struct bpf_channel *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->count && !ret; i++) {
		struct bpf_event *e = &c->events[i];
		char *filter = e->filter ? strdup(e->filter) : NULL;

		if (e->slot < BPF_SLOTS)
			ret = bpf_channel_filter(c, e->name, filter ? filter : "");
		free(filter);
	}
	return ret;
}

static int make_map(struct bpf_channel *c)
{
	int map;

	if (c->threads >= 0)
		return 0;
	map = bpf_map_create(&(struct bpf_map_spec){ .type = BPF_MAP_TYPE_HASH, .key_size = 4,
						     .value_size = 4, .entries = THREADS_MAX,
						     .name = "trailfs_threads" });
	if (map < 0)
		return map;
	c->threads = map;
	bpf_channel_keep_one(c, BPF_KEPT_THREADS, map);
	return load_again(c);
}

static void empty_map(int map)
{
	uint32_t key;

	while (!bpf_map_next(map, NULL, &key) && !bpf_map_remove(map, &key))
		;
}

int bpf_track_more(struct bpf_channel *c, const uint32_t *tids, size_t count)
{
	const uint32_t one = TRACKED;
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = bpf_map_set(c->threads, &tids[i], &one);
	return ret;
}

static void stop_following(struct bpf_channel *c)
{
	static const char *const names[] = { "@birth", "@end", "@free" };
	struct bpf_event *e;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if ((e = bpf_channel_find(c, names[i])))
			bpf_channel_drop(c, e);
}

/* Makes the programs that follow threads again. */
static int follow_again(struct bpf_channel *c)
{
	struct bpf_code *code = calloc(1, sizeof(*code));
	int ret = code ? 0 : -ENOMEM;

	if (!ret) {
		stop_following(c);
		ret = follow_threads(c, code);
	}
	free(code);
	return ret;
}

/* The map of control groups, which programs that were loaded without it do not know. */
static int make_groups(struct bpf_channel *c)
{
	int ret;

	if (c->groups >= 0)
		return 0;
	c->groups = bpf_groups_make();
	if (c->groups < 0) {
		c->groups = -1;
		return -EOPNOTSUPP;
	}
	ret = load_again(c);
	if (!ret && c->tracked)
		ret = follow_again(c);
	if (!ret) {
		bpf_channel_keep_one(c, BPF_KEPT_GROUPS, c->groups);
		return 0;
	}
	/* The kernel refuses such programs. */
	close(c->groups);
	c->groups = -1;
	if (!load_again(c) && c->tracked)
		follow_again(c);
	return ret;
}

int bpf_track_groups(struct bpf_channel *c, const struct track *set)
{
	int ret;

	if (c->geometry.by == BACKEND_TRACEFS || (c->groups < 0 && !set))
		return 0;
	ret = make_groups(c);
	if (ret)
		return ret == -EOPNOTSUPP ? 0 : ret;
	ret = bpf_groups_set(c->groups, set, c->group_count);
	c->group_count = ret < 0 ? 0 : ret;
	return ret;
}

int bpf_track(struct bpf_channel *c, const uint32_t *tids, size_t count)
{
	struct bpf_code *code;
	int ret;

	bpf_misses_note_all(c);
	c->tracked = tids && count;
	if (!c->tracked) {
		stop_following(c);
		bpf_channel_set(c);
		return 0;
	}
	code = calloc(1, sizeof(*code));
	ret = code ? make_map(c) : -ENOMEM;
	/* A thread that is born meanwhile is in the list, or is added by the program. */
	if (!ret)
		ret = follow_threads(c, code);
	if (!ret) {
		empty_map(c->threads);
		ret = bpf_track_more(c, tids, count);
	}
	free(code);
	bpf_channel_set(c);
	return ret;
}
