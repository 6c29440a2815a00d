// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All tracing domains (session/domain.h), all parts of a session, and what rooms keep in the tracer
 * (session/part.h).
 */
#include "tracer/session/part.h"

#include <stddef.h>
#include <stdlib.h>

#include "tracer/session/domain.h"
#include "tracer/session/session.h"

int domains_create(struct tracer *t)
{
	int ret = 0, err;

	for_each_domain(d, t) {
		err = (*d)->create ? (*d)->create(t) : 0;
		ret = ret ? ret : err;
	}
	return ret;
}

void domains_destroy(struct tracer *t)
{
	for_each_domain(d, t)
		if ((*d)->destroy)
			(*d)->destroy(t);
}

void domains_apply(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->apply)
			SESSION_LOCKED(s, (*d)->apply(s));
}

void domain_drain(struct session *s, enum domain domain)
{
	const struct domain_ops *ops = s->tracer->domains[domain];

	if (ops->drain)
		UNLOCKED(s->tracer, ops->drain(s));
}

void domains_drain(struct session *s)
{
	for_each_domain(d, s->tracer)
		domain_drain(s, (enum domain)(d - s->tracer->domains));
}

void domains_check(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->check)
			UNLOCKED(s->tracer, (*d)->check(s));
}

void domains_gc(struct tracer *t)
{
	for_each_domain(d, t)
		if ((*d)->gc)
			UNLOCKED(t, (*d)->gc(t));
}

bool domains_may_halt(const struct session *s)
{
	for_each_domain(d, s->tracer)
		if (!SESSION_LOCKED(s, (*d)->may_halt(s)))
			return false;
	return true;
}

void domains_halt(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->halt)
			SESSION_LOCKED(s, (*d)->halt(s));
}

void domains_collect(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->collect)
			SESSION_LOCKED(s, (*d)->collect(s));
}

void domains_ask_dump(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->ask_dump)
			SESSION_LOCKED(s, (*d)->ask_dump(s));
}

void domains_dump(struct session *s)
{
	for_each_domain(d, s->tracer)
		if ((*d)->dump)
			UNLOCKED(s->tracer, (*d)->dump(s));
}

/* ---- parts ---- */

/* Each part's data begins at a multiple of this. */
static size_t round_up(size_t size)
{
	size_t to = _Alignof(max_align_t);

	return (size + to - 1) / to * to;
}

size_t parts_size(const struct tracer *t)
{
	size_t size = 0;

	for_each_part(p, t)
		size += round_up((*p)->size);
	return size;
}

void *session_data(const struct session *s, const struct session_part *part)
{
	char *at = (char *)s->data;

	for_each_part(p, s->tracer) {
		if (*p == part)
			return at;
		at += round_up((*p)->size);
	}
	return NULL;            /* the tracer has no such part */
}

/* ---- rooms of the tracer ---- */

struct tracer *tracer_alloc(const struct domain_ops *const domains[],
			    const struct tracer_room *const *rooms)
{
	size_t size = 0, at[DOMAINS];
	struct tracer *t;

	for (const struct tracer_room *const *r = rooms; *r; r++)
		size += round_up((*r)->size);
	for (int d = 0; d < DOMAINS; d++) {
		at[d] = size;
		size += round_up(domains[d]->size);
	}
	t = calloc(1, sizeof(*t) + size);
	if (!t)
		return NULL;
	t->rooms = rooms;
	for (int d = 0; d < DOMAINS; d++) {
		t->domains[d] = domains[d];
		t->domain_data[d] = (char *)t->data + at[d];
	}
	return t;
}

void *tracer_data(const struct tracer *t, const struct tracer_room *room)
{
	char *at = (char *)t->data;

	for (const struct tracer_room *const *r = t->rooms; *r; r++) {
		if (*r == room)
			return at;
		at += round_up((*r)->size);
	}
	return NULL;            /* the tracer has no such room */
}

void tracer_create_rooms(struct tracer *t)
{
	for (const struct tracer_room *const *r = t->rooms; *r; r++)
		if ((*r)->create)
			(*r)->create(t);
}

void tracer_destroy_rooms(struct tracer *t)
{
	size_t n = 0;

	while (t->rooms[n])
		n++;
	while (n--)
		if (t->rooms[n]->destroy)
			t->rooms[n]->destroy(t);
}

