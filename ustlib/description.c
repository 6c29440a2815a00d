// SPDX-License-Identifier: MIT
/*
 * The contents of a registration file (tracer/abi/app.h): what an object declares of its
 * tracepoints, with memory from mmap(2) only. Caller holds the registration lock.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/abi/table_digest.h"
#include "ustlib/lib.h"
#include "ustlib/plugin.h"

#define POPULATE_MIN 16384u

/*
 * The enumerations of an object, each once. Those above the limits of a file are left out: their
 * fields are integers then.
 */
struct enums {
	const struct trail__enum **of;          /* a mapping of `size` bytes */
	size_t size;
	uint32_t count, labels;
};

struct builder {
	struct trail_reg *reg;
	uint8_t *base;
	const struct enums *enums;
	uint32_t strings;       /* used */
	uint32_t fields;
	const char *provider;   /* of the last event; NULL: none yet */
	uint32_t provider_at;
};

static bool has_enum(const struct trail__field *f)
{
	return f->code >> 16 & TRAIL__ENUM && TRAIL__KIND(f->code) == TRAIL__INT && f->values;
}

/*
 * Returns its index, or count. Looks at the last first: fields that share one are often neighbours.
 */
static uint32_t find_enum(const struct enums *e, const struct trail__enum *values)
{
	for (uint32_t i = e->count; i > 0; i--)
		if (e->of[i - 1] == values)
			return i - 1;
	return e->count;
}

static void collect_enum(struct enums *e, const struct trail__enum *values)
{
	if (find_enum(e, values) < e->count || e->count == TRAIL_ENUM_MAX ||
	    values->count > TRAIL_LABEL_MAX - e->labels)
		return;
	e->of[e->count++] = values;
	e->labels += values->count;
}

static void count_enum(void *arg, const struct trail__field *f, const char *name)
{
	(void)name;
	*(uint32_t *)arg += has_enum(f);
}

static void collect_field(void *arg, const struct trail__field *f, const char *name)
{
	(void)name;
	if (has_enum(f))
		collect_enum(arg, f->values);
}

static void collect_enums(struct enums *e, const struct object *o)
{
	uint32_t n = 0;

	*e = (struct enums){ 0 };
	for (uint32_t i = 0; i < o->event_count; i++)
		each_field(o->tps[i]->event, false, count_enum, &n);
	if (!n)
		return;
	e->size = n * sizeof(*e->of);
	e->of = mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->of == MAP_FAILED) {
		e->size = 0;
		return;
	}
	for (uint32_t i = 0; i < o->event_count; i++)
		each_field(o->tps[i]->event, false, collect_field, e);
}

static uint32_t put_text(struct builder *b, const char *s, size_t n, size_t max)
{
	uint32_t at = b->strings;

	if (n > max)
		n = max;
	memcpy(b->base + b->reg->string_offset + at, s, n);
	b->base[b->reg->string_offset + at + n] = 0;
	b->strings += (uint32_t)n + 1;
	return at;
}

static uint32_t put_name(struct builder *b, const char *s, size_t n)
{
	return put_text(b, s, n, TRAIL_NAME_MAX);
}

static void put_enums(struct builder *b)
{
	struct trail_reg_enum *out = (void *)(b->base + b->reg->enum_offset);
	struct trail_reg_label *label = (void *)(b->base + b->reg->label_offset);
	uint32_t first = 0;

	for (uint32_t i = 0; i < b->enums->count; i++, out++) {
		const struct trail__enum *e = b->enums->of[i];
		uint64_t next = 0;

		out->name = put_name(b, e->name ? e->name : "", e->name ? strlen(e->name) : 0);
		out->first_label = first;
		out->label_count = e->count;
		first += e->count;
		for (unsigned int l = 0; l < e->count; l++, label++) {
			const struct trail__label *from = &e->labels[l];

			label->name = put_name(b, from->name ? from->name : "",
					       from->name ? strlen(from->name) : 0);
			label->begin = from->automatic ? next : from->begin;
			label->end = from->automatic ? next : from->end;
			next = label->end + 1;
		}
	}
}

static const char *media_type(const struct trail__field *f)
{
	return f->values ? (const char *)f->values : "";
}

static bool is_blob(const struct trail__field *f)
{
	unsigned int kind = TRAIL__KIND(f->code);

	return f->code >> 16 & TRAIL__BLOB &&
	       (kind == TRAIL__ARRAY_OF || kind == TRAIL__SEQUENCE_OF);
}

