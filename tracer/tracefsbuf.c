// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One channel as an instance of tracefs. Its directory and its buffers are held open: nobody else can remove the instance then, and it
 * goes on should tracefs be unmounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/tracefs.h"

#define PAGE_MAX (1u << 20)     /* bytes of a sub-buffer of the kernel's */

struct backend_channel {
	struct backend *b;
	char path[300];                 /* below tracefs: instances/NAME */
	int dir;
	uint32_t cpus;
	uint64_t bytes;                 /* that a CPU's buffer holds */
	struct kpage_layout layout;
	uint8_t *page;
	size_t page_size;
	char group[TRACEFS_GROUP_MAX];  /* of probes for text */
	uint16_t *ids;                  /* of their records: what stands for them; 0: they are what they are */
	int raw[];                      /* per CPU: trace_pipe_raw; -1: there is no such CPU */
};

static int set_up(struct backend_channel *c, const struct backend_geometry *g, struct tr_err *err)
{
	char size[32];
	int ret;

	ret = tracefs_write(c->dir, "tracing_on", "0", false);
	if (!ret)
		ret = tracefs_write(c->dir, "trace_clock", g->tsc ? "x86-tsc" : "mono", false);
	if (!ret)
		ret = tracefs_write(c->dir, "options/overwrite", g->overwrite ? "1" : "0", false);
	if (ret)
		return tr_fail(err, ret, "an instance of tracefs cannot be set up: %s", strerror(-ret));
	/* Children of who is tracked are tracked. Where the kernel has this; a failure shows when it is needed. */
	tracefs_write(c->dir, "options/event-fork", "1", false);
	snprintf(size, sizeof(size), "%" PRIu64, g->bytes / 1024);
	ret = tracefs_write(c->dir, "buffer_size_kb", size, false);
	if (ret)
		return tr_fail(err, ret, "the kernel gives no buffers of %" PRIu64 " bytes per CPU: %s", g->bytes, strerror(-ret));
	return 0;
}

