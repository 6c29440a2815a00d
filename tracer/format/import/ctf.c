/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens CTF 1.8 traces: a directory with a file `metadata`, and a file for each stream. */
#include "tracer/format/import/ctf.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "metadata/ctf.h"

#define METADATA "metadata"

/* ---- the metadata ---- */

/* Joins the contents of metadata packets, in place. uuid: theirs. 0 or -EINVAL. */
static int unpack_metadata(const struct import *im, const struct import_file *f, char *text,
			   size_t *size, uint8_t *uuid, struct tr_err *err)
{
	struct md_metadata_header h;
	size_t from = 0, to = 0, content, packet;

	while (from < *size) {
		bool swapped;

		if (*size - from < sizeof(h))
			return import_fail(im, err, f, from, "expected a metadata packet");
		memcpy(&h, text + from, sizeof(h));
		swapped = h.magic == __builtin_bswap32(MD_METADATA_MAGIC);
		content = (swapped ? __builtin_bswap32(h.content_size) : h.content_size) / 8;
		packet = (swapped ? __builtin_bswap32(h.packet_size) : h.packet_size) / 8;
		if ((h.magic != MD_METADATA_MAGIC && !swapped) || content < sizeof(h) ||
		    packet < content || packet > *size - from)
			return import_fail(im, err, f, from, "expected a metadata packet");
		if (h.compression || h.encryption)
			return import_fail(im, err, f, from,
					   "the metadata is compressed or encrypted");
		if (!from)
			memcpy(uuid, h.uuid, sizeof(h.uuid));
		else if (memcmp(uuid, h.uuid, sizeof(h.uuid)) != 0)
			return import_fail(im, err, f, from,
					   "the metadata packet is of another trace than the "
					   "first one: its UUID differs");
		memmove(text + to, text + from + sizeof(h), content - sizeof(h));
		to += content - sizeof(h);
		from += packet;
	}
	*size = to;
	return 0;
}

/* Packets of metadata that are of another trace than their text says; babeltrace2 reads them. */
static int check_uuid(struct ctf_trace *t, const struct import_file *f, const struct tsdl *tsdl,
		      const uint8_t *uuid)
{
	char theirs[37], ours[37];

	if (!tsdl->has_uuid || !memcmp(uuid, tsdl->uuid, sizeof(tsdl->uuid)))
		return 0;
	uuid_unparse_lower(uuid, theirs);
	uuid_unparse_lower(tsdl->uuid, ours);
	return asprintf(&t->foreign,
			"warning %s: its packets are of the trace %s, its text of %s\n", f->path,
			theirs, ours) < 0
		       ? -ENOMEM
		       : 0;
}

static int read_metadata(struct ctf_trace *t, const struct import_file *f, struct tsdl *tsdl,
			 struct tr_err *err)
{
	const struct import *im = t->im;
	size_t size = f->size;
	uint8_t uuid[16];
	bool packed;
	uint32_t magic = 0;
	char *text;
	int ret;

	if (size > TSDL_TEXT_MAX)
		return import_fail(im, err, f, 0, "the metadata has more than %u MiB",
				   (unsigned int)(TSDL_TEXT_MAX >> 20));
	text = malloc(size + 1);
	if (!text)
		return tr_fail(err, -ENOMEM, "out of memory");
	ret = import_read(im, err, f, 0, text, size);
	if (size >= sizeof(magic))
		memcpy(&magic, text, sizeof(magic));
	packed = magic == MD_METADATA_MAGIC || magic == __builtin_bswap32(MD_METADATA_MAGIC);
	if (!ret && packed)
		ret = unpack_metadata(im, f, text, &size, uuid, err);
	if (!ret)
		ret = tsdl_parse(tsdl, text, size, f->path, err);
	if (!ret && packed && (ret = check_uuid(t, f, tsdl, uuid)))
		tr_fail(err, ret, "out of memory");
	t->has_uuid = tsdl->has_uuid;
	memcpy(t->uuid, tsdl->uuid, sizeof(t->uuid));
	free(text);
	return ret;
}