/* ---- the hooks of parts ---- */

void session_create_parts(struct session *s)
{
	for_each_part_with(create, p, s->tracer)
		(*p)->create(s);
}

bool session_flush(struct session *s)
{
	bool done = true;

	for_each_part_with(flush, p, s->tracer)
		done = UNLOCKED(s->tracer, (*p)->flush(s)) && done;
	return done;
}

int session_part_streams(struct session *s, struct stream_set *out)
{
	int ret = 0;

	for_each_part(p, s->tracer)
		if (!ret && (*p)->streams)
			ret = UNLOCKED(s->tracer, (*p)->streams(s, out));
	return ret;
}

int session_prepare_parts(struct session *s, struct tr_err *err)
{
	int ret = 0;

	for_each_part_with(prepare, p, s->tracer)
		ret = ret ? ret : SESSION_LOCKED(s, (*p)->prepare(s, err));
	return ret;
}

int session_stop_parts(struct session *s, struct tr_err *why)
{
	int ret = 0;

	for_each_part_with(stopped, p, s->tracer)
		ret = ret ? ret : UNLOCKED(s->tracer, (*p)->stopped(s, why));
	return ret;
}

int session_removable(struct session *s, struct tr_err *why)
{
	int ret = 0;

	for_each_part_with(removable, p, s->tracer)
		ret = ret ? ret : UNLOCKED(s->tracer, (*p)->removable(s, why));
	return ret;
}

int session_clear_all(struct session *s, struct tr_err *err)
{
	int ret = 0;

	for_each_part_with(clear_all, p, s->tracer)
		ret = ret ? ret : UNLOCKED(s->tracer, (*p)->clear_all(s, err));
	return ret;
}

void session_halt_parts(struct session *s)
{
	for_each_part_with(halted, p, s->tracer)
		LOCKED(s->tracer, (*p)->halted(s));
}

bool session_has_rings(const struct session *s)
{
	for_each_part_with(has_rings, p, s->tracer)
		if (LOCKED(s->tracer, (*p)->has_rings(s)))
			return true;
	return false;
}

void session_clear_parts(struct session *s)
{
	for_each_part_with(clear, p, s->tracer)
		LOCKED(s->tracer, (*p)->clear(s));
}

void session_change_parts(struct session *s)
{
	for_each_part_with(changed, p, s->tracer)
		LOCKED(s->tracer, (*p)->changed(s));
}

void session_buffers_parts(struct session *s)
{
	for_each_part_with(buffers, p, s->tracer)
		LOCKED(s->tracer, (*p)->buffers(s));
}

void parts_gc(struct tracer *t)
{
	for_each_part_with(gc, p, t)
		UNLOCKED(t, (*p)->gc(t));
}

void session_follow_parts(struct session *s)
{
	for_each_part_with(follow, p, s->tracer)
		UNLOCKED(s->tracer, (*p)->follow(s));
}

bool session_has_work(struct session *s)
{
	for_each_part(p, s->tracer)
		if ((*p)->records && LOCKED(s->tracer, (*p)->records(s)))
			return true;
	return !cds_list_empty(&s->channels);
}

void session_drop_parts(struct session *s, bool keep)
{
	for_each_part_with(drop, p, s->tracer)
		LOCKED(s->tracer, (*p)->drop(s, keep));
}

void session_exchange_parts(struct session *a, struct session *b)
{
	settings_exchange(a->tracer->settings, a, b);
	for_each_part_with(exchange, p, a->tracer)
		LOCKED(a->tracer, (*p)->exchange(a, b));
}

void session_save_parts(const struct session *s, struct md_buf *out)
{
	for_each_part_with(save, p, s->tracer)
		LOCKED(s->tracer, (*p)->save(s, out));
}

bool session_restore_part(struct session *s, const char *key, const char *value)
{
	for_each_part(p, s->tracer)
		if ((*p)->restore_line && (*p)->restore_line(s, key, value))
			return true;
	return false;
}

bool session_must_finish(const struct session *s)
{
	for_each_part(p, s->tracer)
		if ((*p)->must_finish && LOCKED(s->tracer, (*p)->must_finish(s)))
			return true;
	return false;
}
