// SPDX-License-Identifier: GPL-2.0-or-later
/* The events of a channel that BPF programs record, and what the keeper holds of them. */
#include "tracer/kernel/backend/bpf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/kernel/kevent/kevent.h"

/* The end of a name in the keeper. */
#define RING "ring"
#define THREADS "threads"
#define BODIES "bodies"
/*
 * Entries of the map of bodies. A stub of an event that was dropped stays attached for some
 * milliseconds: no other event may have its entry so soon.
 */
#define BODIES_MAX (4u * BPF_SLOTS)
#define LINK "link."
#define PROGRAM "program."
#define NAME_MAX_KEPT 240

/* ---- the keeper ---- */

static void print_name(uint64_t hash, const char *what, char out[NAME_MAX_KEPT])
{
	snprintf(out, NAME_MAX_KEPT, KEEPER_PROGRAMS "%016" PRIx64 ".%s", hash, what);
}

void bpf_channel_keep_one(struct bpf_channel *c, const char *what, int fd)
{
	char name[NAME_MAX_KEPT];

	print_name(c->hash, what, name);
	if (c->b->keeper && fd >= 0)
		keeper_put(c->b->keeper, name, fd);
}

static void drop_one(struct bpf_channel *c, const char *what)
{
	char name[NAME_MAX_KEPT];

	print_name(c->hash, what, name);
	if (c->b->keeper)
		keeper_drop(c->b->keeper, name);
}

#define EVENT_NAME_KEPT (BPF_EVENT_NAME + 32)

static void print_event(const struct bpf_event *e, const char *kind, char out[EVENT_NAME_KEPT])
{
	snprintf(out, EVENT_NAME_KEPT, "%s%" PRIu32 ".%s", kind, e->slot, e->name);
}

static void keep_event(struct bpf_channel *c, const struct bpf_event *e)
{
	char what[EVENT_NAME_KEPT];

	print_event(e, PROGRAM, what);
	bpf_channel_keep_one(c, what, e->program);
	print_event(e, LINK, what);
	bpf_channel_keep_one(c, what, e->link);
}

static void drop_event(struct bpf_channel *c, const struct bpf_event *e)
{
	char what[EVENT_NAME_KEPT];

	print_event(e, PROGRAM, what);
	drop_one(c, what);
	print_event(e, LINK, what);
	drop_one(c, what);
}

void bpf_channel_keep(struct bpf_channel *c)
{
	pthread_mutex_lock(&c->lock);
	bpf_channel_keep_one(c, RING, c->ring.map);
	bpf_channel_keep_one(c, THREADS, c->threads);
	bpf_channel_keep_one(c, BODIES, c->bodies);
	for (size_t i = 0; i < c->count; i++)
		keep_event(c, &c->events[i]);
	pthread_mutex_unlock(&c->lock);
}

struct found {                          /* what the keeper has of one channel */
	char prefix[NAME_MAX_KEPT];
	struct bpf_channel *c;          /* NULL: only the names are wanted */
	int ring;
	struct md_buf names;            /* each with a NUL */
};

static struct bpf_event *add_event(struct bpf_channel *c, uint32_t slot, const char *name)
{
	struct bpf_event *e = bpf_channel_find(c, name);

	if (e || strlen(name) >= sizeof(e->name) || !array_room(c->events, c->count + 1))
		return e;
	e = &c->events[c->count++];
	*e = (struct bpf_event){ .slot = slot, .program = -1, .link = -1 };
	strcpy(e->name, name);
	return e;
}

/* The event of what follows `link.` or `program.`: its slot, a dot, its name. */
static struct bpf_event *find_kept_event(struct bpf_channel *c, const char *text)
{
	char *end;
	unsigned long slot = strtoul(text, &end, 10);

	return *end == '.' && slot <= BPF_SLOTS ? add_event(c, (uint32_t)slot, end + 1) : NULL;
}

static bool take_descriptor(int *to, int fd)
{
	if (*to >= 0)
		return false;
	*to = fd;
	return true;
}

