/* SPDX-License-Identifier: MIT */
/* The type model: see model.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/model.h"
#include "metadata/program.h"

void md_type_deinit(struct md_type *t)
{
	uint32_t i;

	if (t->mappings)
		for (i = 0; i < t->count; i++)
			free(t->mappings[i].name);
	if (t->members)
		for (i = 0; i < t->count; i++)
			md_field_deinit(&t->members[i]);
	if (t->element)
		md_type_deinit(t->element);
	free(t->mappings);
	free(t->members);
	free(t->element);
	free(t->media_type);
	*t = (struct md_type){ 0 };
}

void md_field_deinit(struct md_field *f)
{
	free(f->name);
	f->name = NULL;
	md_type_deinit(&f->type);
}

const struct md_type md_char = {
	.kind = MD_INT, .size = 1, .is_signed = true, .base = 10, .encoding = MD_ENCODING_UTF8
};

static int set_element(struct md_type *t, const struct md_type *element)
{
	t->element = malloc(sizeof(*t->element));
	if (!t->element)
		return -ENOMEM;
	*t->element = *element;
	return 0;
}

int md_type_array(struct md_type *t, uint32_t count, const struct md_type *element)
{
	*t = (struct md_type){ .kind = MD_ARRAY, .count = count };
	return set_element(t, element);
}

int md_type_sequence(struct md_type *t, uint8_t length_size, const struct md_type *element)
{
	*t = (struct md_type){ .kind = MD_SEQUENCE, .length_size = length_size };
	return set_element(t, element);
}

static const struct {
	const char *name;
	struct md_type type;
} dynamic[] = {
	{ "none", { .kind = MD_STRUCT } },
	{ "int8", { .kind = MD_INT, .size = 1, .is_signed = true, .base = 10 } },
	{ "int16", { .kind = MD_INT, .size = 2, .is_signed = true, .base = 10 } },
	{ "int32", { .kind = MD_INT, .size = 4, .is_signed = true, .base = 10 } },
	{ "int64", { .kind = MD_INT, .size = 8, .is_signed = true, .base = 10 } },
	{ "uint8", { .kind = MD_INT, .size = 1, .base = 10 } },
	{ "uint16", { .kind = MD_INT, .size = 2, .base = 10 } },
	{ "uint32", { .kind = MD_INT, .size = 4, .base = 10 } },
	{ "uint64", { .kind = MD_INT, .size = 8, .base = 10 } },
	{ "float", { .kind = MD_FLOAT, .size = 4 } },
	{ "double", { .kind = MD_FLOAT, .size = 8 } },
	{ "string", { .kind = MD_STRING } },
};

int md_type_dynamic(struct md_type *t)
{
	const uint32_t count = sizeof(dynamic) / sizeof(dynamic[0]);

	*t = (struct md_type){ .kind = MD_VARIANT, .members = calloc(count, sizeof(*t->members)) };
	if (!t->members)
		return -ENOMEM;
	for (; t->count < count; t->count++) {
		struct md_field *option = &t->members[t->count];

		option->name = strdup(dynamic[t->count].name);
		if (!option->name) {
			md_type_deinit(t);
			return -ENOMEM;
		}
		option->type = dynamic[t->count].type;
	}
	return 0;
}

struct md_event *md_event_create(const char *name, int loglevel, uint32_t field_count)
{
	struct md_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->loglevel = loglevel;
	e->name = strdup(name);
	/* One more than needed, because calloc(0) may return NULL. */
	e->fields = calloc((size_t)field_count + 1, sizeof(*e->fields));
	if (!e->name || !e->fields) {
		md_event_destroy(e);
		return NULL;
	}
	e->field_count = field_count;
	return e;
}

void md_event_destroy(struct md_event *e)
{
	uint32_t i;

	if (!e)
		return;
	for (i = 0; i < e->field_count; i++)
		md_field_deinit(&e->fields[i]);
	md_program_destroy(e->program);
	md_program_destroy(e->json);
	free(e->fields);
	free(e->emf_uri);
	free(e->name);
	free(e);
}

struct md_stream *md_stream_create(uint32_t id, enum md_header header)
{
	struct md_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->id = id;
	s->header = header;
	return s;
}

