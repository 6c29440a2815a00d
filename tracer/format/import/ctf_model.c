/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the model and the programs of a CTF trace of its metadata. */
#include "tracer/format/import/ctf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OMITTED_MAX 63          /* of md_field.omitted, as md_pack_event has it */

static int fail_model(const struct compiler *c, int ret, const char *what, const char *name)
{
	return tr_fail(c->err, ret,
		       ret == -ENOMEM	? "out of memory"
		       : ret == -EEXIST ? "%s: %s '%.80s': its id is used twice" IN_CTF("7.4")
					  IN_CTF2("5.9")
					: "%s: %s '%.80s': two fields have one name"
					  IN_CTF("4.2.1") ", or a type is not supported",
		       c->file, what, name);
}

struct names {                  /* sorted */
	char **list;
	uint32_t count;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the fields, sorted; or NULL. */
static char **sort_names(const struct md_field *fields, uint32_t count)
{
	char **names = calloc((size_t)count + 1, sizeof(*names));

	for (uint32_t i = 0; names && i < count; i++)
		names[i] = fields[i].name;
	if (names)
		qsort(names, count, sizeof(*names), compare_names);
	return names;
}

static bool has_name(const struct names *names, const char *name)
{
	return bsearch(&name, names->list, names->count, sizeof(*names->list), compare_names);
}

/* Adds prefixes to the name of the field until no other one has it. The old name is kept. */
static int add_prefix(struct md_field *f, const char *prefix, const struct names *a,
		      const struct names *b)
{
	char *name = strdup(f->name), *longer;
	size_t more = strlen(prefix);

	while (name && f->omitted + more <= OMITTED_MAX &&
	       (has_name(a, name) || has_name(b, name))) {
		if (asprintf(&longer, "%s%s", prefix, name) < 0)
			longer = NULL;
		free(name);
		name = longer;
		f->omitted += (uint8_t)more;
	}
	f->name = name ? name : f->name;
	return name ? 0 : -ENOMEM;
}

/*
 * Gives fields of a context names of their own where fields of the other structure have the same
 * ones: forms without groups show both structures in one object. Text omits the prefix.
 */
static int tell_apart(struct md_field *context, uint32_t n, const char *prefix,
		      const struct md_field *fields, uint32_t count)
{
	struct names theirs = { sort_names(fields, count), count };
	struct names own = { sort_names(context, n), n };
	char **old = calloc((size_t)n + 1, sizeof(*old));
	int ret = theirs.list && own.list && old ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !ret; i++) {
		if (!has_name(&theirs, context[i].name))
			continue;
		old[i] = context[i].name;
		ret = add_prefix(&context[i], prefix, &theirs, &own);
		if (ret)
			old[i] = NULL;
	}
	for (uint32_t i = 0; old && i < n; i++)
		free(old[i]);
	free(old);
	free(theirs.list);
	free(own.list);
	return ret;
}

/* Joins the fields of an event's own context and its payload; takes both over. */
static struct md_field *join_fields(struct md_field *context, uint32_t n, const char *prefix,
				    struct md_field *fields, uint32_t count)
{
	struct md_field *all;

	if (n && count && tell_apart(context, n, prefix, fields, count))
		return NULL;
	all = realloc(context, (n + count + 1) * sizeof(*all));
	if (!all)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		all[n + i] = fields[i];
		all[n + i].group = n && !i;
	}
	free(fields);
	return all;
}

/* The braces of structures without members, which babeltrace2 shows. */
static void set_empty(struct md_event *e, const struct ctf_class *class,
		      const struct tsdl_event *te, uint32_t own, uint32_t fields)
{
	unsigned int before = class->empty + (te->context && !own);

	if (own || fields) {
		e->empty_after = own && te->fields && !fields;
	} else {
		before += te->fields != NULL;
		e->no_fields = !before;
		before -= before != 0;
	}
	e->empty_before = (uint8_t)before;
}

static int add_event(struct compiler *c, struct ctf_class *class, const struct tsdl_event *te,
		     struct ctf_event *at)
{
	int level = te->loglevel >= 0 && te->loglevel <= 14 ? (int)te->loglevel : MD_LOGLEVEL_NONE;
	struct md_field *context = NULL, *fields = NULL, *all;
	struct md_event *e = md_event_create(te->name, level, 0);
	size_t symbols = c->symbol_count;
	uint32_t slots = c->slots, n = 0, count = 0;
	int ret = e ? layout_compile(c, SCOPE_EVENT, te->context, &at->context, &context, &n)
		    : -ENOMEM;

