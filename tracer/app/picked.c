// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/picked.h"

#include <string.h>

#include "metadata/name.h"
#include "tracer/abi/pick.h"
#include "tracer/app/parse.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"

/* The bit of the name in the channel's list; 0: it is not there. */
static uint64_t wanted_bit(const struct channel *c, const char *claimed)
{
	struct md_buf name = MD_BUF_INIT;
	uint64_t bit = 1, found = 0;

	md_name_field(claimed, &name);
	for (const char *at = c->picks; *at && bit && !name.failed; at += strlen(at) + 1, bit <<= 1)
		found |= !strcmp(at, md_buf_str(&name)) ? bit : 0;
	md_buf_deinit(&name);
	return found;
}

/* False: steps cannot pass this field, or not take it whole. */
static bool step_of(const struct trail_reg_field *f, bool take, struct trail_pick_step *s)
{
	*s = (struct trail_pick_step){ .take = take, .bytes = f->size };
	switch (f->kind) {
	case TRAIL_KIND_INT:
	case TRAIL_KIND_FLOAT:
	case TRAIL_KIND_STRUCT:
		s->bytes = f->kind == TRAIL_KIND_STRUCT ? 0 : f->size;
		return true;
	case TRAIL_KIND_STRING:
		s->kind = TRAIL_PICK_STRING;
		return true;
	case TRAIL_KIND_ARRAY:
		return !__builtin_mul_overflow(f->count, f->size, &s->bytes);
	case TRAIL_KIND_SEQUENCE:
		s->kind = TRAIL_PICK_SEQUENCE;
		s->size = f->length;
		/* The length is read in the host's byte order. */
		return !take || (f->flags & TRAIL_FIELD_TEXT && f->size == 1);
	default:
		return false;
	}
}

static void add_step(struct md_buf *steps, const struct trail_pick_step *s)
{
	struct trail_pick_step *last =
		steps->len ? (struct trail_pick_step *)(void *)(steps->data + steps->len) - 1
			   : NULL;

	if (last && !steps->failed && last->kind == TRAIL_PICK_BYTES && s->kind == last->kind &&
	    last->take == s->take && last->bytes <= UINT32_MAX - s->bytes)
		last->bytes += s->bytes;
	else if (s->bytes || s->kind != TRAIL_PICK_BYTES)
		md_buf_put(steps, s, sizeof(*s));
}

struct picked picked_find(const struct channel *c, const struct registration *r, uint32_t event,
			  bool able, struct md_buf *steps)
{
	const struct registration_event *e = &r->events[event];
	const struct trail_reg_field *f = &r->fields[e->first_field], *end = f + e->written;
	struct picked whole = { .digest = e->digest }, p = { .some = true, .digest = e->digest };
	struct md_buf own = MD_BUF_INIT;
	struct trail_pick_step step;
	uint64_t found = 0, bit, all = 0;
	bool fewer = false;     /* a field is not wanted */
	uint32_t n = 0;

	if (!able || !c->picks)
		return whole;
	for (const char *at = c->picks; *at; at += strlen(at) + 1)
		all = all << 1 | 1;
	for (uint32_t i = 0; f < end && i < 64 && p.some; i++) {
		bit = wanted_bit(c, r->strings + f->name) & ~found;
		found |= bit;
		fewer |= !bit;
		p.fields |= bit ? UINT64_C(1) << i : 0;
		for (n = registration_extent(f); n && p.some; n--, f++) {
			p.some = step_of(f, bit != 0, &step);
			add_step(&own, &step);
		}
	}
	p.digest = hash_step(hash_step(p.digest, p.fields), p.fields >> 32 | 1ull << 32);
	n = (uint32_t)(own.len / sizeof(step));
	/* To take all fields one by one would cost a program more than to record the event. */
	p.some = p.some && fewer && f == end && found == all && !own.failed &&
		 trail_pick_is_valid((const void *)own.data, n);
	if (p.some && steps)
		md_buf_put(steps, own.data, own.len);
	md_buf_deinit(&own);
	return p.some ? p : whole;
}

struct md_event *picked_event(const struct picked *p, const struct registration *r, uint32_t event)
{
	struct md_event *e = registration_event(r, event);
	uint32_t count = 0;

	for (uint32_t i = 0; e && p->some && i < e->field_count; i++)
		if (p->fields >> i & 1)
			e->fields[count++] = e->fields[i];
		else
			md_field_deinit(&e->fields[i]);
	if (e && p->some)
		e->field_count = count;
	return e;
}
