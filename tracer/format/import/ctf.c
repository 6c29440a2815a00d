/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens traces of CTF 1.8 and 2: a directory with a file `metadata`, and a file for each stream. */
#include "tracer/format/import/ctf.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "metadata/ctf.h"
#include "tracer/format/ctf2/ctf2.h"

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

		/* Some versions of LTTng write a byte after the last packet. */
		if (from && *size - from == 1)
			break;
		if (*size - from < sizeof(h))
			return import_fail(im, err, f, from,
					   "expected a metadata packet" IN_CTF("7.1"));
		memcpy(&h, text + from, sizeof(h));
		swapped = h.magic == __builtin_bswap32(MD_METADATA_MAGIC);
		content = (swapped ? __builtin_bswap32(h.content_size) : h.content_size) / 8;
		packet = (swapped ? __builtin_bswap32(h.packet_size) : h.packet_size) / 8;
		if ((h.magic != MD_METADATA_MAGIC && !swapped) || content < sizeof(h) ||
		    packet < content || packet > *size - from)
			return import_fail(im, err, f, from,
					   "expected a metadata packet" IN_CTF("7.1"));
		if (h.compression || h.encryption)
			return import_fail(im, err, f, from,
					   "the metadata is compressed or encrypted, "
					   "which trailfs does not read" IN_CTF("7.1"));
		if (!from)
			memcpy(uuid, h.uuid, sizeof(h.uuid));
		else if (memcmp(uuid, h.uuid, sizeof(h.uuid)) != 0)
			return import_fail(im, err, f, from,
					   "the metadata packet is of another trace than the "
					   "first one: its UUID differs" IN_CTF("7.1"));
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
		return import_fail(im, err, f, 0, "the metadata has more than %u MiB" OWN_LIMIT,
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
	if (!ret && size && *text == CTF2_MARK)
		ret = ctf2_parse(tsdl, text, size, f->path, err);
	else if (!ret)
		ret = tsdl_parse(tsdl, text, size, f->path, err);
	if (!ret && packed && (ret = check_uuid(t, f, tsdl, uuid)))
		tr_fail(err, ret, "out of memory");
	t->has_uuid = tsdl->has_uuid;
	t->bytes = tsdl->proposal;
	t->ctf2 = t->layout.ctf2 = tsdl->ctf2;
	memcpy(t->uuid, tsdl->uuid, sizeof(t->uuid));
	free(text);
	return ret;
}

static void free_trace(void *p)
{
	struct ctf_trace *t = p;

	for (uint32_t i = 0; i < t->class_count; i++)
		free(t->classes[i].events), free(t->classes[i].by_number);
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
	*s = (struct ctf_stream){ .in = { .read = ctf_read, .packets = ctf_packets,
					  .losses = ctf_losses },
				  .trace = t,
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
			return import_fail(im, err, f, 0,
					   "the file has more than 256 TiB" OWN_LIMIT);
		ret = ctf_read_header(t, err, f, 0, &p);
		if (ret == -ENOMEM)
			tr_fail(err, ret, "out of memory");
		ctf_time(&p.r, p.r.roles[ROLE_BEGIN], &begin);
		s = ret ? NULL : find_stream(streams, *count, &p);
		if (!ret && !s && (s = new_stream(im, t, &p, *count)))
			streams[(*count)++] = s;
		if (!ret && (!s || !add_part(s, f, begin)))
			ret = tr_fail(err, -ENOMEM, "out of memory");
		ctf_free_packet(&p);
	}
	return ret;
}

static int add_streams(struct import *im, struct ctf_trace *t, const struct import_trace *trace,
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
	struct compiler c = { .t = &tsdl, .file = meta->path, .err = err, .begin = NO_SLOT };
	struct md_trace *md = NULL;
	struct import_trace *trace = NULL;
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
		ret = ctf_fill_model(&c, t, md);
	t->early = env_is(&tsdl, "tracer_name", "barectf");
	if (!ret && !(trace = import_add_trace(im, md, path, env_is(&tsdl, "domain", "kernel"))))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if (ret && md)
		md_trace_destroy(md);
	if (!ret)
		ret = add_streams(im, t, trace, meta, err);
	if (!ret && !im->format)
		im->format = tsdl.ctf2 ? "CTF 2" : ctf_format.name;
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
