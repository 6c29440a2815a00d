// SPDX-License-Identifier: MIT
/*
 * Call sites and probes (trail/site.h). They are connected by name, under the registration lock,
 * whenever an object with either comes or goes. Of several probes of one name each is called, in
 * the order in which they came: the site then has a set in place of a probe.
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

#define SET_MEMBERS 8           /* of more probes of one name the first are called */
#define SET_VERSION 0x736574u   /* of the probe that stands for a set */

/* Several probes of one site. It does not change while a hit may read it. */
struct set {
	struct trail__probe head;       /* what the site points to */
	const struct trail__probe *members[SET_MEMBERS];
	struct set *next;
};

/* All guarded by the registration lock. */
static struct group *sites, *probes, *unused;
static struct set *free_sets;
static struct set *retired;             /* no site has them, but hits may be inside */

static const unsigned int always_on = 1;        /* the state of sites with sets */

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

static bool is_on(const struct trail__probe *probe)
{
	return __atomic_load_n(__atomic_load_n(&probe->tp->state, __ATOMIC_RELAXED),
			       __ATOMIC_RELAXED);
}

/* The member that is on and follows `probe`, or the first such one if that is null. */
static const struct trail__probe *member_after(const struct set *set,
					       const struct trail__probe *probe)
{
	bool past = !probe;

	for (int i = 0; i < SET_MEMBERS && set->members[i]; i++) {
		if (past && is_on(set->members[i]))
			return set->members[i];
		past |= set->members[i] == probe;
	}
	return NULL;
}

static const struct trail__probe *enter(struct trail__site *site, unsigned int *chosen)
{
	unsigned int p = __atomic_load_n(&phase, __ATOMIC_RELAXED) & 1;
	const struct trail__probe *probe;

	/*
	 * Sequentially consistent with set_probe and is_empty: either we see the new probe, or
	 * they see us.
	 */
	__atomic_fetch_add(&counts[count_of_thread()].inside[p], 1, __ATOMIC_SEQ_CST);
	probe = __atomic_load_n(&site->probe, __ATOMIC_SEQ_CST);
	if (probe && probe->version == SET_VERSION)
		probe = member_after((const struct set *)probe, NULL);
	*chosen = p;
	if (!probe)
		leave(p);
	return probe;
}

static const struct trail__probe *next_probe(struct trail__site *site,
					     const struct trail__probe *probe, unsigned int p)
{
	const struct trail__probe *now = __atomic_load_n(&site->probe, __ATOMIC_ACQUIRE);

	now = now && now->version == SET_VERSION ? member_after((const struct set *)now, probe)
						 : NULL;
	if (!now)
		leave(p);
	return now;
}

static const struct trail__calls counted = { enter, leave, next_probe };

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
 * for ever. True: all have left.
 */
static bool wait_for_hits(void)
{
	struct timespec begin, now;
	bool all = true;

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
			    1000000000ll) {
				all = false;
				break;
			}
		}
	}
	__atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
	return all;
}

void sites_forked(void)
{
	/* The threads that were inside are not in the child. */
	memset(counts, 0, sizeof(counts));
	waiting = 0;
}

/* ---- connecting ---- */

static void set_probe(struct trail__site *site, const struct trail__probe *probe,
		      const unsigned int *state, bool count)
{
	if (count)
		__atomic_store_n(&site->calls, &counted, __ATOMIC_RELAXED);
	if (site->probe && site->probe->version == SET_VERSION) {
		struct set *old = (struct set *)(uintptr_t)site->probe;

		old->next = retired;
		retired = old;
	}
	if (!probe)
		__atomic_store_n(&site->state, &site->off, __ATOMIC_RELAXED);
	/* Pairs with the acquire in a hit, which then sees calls too; see also enter. */
	__atomic_store_n(&site->probe, probe, __ATOMIC_SEQ_CST);
	if (probe)
		__atomic_store_n(&site->state, state, __ATOMIC_RELEASE);
}

static bool same(const struct trail__site *site, const struct trail__probe *probe)
{
	return site->hash == probe->hash && probe->version == TRAIL__PROBE_VERSION &&
	       strcmp(site->name, probe->name) == 0 &&
	       strcmp(site->provider, probe->provider) == 0 && strcmp(site->args, probe->args) == 0;
}

