// SPDX-License-Identifier: MIT
/*
 * Contexts that the application registers: a name and a function that is called for each event. See
 * trail(3). Of some names the daemon has the value, such as the control group.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/context/context.h"
#include "tracer/abi/filter_interp.h"
#include "trail/site.h"

#define APP_CONTEXTS 256
#define APP_NAME_MAX 256
#define PROVIDERS 64
#define VALUE_CHANGES 256       /* of all contexts in the life of a process */

struct app_context {
	char name[APP_NAME_MAX];        /* constant once count includes it */
	trail_context_fn get;           /* NULL: none is registered */
	void *arg;
	/* from the daemon: stored with release, its text is constant; NULL: it has sent none */
	const char *value;
};

/* mapped when the first name comes; under the registration lock */
static struct app_context *app_contexts;
static uint32_t app_context_count;              /* stored with release, loaded with acquire */
static uint32_t app_context_users;              /* threads that may be in a callback */

struct provider {
	char name[APP_NAME_MAX];        /* constant once count includes it */
	const struct trail__context_provider *now;      /* NULL: none is registered */
};

/* Mapped with the first one; under the registration lock. */
static struct provider *providers;
static uint32_t provider_count;                 /* stored with release, loaded with acquire */

uint32_t app_context_index(const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= APP_NAME_MAX)
		return UINT32_MAX;
	otel_context_find(name);
	otel_process_find(name);
	for (uint32_t i = 0; i < app_context_count; i++)
		if (!strcmp(app_contexts[i].name, name))
			return i;
	if (!app_contexts) {
		void *p = mmap(NULL, APP_CONTEXTS * sizeof(*app_contexts), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return UINT32_MAX;
		app_contexts = p;
	}
	if (app_context_count == APP_CONTEXTS)
		return UINT32_MAX;
	memcpy(app_contexts[app_context_count].name, name, n + 1);
	__atomic_store_n(&app_context_count, app_context_count + 1, __ATOMIC_RELEASE);
	return app_context_count - 1;
}

void app_context_set(uint32_t index, const char *value)
{
	static unsigned int changes;
	size_t n = strlen(value) + 1;
	char *copy;

	if (index >= app_context_count || n > APP_NAME_MAX ||
	    (app_contexts[index].value && !strcmp(app_contexts[index].value, value)))
		return;
	/* A text is never freed, as a hit may read it. */
	copy = changes < VALUE_CHANGES ? arena_alloc(n) : NULL;
	if (!copy)
		return;
	changes++;
	memcpy(copy, value, n);
	__atomic_store_n(&app_contexts[index].value, copy, __ATOMIC_RELEASE);
}

static int set_app_context(const char *name, trail_context_fn get, void *arg)
{
	int saved = errno, err = 0;
	uint32_t i;

	if (!name || !strchr(name, ':') || strlen(name) >= APP_NAME_MAX)
		return -EINVAL;
	objects_lock();
	i = app_context_index(name);
	if (i == UINT32_MAX)
		err = -ENOSPC;
	else if (get && app_contexts[i].get)
		err = -EEXIST;
	else if (!get && !app_contexts[i].get)
		err = -ENOENT;
	if (!err && get)
		app_contexts[i].arg = arg;
	if (!err)       /* pairs with the load in app_context_value() */
		__atomic_store_n(&app_contexts[i].get, get, __ATOMIC_SEQ_CST);
	objects_unlock();
	errno = saved;
	return err;
}

TRAIL_EXPORT int trail_context_register(const char *name, trail_context_fn get, void *arg)
{
	return get ? set_app_context(name, get, arg) : -EINVAL;
}

/* No thread may be in a callback when this returns: the caller may unmap it. */
static void wait_for_users(void)
{
	for (int i = 0; i < 10000 && __atomic_load_n(&app_context_users, __ATOMIC_SEQ_CST); i++)
		sched_yield();
}

TRAIL_EXPORT int trail_context_unregister(const char *name)
{
	int err = set_app_context(name, NULL, NULL);

	if (!err)
		wait_for_users();
	return err;
}

/* The entry of the name, which has `n` bytes; NULL: there is none. */
static struct provider *find_provider(const char *name, size_t n)
{
	uint32_t count = __atomic_load_n(&provider_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (!strncmp(providers[i].name, name, n) && !providers[i].name[n])
			return &providers[i];
	return NULL;
}

/* Under the registration lock. */
static struct provider *add_provider(const char *name, size_t n)
{
	void *p;

