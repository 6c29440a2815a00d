// SPDX-License-Identifier: MIT
/*
 * Call sites and probes (trail/site.h). They are connected by name, under the registration lock,
 * whenever an object with either comes or goes; of several probes of one name the first wins.
 *
 * Unloading. A site whose probe is in another object counts the hits that are inside it. When the
 * probe's object goes, its sites are disconnected, and then its destructor waits until no thread is
 * inside. There are two counts, and new hits go to the one that is not waited for, so that the wait
 * ends even if other sites are hit all the time. A hit may have chosen its count long before it
 * adds to it: both are waited for, one after the other.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "ustlib/lib.h"
#include "trail/site.h"

#define COUNTS 64               /* a power of two; threads are spread over them */

struct group {                          /* the sites, or the probes, of one object */
	void *const *begin, *const *end;
	const void *object;
	struct group *next;
};

/* All guarded by the registration lock. */
static struct group *sites, *probes, *unused;

static struct {
	uint32_t inside[2];             /* hits under way of this share of the threads */
} __attribute__((aligned(64))) counts[COUNTS];
static uint32_t phase;                  /* which count hits go to */
static uint32_t waiting;                /* a lock: who waits for hits to leave */

/* documented in lttng-ust(3) */
int lttng_ust_loaded __attribute__((weak, visibility("default")));

