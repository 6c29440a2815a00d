/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/ltt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metadata/number.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/format/import/ltt_private.h"

#define DEFINITION_MAX (UINT64_C(4) << 20)      /* bytes of a file of eventdefs/ */
#define LOADS_MAX 4096u
#define STREAMS_MAX 4096u
#define TYPES_MAX (1u << 20)    /* of all definitions */
#define HEADER_3 66u
#define HEADER_7 106u

/* ---- files and the headers of blocks ---- */

int ltt_fail(struct tr_err *err, const struct ltt_file *f, uint64_t offset, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tr_fail(err, -EINVAL, "%s: offset %llu: %s", f->path, (unsigned long long)offset,
		       text);
}

int ltt_pread(const struct ltt_file *f, uint64_t offset, void *buf, size_t n, struct tr_err *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(f->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return tr_fail(err, -errno, "%s: offset %llu: %s", f->path,
				       (unsigned long long)offset, strerror(errno));
		if (!r) {
			ltt_fail(err, f, offset + done, "the file is shorter than at its open");
			return -ESTALE;
		}
		done += (size_t)r;
	}
	return 0;
}

/* Sets what only version 0.7 has. */
static int set_start(const struct ltt_file *f, const uint8_t *h, struct ltt_block *b,
		     struct tr_err *err)
{
	uint64_t sec = md_load(h + 90, 8, b->big_endian), usec = md_load(h + 98, 8, b->big_endian);

	b->freq = md_load(h + 66, 8, b->big_endian);
	b->start = md_load(h + 74, 8, b->big_endian);
	if (sec > INT64_MAX / 1000000000 || usec >= 1000000)
		return ltt_fail(err, f, b->offset + 90, "expected the time of the trace's start");
	b->start_ns = sec * 1000000000 + usec * 1000;
	return 0;
}

int ltt_block(const struct ltt_file *f, uint64_t offset, struct ltt_block *b, struct tr_err *err)
{
	uint64_t room = offset < f->size ? f->size - offset : 0, lost;
	uint8_t h[HEADER_7] = { 0 };
	int ret;

	if (room < HEADER_3)
		return 0;
	ret = ltt_pread(f, offset, h, room < HEADER_7 ? room : HEADER_7, err);
	if (ret)
		return ret;
	*b = (struct ltt_block){ .offset = offset, .big_endian = h[40] == 0x00 };
	if (md_load(h + 40, 4, b->big_endian) != 0x00d6b7ed)
		return ltt_fail(err, f, offset + 40, "expected the magic number 0x00D6B7ED");
	if (h[57] || (h[58] != 3 && h[58] != 7))
		return ltt_fail(err, f, offset + 57, "expected version 0.3 or 0.7, found %u.%u",
				h[57], h[58]);
	b->first = h[58] == 7 ? HEADER_7 : HEADER_3;
	if (room < b->first)
		return 0;
	b->begin = md_load(h, 8, b->big_endian);
	b->freq = md_load(h + 8, 8, b->big_endian);
	lost = md_load(h + 32, 4, b->big_endian);
	b->size = md_load(h + 36, 4, b->big_endian);
	b->big_floats = md_load(h + 52, 4, b->big_endian) ? md_load(h + 52, 4, b->big_endian) ==
		4321 : b->big_endian;
	b->heartbeat = h[60];
	b->align = h[61] ? h[61] : 1;
	b->scale = md_load(h + 62, 4, b->big_endian);
	if (b->size < b->first || lost > b->size - b->first)
		return ltt_fail(err, f, offset + 32,
				"expected a block of more than %u bytes, found buf_size %llu, "
				"lost_size %llu", (unsigned int)b->first,
				(unsigned long long)b->size, (unsigned long long)lost);
	if (b->align & (b->align - 1) || b->align > 64)
		return ltt_fail(err, f, offset + 61, "expected an alignment of 0 to 64, found %u",
				b->align);
	ret = h[58] == 7 ? set_start(f, h, b, err) : 0;
	if (!ret && (!b->freq || !b->scale))
		return ltt_fail(err, f, offset + 62, "expected a frequency that is not 0");
	b->end = b->size - lost;
	b->torn = b->size > room;
	b->end = b->end > room ? room : b->end;
	return ret ? ret : 1;
}