/* ---- the model ---- */

static int fail_model(const struct compiler *c, int ret, const char *what, const char *name)
{
	return tr_fail(c->err, ret,
		       ret == -ENOMEM	? "out of memory"
		       : ret == -EEXIST ? "%s: %s '%.80s': its id is used twice"
					: "%s: %s '%.80s': two fields have one name, or a type is "
					  "not supported",
		       c->file, what, name);
}

/* Joins the fields of an event's own context and its payload; takes both over. */
static struct md_field *join_fields(struct md_field *context, uint32_t n, struct md_field *fields,
				    uint32_t count)
{
	struct md_field *all = realloc(context, (n + count + 1) * sizeof(*all));

	if (!all)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		all[n + i] = fields[i];
		all[n + i].group = n && !i;
	}
	free(fields);
	return all;
}

static int add_event(struct compiler *c, struct ctf_class *class, const struct tsdl_event *te)
{
	int level = te->loglevel >= 0 && te->loglevel <= 14 ? (int)te->loglevel : MD_LOGLEVEL_NONE;
	struct md_field *context = NULL, *fields = NULL, *all;
	struct md_event *e = md_event_create(te->name, level, 0);
	struct ctf_event *at = &class->events[te->id];
	size_t symbols = c->symbol_count;
	uint32_t slots = c->slots, n = 0, count = 0;
	int ret = e ? layout_compile(c, SCOPE_EVENT, te->context, &at->context, &context, &n)
		    : -ENOMEM;

	if (!ret)
		ret = layout_compile(c, SCOPE_FIELDS, te->fields, &at->fields, &fields, &count);
	layout_forget(c, symbols, slots);
	all = ret ? NULL : join_fields(context, n, fields, count);
	if (!all) {
		layout_free_fields(context, n);
		layout_free_fields(fields, count);
		md_event_destroy(e);
		return ret ? ret : tr_fail(c->err, -ENOMEM, "out of memory");
	}
	free(e->fields);
	e->fields = all;
	e->field_count = n + count;
	e->id = (uint32_t)te->id;
	e->no_fields = !te->fields && !te->context;
	at->known = true;
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

/* Whether its events have times, of their own or of their packets. */
static bool has_times(const struct tsdl_stream *ts)
{
	return has_clock(ts->event_header) || has_clock(ts->packet_context) ||
	       has_member(ts->event_header, "timestamp") ||
	       has_member(ts->packet_context, "timestamp_begin") ||
	       has_member(ts->packet_context, "timestamp_end");
}

static int add_events(struct compiler *c, struct ctf_class *class)
{
	const struct tsdl_event *e;
	int ret = 0;

	for (e = c->t->events; e; e = e->next) {
		if (e->stream_id != class->id)
			continue;
		if (e->id > MD_EVENT_ID_MAX)
			return tr_fail(c->err, -EINVAL, "%s: event '%.80s': its id is above %u",
				       c->file, e->name, MD_EVENT_ID_MAX);
		if (e->id >= class->event_limit)
			class->event_limit = (uint32_t)e->id + 1;
	}
	layout_use_memory(c, class->event_limit * sizeof(*class->events));
	if (c->failed)
		return c->failed;
	class->events = calloc(class->event_limit + 1, sizeof(*class->events));
	if (!class->events)
		return tr_fail(c->err, -ENOMEM, "out of memory");
	for (e = c->t->events; e && !ret; e = e->next)
		if (e->stream_id == class->id)
			ret = add_event(c, class, e);
	return ret;
}

/* The widths of the counters of packets: these wrap. */
static void set_counters(const struct compiler *c, struct ctf_class *class)
{
	for (size_t i = class->packet_context; i < c->out->step_count; i++) {
		const struct step *s = &c->out->steps[i];

		if (s->code == STEP_INT && s->role == ROLE_DISCARDED)
			class->discarded_bits = s->size;
		else if (s->code == STEP_INT && s->role == ROLE_SEQUENCE)
			class->sequence_bits = s->size;
	}
}

static int add_class(struct compiler *c, struct ctf_class *class, struct md_trace *md,
		     const struct tsdl_stream *ts)
{
	size_t symbols = c->symbol_count;
	uint32_t slots = c->slots, count = 0;
	struct md_field *context = NULL;
	int ret;

	if (ts->id > UINT32_MAX)
		return tr_fail(c->err, -EINVAL, "%s: stream %llu: its id is above 4294967295",
			       c->file, (unsigned long long)ts->id);
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
	class->md->no_cpu = !has_member(ts->packet_context, "cpu_id");
	class->md->no_time = !has_times(ts);
	ret = layout_compile(c, SCOPE_PACKET, ts->packet_context, &class->packet_context, NULL,
			     NULL);
	set_counters(c, class);
	if (!ret)
		ret = layout_compile(c, SCOPE_EVENT_HEADER, ts->event_header,
				     &class->event_header, NULL, NULL);
	for (size_t i = class->event_header; i < c->out->step_count && !class->clock; i++)
		class->clock = c->out->steps[i].clock;
	if (!ret)
		ret = layout_compile(c, SCOPE_STREAM_EVENT, ts->event_context,
				     &class->event_context, &context, &count);
	if (!ret && count && (ret = md_stream_set_context(class->md, context, count)))
		fail_model(c, ret, "the context of stream", "");
	if (ret || !count)
		layout_free_fields(context, count);
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
		return tr_fail(c->err, -EINVAL, "%s: clock '%.80s': its offset is out of range",
			       c->file, t->name);
	return 0;
}

static int fill_model(struct compiler *c, struct ctf_trace *t, struct md_trace *md)
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
	return ret;
}

