// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the keeper holds of channels. Of an event, KIND is `program` and `link`; of a TYPED one also
 * `own`; of a CALL `call`, its body. Of a counter it is `counter`, with its type and config.
 */
#include "tracer/kernel/programs/bpf_refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"

#define LINK "link."
#define PROGRAM "program."
#define OWN "own."
#define CALL "call."
#define COUNTER "counter."
#define NAME_MAX_KEPT 240

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

void bpf_kept_drop_one(struct bpf_channel *c, const char *what)
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

/*
 * Calls f with the name and the descriptor of each, in this order or (back) in the other one. A
 * daemon may be killed between two calls. What is left must not be taken for another kind of
 * event: where there is `link`, there is `own`, too.
 */
static void each_descriptor(struct bpf_channel *c, const struct bpf_event *e, bool back,
			    void (*f)(struct bpf_channel *c, const char *what, int fd))
{
	const struct { const char *kind; int fd; } all[] = {
		{ OWN, e->own }, { e->kind == BPF_KIND_CALL ? CALL : PROGRAM, e->program },
		{ LINK, e->link },
	};
	const size_t count = sizeof(all) / sizeof(*all);
	char what[EVENT_NAME_KEPT];

	for (size_t n = 0; n < count; n++) {
		size_t i = back ? count - 1 - n : n;

		if (all[i].fd < 0)
			continue;
		print_event(e, all[i].kind, what);
		f(c, what, all[i].fd);
	}
}

static void drop_descriptor(struct bpf_channel *c, const char *what, int fd)
{
	(void)fd;
	bpf_kept_drop_one(c, what);
}

void bpf_kept_event(struct bpf_channel *c, const struct bpf_event *e)
{
	each_descriptor(c, e, false, bpf_channel_keep_one);
}

void bpf_kept_drop_event(struct bpf_channel *c, const struct bpf_event *e)
{
	each_descriptor(c, e, true, drop_descriptor);
}

static void print_counter(const struct bpf_counter *n, char out[EVENT_NAME_KEPT])
{
	snprintf(out, EVENT_NAME_KEPT, COUNTER "%" PRIu32 ".%" PRIx64, n->type, n->config);
}

void bpf_kept_counter(struct bpf_channel *c, const struct bpf_counter *n)
{
	char what[EVENT_NAME_KEPT];

	print_counter(n, what);
	bpf_channel_keep_one(c, what, n->map);
}

void bpf_kept_drop_counter(struct bpf_channel *c, const struct bpf_counter *n)
{
	char what[EVENT_NAME_KEPT];

	print_counter(n, what);
	bpf_kept_drop_one(c, what);
}

void bpf_channel_keep(struct bpf_channel *c)
{
	pthread_mutex_lock(&c->lock);
	bpf_channel_keep_one(c, BPF_KEPT_RING, c->ring.map);
	bpf_channel_keep_one(c, BPF_KEPT_THREADS, c->threads);
	bpf_channel_keep_one(c, BPF_KEPT_GROUPS, c->groups);
	bpf_channel_keep_one(c, BPF_KEPT_BODIES, c->bodies);
	bpf_channel_keep_one(c, BPF_KEPT_ENTRIES, c->calls[0]);
	bpf_channel_keep_one(c, BPF_KEPT_EXITS, c->calls[1]);
	bpf_channel_keep_one(c, BPF_KEPT_LATE_TABLE, c->late_table);
	bpf_channel_keep_one(c, BPF_KEPT_LATE_BODIES, c->late_bodies);
	bpf_channel_keep_one(c, BPF_KEPT_REFUSED, c->refused_file);
	for (size_t i = 0; i < c->counter_count; i++)
		bpf_kept_counter(c, &c->counters[i]);
	for (size_t i = 0; i < c->count; i++)
		bpf_kept_event(c, &c->events[i]);
	pthread_mutex_unlock(&c->lock);
}

struct found {                          /* what the keeper has of one channel */
	char prefix[NAME_MAX_KEPT];
	struct bpf_channel *c;          /* NULL: only the names are wanted */
	int ring;
	struct md_buf names;            /* each with a NUL */
};

static bool take_descriptor(int *to, int fd)
{
	if (*to >= 0)
		return false;
	*to = fd;
	return true;
}

/* Takes one of an event: what follows its kind is its slot, a dot, its name. */
static bool take_of_event(struct bpf_channel *c, const char *what, int fd)
{
	static const char *const kinds[] = { PROGRAM, LINK, OWN, CALL };
	unsigned long slot;
	struct bpf_event *e;
	size_t kind = 0;
	char *end;

	while (kind < 4 && strncmp(what, kinds[kind], strlen(kinds[kind])))
		kind++;
	if (kind == 4)
		return false;
	slot = strtoul(what + strlen(kinds[kind]), &end, 10);
	e = *end == '.' && slot <= BPF_SLOTS ? bpf_channel_room(c, (uint32_t)slot, end + 1) : NULL;
	if (!e)
		return false;
	if (kind >= 2)
		e->kind = kind == 2 ? BPF_KIND_TYPED : BPF_KIND_CALL;
	return take_descriptor(kind == 1 ? &e->link : kind == 2 ? &e->own : &e->program, fd);
}

static bool take_counter(struct bpf_channel *c, const char *what, int fd)
{
	struct bpf_counter n = { .map = fd };
	int end = 0;

	if (sscanf(what, COUNTER "%" SCNu32 ".%" SCNx64 "%n", &n.type, &n.config, &end) != 2 ||
	    !end || what[end] || !array_room(c->counters, c->counter_count + 1))
		return false;
	c->counters[c->counter_count++] = n;
	return true;
}

static void take_kept(void *arg, const char *name, int fd)
{
	struct found *f = arg;
	size_t skip = strlen(f->prefix);
	const char *what = name + skip;
	bool taken = false;

	if (strncmp(name, f->prefix, skip)) {
		close(fd);
		return;
	}
	md_buf_put(&f->names, name, strlen(name) + 1);
	if (f->c) {
		const struct { const char *what; int *to; } own[] = {
			{ BPF_KEPT_RING, &f->ring }, { BPF_KEPT_THREADS, &f->c->threads },
			{ BPF_KEPT_GROUPS, &f->c->groups },
			{ BPF_KEPT_BODIES, &f->c->bodies }, { BPF_KEPT_ENTRIES, &f->c->calls[0] },
			{ BPF_KEPT_EXITS, &f->c->calls[1] },
			{ BPF_KEPT_LATE_TABLE, &f->c->late_table },
			{ BPF_KEPT_LATE_BODIES, &f->c->late_bodies },
			{ BPF_KEPT_REFUSED, &f->c->refused_file },
		};

		for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !taken; i++)
			taken = !strcmp(what, own[i].what) && take_descriptor(own[i].to, fd);
		taken = taken || take_counter(f->c, what, fd) ||
			take_of_event(f->c, what, fd);
	}
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

int bpf_kept_take(struct bpf_channel *c)
{
	struct found f = { .c = c, .ring = -1, .names = MD_BUF_INIT };

	find_kept(c->b, c->hash, &f);
	md_buf_deinit(&f.names);
	return f.ring;
}