/* ---- definitions ---- */

/* The whole text. NULL: *ret is -errno. */
static char *read_text(const struct ltt_file *f, int *ret, struct tr_err *err)
{
	char *text = f->size <= DEFINITION_MAX ? malloc(f->size + 1) : NULL;

	*ret = text ? ltt_pread(f, 0, text, f->size, err)
		    : tr_fail(err, -EFBIG, "%s: expected at most 4 MiB", f->path);
	if (*ret) {
		free(text);
		return NULL;
	}
	text[f->size] = 0;
	return text;
}

/*
 * Reads the definition from NAME_CHECKSUM.xml, else from the first file that has one of this name.
 * As ltt_parse.
 */
static int find_definition(const struct ltt_trace *t, struct ltt_facility *f, struct tr_err *err)
{
	char exact[96];
	int ret = 0;

	snprintf(exact, sizeof(exact), "eventdefs/%s_%u.xml", f->name, f->checksum);
	for (size_t i = 0; i < 2 * t->file_count && !ret; i++) {
		const struct ltt_file *file = &t->files[i % t->file_count];
		char *text;

		if (strncmp(file->path, "eventdefs/", 10) ||
		    (i < t->file_count && strcmp(file->path, exact)))
			continue;
		text = read_text(file, &ret, err);
		if (text)
			ret = ltt_parse(f, file->path, text, file->size, err);
		free(text);
	}
	return ret;
}

/* The stream class of events with these contexts. Takes them over. -errno: not possible. */
static int find_class(struct ltt_trace *t, struct md_field *contexts, uint32_t count)
{
	struct md_event key = { .name = "", .fields = contexts, .field_count = count };
	uint64_t digest = md_event_digest(&key);
	struct md_stream *s;
	int ret = -EMFILE;

	for (uint32_t i = 0; i < t->class_count; i++) {
		if (t->digests[i] != digest || t->classes[i]->context_count != count)
			continue;
		ret = (int)i;
		goto unused;
	}
	s = t->class_count < LTT_CLASSES_MAX ? md_stream_create(t->class_count, MD_HEADER_LARGE)
					     : NULL;
	if (!s)
		goto unused;
	s->ctf1 = true;         /* text as of a recording */
	if (count && (ret = md_stream_set_context(s, contexts, count))) {
		md_stream_destroy(s);
		goto unused;
	}
	if (!count)
		free(contexts);
	t->classes[t->class_count] = s;
	t->digests[t->class_count] = digest;
	if (md_trace_add(t->md, s)) {
		md_stream_destroy(s);
		return -ENOMEM;
	}
	return (int)t->class_count++;
unused:
	for (uint32_t i = 0; i < count; i++)
		md_field_deinit(&contexts[i]);
	free(contexts);
	return ret;
}

/* Moves the event's first fields to its class's contexts, and the event to the class. */
static int add_event(struct ltt_trace *t, struct ltt_event *e, uint32_t id, struct tr_err *err)
{
	struct md_event *m = e->e;
	struct md_field *contexts = calloc(e->contexts + 1, sizeof(*contexts));
	int ret;

	if (!contexts)
		return tr_fail(err, -ENOMEM, "out of memory");
	if (e->contexts) {
		memcpy(contexts, m->fields, e->contexts * sizeof(*contexts));
		m->field_count -= e->contexts;
		memmove(m->fields, m->fields + e->contexts, m->field_count * sizeof(*contexts));
	}
	m->id = id;
	ret = find_class(t, contexts, e->contexts);
	if (ret >= 0) {
		e->class = (uint32_t)ret;
		ret = md_stream_add(t->classes[ret], m);
	}
	if (!ret)
		return 0;
	tr_fail(err, ret, "eventdefs/: the event %.80s has types or names that are not possible",
		m->name);
	return ret;
}

static bool is_size(uint32_t n)
{
	return n == 2 || n == 4 || n == 8;
}