static bool is_site(const struct trail__site *site)
{
	return site && site->version >= 1 && site->version <= TRAIL__SITE_VERSION;
}

static const struct trail__probe *find_probe(const struct group *p, const struct trail__site *site)
{
	for (void *const *j = p->begin; j < p->end; j++)
		if (*j && same(site, *j))
			return *j;
	return NULL;
}

/* NULL: there is no memory. */
static struct set *alloc_set(void)
{
	struct set *set = free_sets;

	if (set)
		free_sets = set->next;
	else
		set = arena_alloc(sizeof(*set));
	if (set)
		*set = (struct set){ .head.version = SET_VERSION };
	return set;
}

/* Connects a site of the object to the probes of its name. */
static void connect_site(struct trail__site *site, const void *object)
{
	const struct trail__probe *found[SET_MEMBERS];
	struct set *set;
	bool elsewhere = false;
	int n = 0;

	for (const struct group *p = probes; p && n < SET_MEMBERS; p = p->next) {
		found[n] = find_probe(p, site);
		if (!found[n])
			continue;
		/* The site reads the word without being counted. */
		if (object != p->object && found[n]->tp->object)
			((struct object *)found[n]->tp->object)->keep_map = true;
		elsewhere |= object != p->object;
		n++;
	}
	set = n > 1 ? alloc_set() : NULL;
	if (set) {
		memcpy(set->members, found, (size_t)n * sizeof(found[0]));
		set_probe(site, &set->head, &always_on, true);
	} else if (n) {
		const unsigned int *state = found[0]->tp->state;

		set_probe(site, found[0], state != &found[0]->tp->off ? state : &site->off,
			  elsewhere);
	} else {
		set_probe(site, NULL, NULL, false);
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

		if (!is_site(site))
			continue;
		site->hash = hash_name(site->provider, site->name);
		connect_site(site, object);
	}
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
		if (is_site(*i))
			set_probe(*i, NULL, NULL, false);
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

		if (probe && probe->version == TRAIL__PROBE_VERSION)
			probe->hash = hash_name(probe->provider, probe->name);
	}
	for (const struct group *s = sites; p && s; s = s->next)
		for (void *const *i = s->begin; i < s->end; i++)
			if (is_site(*i) && find_probe(p, *i))
				connect_site(*i, s->object);
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

static bool uses(const struct trail__site *site, const struct group *p)
{
	const struct set *set = (const struct set *)site->probe;

	if (!set || set->head.version != SET_VERSION)
		return belongs(site->probe, p);
	for (int i = 0; i < SET_MEMBERS; i++)
		if (belongs(set->members[i], p))
			return true;
	return false;
}

/* Connects the sites that had one of these probes to others. True: one was of another object. */
static bool disconnect_group(const struct group *p)
{
	bool elsewhere = false;

	for (const struct group *s = sites; s; s = s->next)
		for (void *const *i = s->begin; i < s->end; i++)
			if (is_site(*i) && uses(*i, p)) {
				connect_site(*i, s->object);
				elsewhere |= s->object != p->object;
			}
	return elsewhere;
}

/* Sets that were retired before all hits left can be used again. */
static void free_retired(struct set *old, bool all_left)
{
	while (old) {
		struct set *set = old, **list = all_left ? &free_sets : &retired;

		old = set->next;
		set->next = *list;
		*list = set;
	}
}

TRAIL_EXPORT void trail__probes_unregister(struct trail__probe *const *begin)
{
	struct set *old = NULL;
	bool elsewhere = false;
	int saved = errno;
	struct group *p;

	objects_lock();
	p = take(&probes, (void *const *)begin);
	if (p) {
		elsewhere = disconnect_group(p);
		drop(p);
	}
	if (elsewhere) {
		old = retired;
		retired = NULL;
	}
	objects_unlock();
	if (elsewhere) {
		bool all_left = wait_for_hits();

		objects_lock();
		free_retired(old, all_left);
		objects_unlock();
	}
	errno = saved;
}
