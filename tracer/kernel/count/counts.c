// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps and programs in the kernel, and what the keeper holds of them. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/kernel/count/internal.h"

#define NAME_BYTES 64
/* Values of a key that a new generation has made invalid stay until the next look. */
#define GENERATIONS 2

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;    /* guards the list; a leaf */
static CDS_LIST_HEAD(all);              /* struct counts.node */

/* ---- the keeper ---- */

static const char *const map_names[] = { "map", "control", "zero" };

static int *map_of(struct counts *c, size_t i)
{
	int *const maps[] = { &c->map, &c->control_map, &c->zero_map };

	return maps[i];
}

#define MAPS (sizeof(map_names) / sizeof(*map_names))

static void print_name(const struct counts *c, const char *what, size_t event,
		       char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, KEEPER_PROGRAMS "%016" PRIx64 ".%s.%zu", c->identity, what,
		 event);
}

static void keep_one(const struct counts *c, const char *what, size_t event, int fd)
{
	char name[NAME_BYTES];

	print_name(c, what, event, name);
	if (c->keeper && fd >= 0)
		keeper_put(c->keeper, name, fd);
}

static void keep_all(struct counts *c)
{
	for (size_t i = 0; i < MAPS; i++)
		keep_one(c, map_names[i], 0, *map_of(c, i));
	for (size_t i = 0; i < c->event_count; i++) {
		keep_one(c, "program", i, c->events[i].program);
		keep_one(c, "link", i, c->events[i].link);
	}
}

static void drop_one(const struct counts *c, const char *what, size_t event)
{
	char name[NAME_BYTES];

	print_name(c, what, event, name);
	if (c->keeper)
		keeper_drop(c->keeper, name);
}

static void drop_all(struct counts *c)
{
	for (size_t i = 0; i < c->event_count; i++) {
		drop_one(c, "link", i);
		drop_one(c, "program", i);
	}
	for (size_t i = 0; i < MAPS; i++)
		drop_one(c, map_names[i], 0);
}

static int take_one(const struct counts *c, const char *what, size_t event, int *fd)
{
	char name[NAME_BYTES];

	print_name(c, what, event, name);
	*fd = c->keeper ? keeper_find(c->keeper, name) : -ENOENT;
	return *fd < 0 ? -ENOENT : 0;
}

/* Takes over all of an earlier daemon's counts, or nothing. */
static int take_all(struct counts *c)
{
	int ret = 0;

	for (size_t i = 0; i < MAPS && !ret; i++)
		ret = take_one(c, map_names[i], 0, map_of(c, i));
	for (size_t i = 0; i < c->event_count && !ret; i++) {
		ret = take_one(c, "program", i, &c->events[i].program);
		if (!ret)
			ret = take_one(c, "link", i, &c->events[i].link);
	}
	return ret;
}

void counts_keep(void)
{
	struct counts *c;

	pthread_mutex_lock(&all_lock);
	cds_list_for_each_entry(c, &all, node)
		keep_all(c);
	pthread_mutex_unlock(&all_lock);
}

/* ---- make ---- */

static int make_maps(struct counts *c)
{
	const struct bpf_map_spec specs[] = {
		{ BPF_MAP_TYPE_PERCPU_HASH, c->key_size, c->value_size, GENERATIONS * c->keys, 0,
		  "trailfs_counts" },
		{ BPF_MAP_TYPE_ARRAY, 4, sizeof(struct count_control), 1, BPF_F_MMAPABLE,
		  "trailfs_control" },
		{ BPF_MAP_TYPE_ARRAY, 4, c->value_size, 1, 0, "trailfs_zero" },
	};

	for (size_t i = 0; i < MAPS; i++) {
		*map_of(c, i) = bpf_map_create(&specs[i]);
		if (*map_of(c, i) < 0)
			return *map_of(c, i);
	}
	return 0;
}

static int attach_event(struct counts *c, size_t i, struct bpf_code *code)
{
	struct count_event *e = &c->events[i];

	count_program(code, c, i);
	e->program = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, NULL);
	if (e->program < 0)
		return e->program;
	e->link = bpf_attach(e->program, e->format->id);
	return e->link < 0 ? e->link : 0;
}

static int attach_all(struct counts *c)
{
	struct bpf_code *code = calloc(1, sizeof(*code));
	int ret = code ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->event_count && !ret; i++)
		ret = attach_event(c, i, code);
	free(code);
	return ret;
}