/* The number of the facility as it is loaded; a new one if need be. -errno. */
static int find_facility(struct ltt_trace *t, const struct ltt_facility *key, struct tr_err *err)
{
	struct ltt_facility *f;
	uint32_t i;
	int ret;

	for (i = 1; i < t->facility_count; i++) {
		f = t->facilities[i];
		if (!strcmp(f->name, key->name) && f->checksum == key->checksum &&
		    !memcmp(&f->sizes, &key->sizes, sizeof(f->sizes)))
			return (int)i;
	}
	if (i == LTT_IDS)
		return tr_fail(err, -EINVAL, "control/: expected at most 255 facilities");
	f = malloc(sizeof(*f));
	if (!f)
		return tr_fail(err, -ENOMEM, "out of memory");
	*f = *key;
	t->facilities[t->facility_count++] = f;
	ret = find_definition(t, f, err);
	t->types += f->types;
	if (ret > 0 && t->types > TYPES_MAX)
		ret = tr_fail(err, -EINVAL,
			      "eventdefs/: expected at most 1048576 types and labels");
	if (!ret)
		return tr_fail(err, -EINVAL, "eventdefs/ has no definition of the facility %s",
			       f->name);
	for (i = 0; i < f->count && ret > 0; i++) {
		int failed = add_event(t, &f->events[i],
				       (t->facility_count - 1) * LTT_IDS + i, err);

		ret = failed ? failed : ret;
		/* The class has it now. */
		if (failed)
			break;
	}
	if (ret < 0) {
		/* No class owns the events from i on. */
		for (uint32_t j = i; j < f->count; j++)
			md_event_destroy(f->events[j].e);
		f->count = 0;
		return ret;
	}
	return (int)t->facility_count - 1;
}

struct loader {
	struct ltt_trace *t;
	const struct ltt_file *file;
	bool big_endian, big_floats;
};

static int add_load(void *arg, uint64_t cycles, const char *name, const uint32_t *values,
		    struct tr_err *err)
{
	struct loader *l = arg;
	struct ltt_trace *t = l->t;
	struct ltt_facility *key = calloc(1, sizeof(*key));
	uint32_t align = values[6];
	size_t i;
	int ret = -ENOMEM;

