/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "metadata/decode.h"
#include "tracer/format/foreign/model.h"
#include "tracer/format/foreign/child.h"
#include "tracer/session/session.h"

#define USED_MAX (UINT64_C(1) << 30)

/* What the process says of losses; the first reader keeps it. */
struct known_losses {
	struct input_losses l;
	struct input_loss *list;
	char *lines;
};

/* The functions of ring/input.h for a stream. */
struct foreign_input {
	struct input in;
	struct foreign *f;
	uint32_t number;
	const struct md_stream *class;
	struct known_losses *losses;    /* atomic; NULL: not asked yet; owned */
};

static struct foreign_input *input_of(const struct input *in)
{
	return (struct foreign_input *)in;
}

/* Asks. As child_ask; a sentence goes to `error`. */
static int ask(const struct foreign_input *i, const struct ask *q, struct answer *a,
	       struct md_buf *out)
{
	char why[REASON_SIZE];
	int ret = child_ask(i->f->process, q, a, out, why);

	if (ret < 0 && *why)
		session_failed(i->f->s, "%s", why);
	return ret;
}

/* As input.refuse. */
static void refuse(const struct input *in)
{
	const struct foreign_input *i = input_of(in);
	char why[REASON_SIZE];

	child_refuse(i->f->process, "gave bytes that are not events; it was ended", why);
	if (*why)
		session_failed(i->f->s, "%s", why);
}

/* As input.read. */
static int read_events(const struct input *in, struct input_place *at, size_t want,
		       struct md_buf *out, uint32_t *cpu)
{
	const struct foreign_input *i = input_of(in);
	const struct ask q = { ASK_READ, i->number, *at, want };
	size_t before = out->len;
	struct answer a;
	int ret;

	a.at = *at;
	ret = ask(i, &q, &a, out);
	/* Without a move the reader would never come to an end. */
	if (ret == 1 && (!memcmp(&a.at, at, sizeof(*at)) || out->len == before)) {
		refuse(in);
		return -EIO;
	}
	if (ret <= 0)
		out->len = before;
	else
		*cpu = a.cpu;
	*at = a.at;
	return ret;
}

/* As input.packets. */
static bool list_packets(const struct input *in,
			 bool (*add)(void *arg, const struct input_packet *p), void *arg)
{
	const struct foreign_input *i = input_of(in);
	const struct ask q = { .what = ASK_PACKETS, .stream = i->number };
	struct md_buf out = MD_BUF_INIT;
	struct input_packet p;
	struct answer a;
	bool done = ask(i, &q, &a, &out) >= 0;

	for (size_t at = 0; done && out.len - at >= sizeof(p); at += sizeof(p)) {
		memcpy(&p, out.data + at, sizeof(p));
		done = p.bytes < UINT64_C(1) << 48 && add(arg, &p);
	}
	md_buf_deinit(&out);
	return done && a.ret == 1;
}

static void free_losses(struct known_losses *k)
{
	if (k) {
		free(k->list);
		free(k->lines);
	}
	free(k);
}