static int map_control(struct counts *c)
{
	void *at = mmap(NULL, sizeof(*c->control), PROT_READ | PROT_WRITE, MAP_SHARED,
			c->control_map, 0);

	if (at == MAP_FAILED)
		return -errno;
	c->control = at;
	return 0;
}

static void free_event(struct count_event *e)
{
	bpf_detach(e->link, e->program);
	kcode_free(e->code);
	ksyms_free(e->symbols);
	kformat_free(e->format);
}

static void free_counts(struct counts *c)
{
	for (size_t i = 0; i < c->event_count; i++)
		free_event(&c->events[i]);
	if (c->control)
		munmap(c->control, sizeof(*c->control));
	for (size_t i = 0; i < MAPS; i++)
		if (*map_of(c, i) >= 0)
			close(*map_of(c, i));
	md_stream_destroy(c->class);
	context_list_deinit(&c->contexts);
	pthread_mutex_destroy(&c->walk);
	free(c);
}

static struct counts *create_counts(const struct count_spec *s, struct keeper *keeper)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	CDS_INIT_LIST_HEAD(&c->node);
	pthread_mutex_init(&c->walk, NULL);
	c->spec = s;
	c->keeper = keeper;
	c->identity = s->identity;
	c->keys = s->keys;
	c->cpus = s->cpus;
	for (size_t i = 0; i < MAPS; i++)
		*map_of(c, i) = -1;
	for (; c->event_count < s->format_count; c->event_count++)
		c->events[c->event_count] = (struct count_event){
			.format = kformat_get(s->formats[c->event_count]), .program = -1, .link = -1
		};
	return c;
}

uint64_t counts_memory(const struct counts *c)
{
	return (uint64_t)GENERATIONS * c->keys *
	       (c->key_size + 64 + (uint64_t)c->cpus * c->value_size);
}

int counts_open(const struct count_spec *spec, struct keeper *keeper, bool adopt,
		struct counts **out)
{
	struct counts *c = create_counts(spec, keeper);
	int ret = c ? 0 : -ENOMEM;

	if (!ret)
		ret = count_layout(c);
	if (!ret)
		ret = count_make_class(c);
	if (!ret && adopt)
		ret = take_all(c);
	else if (!ret)
		ret = counts_memory(c) > spec->bytes_max ? -E2BIG : make_maps(c);
	if (!ret)
		ret = map_control(c);
	if (!ret) {
		/* The earlier daemon may have cleared the counts once. */
		c->swept = c->control->generation - (adopt ? GENERATIONS - 1 : 0);
		c->control->since = adopt ? c->control->since : wall_clock();
	}
	if (!ret && !adopt)
		ret = attach_all(c);
	if (ret) {
		if (c)
			free_counts(c);
		return ret;
	}
	c->spec = NULL;
	if (!adopt)
		keep_all(c);
	pthread_mutex_lock(&all_lock);
	cds_list_add_tail(&c->node, &all);
	pthread_mutex_unlock(&all_lock);
	*out = c;
	return 0;
}

void counts_close(struct counts *c, bool keep)
{
	if (!c)
		return;
	pthread_mutex_lock(&all_lock);
	cds_list_del(&c->node);
	pthread_mutex_unlock(&all_lock);
	if (!keep)
		drop_all(c);
	free_counts(c);
}

void counts_enable(struct counts *c, bool on)
{
	__atomic_store_n(&c->control->on, on, __ATOMIC_RELEASE);
}

void counts_clear(struct counts *c)
{
	struct count_control *k = c->control;
	uint32_t generation;

	pthread_mutex_lock(&c->walk);
	k->left_out_before = __atomic_load_n(&k->left_out, __ATOMIC_RELAXED);
	k->missed_before = count_missed(c);
	k->since = wall_clock();
	generation = __atomic_add_fetch(&k->generation, 1, __ATOMIC_RELEASE);
	/* There is room for the keys of GENERATIONS. */
	if (generation - c->swept >= GENERATIONS)
		count_sweep(c, generation);
	pthread_mutex_unlock(&c->walk);
}

int64_t counts_since(const struct counts *c)
{
	return c->control->since;
}

const struct md_stream *counts_class(const struct counts *c)
{
	return c->class;
}
