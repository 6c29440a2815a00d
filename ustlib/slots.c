// SPDX-License-Identifier: MIT
/*
 * Slots: where the events of a trace point go, made from plans; mapping.c has the mappings that
 * they name. All with the registration lock held, but read by hits at any moment.
 *
 * Reclaiming. Slots and what hangs on them are memory of fixed kinds: a hit may read a slot that
 * was retired, or filled again for something else, and finds out by its seq, in the restartable
 * section at the latest. Mappings that no plan wants any more may still be in use: by a section
 * that compared seq before the slot was retired, or by a slow path, which holds slot_users. So:
 * retire the slots, restart all sections of this process (membarrier), and if slot_users is 0 then,
 * no thread uses the old mappings: unmap them. Else the next attach unmaps them.
 */
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/exchange.h"
#include "ustlib/lib.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/abi/pick.h"
#include "tracer/abi/ring_write.h"

#define MEMBARRIER_RSEQ (1 << 7)

uint32_t slot_users;

static uint64_t last_seq;                       /* of slots and of steady contexts */

/* ---- contexts and programs ---- */

/* 64 bytes << class; the largest holds TRAIL_PROGRAM_MAX and all contexts */
#define EXTRA_CLASSES 13
static struct slot_extra *free_extras[EXTRA_CLASSES];

static struct slot_extra *extra_alloc(size_t size)
{
	struct slot_extra *x;
	unsigned int class = 0;

	while (class < EXTRA_CLASSES && (size_t)64 << class < size)
		class++;
	if (class == EXTRA_CLASSES)
		return NULL;
	if ((x = free_extras[class])) {
		free_extras[class] = x->next;
		return x;
	}
	x = arena_alloc(sizeof(*x) + ((size_t)64 << class));
	if (x)
		x->capacity = 64u << class;
	return x;
}

static void extra_free(struct slot_extra *x)
{
	unsigned int class = 0;

	if (!x)
		return;
	while ((uint32_t)64 << class < x->capacity)
		class++;
	x->next = free_extras[class];
	free_extras[class] = x;
}

static const char *blob_string(const struct taken_plan *p, uint32_t at)
{
	uint32_t size = p->head->blob_size;

	if (at >= size || !memchr(p->blob + at, 0, size - at))
		return NULL;
	return (const char *)p->blob + at;
}

static bool put_context(const struct taken_plan *p, const struct trail_plan_context *from,
			struct slot_extra *x)
{
	struct placed_context *to = (struct placed_context *)x->data + x->context_count;
	uint32_t size = context_size(from->kind);
	const char *name, *value;

	*to = (struct placed_context){ .kind = from->kind,
				      .index = from->perf_type,
				      .config = from->perf_config };
	if (from->kind == TRAIL_CONTEXT_APP) {
		name = blob_string(p, from->name);
		value = from->value ? blob_string(p, from->value - 1) : NULL;
		to->index = name ? app_context_index(name) : UINT32_MAX;
		if (value)
			app_context_set(to->index, value);
	}
	if (size == UINT32_MAX || x->context_size == UINT32_MAX)
		x->context_size = UINT32_MAX;
	else
		x->context_size += size;
	x->context_count++;
	if (!context_is_steady(from->kind))
		x->steady = 0;
	return size != 0;
}

static bool picks(const struct trail_plan_slot *s)
{
	return s->flags & TRAIL_SLOT_PICK;
}

enum made { MADE, MADE_NONE, MADE_NOT };

/* The contexts of the region and the program of the slot. */
static enum made extra_make(const struct taken_plan *p, const struct trail_plan_slot *from,
			    struct slot_extra **out)
{
	const struct trail_plan_region *r = &p->regions[from->region];
	uint64_t contexts = (uint64_t)r->context_count * sizeof(struct placed_context);
	uint64_t steps = picks(from) ? from->pick_count * sizeof(struct trail_pick_step) : 0;
	uint8_t *at;
	struct slot_extra *x;

