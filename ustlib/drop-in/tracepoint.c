// SPDX-License-Identifier: MIT
/*
 * Compiled call sites. Each has an array of probes, and a word that says whether it is on. Probes
 * and sites are connected if name and signature are the same. A site's array has the probes whose
 * state word is not 0; an array that was replaced is freed after a grace period (rcu.c).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ustlib/drop-in/abi0.h"
#include "ustlib/drop-in/drop_in.h"

struct site {
	const char *provider, *event, *signature;
	int *state;                     /* of the program; the site is on */
	struct ust_tracepoint_probe **probes;   /* of the program */
	char *name;                     /* owned: where the two names are, of soname 0; or NULL */
	uint32_t hash;
};

struct module {                         /* the call sites of one loaded object */
	const void *start;
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
	return p->hash == site->hash && (!p->word || __atomic_load_n(p->word, __ATOMIC_RELAXED)) &&
	       strcmp(p->event, site->event) == 0 && strcmp(p->provider, site->provider) == 0 &&
	       strcmp(p->signature, site->signature) == 0;
}

bool sites_differ(const char *provider, const char *event, const char *signature)
{
	bool found = false, same = false;

	drop_in_lock();
	for (const struct module *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->count; i++) {
			const struct site *s = &m->sites[i];

			if (strcmp(s->event, event) != 0 || strcmp(s->provider, provider) != 0)
				continue;
			found = true;
			same |= strcmp(s->signature, signature) == 0;
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

static void replace_array(const struct site *site, struct ust_tracepoint_probe *new)
{
	struct ust_tracepoint_probe *old = *site->probes;
	struct array *a = (struct array *)((char *)old - offsetof(struct array, probes));

	if (!new)
		__atomic_store_n(site->state, 0, __ATOMIC_RELAXED);
	/* Release: a site that sees the array sees what is in it. */
	__atomic_store_n(site->probes, new, __ATOMIC_RELEASE);
	if (new)
		__atomic_store_n(site->state, 1, __ATOMIC_RELEASE);
	if (old) {
		a->next = replaced;
		replaced = a;
	}
}

static void refresh(void)
{
	for (struct module *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->count; i++)
			if (!is_same(*m->sites[i].probes, &m->sites[i]))
				replace_array(&m->sites[i], make_array(&m->sites[i]));
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
/* name: owned by the probe, or NULL. */
static int add_probe(const char *provider, const char *event, void (*func)(void), void *data,
		     const char *signature, char *name)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*p = (struct probe){ .provider = provider,
			     .event = event,
			     .signature = signature,
			     .func = func,
			     .data = data,
			     .name = name };
	probes_add(p, 1, sizeof(*p));
	return 0;
}

TRAIL_EXPORT int lttng_ust_tracepoint_provider_register(const char *provider, const char *event,
							void (*func)(void), void *data,
							const char *signature);
TRAIL_EXPORT int lttng_ust_tracepoint_provider_register(const char *provider, const char *event,
							void (*func)(void), void *data,
							const char *signature)
{
	return add_probe(provider, event, func, data, signature, NULL);
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
	free(p->name);
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

static void read_site(const void *tracepoint, struct site *out)
{
	struct ust_tracepoint *t = (struct ust_tracepoint *)tracepoint;

	if (t->size >= sizeof(*t))
		*out = (struct site){ t->provider, t->event, t->signature, &t->state, &t->probes,
				      NULL, 0 };
}

static void read_site0(const void *tracepoint, struct site *out)
{
	struct ust0_tracepoint *t = (struct ust0_tracepoint *)tracepoint;
	char *name = strdup(t->name), *colon = name ? strchr(name, ':') : NULL;

	if (!colon) {
		free(name);
		return;
	}
	*colon = 0;
	*out = (struct site){ name, colon + 1, t->signature, &t->state, &t->probes, name, 0 };
}

static int add_module(void *const *start, int count,
		      void (*read)(const void *tracepoint, struct site *out))
{
	struct module *m =
		count > 0 ? calloc(1, sizeof(*m) + (size_t)count * sizeof(*m->sites)) : NULL;

	if (!m)
		return count > 0 ? -1 : 0;
	m->start = start;
	for (int i = 0; i < count; i++) {
		struct site *s = &m->sites[m->count];

		if (start[i])
			read(start[i], s);
		if (s->state) {
			s->hash = hash_name(s->provider, s->event);
			m->count++;
		}
	}
	drop_in_lock();
	m->next = modules;
	modules = m;
	refresh();
	free_replaced();
	drop_in_unlock();
	return 0;
}

static void remove_module(const void *start)
{
	struct module **p, *m;

	drop_in_lock();
	for (p = &modules; *p && (*p)->start != start; p = &(*p)->next)
		;
	m = *p;
	if (m) {
		*p = m->next;
		for (size_t i = 0; i < m->count; i++)
			if (*m->sites[i].probes)
				replace_array(&m->sites[i], NULL);
		free_replaced();
	}
	drop_in_unlock();
	for (size_t i = 0; m && i < m->count; i++)
		free(m->sites[i].name);
	free(m);
}

TRAIL_EXPORT int lttng_ust_tracepoint_module_register(void *const *start, int count);
TRAIL_EXPORT int lttng_ust_tracepoint_module_register(void *const *start, int count)
{
	int ret = add_module(start, count, read_site);

	objects_look(__builtin_return_address(0));
	return ret;
}

TRAIL_EXPORT int lttng_ust_tracepoint_module_unregister(const void *start);
TRAIL_EXPORT int lttng_ust_tracepoint_module_unregister(const void *start)
{
	remove_module(start);
	return 0;
}

/*
 * The names of soname 0, which soname 1 has, too. A site of soname 1 begins with its size, one of
 * soname 0 with a pointer.
 */
static bool is_site0(const void *site)
{
	uintptr_t first;

	memcpy(&first, site, sizeof(first));
	return first > UINT16_MAX;
}

TRAIL_EXPORT int tracepoint_register_lib(void *const *start, int count);
TRAIL_EXPORT int tracepoint_register_lib(void *const *start, int count)
{
	bool old = count > 0 && start[0] && is_site0(start[0]);
	int ret;

	if (old)
		rcu_look_for_other();
	ret = add_module(start, count, old ? read_site0 : read_site);
	objects_look(__builtin_return_address(0));
	return ret;
}

TRAIL_EXPORT int tracepoint_unregister_lib(const void *start)
	ALIAS("lttng_ust_tracepoint_module_unregister");

/* NAME is PROVIDER:EVENT. The copy of it lives as long as the probe. */
TRAIL_EXPORT int __tracepoint_probe_register(const char *name, void (*func)(void), void *data,
					     const char *signature);
TRAIL_EXPORT int __tracepoint_probe_register(const char *name, void (*func)(void), void *data,
					     const char *signature)
{
	char *copy = strdup(name), *colon = copy ? strchr(copy, ':') : NULL;
	int ret = -1;

	if (colon) {
		*colon = 0;
		ret = add_probe(copy, colon + 1, func, data, signature, copy);
	}
	if (ret)
		free(copy);
	return ret;
}

TRAIL_EXPORT int __tracepoint_probe_unregister(const char *name, void (*func)(void), void *data);
TRAIL_EXPORT int __tracepoint_probe_unregister(const char *name, void (*func)(void), void *data)
{
	const char *colon = strchr(name, ':');
	char *provider = colon ? strndup(name, (size_t)(colon - name)) : NULL;
	int ret = -1;

	if (provider)
		ret = lttng_ust_tracepoint_provider_unregister(provider, colon + 1, func, data);
	free(provider);
	return ret;
}

TRAIL_EXPORT int __tracepoint_probe_register_queue_release(const char *name, void (*func)(void),
							   void *data, const char *signature)
	ALIAS("__tracepoint_probe_register");
TRAIL_EXPORT int __tracepoint_probe_unregister_queue_release(const char *name, void (*func)(void),
							     void *data)
	ALIAS("__tracepoint_probe_unregister");
