// SPDX-License-Identifier: MIT
/*
 * Compiled call sites. Each has an array of probes, and a word that says whether it is on. Probes
 * and sites are connected if name and signature are the same. A site's array has the probes whose
 * state word is not 0; an array that was replaced is freed after a grace period (rcu.c).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ustlib/drop-in/drop_in.h"

struct site {
	struct ust_tracepoint *tracepoint;
	uint32_t hash;
};

struct module {                         /* the call sites of one loaded object */
	struct ust_tracepoint *const *start;
	struct module *next;
	size_t count;
	struct site sites[];
};

struct array {
	struct array *next;             /* of those that were replaced */
	struct ust_tracepoint_probe probes[];
};

/* Guarded by the drop-in lock. */
static struct module *modules;
static struct probe *probes;
static struct array *replaced;

static int locked;      /* the drop-in lock */

/*
 * Not a mutex of libc: programs may trace these. It is rarely contended, but it is held while a
 * grace period ends.
 */
void drop_in_lock(void)
{
	const struct timespec wait = { .tv_nsec = 100000 };

	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		nanosleep(&wait, NULL);
}

void drop_in_unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static uint32_t hash_name(const char *provider, const char *event)
{
	uint32_t h = 2166136261u;

	for (; *provider; provider++)
		h = (h ^ (uint8_t)*provider) * 16777619u;
	h = (h ^ ':') * 16777619u;
	for (; *event; event++)
		h = (h ^ (uint8_t)*event) * 16777619u;
	return h;
}

static bool is_wanted(const struct site *site, const struct probe *p)
{
	const struct ust_tracepoint *t = site->tracepoint;

	return p->hash == site->hash && (!p->word || __atomic_load_n(p->word, __ATOMIC_RELAXED)) &&
	       strcmp(p->event, t->event) == 0 && strcmp(p->provider, t->provider) == 0 &&
	       strcmp(p->signature, t->signature) == 0;
}

bool sites_differ(const char *provider, const char *event, const char *signature)
{
	bool found = false, same = false;

	drop_in_lock();
	for (const struct module *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->count; i++) {
			const struct ust_tracepoint *t = m->sites[i].tracepoint;

			if (!t || strcmp(t->event, event) != 0 ||
			    strcmp(t->provider, provider) != 0)
				continue;
			found = true;
			same |= strcmp(t->signature, signature) == 0;
		}
	drop_in_unlock();
	return found && !same;
}

/* The array has these probes, in this order. */
static bool is_same(const struct ust_tracepoint_probe *have, const struct site *site)
{
	for (const struct probe *p = probes; p; p = p->next)
		if (is_wanted(site, p)) {
			if (!have || have->func != p->func || have->data != p->data)
				return false;
			have++;
		}
	return !have || !have->func;
}

static struct ust_tracepoint_probe *make_array(const struct site *site)
{
	struct array *a;
	size_t n = 0;

	for (const struct probe *p = probes; p; p = p->next)
		n += is_wanted(site, p);
	a = n ? calloc(1, sizeof(*a) + (n + 1) * sizeof(*a->probes)) : NULL;
	if (!a)
		return NULL;
	/* A word may have changed since they were counted. */
	for (const struct probe *p = probes; p && n; p = p->next)
		if (is_wanted(site, p)) {
			struct ust_tracepoint_probe *to = &a->probes[0];

			for (; to->func; to++)
				;
			*to = (struct ust_tracepoint_probe){ p->func, p->data };
			n--;
		}
	return a->probes[0].func ? a->probes : (free(a), NULL);
}

static void replace_array(struct ust_tracepoint *t, struct ust_tracepoint_probe *new)
{
	struct ust_tracepoint_probe *old = t->probes;
	struct array *a = (struct array *)((char *)old - offsetof(struct array, probes));

	if (!new)
		__atomic_store_n(&t->state, 0, __ATOMIC_RELAXED);
	/* Release: a site that sees the array sees what is in it. */
	__atomic_store_n(&t->probes, new, __ATOMIC_RELEASE);
	if (new)
		__atomic_store_n(&t->state, 1, __ATOMIC_RELEASE);
	if (old) {
		a->next = replaced;
		replaced = a;
	}
}

static void refresh(void)
{
	for (struct module *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->count; i++)
			if (!is_same(m->sites[i].tracepoint->probes, &m->sites[i]))
				replace_array(m->sites[i].tracepoint, make_array(&m->sites[i]));
	log_refresh();
}

static void free_replaced(void)
{
	if (replaced)
		rcu_wait();
	while (replaced) {
		struct array *a = replaced;

		replaced = a->next;
		free(a);
	}
}

void tracepoints_refresh(void)
{
	drop_in_lock();
	refresh();
	free_replaced();
	drop_in_unlock();
}