	*out = NULL;
	if (!r->context_count && !from->program_size && !picks(from) &&
	    !(r->flags & TRAIL_REGION_WAKE))
		return MADE_NONE;
	if (r->context_count > TRAIL_CONTEXT_MAX ||
	    (uint64_t)r->first_context + r->context_count > p->head->context_count ||
	    from->program_size > TRAIL_PROGRAM_MAX ||
	    (uint64_t)from->program + from->program_size > p->head->blob_size ||
	    from->program % 8 || from->program_size % 8 || from->pick % 8 ||
	    (uint64_t)from->pick + steps > p->head->blob_size ||
	    !(x = extra_alloc(contexts + from->program_size + steps)))
		return MADE_NOT;
	x->context_count = x->context_size = 0;
	x->steady = r->context_count ? ++last_seq : 0;
	x->program_size = from->program_size;
	for (uint32_t i = 0; i < r->context_count; i++)
		if (!put_context(p, &p->contexts[r->first_context + i], x)) {
			extra_free(x);
			return MADE_NOT;
		}
	at = (uint8_t *)x->data + contexts;
	memcpy(at, p->blob + from->program, from->program_size);
	memcpy(at + from->program_size, p->blob + from->pick, steps);
	x->pick_count = steps ? from->pick_count : 0;
	if ((from->program_size && !filter_verify(at, from->program_size)) ||
	    !trail_pick_is_valid((const void *)(at + from->program_size), x->pick_count)) {
		extra_free(x);
		return MADE_NOT;
	}
	if (x->context_size > TRAIL__HEADROOM)
		x->steady = 0;
	*out = x;
	return MADE;
}

static bool same_extra(const struct slot_extra *a, const struct slot_extra *b)
{
	if (!a || !b)
		return a == b;
	return a->context_count == b->context_count && a->program_size == b->program_size &&
	       a->pick_count == b->pick_count &&
	       !memcmp(a->data, b->data,
		       a->context_count * sizeof(struct placed_context) + a->program_size +
			       a->pick_count * sizeof(struct trail_pick_step));
}

/* ---- slots ---- */

#define FREE_SIZES 8
#define SLOTS_MAX (2 * TRAIL_REGION_MAX)
static struct slots *free_slots[FREE_SIZES];    /* by capacity - 1 */
/* sections may still be at them: see slots_reclaim() */
static struct slots *retired;
static unsigned int retired_count;

static struct slots *slots_alloc(uint32_t count)
{
	struct slots *s;

	if (count <= FREE_SIZES && (s = free_slots[count - 1]))
		free_slots[count - 1] = s->next;
	else if ((s = arena_alloc(sizeof(*s) + count * sizeof(struct slot))))
		s->capacity = count;
	return s;
}

/*
 * seq goes last, so that who has read it finds the rest; and a hit that reads of the old slot finds
 * another seq afterwards.
 */
static void slot_fill(struct slot *s, const struct slot *from)
{
	struct slot *volatile to = s;

	__atomic_store_n(&to->flags, SLOT_RETIRED, __ATOMIC_SEQ_CST);
	__atomic_store_n(&to->seq, ++last_seq, __ATOMIC_SEQ_CST);
	memcpy(to, from, offsetof(struct slot, seq));
	to->on_value = from->on_value;
	to->lane = from->lane;
	to->own = from->own;
	to->header_size = from->header_size;
	to->header_ids = from->header_ids;
	to->mapping = from->mapping;
	to->extra = from->extra;
	to->key = from->key;
	to->timed_count = from->timed_count;
	to->quick = from->quick;
	to->mapping->users++;
	__atomic_store_n(&to->flags, from->flags, __ATOMIC_SEQ_CST);
	__atomic_store_n(&to->seq, ++last_seq, __ATOMIC_SEQ_CST);
}

static void slots_retire(struct slots *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		__atomic_store_n(&s->slot[i].flags, SLOT_RETIRED, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->slot[i].seq, ++last_seq, __ATOMIC_SEQ_CST);
		s->slot[i].mapping->users--;
	}
	s->next = retired;
	retired = s;
	retired_count++;
}

/*
 * What the first instruction of the program tests, if it is a test of 4 or 8 bytes or of a string,
 * and rejects.
 */