static void put_field(void *arg, const struct trail__field *from, const char *name)
{
	struct builder *b = arg;
	struct trail_reg_field *to = (void *)(b->base + b->reg->field_offset);
	uint32_t values;

	to += b->fields++;
	to->name = put_name(b, name, strlen(name));
	if (is_blob(from))
		put_name(b, media_type(from), strlen(media_type(from)));
	to->kind = TRAIL__KIND(from->code);
	to->size = TRAIL__SIZE(from->code);
	to->flags = from->code >> 16 & 255 & ~TRAIL_FIELD_ENUM;
	to->length = to->kind == TRAIL_KIND_SEQUENCE ? (uint8_t)TRAIL__LENGTH(from->code) : 0;
	to->count = from->count;
	if (to->kind == TRAIL_KIND_STRING)
		to->flags &= TRAIL_FIELD_NOWRITE;
	if ((to->kind == TRAIL_KIND_STRUCT || to->kind == TRAIL_KIND_VARIANT) && from->values)
		to->count = from->values->count;
	values = has_enum(from) ? find_enum(b->enums, from->values) : b->enums->count;
	if (values < b->enums->count) {
		to->flags |= TRAIL_FIELD_ENUM;
		to->count = values;
	}
}

/*
 * An event ends with a byte, for babeltrace2 looks there for the end of the packet: if the last
 * field is a bit field, it has the rest of its byte, too.
 */
static void widen_last(struct trail_reg_field *fields, uint32_t count)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = fields[i].size;

		used = fields[i].kind == TRAIL_KIND_BITS
			       ? (trail_bits_begin(used, size) + size) % 8 : 0;
	}
	if (used)
		fields[count - 1].size += (uint8_t)(8 - used);
}

/* Neighbours often have the same one. */
static uint32_t put_provider(struct builder *b, const char *provider)
{
	if (!b->provider || strcmp(b->provider, provider) != 0) {
		b->provider = provider;
		b->provider_at = put_name(b, provider, strlen(provider));
	}
	return b->provider_at;
}

/* By version; event_is_known() knows no other. */
static const uint8_t refusals[] = {
	[TRAIL__REFUSED] = TRAIL_REFUSED_ARGUMENTS,
	[TRAIL__REFUSED_TYPE] = TRAIL_REFUSED_TYPE,
	[TRAIL__REFUSED_VERSION] = TRAIL_REFUSED_VERSION,
};

static void put_event(struct builder *b, uint32_t i, const struct trail__event *e)
{
	struct trail_reg_event *out =
		(struct trail_reg_event *)(void *)(b->base + b->reg->event_offset) + i;
	char name[TRAIL_NAME_MAX + 1];

	out->provider = put_provider(b, e->provider);
	out->name = put_name(b, name, spelled_name(e->args, 0, name, sizeof(name)));
	out->first_field = b->fields;
	out->level = e->level;
	out->refused = refusals[e->version];
	out->uri = e->uri ? put_text(b, e->uri, strlen(e->uri), TRAIL_URI_MAX) : TRAIL_NO_STRING;
	out->field_count = (uint16_t)each_field(e, true, put_field, b);
	widen_last((struct trail_reg_field *)(void *)(b->base + b->reg->field_offset) +
			   out->first_field, out->field_count);
}

bool event_is_known(const struct trail__event *e)
{
	static const char *const why[] = {
		[TRAIL__REFUSED] = "its arguments are not those of its class",
		[TRAIL__REFUSED_TYPE] = "a field has a type that this library does not know",
		[TRAIL__REFUSED_VERSION] =
			"its provider has a version that this library does not know",
	};

	if (e->version == 1)
		return true;
	if (e->version < TRAIL__REFUSED || e->version > TRAIL__REFUSED_VERSION)
		return false;
	debug_print("%s:%s is never recorded: %s", e->provider, e->args, why[e->version]);
	return true;
}

/* An upper bound. */
static uint32_t enum_strings(const struct enums *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->count; i++) {
		const struct trail__enum *one = e->of[i];

		n += (one->name ? (uint32_t)strlen(one->name) : 0) + 1;
		for (unsigned int l = 0; l < one->count; l++)
			n += (one->labels[l].name ? (uint32_t)strlen(one->labels[l].name) : 0) + 1;
	}
	return n;
}

struct name_count {
	uint32_t unnamed;       /* an upper bound for each name that is in the event's arguments */
	uint32_t strings;
};

static void count_name(void *arg, const struct trail__field *f, const char *name)
{
	struct name_count *count = arg;

	count->strings += is_blob(f) ? (uint32_t)strlen(media_type(f)) + 1 : 0;
	count->strings += name ? (uint32_t)strlen(name) + 1 : count->unnamed;
}

/* An upper bound of an event's strings; *fields grows by its fields. */
static uint32_t event_strings(const struct trail__event *e, uint32_t *fields)
{
	size_t args = strlen(e->args);
	struct name_count count = {
		.unnamed = (uint32_t)(args < TRAIL_NAME_MAX ? args : TRAIL_NAME_MAX) + 2,
	};

	*fields += each_field(e, false, count_name, &count);
	count.strings += (uint32_t)strlen(e->provider) + 1 + count.unnamed;
	count.strings += e->uri ? (uint32_t)strlen(e->uri) + 1 : 0;
	return count.strings;
}

