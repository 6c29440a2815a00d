// SPDX-License-Identifier: MIT
/*
 * Contexts that the application registers: a name and a function that is called for each event. See
 * trail(3).
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/context/context.h"
#include "tracer/abi/filter_interp.h"

#define APP_CONTEXTS 256
#define APP_NAME_MAX 256

struct app_context {
	char name[APP_NAME_MAX];        /* constant once count includes it */
	trail_context_fn get;           /* NULL: none is registered */
	void *arg;
};

/* mapped when the first name comes; under the registration lock */
static struct app_context *app_contexts;
static uint32_t app_context_count;              /* stored with release, loaded with acquire */
static uint32_t app_context_users;              /* threads that may be in a callback */

uint32_t app_context_index(const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= APP_NAME_MAX)
		return UINT32_MAX;
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

TRAIL_EXPORT int trail_context_unregister(const char *name)
{
	int err = set_app_context(name, NULL, NULL);

	/* No thread may be in the callback when this returns: the caller may unmap it. */
	for (int i = 0; !err && i < 10000 && __atomic_load_n(&app_context_users, __ATOMIC_SEQ_CST);
	     i++)
		sched_yield();
	return err;
}

static void app_context_value(uint32_t index, struct trail_value *v)
{
	trail_context_fn get;

	*v = (struct trail_value){ .type = TRAIL_VALUE_NONE };
	if (index >= __atomic_load_n(&app_context_count, __ATOMIC_ACQUIRE))
		return;
	__atomic_fetch_add(&app_context_users, 1, __ATOMIC_SEQ_CST);
	get = __atomic_load_n(&app_contexts[index].get, __ATOMIC_SEQ_CST);
	if (get)
		get(app_contexts[index].arg, v);
	__atomic_fetch_sub(&app_context_users, 1, __ATOMIC_RELEASE);
	if (v->type == TRAIL_VALUE_STRING && !v->s)
		v->type = TRAIL_VALUE_NONE;
}

size_t app_context_put(uint32_t index, uint8_t *at, size_t room)
{
	struct trail_value v;
	size_t n = 8;

	app_context_value(index, &v);
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
	if (i == n)
		return false;
	app_context_value(i, &v);
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