static uint8_t quick_make(const struct slot_extra *x, struct quick *q)
{
	const uint8_t *program =
		(const uint8_t *)x->data + x->context_count * sizeof(struct placed_context);
	struct filter_word w = filter_word(program, 1);
	static const uint64_t nothing;
	const uint8_t *low, *span = (const uint8_t *)&nothing;
	uint32_t n = w.b & 0xffff;
	bool whole = false;

	if (x->program_size >= 3 * FILTER_WORD && !x->context_count) {
		struct filter_word next = filter_word(program, 2);

		whole = next.op == FILTER_RETURN && next.at == 1;
	}
	/*
	 * The field follows no other of variable length; if the test does not hold, that is the
	 * end.
	 */
	if (w.flag != 0 || w.jump != FILTER_JUMP_FALSE || w.at > TRAIL_SUBBUF_MAX)
		return 0;
	switch (w.op) {
	case FILTER_RANGE_32:
		low = (const uint8_t *)&w.a;
		span = (const uint8_t *)&w.b;
		n = 4;
		break;
	case FILTER_RANGE_64:
		low = program + w.a;                            /* inside: it was verified */
		span = low + 8;
		n = 8;
		break;
	case FILTER_TEST_STRING:
		n += w.b >> 16 == FILTER_MATCH_WHOLE;
		if (w.b >> 16 > FILTER_MATCH_PREFIX || !n)
			return 0;
		whole = whole && n <= 8;
		n = n < 8 ? n : 8;
		low = program + w.a;
		break;
	default:
		return 0;
	}
	*q = quick_of(w.at, n, low, span);
	return SLOT_QUICK | (whole ? SLOT_DECIDED : 0);
}

static bool slot_make(struct slot *s, const struct taken_plan *p,
		      const struct trail_plan_slot *from, unsigned int lane)
{
	bool known = from->region < p->head->region_count;
	struct mapped_region *m = known ? p->mapped[from->region] : NULL;
	uint64_t ids = 0;
	uint32_t header, rings;
	struct slot_extra *x;
	bool counts;

	if (!m || from->id >= m->switch_count || !from->on ||
	    (m->mode == TRAIL_MODE_COUNT &&
	     (picks(from) || p->regions[from->region].context_count ||
	      p->regions[from->region].flags & TRAIL_REGION_WAKE)) ||
	    extra_make(p, from, &x) == MADE_NOT)
		return false;
	counts = m->mode == TRAIL_MODE_COUNT;
	rings = m->kind == TRAIL_RINGS_CPU && !m->counts_only ? m->ring_count : 0;
	header = ring_put_header((uint8_t *)&ids, from->id, 0, false);
	*s = (struct slot){
		.rings = m->base + m->ring_offset,
		.on = m->base + m->switch_offset + from->id,
		.ring_stride = m->ring_stride,
		.subbuf_mask = m->subbuf_size - 1,
		.data_mask = m->subbuf_size * m->subbuf_count - 1,
		.limit = m->subbuf_size - header - TRAIL_SLACK,
		.clock_mult = m->clock_mult,
		.clock_base = m->clock_base,
		.ring_count = m->clock_mult || counts ? rings : 0,
		.id = from->id,
		.data_offset = m->data_offset,
		.on_value = from->on,
		.lane = (uint8_t)lane,
		.own = p->regions[from->region].flags & TRAIL_REGION_PROCESS,
		.flags = x ? SLOT_EXTRA : 0,
		.header_size = header,
		.header_ids = ids,
		.mapping = m,
		.extra = x,
		.key = m->key,
		.timed_count = m->clock_mult || counts || m->clock_base == TRAIL_CLOCK_PLUGIN
				       ? 0
				       : rings,
	};
	if (x && x->program_size)
		s->flags |= quick_make(x, &s->quick);
	if (p->regions[from->region].flags & TRAIL_REGION_WAKE) {
		s->flags = (uint8_t)(s->flags & ~SLOT_DECIDED) | SLOT_WAKE;
	} else if (m->mode == TRAIL_MODE_COUNT) {
		s->flags = (uint8_t)(s->flags & ~SLOT_DECIDED) | SLOT_COUNT;
		s->data_offset += from->id * sizeof(struct trail_counter);
	} else if (picks(from)) {
		s->flags = (uint8_t)(s->flags & ~SLOT_DECIDED) | SLOT_PICK;
	}
	return true;
}

static bool same_slot(const struct slot *a, const struct slot *b)
{
	return !memcmp(a, b, offsetof(struct slot, seq)) && a->on_value == b->on_value &&
	       a->lane == b->lane && a->own == b->own && a->flags == b->flags &&
	       a->mapping == b->mapping && same_extra(a->extra, b->extra);
}

static bool same_slots(const struct slots *old, const struct slot *new, uint32_t count)
{
	if (!old || old->count != count)
		return !old && !count;
	for (uint32_t i = 0; i < count; i++)
		if (!same_slot(&old->slot[i], &new[i]))
			return false;
	return true;
}