/* Places the tables; upper bounds for the strings. */
static void lay_out(struct trail_reg *reg, const struct object *o, const struct enums *enums,
		    const char *path)
{
	uint32_t at = sizeof(*reg), fields = 0;
	uint32_t strings = (uint32_t)strlen(path) + 1 + enum_strings(enums);

	for (uint32_t i = 0; i < o->event_count; i++)
		strings += event_strings(o->tps[i]->event, &fields);
	*reg = (struct trail_reg){
		.magic = TRAIL_REG_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 8 * sizeof(void *),
		.event_count = o->event_count,
		.field_count = fields,
		.pid = (uint32_t)getpid(),
		.enum_count = enums->count,
		.label_count = enums->labels,
	};
	reg->digest_offset = at;
	at += sizeof(uint64_t);
	reg->state_offset = at;
	at += (o->event_count * 4 + 7) & ~7u;
	reg->missed_offset = at;
	at += o->event_count * 8;
	if (plugin_clock.read) {
		reg->word_bits |= TRAIL_REG_CLOCK;
		at += sizeof(struct trail_reg_clock);
		reg->string_size += 2 * (TRAIL_NAME_MAX + 1);
	}
	reg->event_offset = at;
	at += o->event_count * (uint32_t)sizeof(struct trail_reg_event);
	reg->field_offset = (at + 7) & ~7u;
	at = reg->field_offset + fields * (uint32_t)sizeof(struct trail_reg_field);
	if (enums->count) {
		reg->enum_offset = (at + 7) & ~7u;
		reg->label_offset = reg->enum_offset +
				    enums->count * (uint32_t)sizeof(struct trail_reg_enum);
		at = reg->label_offset + enums->labels * (uint32_t)sizeof(struct trail_reg_label);
	}
	reg->string_offset = (at + 7) & ~7u;
	reg->string_size += strings;
	reg->size = reg->string_offset + reg->string_size;
}

static void put_digest(uint8_t *data, const struct trail_reg *reg)
{
	uint32_t begin = reg->missed_offset + 8 * reg->event_count;
	uint64_t digest = trail_table_digest(data + begin, reg->size - begin);

	memcpy(data + reg->digest_offset, &digest, sizeof(digest));
}

static void put_clock(struct builder *b)
{
	struct trail_reg_clock *to = (void *)(b->base + b->reg->event_offset - sizeof(*to));

	to->freq = plugin_clock.freq;
	memcpy(to->uuid, plugin_clock.uuid, sizeof(to->uuid));
	to->name = put_name(b, plugin_clock.name, strlen(plugin_clock.name));
	to->description = put_name(b, plugin_clock.description, strlen(plugin_clock.description));
}

/* The strings turn out to be shorter than their upper bound. */
static void fill(uint8_t *data, const struct trail_reg *reg, const struct object *o,
		 const struct enums *enums, const char *path)
{
	struct builder b = { .reg = (void *)data, .base = data, .enums = enums };

	*b.reg = *reg;
	b.reg->object = put_name(&b, path, strlen(path));
	for (uint32_t i = 0; i < o->event_count; i++)
		put_event(&b, i, o->tps[i]->event);
	put_enums(&b);
	if (b.reg->word_bits & TRAIL_REG_CLOCK)
		put_clock(&b);
	b.reg->string_size = b.strings;
	b.reg->size = b.reg->string_offset + b.strings;
	put_digest(data, b.reg);
}

/*
 * All pages at once but the pages of the strings, whose size is not known yet: a fault for each
 * takes longer than filling it. A kernel before 5.14 does nothing.
 */
static void populate(uint8_t *data, const struct trail_reg *reg)
{
#ifdef MADV_POPULATE_WRITE
	if (reg->string_offset >= POPULATE_MIN)
		madvise(data, reg->string_offset, MADV_POPULATE_WRITE);
#else
	(void)data, (void)reg;
#endif
}

struct trail_reg *describe_object(const struct object *o, const char *path, size_t *mapped)
{
	struct trail_reg reg;
	struct enums enums;
	uint8_t *data;

	collect_enums(&enums, o);
	lay_out(&reg, o, &enums, path);
	*mapped = reg.size;
	data = mmap(NULL, *mapped, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data != MAP_FAILED) {
		populate(data, &reg);
		fill(data, &reg, o, &enums, path);
	}
	if (enums.size)
		munmap(enums.of, enums.size);
	return data == MAP_FAILED ? NULL : (struct trail_reg *)(void *)data;
}
