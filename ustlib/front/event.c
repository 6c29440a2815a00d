// SPDX-License-Identifier: MIT
/*
 * Events that are defined while the program runs (trail/event.h): a tracepoint in allocated memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ustlib/lib.h"
#include "trail/event.h"

#define ROOM 1024               /* bytes of an event that is put together on the stack */

struct trail_event {
	struct trail__tp tp;
	struct trail__tp *list[1];
	struct trail__event desc;
	struct trail__field fields[TRAIL_EVENT_FIELDS_MAX];
	char names[];
};

static unsigned int live;               /* events that were created and not destroyed */

static unsigned int code_of(enum trail_value_type type)
{
	switch (type) {
	case TRAIL_VALUE_SIGNED:
		return TRAIL__CODE_OF(TRAIL__INT, TRAIL__SIGNED, 8);
	case TRAIL_VALUE_UNSIGNED:
		return TRAIL__CODE_OF(TRAIL__INT, 0, 8);
	case TRAIL_VALUE_DOUBLE:
		return TRAIL__CODE_OF(TRAIL__FLOAT, 0, 8);
	case TRAIL_VALUE_STRING:
		return TRAIL__CODE_OF(TRAIL__STRING, 0, 0);
	case TRAIL_VALUE_TEXT:
		return TRAIL__CODE_OF(TRAIL__STRING, TRAIL__TEXT, 0);
	default:
		return 0;
	}
}

static bool is_name(const char *s)
{
	return s && *s && strnlen(s, TRAIL_NAME_MAX + 1) <= TRAIL_NAME_MAX && spelled_alone(s);
}

static bool is_event_name(const char *s, bool colon)
{
	for (const char *c = s; c && *c; c++)
		if (!trail_name_has((unsigned char)*c, colon))
			return false;
	return is_name(s);
}

static const char *put_name(char **at, const char *name)
{
	size_t n = strlen(name) + 1;

	memcpy(*at, name, n);
	*at += n;
	return *at - n;
}

static bool is_valid(const char *provider, const char *name, unsigned int level,
		     const struct trail_event_field *fields, unsigned int count)
{
	if (!is_event_name(provider, false) || !is_event_name(name, true) ||
	    level > TRAIL__LEVEL_DEBUG || count > TRAIL_EVENT_FIELDS_MAX)
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (!is_name(fields[i].name) || !code_of(fields[i].type))
			return false;
	return true;
}

static struct trail_event *alloc_event(const char *provider, const char *name, unsigned int level,
				       const struct trail_event_field *fields, unsigned int count)
{
	size_t size = sizeof(struct trail_event) + strlen(provider) + strlen(name) + 2;
	struct trail_event *e;
	char *at;

	for (unsigned int i = 0; i < count; i++)
		size += strlen(fields[i].name) + 1;
	e = calloc(1, size);
	if (!e)
		return NULL;
	at = e->names;
	for (unsigned int i = 0; i < count; i++) {
		e->fields[i].name = put_name(&at, fields[i].name);
		e->fields[i].code = code_of(fields[i].type);
	}
	e->desc = (struct trail__event){
		.provider = put_name(&at, provider),
		.args = put_name(&at, name),
		.fields = e->fields,
		.field_count = (unsigned short)count,
		.level = (unsigned char)level,
		.version = 1,
	};
	e->tp.state = &e->tp.off;
	e->tp.event = &e->desc;
	e->list[0] = &e->tp;
	return e;
}

TRAIL_EXPORT int trail_event_create(struct trail_event **event, const char *provider,
				    const char *name, unsigned int level,
				    const struct trail_event_field *fields, unsigned int count)
{
	int saved = errno;
	struct trail_event *e;

	if (!is_valid(provider, name, level, fields, count))
		return -EINVAL;
	if (__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED) >= TRAIL_EVENTS_MAX) {
		__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
		return -ENOSPC;
	}
	e = alloc_event(provider, name, level, fields, count);
	if (!e) {
		__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
		errno = saved;
		return -ENOMEM;
	}
	trail__register(e->list, e->list + 1);
	*event = e;
	return 0;
}

TRAIL_EXPORT void trail_event_destroy(struct trail_event *e)
{
	if (!e)
		return;
	trail__unregister(e->list, e->list + 1);
	free(e);
	__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
}

TRAIL_EXPORT const unsigned int *trail_event_state(const struct trail_event *e)
{
	return __atomic_load_n(&e->tp.state, __ATOMIC_RELAXED);
}

static struct trail__piece piece_of(unsigned int code, const struct trail_value *v)
{
	const struct trail_text *t = v->t;

	if (!(code & TRAIL__TEXT << 16))
		return (struct trail__piece){ code, 1, &v->i };
	return (struct trail__piece){
		code, t->length < UINT32_MAX ? (unsigned int)t->length : UINT32_MAX, &t->begin
	};
}

TRAIL_EXPORT void trail_event_record(struct trail_event *e, const struct trail_value *values)
{
	unsigned char buffer[TRAIL__HEADROOM + ROOM + TRAIL__SPARE];
	unsigned char *at = buffer + TRAIL__HEADROOM, *end = at + ROOM - TRAIL_EVENT_FIELDS_MAX * 8;
	struct trail__piece pieces[TRAIL_EVENT_FIELDS_MAX];
	unsigned int count = e->desc.field_count;
	int big = 0;

	if (!TRAIL__IS_ON(e->tp))
		return;
	if (!values && count) {
		record_lost(&e->tp);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		pieces[i] = piece_of(e->fields[i].code, &values[i]);
		at = trail__put(at, end, &pieces[i], &big);
	}
	if (big)
		trail__record_pieces_at(&e->tp, pieces, count, 0, __builtin_return_address(0));
	else
		trail__record_at(&e->tp, buffer + TRAIL__HEADROOM,
				 (size_t)(at - buffer - TRAIL__HEADROOM), 0,
				 __builtin_return_address(0));
}