static void take_kept(void *arg, const char *name, int fd)
{
	struct found *f = arg;
	size_t skip = strlen(f->prefix);
	const char *what = name + skip;
	struct bpf_event *e;
	bool taken = false;

	if (strncmp(name, f->prefix, skip)) {
		close(fd);
		return;
	}
	md_buf_put(&f->names, name, strlen(name) + 1);
	if (f->c && !strcmp(what, RING))
		taken = take_descriptor(&f->ring, fd);
	else if (f->c && !strcmp(what, THREADS))
		taken = take_descriptor(&f->c->threads, fd);
	else if (f->c && !strcmp(what, BODIES))
		taken = take_descriptor(&f->c->bodies, fd);
	else if (f->c && !strncmp(what, LINK, strlen(LINK)))
		taken = (e = find_kept_event(f->c, what + strlen(LINK))) &&
			take_descriptor(&e->link, fd);
	else if (f->c && !strncmp(what, PROGRAM, strlen(PROGRAM)))
		taken = (e = find_kept_event(f->c, what + strlen(PROGRAM))) &&
			take_descriptor(&e->program, fd);
	if (!taken)
		close(fd);
}

static void find_kept(struct backend *b, uint64_t hash, struct found *f)
{
	print_name(hash, "", f->prefix);
	if (b->keeper)
		keeper_each(b->keeper, take_kept, f);
}

static void drop_names(struct backend *b, struct md_buf *names)
{
	for (size_t at = 0; !names->failed && at < names->len; at += strlen(names->data + at) + 1)
		keeper_drop(b->keeper, names->data + at);
	md_buf_deinit(names);
}

void bpf_channel_forget(struct backend *b, const char *name)
{
	struct found f = { .ring = -1, .names = MD_BUF_INIT };

	find_kept(b, hash_string(HASH_START, name), &f);
	drop_names(b, &f.names);
}

/* ---- the channel ---- */

int bpf_channel_create(struct backend *b, const char *name, const struct backend_geometry *g,
		       struct bpf_channel **out)
{
	struct bpf_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	c->b = b;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->hash = hash_string(HASH_START, name);
	c->geometry = *g;
	c->ring = (struct bpf_ring){ .map = -1, .records = MD_BUF_INIT };
	c->threads = c->bodies = c->call_stacks = -1;
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

static uint64_t count_missed(const struct bpf_event *e)
{
	uint64_t events;

	return e->name[0] == '@' || bpf_missed(e->program, &events) ? 0 : events;
}

uint64_t bpf_channel_missed(const struct bpf_channel *c)
{
	uint64_t events = c->missed;

	for (size_t i = 0; i < c->count; i++)
		events += count_missed(&c->events[i]);
	return events;
}

void bpf_channel_drop(struct bpf_channel *c, struct bpf_event *e)
{
	uint32_t body;

	c->missed += count_missed(e);
	if (e->slot < BPF_SLOTS && c->ring.map >= 0) {
		body = bpf_ring_control(&c->ring, 0)->tokens[e->slot] % BODIES_MAX;
		set_token(c, e->slot, 0);
		if (c->bodies >= 0)
			bpf_map_remove(c->bodies, &body);
	}
	drop_event(c, e);
	bpf_detach(e->link, e->program);
	free(e->filter);
	*e = c->events[--c->count];
}

void bpf_channel_adopt(struct bpf_channel *c)
{
	struct found f = { .c = c, .ring = -1, .names = MD_BUF_INIT };
	const struct bpf_control *control;

	find_kept(c->b, c->hash, &f);
	if (f.ring >= 0 && bpf_ring_open(&c->ring, f.ring, c->name, &c->geometry, NULL))
		f.ring = -1;
	if (f.ring >= 0) {
		control = bpf_ring_control(&c->ring, 0);
		c->on = control->on;
		c->tracked = control->tracked;
	}
	/* An event without its ring, or half of one, is made again. */
	for (size_t i = c->count; i-- > 0;)
		if (f.ring < 0 || c->events[i].link < 0 || c->events[i].program < 0 ||
		    (c->events[i].slot < BPF_SLOTS && c->bodies < 0))
			bpf_channel_drop(c, &c->events[i]);
	md_buf_deinit(&f.names);
}

void bpf_channel_free(struct bpf_channel *c, bool remove)
{
	if (!c)
		return;
	while (c->count && remove)
		bpf_channel_drop(c, &c->events[c->count - 1]);
	if (remove && c->threads >= 0)
		drop_one(c, THREADS);
	if (remove && c->bodies >= 0)
		drop_one(c, BODIES);
	if (remove && c->ring.map >= 0)
		drop_one(c, RING);
	for (size_t i = 0; i < c->count; i++) {
		bpf_detach(c->events[i].link, c->events[i].program);
		free(c->events[i].filter);
	}
	if (c->threads >= 0)
		close(c->threads);
	if (c->bodies >= 0)
		close(c->bodies);
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

struct bpf_event *bpf_channel_find(struct bpf_channel *c, const char *event)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->events[i].name, event))
			return &c->events[i];
	return NULL;
}