/* Takes over what is valid of an answer; the rest is as if the trace had no losses. */
static void take_losses(struct known_losses *k, const struct answer *a, const struct md_buf *out)
{
	size_t bytes = a->count * sizeof(*k->list);

	k->l.lines = "";
	if (!out->len || a->count > out->len / sizeof(*k->list) ||
	    memchr(out->data + bytes, 0, out->len - bytes))
		return;
	k->list = malloc(bytes + 1);
	k->lines = strndup(out->data + bytes, out->len - bytes);
	if (!k->list || !k->lines)
		return;
	memcpy(k->list, out->data, bytes);
	for (size_t i = 0; i < a->count; i++)
		if ((unsigned int)k->list[i].loss.kind >= MD_LOSS_KINDS)
			return;
	for (char *c = k->lines; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\n')
			*c = '?';
	k->l = (struct input_losses){ a->events, a->packets, k->lines, k->list, a->count };
}

/* As input.losses. */
static void count_losses(const struct input *in, struct input_losses *out)
{
	struct foreign_input *i = input_of(in);
	/* Acquire: pairs with the release of another thread that has asked. */
	struct known_losses *k = __atomic_load_n(&i->losses, __ATOMIC_ACQUIRE), *none = NULL;
	const struct ask q = { .what = ASK_LOSSES, .stream = i->number };
	struct md_buf bytes = MD_BUF_INIT;
	struct answer a;

	/* If the process fails, the next reader asks again. */
	if (!k && ask(i, &q, &a, &bytes) >= 0 && (k = calloc(1, sizeof(*k)))) {
		take_losses(k, &a, &bytes);
		if (!__atomic_compare_exchange_n(&i->losses, &none, k, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			free_losses(k);
			k = none;
		}
	}
	md_buf_deinit(&bytes);
	if (k)
		*out = k->l;
}

/* ---- making ---- */

/* A trace takes the model's types over. */
static struct trace *make_trace(const struct foreign *f, struct model_trace *m)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->refs = 1;
	t->log_fd = -1;
	t->uid = m->kernel ? KERNEL_UID : f->s->uid;
	t->word_bits = 64;
	t->md = m->md;
	m->md = NULL;
	snprintf(t->path, sizeof(t->path), "%s", m->path);
	snprintf(t->owner, sizeof(t->owner), "import");
	lock_init(&t->lock, NULL, LOCK_TRACE);
	return t;
}

/* "channel0_3" is of the channel "channel0". */
static void channel_of(const char *file, char *out, size_t size)
{
	const char *end = file + strlen(file), *p = end;

	while (p > file && p[-1] >= '0' && p[-1] <= '9')
		p--;
	if (p < end && p - 1 > file && p[-1] == '_')
		end = p - 1;
	snprintf(out, size, "%.*s", (int)(end - file), file);
}

static void make_stream(struct foreign *f, uint32_t number, const struct model_stream *m)
{
	struct trace *t = f->traces[m->trace];
	const char *path = f->files[m->file].path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct foreign_input *in = &f->inputs[number];
	struct stream *s = &f->streams[number];

	*in = (struct foreign_input){ { read_events, m->packets ? list_packets : NULL,
					m->losses ? count_losses : NULL, refuse },
				      f, number, t->md->streams[m->class], NULL };
	*s = (struct stream){ .trace = t, .ring = number, .class = in->class,
			      .instance_id = m->instance, .cpu = m->cpu, .input = &in->in };
	channel_of(name, s->channel, sizeof(s->channel));
	snprintf(s->file, sizeof(s->file), "%s", name);
	snprintf(s->name, sizeof(s->name), "%s", name);
}

/* Cursors and marks need a ring, and its key as a name: one page of an empty ring each. */
static int make_region(struct foreign *f)
{
	struct region_geometry geo = { .mode = TRAIL_MODE_DISCARD, .kind = TRAIL_RINGS_CPU,
				       .ring_count = (uint32_t)f->stream_count,
				       .subbuf_count = 2, .subbuf_size = TRAIL_SUBBUF_MIN,
				       .switch_count = 1 };
	uint64_t key;

	if (!f->stream_count)
		return 0;
	if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -EAGAIN;
	return region_create(&geo, key, &f->region);
}

/* 0 or -ENOMEM. */
static int take_model(struct foreign *f, struct model *m)
{
	f->traces = calloc(m->trace_count, sizeof(struct trace *));
	f->streams = calloc((size_t)m->stream_count + 1, sizeof(*f->streams));
	f->inputs = calloc((size_t)m->stream_count + 1, sizeof(*f->inputs));
	if (!f->traces || !f->streams || !f->inputs)
		return -ENOMEM;
	while (f->trace_count < m->trace_count) {
		struct trace *t = make_trace(f, &m->traces[f->trace_count]);

		if (!t)
			return -ENOMEM;
		f->traces[f->trace_count++] = t;
	}
	for (uint32_t i = 0; i < m->stream_count; i++)
		make_stream(f, i, &m->streams[i]);
	f->stream_count = m->stream_count;
	f->format = m->format;
	f->notes = m->notes;
	m->format = m->notes = NULL;
	return 0;
}

int foreign_make_streams(struct foreign *f, uint64_t *used, struct tr_err *err)
{
	struct md_buf bytes = MD_BUF_INIT;
	struct model m = { 0 };
	int ret = child_open(f->process, &bytes, err);

	if (!ret) {
		ret = model_unpack(&m, bytes.data, bytes.len, f->file_count);
		if (!ret)
			ret = take_model(f, &m);
		if (ret)
			tr_fail(err, ret, ret == -ENOMEM ? "out of memory"
							 : "the process that reads the trace gave "
							   "types that are not valid");
		else if ((ret = make_region(f)))
			tr_fail(err, ret, "the streams cannot be opened: %s", strerror(-ret));
		*used = m.used < USED_MAX ? m.used : USED_MAX;
		*used = *used < bytes.len ? bytes.len : *used;
	}
	model_deinit(&m);
	md_buf_deinit(&bytes);
	return ret;
}

void foreign_free_streams(struct foreign *f)
{
	for (size_t i = 0; i < f->stream_count; i++)
		free_losses(f->inputs[i].losses);
	region_put(f->region);
	free(f->traces);
	free(f->streams);
	free(f->inputs);
	free(f->format);
	free(f->notes);
}