static void free_trace(void *p)
{
	struct ctf_trace *t = p;

	for (uint32_t i = 0; i < t->class_count; i++)
		free(t->classes[i].events);
	free(t->classes);
	free(t->foreign);
	layout_deinit(&t->layout);
	free(t);
}

/* ---- the streams ---- */

static void free_stream(void *p)
{
	struct ctf_stream *s = p;

	free(s->parts);
	ctf_free_losses(s->losses);
	free(s);
}

/* The stream of this packet: with its class and its instance, if that is given. */
static struct ctf_stream *find_stream(struct ctf_stream **streams, size_t count,
				      const struct ctf_packet *p)
{
	for (size_t i = 0; i < count && p->r.have & 1u << ROLE_INSTANCE; i++)
		if (streams[i]->class == p->class &&
		    streams[i]->instance == p->r.roles[ROLE_INSTANCE])
			return streams[i];
	return NULL;
}

static struct ctf_stream *new_stream(struct import *im, const struct ctf_trace *t,
				     const struct ctf_packet *p, size_t number)
{
	struct ctf_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct ctf_stream){ .in = { ctf_read, ctf_packets, ctf_losses }, .trace = t,
				  .class = p->class, .cpu = p->cpu, .first = !number };
	s->instance = p->r.have & 1u << ROLE_INSTANCE ? p->r.roles[ROLE_INSTANCE] : number;
	return import_own(im, s, free_stream) ? NULL : s;
}

static bool add_part(struct ctf_stream *s, const struct import_file *f, uint64_t begin)
{
	struct ctf_part *more = realloc(s->parts, (s->part_count + 1) * sizeof(*more));
	size_t i;

	if (!more)
		return false;
	s->parts = more;
	for (i = s->part_count++; i && more[i - 1].begin > begin; i--)
		more[i] = more[i - 1];
	more[i] = (struct ctf_part){ f, begin };
	return true;
}

/* Adds the files of the directory of the metadata to streams. *count: of streams. */
static int find_parts(struct import *im, const struct ctf_trace *t, const struct import_file *meta,
		      struct ctf_stream **streams, size_t *count, struct tr_err *err)
{
	size_t dir = strlen(meta->path) - strlen(METADATA);
	int ret = 0;

