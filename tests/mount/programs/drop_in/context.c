/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts of the application as LTTng-UST's library for Java registers them: all kinds of values,
 * by `record` for events and by `get_value` for filters. Hits compat_tick:tick { 1 } with a
 * provider, { 2 } without one, { 3 } with it again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "tick.h"
#include <lttng/ust-events.h>
#include <lttng/ust-ringbuffer-context.h>

/* Not in an installed header, but known to programs that are. */
struct value {
	int type;
	union {
		int64_t i;
		uint64_t u;
		const char *s;
		double d;
	};
};
struct app_context {
	uint32_t size;
	void *field;
	char *name;
};
struct provider {
	uint32_t size;
	const char *name;
	size_t (*get_size)(void *priv, struct lttng_ust_probe_ctx *probe, size_t offset);
	void (*record)(void *priv, struct lttng_ust_probe_ctx *probe,
		       struct lttng_ust_ring_buffer_ctx *to, struct lttng_ust_channel_buffer *c);
	void (*get_value)(void *priv, struct lttng_ust_probe_ctx *probe, struct value *value);
	void *priv;
};
void *lttng_ust_context_provider_register(struct provider *provider);
void lttng_ust_context_provider_unregister(void *registered);

static char word[301];

static size_t get_size(void *priv, struct lttng_ust_probe_ctx *probe, size_t offset)
{
	const char *name = ((struct app_context *)priv)->name + strlen("$app.ctx:");

	(void)probe, (void)offset;
	return !strcmp(name, "int") ? 5 : !strcmp(name, "word") ? sizeof(word) + 1 : 9;
}

static void record(void *priv, struct lttng_ust_probe_ctx *probe,
		   struct lttng_ust_ring_buffer_ctx *to, struct lttng_ust_channel_buffer *c)
{
	const char *name = ((struct app_context *)priv)->name;
	char tag = !strcmp(name, "$app.ctx:int") ? 3 : !strcmp(name, "$app.ctx:word") ? 11 :
		   !strcmp(name, "$app.ctx:real") ? 10 : 0;
	int32_t i = -5;
	double d = 2.5;

	(void)probe;
	c->ops->event_write(to, &tag, 1, 1);
	if (tag == 3)
		c->ops->event_write(to, &i, sizeof(i), 1);
	else if (tag == 10)
		c->ops->event_write(to, &d, sizeof(d), 1);
	else if (tag == 11)
		c->ops->event_write(to, word, sizeof(word), 1);
}

static void get_value(void *priv, struct lttng_ust_probe_ctx *probe, struct value *v)
{
	const char *name = ((struct app_context *)priv)->name;

	(void)probe;
	*v = (struct value){ .type = 0 };
	if (!strcmp(name, "$app.ctx:int"))
		*v = (struct value){ .type = 4, .i = -5 };
	else if (!strcmp(name, "$app.ctx:real"))
		*v = (struct value){ .type = 10, .d = 2.5 };
	else if (!strcmp(name, "$app.ctx:word"))
		*v = (struct value){ .type = 11, .s = word };
}

int main(void)
{
	static struct provider p = { sizeof(p), "$app.ctx", get_size, record, get_value, 0 },
			       bad = { sizeof(p), "ctx", get_size, record, get_value, 0 },
			       colon = { sizeof(p), "$app.a:b", get_size, record, get_value, 0 };
	void *registered;

	memset(word, 'w', sizeof(word) - 1);
	registered = lttng_ust_context_provider_register(&p);
	if (!registered || lttng_ust_context_provider_register(&p) ||
	    lttng_ust_context_provider_register(&bad) ||
	    lttng_ust_context_provider_register(&colon)) {
		fprintf(stderr, "registration\n");
		return 1;
	}
	lttng_ust_tracepoint(compat_tick, tick, 1);
	lttng_ust_context_provider_unregister(registered);
	lttng_ust_tracepoint(compat_tick, tick, 2);
	registered = lttng_ust_context_provider_register(&p);
	lttng_ust_tracepoint(compat_tick, tick, 3);
	lttng_ust_context_provider_unregister(registered);
	return 0;
}