	if (!ret)
		ret = layout_compile(c, SCOPE_FIELDS, te->fields, &at->fields, &fields, &count);
	layout_forget(c, symbols, slots);
	all = ret ? NULL : join_fields(context, n, "context_", fields, count);
	if (!all) {
		layout_free_fields(context, n);
		layout_free_fields(fields, count);
		md_event_destroy(e);
		return ret ? ret : tr_fail(c->err, -ENOMEM, "out of memory");
	}
	free(e->fields);
	e->fields = all;
	e->field_count = n + count;
	e->id = at->id;
	if (te->emf_uri && !(e->emf_uri = strdup(te->emf_uri))) {
		md_event_destroy(e);
		return tr_fail(c->err, -ENOMEM, "out of memory");
	}
	at->field_count = te->fields ? te->fields->count : 0;
	set_empty(e, class, te, n, count);
	ret = md_stream_add(class->md, e);
	if (ret) {
		md_event_destroy(e);
		return fail_model(c, ret, "event", te->name);
	}
	return 0;
}

/* Whether the structure, or one in it, has a field that is the value of a clock. */
static bool has_clock(const struct tsdl_type *t)
{
	bool found = t && t->clock;

	for (uint32_t i = 0; t && (t->kind == TSDL_STRUCT || t->kind == TSDL_VARIANT) && !found &&
			     i < t->count; i++)
		found = has_clock(t->members[i].type);
	return found;
}

static bool has_member(const struct tsdl_type *t, const char *name)
{
	for (uint32_t i = 0; t && i < t->count; i++)
		if (!strcmp(t->members[i].name, name))
			return true;
	return false;
}

/* Whether the structure, or one in it, has an integer with the name of a time. */
static bool has_timestamp(const struct tsdl_type *t)
{
	bool found = false;

	for (uint32_t i = 0; t && (t->kind == TSDL_STRUCT || t->kind == TSDL_VARIANT) && !found &&
			     i < t->count; i++)
		found = (t->members[i].type->kind == TSDL_INT &&
			 !strcmp(t->members[i].name, "timestamp")) ||
			has_timestamp(t->members[i].type);
	return found;
}

/* Whether its events have times, of their own or of their packets. */
static bool has_times(const struct tsdl *t, const struct tsdl_stream *ts)
{
	if (t->ctf2)
		return ts->clock;
	return has_clock(ts->event_header) || has_clock(ts->packet_context) ||
	       has_timestamp(ts->event_header) || has_timestamp(ts->event_header_ext) ||
	       has_member(ts->packet_context, "timestamp_begin") ||
	       has_member(ts->packet_context, "timestamp_end");
}