	for (size_t i = 0; i < im->file_count && !ret; i++) {
		const struct import_file *f = &im->files[i];
		struct ctf_stream *s;
		struct ctf_packet p;
		uint64_t begin = 0;

		if (f == meta || !f->size || strncmp(f->path, meta->path, dir) ||
		    strchr(f->path + dir, '/'))
			continue;
		if (f->size > CTF_FILE_MAX)
			return import_fail(im, err, f, 0, "the file has more than 256 TiB");
		ret = ctf_read_header(t, err, f, 0, &p);
		if (ret == -ENOMEM)
			tr_fail(err, ret, "out of memory");
		ctf_time(&p.r, p.r.roles[ROLE_BEGIN], &begin);
		s = ret ? NULL : find_stream(streams, *count, &p);
		if (!ret && !s && (s = new_stream(im, t, &p, *count)))
			streams[(*count)++] = s;
		if (!ret && (!s || !add_part(s, f, begin)))
			ret = tr_fail(err, -ENOMEM, "out of memory");
		free(p.r.slots);
	}
	return ret;
}

static int add_streams(struct import *im, struct ctf_trace *t, struct trace *trace,
		       const struct import_file *meta, struct tr_err *err)
{
	struct ctf_stream **streams = calloc(im->file_count + 1, sizeof(struct ctf_stream *));
	size_t count = 0;
	int ret = streams ? find_parts(im, t, meta, streams, &count, err)
			  : tr_fail(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < count && !ret; i++) {
		ret = import_add_stream(im, trace, streams[i]->class->md, streams[i]->instance,
					streams[i]->cpu, streams[i]->parts[0].file,
					&streams[i]->in);
		if (ret)
			tr_fail(err, ret, "out of memory");
	}
	free(streams);
	return ret;
}

/* ---- traces ---- */

static bool env_is(const struct tsdl *t, const char *name, const char *text)
{
	for (uint32_t i = 0; i < t->env_count; i++)
		if (!strcmp(t->env[i].name, name) && t->env[i].text)
			return !strcmp(t->env[i].text, text);
	return false;
}

static int open_trace(struct import *im, const struct import_file *meta, struct tr_err *err)
{
	struct ctf_trace *t = calloc(1, sizeof(*t));
	struct tsdl tsdl = { 0 };
	struct compiler c = { .t = &tsdl, .file = meta->path, .err = err };
	struct md_trace *md = NULL;
	struct trace *trace = NULL;
	char path[320];
	int ret;

	if (!t || import_own(im, t, free_trace))
		return tr_fail(err, -ENOMEM, "out of memory");
	t->im = im;
	c.out = &t->layout;
	c.used = im->used + 2 * meta->size;     /* names and texts outside of types */
	snprintf(path, sizeof(path), "%.*s",
		 (int)(strlen(meta->path) - strlen(import_file_name(meta))), meta->path);
	if (*path)
		path[strlen(path) - 1] = 0;
	ret = read_metadata(t, meta, &tsdl, err);
	if (!ret && !(md = md_trace_create(tsdl.uuid)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = fill_model(&c, t, md);
	t->early = env_is(&tsdl, "tracer_name", "barectf");
	if (!ret && !(trace = import_add_trace(im, md, path, env_is(&tsdl, "domain", "kernel"))))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if (ret && md)
		md_trace_destroy(md);
	if (!ret)
		ret = add_streams(im, t, trace, meta, err);
	im->used = c.used;
	layout_forget(&c, 0, 0);
	free(c.symbols);
	md_buf_deinit(&c.path);
	tsdl_deinit(&tsdl);
	return ret;
}

static int open_traces(struct import *im, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < im->file_count && !ret; i++)
		if (!strcmp(import_file_name(&im->files[i]), METADATA))
			ret = open_trace(im, &im->files[i], err);
	return ret;
}

const struct import_format ctf_format = { "CTF 1.8", open_traces };