void md_stream_destroy(struct md_stream *s)
{
	uint32_t i, j;

	if (!s)
		return;
	for (i = 0; i < 256; i++) {
		if (!s->chunks[i])
			continue;
		for (j = 0; j < 256; j++)
			md_event_destroy(s->chunks[i][j]);
		free(s->chunks[i]);
	}
	for (i = 0; i < s->context_count; i++)
		md_field_deinit(&s->context[i]);
	free(s->context);
	md_program_destroy(s->context_program);
	md_program_destroy(s->context_json);
	free(s);
}

int md_stream_set_context(struct md_stream *s, struct md_field *context, uint32_t count)
{
	int ret = 0;

	if (s->event_count || s->context)
		return -EBUSY;
	s->context = context;
	s->context_count = count;
	if (count)
		ret = md_program_create(NULL, s, MD_FORM_TEXT, &s->context_program);
	if (ret) {      /* the caller keeps them */
		s->context = NULL;
		s->context_count = 0;
	}
	return ret;
}

int md_stream_add(struct md_stream *s, struct md_event *e)
{
	struct md_event **chunk;
	int ret;

	if (e->id > MD_EVENT_ID_MAX)
		return -EINVAL;
	chunk = s->chunks[e->id >> 8];
	if (chunk && chunk[e->id & 255])
		return -EEXIST;
	if (s->context_count && !s->context_program) {
		ret = md_program_create(NULL, s, MD_FORM_TEXT, &s->context_program);
		if (ret)
			return ret;
	}
	if (!chunk) {
		chunk = calloc(256, sizeof(*chunk));
		if (!chunk)
			return -ENOMEM;
		/*
		 * Pairs with the acquire in md_stream_event: a reader of the chunk sees it zeroed.
		 */
		__atomic_store_n(&s->chunks[e->id >> 8], chunk, __ATOMIC_RELEASE);
	}
	if (!e->program) {
		ret = md_program_create(e, s, MD_FORM_TEXT, &e->program);
		if (!ret && e->no_fields)
			e->program->plain = false;      /* the end of its line is cut */
		if (ret)
			return ret;
	}
	s->event_count++;
	/*
	 * Pairs with the acquire in md_stream_event: a reader finds the event complete, with its
	 * program.
	 */
	__atomic_store_n(&chunk[e->id & 255], e, __ATOMIC_RELEASE);
	return 0;
}

const struct md_event *md_stream_event(const struct md_stream *s, uint32_t id)
{
	return md_stream_lookup(s, id);
}

struct md_trace *md_trace_create(const uint8_t uuid[16])
{
	struct md_trace *t = calloc(1, sizeof(*t));

	if (t)
		memcpy(t->uuid, uuid, sizeof(t->uuid));
	return t;
}

void md_trace_destroy(struct md_trace *t)
{
	uint32_t i;

	if (!t)
		return;
	for (i = 0; i < t->env_count; i++) {
		free(t->env[i].name);
		free(t->env[i].value);
	}
	for (i = 0; i < t->stream_count; i++)
		md_stream_destroy(t->streams[i]);
	free(t->env);
	free(t->streams);
	free(t);
}

static struct md_env *find_env(struct md_trace *t, const char *name)
{
	uint32_t i;

	for (i = 0; i < t->env_count; i++)
		if (!strcmp(t->env[i].name, name))
			return &t->env[i];
	return NULL;
}

int md_trace_env(struct md_trace *t, const char *name, const char *value, int64_t number)
{
	struct md_env *env = find_env(t, name), *more;
	char *copy = NULL;

	if (value) {
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
	}
	if (!env) {
		more = realloc(t->env, (t->env_count + 1) * sizeof(*more));
		if (!more)
			goto no_memory;
		t->env = more;
		env = &t->env[t->env_count];
		env->value = NULL;
		env->name = strdup(name);
		if (!env->name)
			goto no_memory;
		t->env_count++;
	}
	free(env->value);
	env->value = copy;
	env->number = number;
	return 0;
no_memory:
	free(copy);
	return -ENOMEM;
}

int md_trace_add(struct md_trace *t, struct md_stream *s)
{
	struct md_stream **more;
	uint32_t i;

	for (i = 0; i < t->stream_count; i++)
		if (t->streams[i]->id == s->id)
			return -EEXIST;
	more = realloc(t->streams, (t->stream_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->streams = more;
	t->streams[t->stream_count++] = s;
	return 0;
}

uint64_t md_trace_version(const struct md_trace *t)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < t->stream_count; i++)
		n += 1 + t->streams[i]->event_count;
	return n;
}