static uint32_t hash_name(const char *provider, const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *s = provider; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	h = (h ^ ':') * 16777619u;
	for (const char *s = name; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

/* ---- hits ---- */

static unsigned int count_of_thread(void)
{
	return (unsigned int)((uint64_t)(uintptr_t)__builtin_thread_pointer() >> 6) * 2654435769u >>
		       26 &
	       (COUNTS - 1);
}

static void leave(unsigned int p)
{
	/* Release: what the probe read is read. Pairs with the acquire in is_empty. */
	__atomic_fetch_sub(&counts[count_of_thread()].inside[p], 1, __ATOMIC_RELEASE);
}

static const struct trail__probe *enter(struct trail__site *site, unsigned int *chosen)
{
	unsigned int p = __atomic_load_n(&phase, __ATOMIC_RELAXED) & 1;
	const struct trail__probe *probe;

	/*
	 * Sequentially consistent with disconnect and is_empty: either we see no probe, or
	 * they see us.
	 */
	__atomic_fetch_add(&counts[count_of_thread()].inside[p], 1, __ATOMIC_SEQ_CST);
	probe = __atomic_load_n(&site->probe, __ATOMIC_SEQ_CST);
	*chosen = p;
	if (!probe)
		leave(p);
	return probe;
}

static const struct trail__calls counted = { enter, leave };

/*
 * A thread leaves through the counter that it entered through: while one that was inside at first
 * still is, that is not 0.
 */
static bool is_empty(unsigned int p)
{
	for (unsigned int i = 0; i < COUNTS; i++)
		if (__atomic_load_n(&counts[i].inside[p], __ATOMIC_SEQ_CST))
			return false;
	return true;
}

/*
 * With a limit: a hit that cannot end, for instance in a stopped thread, must not block dlclose(3)
 * for ever.
 */
static void wait_for_hits(void)
{
	struct timespec begin, now;

	thread_now(&begin);
	while (__atomic_exchange_n(&waiting, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 2; i++) {
		unsigned int p = __atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST) & 1;

		while (!is_empty(p)) {
			sched_yield();
			thread_now(&now);
			if ((now.tv_sec - begin.tv_sec) * 1000000000ll +
				    (now.tv_nsec - begin.tv_nsec) >
			    1000000000ll)
				break;
		}
	}
	__atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
}

void sites_forked(void)
{
	/* The threads that were inside are not in the child. */
	memset(counts, 0, sizeof(counts));
	waiting = 0;
}

/* ---- connecting ---- */

static void connect(struct trail__site *site, const struct trail__probe *probe, bool elsewhere)
{
	struct trail__tp *tp = probe->tp;

	if (elsewhere) {
		__atomic_store_n(&site->calls, &counted, __ATOMIC_RELAXED);
		/* The site reads the word without being counted. */
		if (tp->object)
			((struct object *)tp->object)->keep_map = true;
	}
	/* Pairs with the acquire in a hit, which then sees calls too. */
	__atomic_store_n(&site->probe, probe, __ATOMIC_RELEASE);
	if (tp->state != &tp->off)
		__atomic_store_n(&site->state, tp->state, __ATOMIC_RELEASE);
}

static void disconnect(struct trail__site *site)
{
	__atomic_store_n(&site->state, &site->off, __ATOMIC_RELAXED);
	__atomic_store_n(&site->probe, NULL, __ATOMIC_SEQ_CST);
}

static bool same(const struct trail__site *site, const struct trail__probe *probe)
{
	return site->hash == probe->hash && probe->version == TRAIL__SITE_VERSION &&
	       strcmp(site->name, probe->name) == 0 &&
	       strcmp(site->provider, probe->provider) == 0 && strcmp(site->args, probe->args) == 0;
}

static void connect_groups(const struct group *s, const struct group *p)
{
	for (void *const *i = s->begin; i < s->end; i++) {
		struct trail__site *site = *i;

		if (!site || site->version != TRAIL__SITE_VERSION || site->probe)
			continue;
		for (void *const *j = p->begin; j < p->end && !site->probe; j++)
			if (*j && same(site, *j))
				connect(site, *j, s->object != p->object);
	}
}

/* The newest is last in the list, so that the first wins. */
static struct group *add(struct group **list, void *const *begin, void *const *end,
			 const void *object)
{
	struct group *g;

	for (; *list; list = &(*list)->next)
		if ((*list)->begin == begin)
			return NULL;
	g = unused;
	if (g)
		unused = g->next;
	else
		g = arena_alloc(sizeof(*g));
	if (g) {
		*g = (struct group){ .begin = begin, .end = end, .object = object };
		*list = g;
	}
	return g;
}

static struct group *take(struct group **list, void *const *begin)
{
	for (; *list; list = &(*list)->next) {
		struct group *g = *list;

		if (g->begin == begin) {
			*list = g->next;
			return g;
		}
	}
	return NULL;
}

static void drop(struct group *g)
{
	g->next = unused;
	unused = g;
}

TRAIL_EXPORT void trail__sites_register(struct trail__site *const *begin,
					struct trail__site *const *end, const void *object)
{
	int saved = errno;
	struct group *s;

	lttng_ust_loaded = 1;
	if (begin == end)
		return;
	objects_lock();
	s = add(&sites, (void *const *)begin, (void *const *)end, object);
	for (void *const *i = (void *const *)begin; s && i < s->end; i++) {
		struct trail__site *site = *i;

		if (site && site->version == TRAIL__SITE_VERSION)
			site->hash = hash_name(site->provider, site->name);
	}
	for (const struct group *p = probes; s && p; p = p->next)
		connect_groups(s, p);
	objects_unlock();
	errno = saved;
}

TRAIL_EXPORT void trail__sites_unregister(struct trail__site *const *begin)
{
	int saved = errno;
	struct group *s;

	objects_lock();
	s = take(&sites, (void *const *)begin);
	for (void *const *i = s ? s->begin : NULL; s && i < s->end; i++)
		if (*i && ((struct trail__site *)*i)->version == TRAIL__SITE_VERSION)
			disconnect(*i);
	if (s)
		drop(s);
	objects_unlock();
	errno = saved;
}

TRAIL_EXPORT void trail__probes_register(struct trail__probe *const *begin,
					 struct trail__probe *const *end, const void *object)
{
	int saved = errno;
	struct group *p;

	if (begin == end)
		return;
	objects_lock();
	p = add(&probes, (void *const *)begin, (void *const *)end, object);
	for (void *const *i = (void *const *)begin; p && i < p->end; i++) {
		struct trail__probe *probe = *i;

		if (probe && probe->version == TRAIL__SITE_VERSION)
			probe->hash = hash_name(probe->provider, probe->name);
	}
	for (const struct group *s = sites; p && s; s = s->next)
		connect_groups(s, p);
	objects_unlock();
	errno = saved;
}

static bool belongs(const struct trail__probe *probe, const struct group *p)
{
	for (void *const *j = p->begin; probe && j < p->end; j++)
		if (*j == probe)
			return true;
	return false;
}

/* True: a site of another object had one of these probes. */
static bool disconnect_group(const struct group *p)
{
	bool elsewhere = false;

	for (const struct group *s = sites; s; s = s->next)
		for (void *const *i = s->begin; i < s->end; i++) {
			struct trail__site *site = *i;

			if (site && site->version == TRAIL__SITE_VERSION &&
			    belongs(site->probe, p)) {
				disconnect(site);
				elsewhere |= s->object != p->object;
			}
		}
	return elsewhere;
}

TRAIL_EXPORT void trail__probes_unregister(struct trail__probe *const *begin)
{
	bool elsewhere = false;
	int saved = errno;
	struct group *p;

	objects_lock();
	p = take(&probes, (void *const *)begin);
	if (p) {
		elsewhere = disconnect_group(p);
		drop(p);
	}
	objects_unlock();
	if (elsewhere) {
		wait_for_hits();
		/* Another object may have probes of the same names. */
		objects_lock();
		for (const struct group *s = sites; s; s = s->next)
			for (p = probes; p; p = p->next)
				connect_groups(s, p);
		objects_unlock();
	}
	errno = saved;
}
