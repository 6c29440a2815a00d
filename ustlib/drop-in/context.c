// SPDX-License-Identifier: MIT
/*
 * Contexts of the application: a provider `$app.PROVIDER` has the values of all names
 * `$app.PROVIDER:NAME`, and finds the name in the argument of its callbacks.
 */
#include <stdlib.h>
#include <string.h>

#include "tracer/abi/app.h"
#include "ustlib/drop-in/drop_in.h"

#define PREFIX "$app."
#define NAME_SIZE (sizeof(PREFIX) + 256)

struct registered {
	struct trail__context_provider provider;
	const struct ust_context_provider *of;
};

struct ust_write_context {
	unsigned char *at;              /* TRAIL__CONTEXT_SIZE bytes */
	size_t used;
};

static void write_value(struct ust_write_context *c, const void *from, size_t len, size_t alignment)
{
	size_t room = TRAIL__CONTEXT_SIZE - c->used;

	(void)alignment;
	if (len > room && c->used && c->at[0] == TRAIL_DYNAMIC_STRING) {
		memcpy(c->at + c->used, from, room - 1);
		c->at[TRAIL__CONTEXT_SIZE - 1] = 0;
		c->used = TRAIL__CONTEXT_SIZE;
	} else if (len <= room) {
		memcpy(c->at + c->used, from, len);
		c->used += len;
	}
}

static struct ust_app_context name_context(char full[NAME_SIZE], struct ust_field *field,
					   const char *name)
{
	memcpy(full, PREFIX, sizeof(PREFIX) - 1);
	memcpy(full + sizeof(PREFIX) - 1, name, strlen(name) + 1);
	*field = (struct ust_field){ .size = sizeof(*field), .name = full };
	return (struct ust_app_context){ sizeof(struct ust_app_context), field, full };
}

/* True: the tag is known, and the value has its size. */
static bool is_value(const unsigned char *at, size_t n)
{
	static const unsigned char sizes[TRAIL_DYNAMIC_TAGS] = {
		[TRAIL_DYNAMIC_S8] = 1,	   [TRAIL_DYNAMIC_S16] = 2, [TRAIL_DYNAMIC_S32] = 4,
		[TRAIL_DYNAMIC_S64] = 8,   [TRAIL_DYNAMIC_U8] = 1,  [TRAIL_DYNAMIC_U16] = 2,
		[TRAIL_DYNAMIC_U32] = 4,   [TRAIL_DYNAMIC_U64] = 8, [TRAIL_DYNAMIC_FLOAT] = 4,
		[TRAIL_DYNAMIC_DOUBLE] = 8,
	};

	if (!n || at[0] >= TRAIL_DYNAMIC_TAGS)
		return false;
	if (at[0] == TRAIL_DYNAMIC_STRING)
		return n > 1 && memchr(at + 1, 0, n - 1) == at + n - 1;
	return n == 1 + (size_t)sizes[at[0]];
}

static size_t put(void *arg, const char *name, unsigned char *at)
{
	static const struct ust_channel_ops ops = { .size = sizeof(ops),
						    .event_write = write_value };
	const struct registered *r = arg;
	struct ust_channel channel = { .size = sizeof(channel), .ops = &ops };
	struct ust_write_context out = { .at = at };
	struct ust_probe_context probe = { .size = sizeof(probe) };
	struct ust_field field;
	char full[NAME_SIZE];
	struct ust_app_context priv = name_context(full, &field, name);

	r->of->record(&priv, &probe, &out, &channel);
	return is_value(at, out.used) ? out.used : 0;
}

static void get(void *arg, const char *name, struct trail_value *value)
{
	const struct registered *r = arg;
	struct ust_probe_context probe = { .size = sizeof(probe) };
	struct ust_context_value v = { .type = TRAIL_DYNAMIC_NONE };
	struct ust_field field;
	char full[NAME_SIZE];
	struct ust_app_context priv = name_context(full, &field, name);

	r->of->get_value(&priv, &probe, &v);
	if (v.type >= TRAIL_DYNAMIC_S8 && v.type <= TRAIL_DYNAMIC_S64)
		*value = (struct trail_value){ .type = TRAIL_VALUE_SIGNED, .i = v.i };
	else if (v.type >= TRAIL_DYNAMIC_U8 && v.type <= TRAIL_DYNAMIC_U64)
		*value = (struct trail_value){ .type = TRAIL_VALUE_UNSIGNED, .u = v.u };
	else if (v.type == TRAIL_DYNAMIC_FLOAT || v.type == TRAIL_DYNAMIC_DOUBLE)
		*value = (struct trail_value){ .type = TRAIL_VALUE_DOUBLE, .d = v.d };
	else if (v.type == TRAIL_DYNAMIC_STRING)
		*value = (struct trail_value){ .type = TRAIL_VALUE_STRING, .s = v.s };
}

/* NULL: the name is none, or taken. */
TRAIL_EXPORT struct registered *
lttng_ust_context_provider_register(const struct ust_context_provider *provider);
TRAIL_EXPORT struct registered *
lttng_ust_context_provider_register(const struct ust_context_provider *provider)
{
	struct registered *r;

	/* Of soname 0: its structure begins with the name, a pointer, not with a size. */
	if (provider->size > UINT16_MAX || !provider->size)
		return NULL;
	if (strncmp(provider->name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct registered){
		.provider = { provider->name + sizeof(PREFIX) - 1, r, get, put },
		.of = provider,
	};
	if (trail__context_provider_register(&r->provider) == 0)
		return r;
	free(r);
	return NULL;
}

TRAIL_EXPORT void lttng_ust_context_provider_unregister(struct registered *r);
TRAIL_EXPORT void lttng_ust_context_provider_unregister(struct registered *r)
{
	/* Of soname 0 it is what was to be registered, and begins with a name of its own. */
	if (!r || strncmp(r->provider.name, PREFIX, sizeof(PREFIX) - 1) == 0)
		return;
	trail__context_provider_unregister(&r->provider);
	free(r);
}