	if (!key || !array_double(t->loads, t->load_count)) {
		free(key);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	snprintf(key->name, sizeof(key->name), "%s", name);
	key->checksum = values[0];
	key->sizes = (struct ltt_sizes){ (uint8_t)values[2], (uint8_t)values[3],
					 (uint8_t)values[4], (uint8_t)values[5], (uint8_t)align,
					 l->big_endian, l->big_floats };
	if (t->load_count == LOADS_MAX || !values[1] || values[1] >= LTT_IDS ||
	    !is_size(values[2]) || !is_size(values[3]) || !is_size(values[4]) ||
	    !is_size(values[5]) || align > 64 || align & (align - 1))
		ret = tr_fail(err, -EINVAL,
			      "%s: the load of the facility %.60s: expected an id of 1 to 255, "
			      "sizes of 2, 4 or 8, and an alignment of 0 to 64",
			      l->file->path, name);
	else
		ret = find_facility(t, key, err);
	free(key);
	if (ret < 0)
		return ret;
	for (i = t->load_count++; i && t->loads[i - 1].cycles > cycles; i--)
		t->loads[i] = t->loads[i - 1];
	t->loads[i] = (struct ltt_load){ cycles, (uint8_t)values[1], (uint8_t)ret };
	return 0;
}

void ltt_describe(const struct ltt_trace *t, struct md_buf *out)
{
	for (size_t i = 0; i < t->load_count; i++) {
		const struct ltt_load *l = &t->loads[i];
		const struct ltt_facility *f = t->facilities[l->facility];

		md_buf_printf(out, "facility %s id %u checksum %u cycle %" PRIu64 "\n", f->name,
			      l->id, f->checksum, l->cycles);
	}
}

/* ---- files ---- */

/* The CPU of "cpu_3" or "control/NAME_3". False: the file has no events. */
static bool cpu_of(const char *path, uint32_t *cpu)
{
	const char *name = strrchr(path, '_');
	char *end;

	if (!name || (strncmp(path, "control/", 8) && strchr(path, '/')) || name[1] < '0' ||
	    name[1] > '9')
		return false;
	*cpu = (uint32_t)strtoul(name + 1, &end, 10);
	return !*end;
}

/* The word of this attribute in system.xml, for the host's name. */
static void set_host(struct ltt_trace *t, const char *text)
{
	const char *p = strstr(text, " node=\"");
	char host[65];

	if (!p || !strchr(p + 7, '"'))
		return;
	snprintf(host, sizeof(host), "%.*s", (int)(strchr(p + 7, '"') - (p + 7) < 64 ?
						   strchr(p + 7, '"') - (p + 7) : 64), p + 7);
	md_trace_env(t->md, "hostname", host, 0);
}

static int read_control(struct ltt_trace *t, struct tr_err *err)
{
	struct ltt_block b;
	uint32_t cpu;
	int ret = 0;

	for (size_t i = 0; i < t->file_count && !ret; i++) {
		struct loader l = { .t = t, .file = &t->files[i] };

		if (!strcmp(l.file->path, "system.xml")) {
			char *text = read_text(l.file, &ret, err);

			if (text)
				set_host(t, text);
			free(text);
		}
		if (strncmp(l.file->path, "control/facilities_", 19) || !cpu_of(l.file->path, &cpu))
			continue;
		ret = ltt_block(l.file, 0, &b, err);
		if (ret < 1)
			continue;
		l.big_endian = b.big_endian;
		l.big_floats = b.big_floats;
		ret = ltt_read_loads(l.file, add_load, &l, err);
	}
	return ret;
}

/* A stream for each file with events and each class. */
static int add_streams(struct ltt_trace *t, struct tr_err *err)
{
	uint32_t cpu;

	t->streams = calloc(t->file_count * t->class_count + 1, sizeof(*t->streams));
	if (!t->streams)
		return tr_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->file_count; i++) {
		if (!cpu_of(t->files[i].path, &cpu) ||
		    !strncmp(t->files[i].path, "control/facilities_", 19))
			continue;
		if (!t->class_count && t->files[i].size)
			return tr_fail(err, -EINVAL,
				       "control/: expected loads of facilities in facilities_N");
		if (t->stream_count + t->class_count > STREAMS_MAX)
			return tr_fail(err, -EINVAL,
				       "eventdefs/: expected fewer events with different contexts");
		for (uint32_t c = 0; c < t->class_count; c++)
			t->streams[t->stream_count++] = (struct ltt_stream){
				&t->files[i], t->classes[c], cpu, c };
	}
	return 0;
}

int ltt_open(const struct ltt_file *files, size_t count, struct ltt_trace **out, struct tr_err *err)
{
	struct ltt_trace *t = calloc(1, sizeof(*t));
	uint64_t hash = HASH_START;
	uint8_t uuid[16] = { 0 };
	int ret;

	/* A trace of LTT has no uuid: readers need one that is the same each time. */
	for (size_t i = 0; i < count; i++)
		hash = hash_step(hash_string(hash, files[i].path), files[i].size);
	memcpy(uuid, &hash, sizeof(hash));
	if (!t || !(t->md = md_trace_create(uuid))) {
		free(t);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	t->files = files;
	t->file_count = count;
	t->facility_count = 1;
	ret = read_control(t, err);
	if (!ret)
		ret = add_streams(t, err);
	if (ret) {
		ltt_close(t);
		return ret;
	}
	*out = t;
	return 0;
}

void ltt_close(struct ltt_trace *t)
{
	if (!t)
		return;
	for (uint32_t i = 1; i < t->facility_count; i++)
		free(t->facilities[i]);
	if (!t->taken)
		md_trace_destroy(t->md);
	free(t->loads);
	free(t->streams);
	free(t);
}

const struct md_trace *ltt_model(const struct ltt_trace *t)
{
	return t->md;
}

struct md_trace *ltt_take_model(struct ltt_trace *t)
{
	t->taken = true;
	return t->md;
}

size_t ltt_streams(const struct ltt_trace *t, const struct ltt_stream **streams)
{
	*streams = t->streams;
	return t->stream_count;
}