static int open_buffers(struct backend_channel *c)
{
	char path[64];

	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
		c->raw[cpu] = openat(c->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (c->raw[cpu] < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* What the kernel made of the sizes asked for. */
static int learn_sizes(struct backend_channel *c)
{
	struct md_buf text = MD_BUF_INIT;
	unsigned long kb;

	c->layout = c->b->layout;
	c->page_size = c->layout.data_at + c->layout.data_size;
	/* Newer kernels can have larger sub-buffers; an instance takes the main one's setting when it is made. */
	if (tracefs_read(c->dir, "buffer_subbuf_size_kb", 4096, &text) > 0) {
		kb = strtoul(md_buf_str(&text), NULL, 10);
		if (kb * 1024 > c->page_size && kb * 1024 <= PAGE_MAX) {
			c->page_size = kb * 1024;
			c->layout.data_size = (uint32_t)(c->page_size - c->layout.data_at);
		}
	}
	md_buf_deinit(&text);
	c->page = malloc(c->page_size);
	return c->page ? 0 : -ENOMEM;
}

int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g, bool adopt,
			 struct backend_channel **out, struct tr_err *err)
{
	struct backend_channel *c = calloc(1, sizeof(*c) + g->cpus * sizeof(c->raw[0]));
	int ret;

	if (!c)
		return tr_fail(err, -ENOMEM, "out of memory");
	c->b = b;
	c->dir = -1;
	c->cpus = g->cpus;
	c->bytes = g->bytes;
	for (uint32_t i = 0; i < g->cpus; i++)
		c->raw[i] = -1;
	snprintf(c->path, sizeof(c->path), "instances/%s", name);
	tracefs_text_group(b, name, c->group);
	c->ids = calloc(UINT16_MAX + 1, sizeof(*c->ids));
	if (!c->ids) {
		free(c);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	if (!adopt && mkdirat(b->dir, c->path, 0700) < 0) {
		ret = tr_fail(err, -errno, "tracefs gives no new instance: %s", strerror(errno));
		free(c->ids);
		free(c);
		return ret;
	}
	c->dir = openat(b->dir, c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = c->dir < 0 ? -errno : 0;
	if (ret)
		tr_fail(err, ret, "the instance of tracefs cannot be opened: %s", strerror(-ret));
	if (!ret && !adopt)
		ret = set_up(c, g, err);
	if (!ret && adopt)
		tracefs_text_adopt(b, c->group, c->ids);
	if (!ret) {
		ret = learn_sizes(c);
		if (!ret)
			ret = open_buffers(c);
		if (ret)
			tr_fail(err, ret, "the buffers of tracefs cannot be opened: %s", strerror(-ret));
	}
	if (ret) {
		tracefs_channel_close(c, !adopt);
		return ret;
	}
	*out = c;
	return 0;
}

void tracefs_channel_close(struct backend_channel *c, bool remove)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->cpus; i++)
		if (c->raw[i] >= 0)
			close(c->raw[i]);
	if (c->dir >= 0)
		close(c->dir);
	if (remove && unlinkat(c->b->dir, c->path, AT_REMOVEDIR) == 0)
		tracefs_text_remove(c->b, c->group);
	free(c->ids);
	free(c->page);
	free(c);
}

int tracefs_record(struct backend_channel *c, bool on)
{
	return tracefs_write(c->dir, "tracing_on", on ? "1" : "0", false);
}

/* All of the system calls: entries with text are probes, so they cannot be had with one write. */
static int enable_syscalls(struct backend_channel *c, bool on)
{
	char path[32 + TRACEFS_GROUP_MAX];

	if (on)
		return tracefs_texts_supported(c->b) ? -EOPNOTSUPP : tracefs_write(c->dir, "events/syscalls/enable", "1", false);
	snprintf(path, sizeof(path), "events/%s/enable", c->group);
	if (faccessat(c->dir, path, F_OK, 0) == 0)
		tracefs_write(c->dir, path, "0", false);
	return tracefs_write(c->dir, "events/syscalls/enable", "0", false);
}

int tracefs_recording(struct backend_channel *c)
{
	struct md_buf text = MD_BUF_INIT;
	ssize_t n = tracefs_read(c->dir, "tracing_on", 16, &text);
	int on = n > 0 && *md_buf_str(&text) != '0';

	md_buf_deinit(&text);
	return n < 0 ? (int)n : on;
}

int tracefs_enable(struct backend_channel *c, const char *system, const char *event, bool on)
{
	char path[600];
	int ret;

	if (!event && !strcmp(system, "syscalls"))
		return enable_syscalls(c, on);
	if (event && tracefs_has_text(c->b, system, event)) {
		ret = on ? tracefs_text_make(c->b, c->group, event, c->ids) : 0;
		if (ret)
			return ret;
		system = c->group;
	}
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s%senable", system, event ? event : "", event ? "/" : "") >= sizeof(path))
		return -ENAMETOOLONG;
	ret = tracefs_write(c->dir, path, on ? "1" : "0", false);
	return ret == -ENOENT && !on && system == c->group ? 0 : ret;
}

int tracefs_filter(struct backend_channel *c, const char *system, const char *event, const char *text)
{
	char path[600];
	int ret;

	if (tracefs_has_text(c->b, system, event)) {
		ret = *text ? tracefs_text_make(c->b, c->group, event, c->ids) : 0;
		if (ret)
			return ret;
		system = c->group;
	}
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/filter", system, event) >= sizeof(path))
		return -ENAMETOOLONG;
	ret = tracefs_write(c->dir, path, *text ? text : "0", false);
	/* What it did not understand stands there now, and lets nothing but all through; that is not to be seen. */
	if (ret && *text)
		tracefs_write(c->dir, path, "0", false);
	return ret == -ENOENT && !*text && system == c->group ? 0 : ret;
}

int tracefs_enabled(struct backend_channel *c, struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT;
	ssize_t n = tracefs_read(c->dir, "set_event", 1u << 20, &text);
	const char *line, *end;

	for (line = md_buf_str(&text); n >= 0 && *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (tracefs_is_text(line))
			md_buf_printf(out, "syscalls%.*s", (int)(end - strchrnul(line, ':')), strchrnul(line, ':'));
		else
			md_buf_put(out, line, (size_t)(end - line));
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}

int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	char number[16];
	int ret = tracefs_write(c->dir, "set_event_pid", "", true), one;

	for (size_t i = 0; i < count && !ret; i++) {
		snprintf(number, sizeof(number), "%u", tids[i]);
		one = tracefs_write(c->dir, "set_event_pid", number, false);
		if (one && one != -ESRCH)
			ret = one;
	}
	return ret;
}

static void take(struct backend_channel *c, size_t size, const struct backend_sink *sink)
{
	struct kpage_layout layout = c->layout;
	struct kpage p;
	const uint8_t *record;
	uint64_t ts;
	size_t len;

	if (kpage_begin(&p, c->page, size, &layout))
		return;
	if (p.missed)
		sink->missed(sink->arg, p.missed);
	while (kpage_next(&p, &ts, &record, &len)) {
		uint16_t as = __atomic_load_n(&c->ids[krecord_id(record)], __ATOMIC_RELAXED);

		if (as)
			memcpy((uint8_t *)(uintptr_t)record, &as, sizeof(as));  /* in c->page */
		sink->record(sink->arg, ts, record, len);
	}
}

int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	/* What was there at first has been read, or overwritten, after so many pages. */
	uint64_t most = c->bytes / c->layout.data_size + 4;
	ssize_t n;

	if (cpu >= c->cpus || c->raw[cpu] < 0)
		return 0;
	while (most--) {
		n = read(c->raw[cpu], c->page, c->page_size);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!n)
			return 0;
		take(c, (size_t)n, sink);
	}
	return 0;
}

int tracefs_lost(struct backend_channel *c, uint32_t cpu, uint64_t *events)
{
	static const char *const keys[] = { "\noverrun: ", "\ncommit overrun: ", "\ndropped events: " };
	struct md_buf text = MD_BUF_INIT;
	char path[64];
	const char *at;
	ssize_t n;

	*events = 0;
	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	n = tracefs_read(c->dir, path, 4096, &text);
	for (size_t i = 0; n > 0 && i < sizeof(keys) / sizeof(*keys); i++) {
		at = strstr(md_buf_str(&text), keys[i]);
		if (at)
			*events += strtoull(at + strlen(keys[i]), NULL, 10);
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}