	if (!providers) {
		p = mmap(NULL, PROVIDERS * sizeof(*providers), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		providers = p;
	}
	if (provider_count == PROVIDERS)
		return NULL;
	memcpy(providers[provider_count].name, name, n + 1);
	__atomic_store_n(&provider_count, provider_count + 1, __ATOMIC_RELEASE);
	return &providers[provider_count - 1];
}

TRAIL_EXPORT int
trail__context_provider_register(const struct trail__context_provider *provider)
{
	size_t n = strlen(provider->name);
	int saved = errno, err = 0;
	struct provider *p;

	if (!n || n >= APP_NAME_MAX || strchr(provider->name, ':'))
		return -EINVAL;
	objects_lock();
	p = find_provider(provider->name, n);
	if (!p)
		p = add_provider(provider->name, n);
	if (!p)
		err = -ENOSPC;
	else if (p->now)
		err = -EEXIST;
	else    /* pairs with the load in provider_of() */
		__atomic_store_n(&p->now, provider, __ATOMIC_SEQ_CST);
	objects_unlock();
	errno = saved;
	return err;
}

TRAIL_EXPORT int
trail__context_provider_unregister(const struct trail__context_provider *provider)
{
	int saved = errno, err = -ENOENT;
	struct provider *p;

	objects_lock();
	p = find_provider(provider->name, strlen(provider->name));
	if (p && p->now == provider) {
		__atomic_store_n(&p->now, NULL, __ATOMIC_SEQ_CST);
		err = 0;
	}
	objects_unlock();
	if (!err)
		wait_for_users();
	errno = saved;
	return err;
}

/* Caller is one of app_context_users. */
static const struct trail__context_provider *provider_of(const char *name)
{
	const char *colon = strchr(name, ':');
	struct provider *p = colon ? find_provider(name, (size_t)(colon - name)) : NULL;

	return p ? __atomic_load_n(&p->now, __ATOMIC_SEQ_CST) : NULL;
}

/*
 * The value of the name, whose entry is `context` if there is one. With `at`, a provider writes it
 * there, and the size that it returned is returned.
 */
static size_t get_value(const struct app_context *context, const char *name, struct trail_value *v,
			uint8_t *at)
{
	const char *value =
		context ? __atomic_load_n(&context->value, __ATOMIC_ACQUIRE) : NULL;
	const struct trail__context_provider *provider;
	trail_context_fn get = NULL;
	size_t n = 0;

	if (value) {
		*v = (struct trail_value){ .type = TRAIL_VALUE_STRING, .s = value };
		return 0;
	}
	*v = (struct trail_value){ .type = TRAIL_VALUE_NONE };
	__atomic_fetch_add(&app_context_users, 1, __ATOMIC_SEQ_CST);
	if (context)
		get = __atomic_load_n(&context->get, __ATOMIC_SEQ_CST);
	provider = get ? NULL : provider_of(name);
	if (get)
		get(context->arg, v);
	else if (provider && at)
		n = provider->put(provider->arg, name, at);
	else if (provider)
		provider->get(provider->arg, name, v);
	else if (!otel_process_value(name, v))
		otel_context_value(name, v);
	__atomic_fetch_sub(&app_context_users, 1, __ATOMIC_RELEASE);
	if (v->type == TRAIL_VALUE_STRING && !v->s)
		v->type = TRAIL_VALUE_NONE;
	return n;
}

size_t app_context_put(uint32_t index, uint8_t *at, size_t room)
{
	struct trail_value v = { .type = TRAIL_VALUE_NONE };
	size_t n = 0;
	uint8_t value[TRAIL__CONTEXT_SIZE];

	if (index < __atomic_load_n(&app_context_count, __ATOMIC_ACQUIRE))
		n = get_value(&app_contexts[index], app_contexts[index].name, &v, value);
	if (n && n <= room)
		memcpy(at, value, n);
	if (n)
		return n <= room ? n : 0;
	n = 8;
	if (room < 9)
		return 0;
	switch (v.type) {
	case TRAIL_VALUE_SIGNED:
		at[0] = TRAIL_DYNAMIC_S64;
		memcpy(at + 1, &v.i, 8);
		break;
	case TRAIL_VALUE_UNSIGNED:
		at[0] = TRAIL_DYNAMIC_U64;
		memcpy(at + 1, &v.u, 8);
		break;
	case TRAIL_VALUE_DOUBLE:
		at[0] = TRAIL_DYNAMIC_DOUBLE;
		memcpy(at + 1, &v.d, 8);
		break;
	case TRAIL_VALUE_STRING:
		at[0] = TRAIL_DYNAMIC_STRING;
		n = strnlen(v.s, TRAIL_NAME_MAX);
		if (room < n + 2)
			return 0;
		memcpy(at + 1, v.s, n);
		at[1 + n++] = 0;
		break;
	default:
		at[0] = TRAIL_DYNAMIC_NONE;
		n = 0;
	}
	return 1 + n;
}

bool app_context_filter_value(const char *name, struct filter_value *out)
{
	struct trail_value v;
	uint32_t i = 0, n = __atomic_load_n(&app_context_count, __ATOMIC_ACQUIRE);

	while (i < n && strcmp(app_contexts[i].name, name) != 0)
		i++;
	get_value(i < n ? &app_contexts[i] : NULL, name, &v, NULL);
	switch (v.type) {
	case TRAIL_VALUE_SIGNED:
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = v.i };
		return true;
	case TRAIL_VALUE_UNSIGNED:
		*out = (struct filter_value){ .type = FILTER_UNSIGNED, .u = v.u };
		return true;
	case TRAIL_VALUE_DOUBLE:
		*out = (struct filter_value){ .type = FILTER_FLOAT, .f = v.d };
		return true;
	case TRAIL_VALUE_STRING:
		*out = (struct filter_value){ .type = FILTER_STRING, .s = v.s, .len = strlen(v.s) };
		return true;
	default:
		return false;
	}
}