/* Loads a program and attaches it. 0 or -errno; on an error nothing is open. */
static int attach(struct bpf_code *code, uint32_t id, int *program, int *link, struct tr_err *why)
{
	*program = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, why);
	if (*program < 0)
		return *program;
	*link = bpf_attach(*program, id);
	if (*link >= 0)
		return 0;
	if (*link == -E2BIG)
		tr_fail(why, *link, "the kernel runs at most 64 programs at a tracepoint");
	else
		tr_fail(why, *link, "the program cannot be attached: %s", strerror(-*link));
	close(*program);
	return *link;
}

int bpf_channel_add(struct bpf_channel *c, const char *name, uint32_t slot, uint32_t id,
		    struct bpf_code *code)
{
	int program, link, ret = attach(code, id, &program, &link, &c->why);
	struct bpf_event *e = ret ? NULL : add_event(c, slot, name);

	if (!e) {
		if (!ret)
			bpf_detach(link, program);
		return ret ? ret : -ENOMEM;
	}
	e->program = program;
	e->link = link;
	keep_event(c, e);
	return 0;
}

static uint32_t find_slot(const struct bpf_channel *c)
{
	uint32_t slot = 0;

	while (slot < BPF_SLOTS && bpf_ring_control(&c->ring, 0)->tokens[slot])
		slot++;
	return slot;
}

static int open_bodies(struct bpf_channel *c)
{
	if (c->bodies < 0) {
		c->bodies = bpf_map_create(&(struct bpf_map_spec){
			.type = BPF_MAP_TYPE_PROG_ARRAY, .key_size = 4, .value_size = 4,
			.entries = BODIES_MAX, .name = "trailfs_bodies" });
		bpf_channel_keep_one(c, BODIES, c->bodies);
	}
	return c->bodies < 0 ? c->bodies : 0;
}

/*
 * Makes the code the body of the event's program, which is a stub that jumps to the body: one write
 * replaces the old body, so every event is recorded by one of the two. code is overwritten.
 */
static int load_body(struct bpf_channel *c, const char *event, uint32_t slot, uint32_t token,
		     uint32_t id, struct bpf_code *code)
{
	uint32_t at = token % BODIES_MAX;
	int ret = open_bodies(c), body;

	if (ret)
		return ret;
	body = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, &c->why);
	if (body < 0)
		return body;
	ret = bpf_map_set(c->bodies, &at, &body);
	close(body);                    /* the map has it */
	if (ret || bpf_channel_find(c, event))
		return ret;
	bpf_program_stub(code, c->bodies, at);
	ret = bpf_channel_add(c, event, slot, id, code);
	if (ret)
		bpf_map_remove(c->bodies, &at);
	return ret;
}

static int open_ring(struct bpf_channel *c)
{
	int ret = c->ring.map < 0 ? bpf_ring_open(&c->ring, -1, c->name, &c->geometry, &c->why)
				  : 1;

	if (!ret) {
		bpf_channel_set(c);
		bpf_channel_keep_one(c, RING, c->ring.map);
	}
	return ret < 0 ? ret : 0;
}

int bpf_channel_enable(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		       const struct bpf_filters *filters)
{
	struct bpf_event *e = bpf_channel_find(c, event);
	struct bpf_recording r = { .source = source, .ring = &c->ring, .filters = filters,
				   .contexts = c->contexts, .threads = c->threads };
	struct bpf_code *code;
	int ret = open_ring(c);

	if (ret)
		return ret;
	r.slot = e ? e->slot : find_slot(c);
	code = r.slot == BPF_SLOTS ? NULL : calloc(1, sizeof(*code));
	if (!code)
		return r.slot == BPF_SLOTS ? -ENOSPC : -ENOMEM;
	r.token = e ? bpf_ring_control(&c->ring, 0)->tokens[r.slot]
		    : ++bpf_ring_control(&c->ring, 0)->last_token;
	bpf_program_body(code, &r);
	ret = load_body(c, event, r.slot, r.token, source->id, code);
	if (!ret)
		set_token(c, r.slot, r.token);
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
