// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that no program saw, because another one ran on the CPU. The kernel counts them for each
 * program. The first CPU's control has their number, which outlives the daemon and programs that
 * were dropped.
 */
#include "tracer/kernel/programs/bpf.h"

/* Those of programs that record events. */
static uint64_t count(const struct bpf_event *e)
{
	uint64_t events;

	return e->name[0] == '@' || bpf_bodies_is_late(e) || bpf_missed(e->program, &events)
		       ? 0
		       : events;
}

static void add(struct bpf_control *control, uint64_t events, bool undecided)
{
	control->missed += events;
	if (undecided)
		__atomic_fetch_add(&control->undecided, events, __ATOMIC_RELAXED);
}

void bpf_misses_note(struct bpf_channel *c, struct bpf_event *e)
{
	uint64_t now = c->ring.map >= 0 ? count(e) : 0;

	if (now <= e->missed)
		return;
	add(bpf_ring_control(&c->ring, 0), now - e->missed, e->filter || c->tracked);
	e->missed = now;
}

void bpf_misses_note_all(struct bpf_channel *c)
{
	for (size_t i = 0; i < c->count; i++)
		bpf_misses_note(c, &c->events[i]);
}

uint64_t bpf_misses(struct bpf_channel *c)
{
	if (c->ring.map < 0)
		return 0;
	bpf_misses_note_all(c);
	return bpf_ring_control(&c->ring, 0)->missed;
}

void bpf_misses_drop(struct bpf_channel *c, struct bpf_event *e)
{
	bpf_misses_note(c, e);
	if (c->ring.map >= 0)
		bpf_ring_control(&c->ring, 0)->missed_before += e->missed;
}

void bpf_misses_adopt(struct bpf_channel *c)
{
	struct bpf_control *control = bpf_ring_control(&c->ring, 0);
	uint64_t all = control->missed_before;

	for (size_t i = 0; i < c->count; i++) {
		c->events[i].missed = count(&c->events[i]);
		all += c->events[i].missed;
	}
	/* Which of the programs had filters is not known. */
	if (all > control->missed)
		add(control, all - control->missed, true);
}