static int compare_numbers(const void *a, const void *b)
{
	const struct ctf_event *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/*
 * Sets the model's ids: an event keeps the id of the trace, unless the model cannot have it; then
 * it gets the least id that no event has.
 */
static int number_events(struct compiler *c, struct ctf_class *class)
{
	uint32_t count = class->event_count, limit, next = 0;

	qsort(class->events, count, sizeof(*class->events), compare_numbers);
	for (uint32_t i = 0; i < count; i++)
		if (i && class->events[i].number == class->events[i - 1].number)
			return tr_fail(c->err, -EINVAL,
				       IN_EITHER(c->t->ctf2,
						 "%s: the id %llu of an event is used twice",
						 "7.4", "5.9"), c->file,
				       (unsigned long long)class->events[i].number);
	for (limit = 0; limit < count && class->events[limit].number <= MD_EVENT_ID_MAX; limit++) {
		class->events[limit].id = (uint32_t)class->events[limit].number;
		class->by_number[class->events[limit].id] = limit + 1;
	}
	for (uint32_t i = limit; i < count; i++) {
		while (class->by_number[next])
			next++;
		class->events[i].id = next++;
	}
	return 0;
}

static int add_events(struct compiler *c, struct ctf_class *class)
{
	const struct tsdl_event *e;
	uint32_t count = 0;
	int ret;

	for (e = c->t->events; e; e = e->next)
		count += e->stream_id == class->id;
	if (count > MD_EVENT_ID_MAX)
		return tr_fail(c->err, -EINVAL, "%s: a stream has more than %u events" OWN_LIMIT,
			       c->file, MD_EVENT_ID_MAX);
	layout_use_memory(c, (MD_EVENT_ID_MAX + 1) * sizeof(*class->by_number) +
				     count * sizeof(*class->events));
	if (c->failed)
		return c->failed;
	class->by_number = calloc(MD_EVENT_ID_MAX + 1, sizeof(*class->by_number));
	class->events = calloc(count + 1, sizeof(*class->events));
	if (!class->events || !class->by_number)
		return tr_fail(c->err, -ENOMEM, "out of memory");
	for (e = c->t->events; e; e = e->next)
		if (e->stream_id == class->id)
			class->events[class->event_count++].number = e->id;
	ret = number_events(c, class);
	for (e = c->t->events; e && !ret; e = e->next)
		if (e->stream_id == class->id)
			ret = add_event(c, class, e, (struct ctf_event *)ctf_event(class, e->id));
	return ret;
}

const struct ctf_event *ctf_event(const struct ctf_class *class, uint64_t number)
{
	const struct ctf_event key = { .number = number };

	if (number > MD_EVENT_ID_MAX)
		return bsearch(&key, class->events, class->event_count, sizeof(key),
			       compare_numbers);
	return class->by_number[number] ? &class->events[class->by_number[number] - 1] : NULL;
}

/* The widths of the counters of packets: these wrap. */
static void set_counters(const struct compiler *c, struct ctf_class *class)
{
	for (size_t i = class->packet_context; i < c->out->step_count; i++) {
		const struct step *s = &c->out->steps[i];

		if (s->code != STEP_INT && s->code != STEP_LEB128)
			continue;
		if (s->roles & 1u << ROLE_DISCARDED)
			class->discarded_bits = s->size;
		if (s->roles & 1u << ROLE_SEQUENCE)
			class->sequence_bits = s->size;
		if (s->roles & 1u << ROLE_CHECKSUM)
			class->checksum_bits = s->size, class->checksum_big = s->big_endian;
	}
}

/* Whether text shows more of the packet context than `cpu_id = N`. */
static bool shows_packet(const struct md_field *packet, uint32_t shown)
{
	return shown && !(shown == 1 && !strcmp(packet->name, "cpu_id") &&
			  packet->type.kind == MD_INT && packet->type.base == 10 &&
			  !packet->type.is_signed);
}

/* Sets the contexts: of packets and of events. Takes all fields over. 0 or -errno. */
static int set_context(struct compiler *c, struct ctf_class *class, struct md_field *packet,
		       uint32_t shown, struct md_field *context, uint32_t count)
{
	struct md_field *all;
	int ret = 0;

	if (shows_packet(packet, shown)) {
		class->shows_packet = class->md->cpu_in_context = true;
		all = join_fields(packet, shown, "packet_", context, count);
		if (all) {
			packet = NULL;
			context = all;
			count += shown;
			shown = 0;
		} else {
			ret = tr_fail(c->err, -ENOMEM, "out of memory");
		}
	}
	layout_free_fields(packet, shown);
	if (!ret && count && (ret = md_stream_set_context(class->md, context, count)))
		fail_model(c, ret, "the context of stream", "");
	if (ret || !count)
		layout_free_fields(context, count);
	return ret;
}

/* The header of events, and the one that may follow it: section 6.1 of the proposal. */
static int compile_header(struct compiler *c, struct ctf_class *class, const struct tsdl_stream *ts)
{
	int ret;

	c->missing = false;
	ret = layout_compile(c, SCOPE_EVENT_HEADER, ts->event_header, &class->event_header, NULL,
			     NULL);
	for (size_t i = class->event_header; i < c->out->step_count && ts->event_header_ext; i++) {
		const struct step *s = &c->out->steps[i];

		if (s->code == STEP_INT && s->roles & 1u << ROLE_ID)
			class->last_id = UINT64_MAX >> (64 - s->size);
	}
	if (!ret && ts->event_header_ext)
		ret = layout_compile(c, SCOPE_EVENT_HEADER, ts->event_header_ext,
				     &class->header_ext, NULL, NULL);
	class->clock = c->clock;
	for (size_t i = class->event_header; i < c->out->step_count && !class->clock; i++)
		class->clock = c->out->steps[i].clock;
	return ret;
}

/* What the packets of a stream class of CTF 2 have by name, and its clock. */
static void set_names(struct compiler *c, const struct tsdl_stream *ts)
{
	c->sealed = has_member(ts->packet_context, "checksum_scheme") &&
		    has_member(ts->packet_context, "compression_scheme");
	c->clock = NULL;
	for (uint32_t i = 0; i < c->t->clock_count && ts->clock; i++)
		if (c->t->clocks[i] == ts->clock)
			c->clock = &c->out->clocks[i];
}

static int add_class(struct compiler *c, struct ctf_class *class, struct md_trace *md,
		     const struct tsdl_stream *ts)
{
	size_t symbols = c->symbol_count;
	uint32_t slots = c->slots, count = 0, shown = 0;
	struct md_field *context = NULL, *packet = NULL;
	int ret;

	if (ts->id > UINT32_MAX)
		return tr_fail(c->err, -EINVAL, "%s: stream %llu: its id is above 4294967295"
			       OWN_LIMIT, c->file, (unsigned long long)ts->id);
	layout_use_memory(c, sizeof(*class) + 2 * sizeof(*class->md));
	if (c->failed)
		return c->failed;
	class->id = ts->id;
	class->md = md_stream_create((uint32_t)ts->id, MD_HEADER_LARGE);
	ret = class->md ? md_trace_add(md, class->md) : -ENOMEM;
	if (ret) {
		md_stream_destroy(class->md);
		class->md = NULL;
		return fail_model(c, ret, "stream", "");
	}
	class->md->ctf1 = !c->t->ctf2;
	class->md->no_cpu = !has_member(ts->packet_context, "cpu_id");
	class->md->no_time = !has_times(c->t, ts);
	set_names(c, ts);
	ret = layout_compile(c, SCOPE_PACKET, ts->packet_context, &class->packet_context, &packet,
			     &shown);
	set_counters(c, class);
	if (!ret)
		ret = compile_header(c, class, ts);
	if (!ret)
		ret = layout_compile(c, SCOPE_STREAM_EVENT, ts->event_context,
				     &class->event_context, &context, &count);
	class->empty = (ts->packet_context && !ts->packet_context->count) +
		       (ts->event_context && !ts->event_context->count);
	/* Those after the members of the other one belong to each event. */
	if (count && ts->packet_context && !ts->packet_context->count)
		class->md->empty_before = class->empty--;
	if (!ret)
		ret = set_context(c, class, packet, shown, context, count);
	else
		layout_free_fields(context, count), layout_free_fields(packet, shown);
	if (!ret)
		ret = add_events(c, class);
	layout_forget(c, symbols, slots);
	return ret;
}

/* ns from the epoch to the clock's zero. */
static int set_clock(const struct compiler *c, const struct tsdl_clock *t, struct clock_class *out)
{
	int64_t seconds;
	uint64_t rest = t->offset % t->freq;

	out->freq = t->freq;
	if (t->freq != 1000000000)
		rest = (uint64_t)(1e9 * (double)rest / (double)t->freq);
	if (t->offset / t->freq > INT64_MAX / 2 ||
	    __builtin_add_overflow(t->offset_s, (int64_t)(t->offset / t->freq), &seconds) ||
	    __builtin_mul_overflow(seconds, INT64_C(1000000000), &out->base) ||
	    __builtin_add_overflow(out->base, (int64_t)rest, &out->base))
		return tr_fail(c->err, -EINVAL, "%s: clock '%.80s': its offset is out of range"
			       OWN_LIMIT, c->file, t->name);
	return 0;
}

int ctf_fill_model(struct compiler *c, struct ctf_trace *t, struct md_trace *md)
{
	const struct tsdl_stream *ts;
	int ret = 0;

	for (uint32_t i = 0; i < c->t->env_count && !ret; i++) {
		const struct tsdl_env *e = &c->t->env[i];

		if (md_trace_env(md, e->name, e->text, e->number) == -ENOMEM)
			ret = tr_fail(c->err, -ENOMEM, "out of memory");
	}
	t->layout.clocks[0].freq = 1000000000;  /* of timestamps without a clock */
	for (uint32_t i = 0; i < c->t->clock_count && !ret; i++)
		ret = set_clock(c, c->t->clocks[i], &t->layout.clocks[i]);
	if (!ret)
		ret = layout_compile(c, SCOPE_HEADER, c->t->packet_header, &t->layout.header, NULL,
				     NULL);
	for (ts = c->t->streams; ts; ts = ts->next)
		t->class_count++;
	t->classes = calloc(t->class_count + 1, sizeof(*t->classes));
	if (!t->classes)
		return tr_fail(c->err, -ENOMEM, "out of memory");
	t->class_count = 0;
	for (ts = c->t->streams; ts && !ret; ts = ts->next)
		ret = add_class(c, &t->classes[t->class_count++], md, ts);
	if (!ret)
		layout_join(&t->layout);
	return ret;
}