/* ---- probes ---- */

void probes_add(struct probe *first, size_t count, size_t stride)
{
	struct probe **end = &probes;

	drop_in_lock();
	while (*end)
		end = &(*end)->next;
	for (size_t i = 0; i < count; i++, end = &(*end)->next) {
		*end = (struct probe *)(void *)((char *)first + i * stride);
		(*end)->hash = hash_name((*end)->provider, (*end)->event);
		(*end)->next = NULL;
	}
	refresh();
	free_replaced();
	drop_in_unlock();
}

void probes_remove(struct probe *first, size_t count, size_t stride)
{
	const char *begin = (char *)first, *end = begin + count * stride;

	drop_in_lock();
	for (struct probe **p = &probes; *p;) {
		if ((char *)*p >= begin && (char *)*p < end)
			*p = (*p)->next;
		else
			p = &(*p)->next;
	}
	refresh();
	free_replaced();
	/* A thread may still be in a probe that was switched off before. */
	rcu_wait();
	drop_in_unlock();
}

/*
 * A probe of a program's own: any function. The variants with a queue leave the grace period to a
 * later call; here each waits for it.
 */
#define ALIAS(name) __attribute__((alias(name)))
TRAIL_EXPORT int lttng_ust_tracepoint_provider_register(const char *provider, const char *event,
							void (*func)(void), void *data,
							const char *signature);
TRAIL_EXPORT int lttng_ust_tracepoint_provider_register(const char *provider, const char *event,
							void (*func)(void), void *data,
							const char *signature)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*p = (struct probe){ .provider = provider,
			     .event = event,
			     .signature = signature,
			     .func = func,
			     .data = data };
	probes_add(p, 1, sizeof(*p));
	return 0;
}

TRAIL_EXPORT int lttng_ust_tracepoint_provider_unregister(const char *provider, const char *event,
							  void (*func)(void), void *data);
TRAIL_EXPORT int lttng_ust_tracepoint_provider_unregister(const char *provider, const char *event,
							  void (*func)(void), void *data)
{
	struct probe *p;

	drop_in_lock();
	for (p = probes; p; p = p->next)
		if (!p->word && p->func == func && p->data == data &&
		    strcmp(p->provider, provider) == 0 && strcmp(p->event, event) == 0)
			break;
	drop_in_unlock();
	if (!p)
		return -1;
	probes_remove(p, 1, sizeof(*p));
	free(p);
	return 0;
}

TRAIL_EXPORT int lttng_ust_tp_probe_register_queue_release(const char *provider, const char *event,
							   void (*func)(void), void *data,
							   const char *signature)
	ALIAS("lttng_ust_tracepoint_provider_register");
TRAIL_EXPORT int lttng_ust_tp_probe_unregister_queue_release(const char *provider,
							     const char *event, void (*func)(void),
							     void *data)
	ALIAS("lttng_ust_tracepoint_provider_unregister");

/* ---- call sites ---- */

TRAIL_EXPORT int lttng_ust_tracepoint_module_register(struct ust_tracepoint *const *start,
						      int count);
TRAIL_EXPORT int lttng_ust_tracepoint_module_register(struct ust_tracepoint *const *start,
						      int count)
{
	struct module *m =
		count > 0 ? calloc(1, sizeof(*m) + (size_t)count * sizeof(*m->sites)) : NULL;

	if (!m)
		return count > 0 ? -1 : 0;
	m->start = start;
	for (int i = 0; i < count; i++)
		if (start[i] && start[i]->size >= sizeof(*start[i]))
			m->sites[m->count++] = (struct site){
				start[i], hash_name(start[i]->provider, start[i]->event)
			};
	drop_in_lock();
	m->next = modules;
	modules = m;
	refresh();
	free_replaced();
	drop_in_unlock();
	objects_look(__builtin_return_address(0));
	return 0;
}

TRAIL_EXPORT int lttng_ust_tracepoint_module_unregister(struct ust_tracepoint *const *start);
TRAIL_EXPORT int lttng_ust_tracepoint_module_unregister(struct ust_tracepoint *const *start)
{
	struct module **p, *m;

	drop_in_lock();
	for (p = &modules; *p && (*p)->start != start; p = &(*p)->next)
		;
	m = *p;
	if (m) {
		*p = m->next;
		for (size_t i = 0; i < m->count; i++)
			if (m->sites[i].tracepoint->probes)
				replace_array(m->sites[i].tracepoint, NULL);
		free_replaced();
	}
	drop_in_unlock();
	free(m);
	return 0;
}

TRAIL_EXPORT int tracepoint_register_lib(struct ust_tracepoint *const *start, int count)
	ALIAS("lttng_ust_tracepoint_module_register");
