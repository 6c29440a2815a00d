// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's own event trail:log { msg }: the lines that users write to `log`. The portable
 * writer writes it into a ring of its own in the writer's trace, under tracer.lock. In the kernel
 * domain it is lttng_logger { msg } (kernel/statedump_writer.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/face/face.h"
#include "tracer/session/session.h"
#include "tracer/abi/filter_load.h"
#include "tracer/kernel/kernel.h"
#include "tracer/abi/ring_write.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

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

	return region_populate(to->region, 0, subbuf);
}

static struct md_event *log_event(void)
{
	struct md_event *e = md_event_create(LOG_EVENT, LOG_EVENT_LEVEL, 1);

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

static const struct trail_reg_field log_fields[] = { { .name = 0, .kind = TRAIL_KIND_STRING } };
static const struct filter_event log_layout = { .fields = log_fields,
						.field_count = 1,
						.strings = "msg" };

static bool log_context(void *arg, uint32_t kind, const char *name, struct filter_value *out)
{
	const struct context_values *v = arg;
	int64_t n;

	(void)name;
	if (kind == TRAIL_CONTEXT_PROCNAME) {
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = v->comm,
					      .len = strnlen(v->comm, sizeof(v->comm)) };
		return true;
	}
	n = context_number(kind, v);
	*out = (struct filter_value){ .type = FILTER_SIGNED, .i = n };
	return n >= 0;
}

/* Whether the channel records the line; the decision is about the event, not its fields. */
static bool log_wanted(struct channel *c, const struct context_values *who, const char *line,
		       size_t len)
{
	struct filter_input in = {
		.payload = (const uint8_t *)line,
		.len = len + 1,
		.context = log_context,
		.arg = (void *)(uintptr_t)who,
	};
	struct wanted wanted;

	return event_wanted(c, LOG_EVENT, LOG_EVENT_LEVEL, &log_layout, who->uid, &wanted) &&
	       (!wanted.size || filter_holds(wanted.program, wanted.size, &in));
}

/* Fills the contexts from the writer's credentials. */
static void fill_origin(const struct log_writer *who, struct context_values *v)
{
	char path[32];
	ssize_t n;
	int fd;

	*v = (struct context_values){
		.pid = who->pid, .tid = who->tid, .uid = who->uid, .gid = who->gid
	};
	if (!who->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", who->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, v->comm, sizeof(v->comm) - 1);
	if (fd >= 0)
		close(fd);
	if (n > 0 && v->comm[n - 1] == '\n')
		v->comm[n - 1] = 0;
}

static int log_to(struct channel *c, const struct context_values *who, const char *line, size_t len)
{
	const uint8_t *on;
	struct session *s = c->session;
	struct trace *t = trace_find(s, user_trace_key(who->uid));
	struct md_buf event = MD_BUF_INIT;
	struct log_target to = { .clock = &s->tracer->clock };
	struct ring_writer w = { .clock = log_clock, .populate = log_populate, .arg = &to };
	struct stream_group *group;
	struct buffer *b;
	uint32_t id;
	int err;

	if (!t && (!(t = trace_new(s, user_trace_key(who->uid), NULL, NULL, 0)) || session_save(s)))
		return -ENOMEM;
	/* The start of a session with an output makes its owner's trace without an event log. */
	if (t->log_fd < 0 && trace_open_log(s, t))
		return -ENOMEM;
	group = group_get(c, t, true);
	err = group ? group_buffer(group, TRAIL_RINGS_THREAD, 0, &b) : -ENOMEM;
	if (!err)
		err = group_event_id(group, log_event(), &id);
	if (err)
		return err;
	context_list_put(&c->contexts, who, &event);
	md_buf_put(&event, line, len + 1);
	if (event.failed) {
		md_buf_deinit(&event);
		return -ENOMEM;
	}
	group_switch_on(group, id);
	to.region = b->region;
	region_write_to(b->region, 0, &w);
	on = b->region->map + b->region->switch_offset + id;
	ring_write(&w, on, __atomic_load_n(on, __ATOMIC_ACQUIRE), id, event.data, event.len);
	md_buf_deinit(&event);
	return 0;
}

/*
 * Into the sessions that want it: those of users, or those of triggers. Caller holds tracer.lock.
 */
static int log_to_all(struct tracer *t, const struct log_writer *who,
		      const struct context_values *values, bool triggers, const char *line,
		      size_t len)
{
	struct session *s;
	struct channel *c;
	char *cgroups = NULL;
	int ret = 0;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (s->wakes != triggers || !session_serves(s, who->uid) ||
		    s->times == TIMES_PLUGIN ||
		    !session_tracks(s, who->pid, who->uid, who->gid) ||
		    !session_tracks_cgroup(s, who->tid, &cgroups))
			continue;
		cds_list_for_each_entry(c, &s->channels, node)
			if (!ret && log_wanted(c, values, line, len))
				ret = log_to(c, values, line, len);
	}
	free(cgroups);
	return ret;
}

int tracer_log(struct tracer *t, const struct log_writer *who, const char *msg, size_t len,
	       struct tr_err *err)
{
	char line[LOG_MAX + 1];
	struct context_values values;
	int ret = 0;

	if (len > LOG_MAX)
		return tr_fail(err, -EINVAL, "a line of the log has at most %d bytes", LOG_MAX);
	if (memchr(msg, 0, len))
		return tr_fail(err, -EINVAL, "a line of the log has no NUL bytes");
	memcpy(line, msg, len);
	line[len] = 0;
	fill_origin(who, &values);
	pthread_mutex_lock(&t->lock);
	/* Triggers last, as programs do: what a trigger sees has no earlier time. */
	ret = log_to_all(t, who, &values, false, line, len);
	ret = ret ? ret : log_to_all(t, who, &values, true, line, len);
	pthread_mutex_unlock(&t->lock);
	if (!ret)
		ret = kernel_log(t, who, line);
	buffers_keep(t);
	return ret ? tr_fail(err, ret, "the event cannot be recorded") : 0;
}