static void publish(struct trail__tp *tp, struct slots *all)
{
	/*
	 * A hit between the stores may find neither; it is then one that came before the change
	 * took effect.
	 */
	__atomic_store_n(&tp->slot, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tp->places, all && all->count > 1 ? all : NULL, __ATOMIC_SEQ_CST);
	if (all && all->count == 1)
		__atomic_store_n(&tp->slot, &all->slot[0], __ATOMIC_SEQ_CST);
}

/* extras of slots that stay move along: the retired slots must not free them. */
static void keep_extras(struct slots *old, unsigned int lane, bool all)
{
	for (uint32_t i = 0; i < old->count; i++)
		if (all || old->slot[i].lane != lane)
			old->slot[i].extra = NULL;
}

void slots_set(struct trail__tp *tp, unsigned int lane, const struct taken_plan *p,
	       const struct trail_plan_slot *from, uint32_t n)
{
	static struct slot scratch[SLOTS_MAX];  /* too large for a small stack; under the lock */
	struct slots *old = slots_of(tp), *all = NULL;
	uint32_t kept = 0, at;

	for (uint32_t i = 0; old && i < old->count && kept < TRAIL_REGION_MAX; i++)
		if (old->slot[i].lane != lane)
			scratch[kept++] = old->slot[i];
	at = kept;
	for (uint32_t i = 0; i < n && at < SLOTS_MAX; i++)
		at += slot_make(&scratch[at], p, &from[i], lane);
	if (same_slots(old, scratch, at) || (at && !(all = slots_alloc(at)))) {
		for (uint32_t i = kept; i < at; i++)
			extra_free(scratch[i].extra);
		return;
	}
	if (all) {
		for (uint32_t i = 0; i < at; i++)
			slot_fill(&all->slot[i], &scratch[i]);
		__atomic_store_n(&all->count, at, __ATOMIC_RELEASE);
	}
	publish(tp, all);
	if (old)
		keep_extras(old, lane, false);
	slots_retire(old);
}

void slots_drop(struct trail__tp *tp)
{
	struct slots *old = slots_of(tp);

	if (!old)
		return;
	publish(tp, NULL);
	slots_retire(old);
}

/* Removes the slots whose event the daemon has to decide again, keeps the others. */
void slots_drop_stale(struct trail__tp *tp)
{
	struct slots *old = slots_of(tp), *all;
	uint32_t good = 0, at = 0;
	bool stays[SLOTS_MAX];

	for (uint32_t i = 0; old && i < old->count; i++) {
		uint8_t on = __atomic_load_n(old->slot[i].on, __ATOMIC_RELAXED);

		stays[i] = !on || on == old->slot[i].on_value;
		good += stays[i];
	}
	if (!old || good == old->count)
		return;
	if (!good || !(all = slots_alloc(good))) {
		slots_drop(tp);
		return;
	}
	for (uint32_t i = 0; i < old->count; i++)
		if (stays[i]) {
			slot_fill(&all->slot[at++], &old->slot[i]);
			old->slot[i].extra = NULL;
		}
	__atomic_store_n(&all->count, good, __ATOMIC_RELEASE);
	publish(tp, all);
	slots_retire(old);
}

/* ---- reclaiming ---- */

/* True if no thread can be at a slot that was retired before the call. */
static bool quiescent(void)
{
#ifdef SYS_membarrier
	if (rseq_usable && syscall(SYS_membarrier, MEMBARRIER_RSEQ, 0, 0) < 0)
		return false;
	/*
	 * Pairs with the increments in record.c: who comes after this sees that the slots are
	 * retired.
	 */
	return __atomic_load_n(&slot_users, __ATOMIC_SEQ_CST) == 0;
#else
	return false;
#endif
}

void slots_reclaim(void)
{
	if ((retired_count < 64 && !mappings_unused()) || !quiescent())
		return;
	mappings_unmap_unused();
	while (retired) {
		struct slots *s = retired;

		retired = s->next;
		for (uint32_t i = 0; i < s->count; i++) {
			extra_free(s->slot[i].extra);
			s->slot[i].extra = NULL;
		}
		if (s->capacity <= FREE_SIZES) {
			s->next = free_slots[s->capacity - 1];
			free_slots[s->capacity - 1] = s;
		}
	}
	retired_count = 0;
}
