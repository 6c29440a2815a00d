// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's own event, trail:log { msg }: what users write to `log`. It goes into a ring of its own in the writer's trace,
 * with the portable writer, under the tracer's lock.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/core.h"
#include "tracer/ringwrite.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

#define LOG_NAME "trail:log"
#define LOG_LEVEL 6             /* info */
#define LOG_MAX 4096

struct log_target {
	const struct clock *clock;
	const struct region *region;
};

static uint64_t log_clock(void *arg)
{
	const struct log_target *to = arg;

	return clock_now(to->clock);
}

static bool log_populate(void *arg, uint64_t subbuf)
{
	const struct log_target *to = arg;
	const struct region_geometry *geo = &to->region->geo;
	uint8_t *at = (uint8_t *)region_data(to->region, 0) + (subbuf & (geo->subbuf_count - 1)) * geo->subbuf_size;

	if (subbuf > geo->subbuf_count)
		return true;
	return madvise(at, geo->subbuf_size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;      /* an old kernel: it is allocated */
}

static struct md_event *log_event(void)
{
	struct md_event *e = md_event_create(LOG_NAME, LOG_LEVEL, 1);

	if (!e)
		return NULL;
	e->fields[0].name = strdup("msg");
	e->fields[0].type.kind = MD_STRING;
	if (!e->fields[0].name) {
		md_event_destroy(e);
		return NULL;
	}
	return e;
}

static int log_id(struct class *cl, uint32_t *id)
{
	struct md_event *e = log_event();
	uint64_t digest;

	if (!e)
		return -ENOMEM;
	digest = md_event_digest(e);
	if (class_find_event(cl, digest, id))
		return class_event(cl, digest, e, id);
	md_event_destroy(e);
	return 0;
}

static int log_to(struct channel *c, uid_t uid, const char *line, size_t len)
{
	const uint8_t *on;
	struct session *s = c->session;
	struct trace *t = trace_find(s, uid, 0);
	struct log_target to = { .clock = &s->tracer->clock };
	struct ring_writer w = { .clock = log_clock, .populate = log_populate, .arg = &to };
	struct class *cl;
	struct buffer *b;
	uint32_t id;
	int err;

	if (!t) {
		t = trace_new(s, uid, 0, NULL, NULL, 0);
		if (!t || session_save(s) || trace_open_log(s, t))
			return -ENOMEM;
	}
	cl = class_get(c, t, true);
	b = cl ? class_buffer(cl, TRAIL_RINGS_THREAD, 0) : NULL;
	if (!b)
		return -ENOMEM;
	err = log_id(cl, &id);
	if (err)
		return err;
	region_switch(b->region, id, true);
	to.region = b->region;
	w.ring = region_ring(b->region, 0);
	w.data = (uint8_t *)region_data(b->region, 0);
	w.subbuf_size = b->region->geo.subbuf_size;
	w.subbuf_count = b->region->geo.subbuf_count;
	w.mode = b->region->geo.mode;
	on = b->region->map + b->region->switch_offset + id;
	ring_write(&w, on, __atomic_load_n(on, __ATOMIC_ACQUIRE), id, line, len + 1);
	return 0;
}

int tracer_log(struct tracer *t, uid_t uid, const char *msg, size_t len, struct tr_err *err)
{
	char line[LOG_MAX + 1];
	struct session *s;
	struct channel *c;
	int ret = 0;

	if (len > LOG_MAX)
		return tr_fail(err, -EINVAL, "a line of the log has at most %d bytes", LOG_MAX);
	if (memchr(msg, 0, len))
		return tr_fail(err, -EINVAL, "a line of the log has no NUL bytes");
	memcpy(line, msg, len);
	line[len] = 0;
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, uid))
			continue;
		cds_list_for_each_entry(c, &s->channels, node)
			if (channel_wants(c, LOG_NAME, LOG_LEVEL) && !ret)
				ret = log_to(c, uid, line, len);
	}
	pthread_mutex_unlock(&t->lock);
	buffers_keep(t);
	return ret ? tr_fail(err, ret, "the event cannot be recorded") : 0;
}
