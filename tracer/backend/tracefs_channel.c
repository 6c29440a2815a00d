// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One channel as an instance of tracefs. Its directory and its buffers are held open: nobody else
 * can remove the instance then, and it goes on should tracefs be unmounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/backend/tracefs.h"

#define PAGE_MAX (1u << 20)     /* bytes of a sub-buffer of the kernel's */

struct backend_channel {
	struct backend *b;
	struct cds_list_head node;      /* in b->channels */
	char path[300];                 /* below tracefs: instances/NAME */
	int dir;
	uint32_t cpus;
	uint64_t bytes;                 /* that a CPU's buffer holds */
	bool overwrite, tsc;
	struct kpage_layout layout;
	uint8_t *page;
	size_t page_size;
	char group[TRACEFS_GROUP_MAX];  /* of probes for text */
	uint16_t *ids;	/* of their records: what stands for them; 0: they are what they are */
	/* guards the rest; held for a read, or while the tracer is changed */
	pthread_mutex_t lock;
	struct {
		int raw;                /* trace_pipe_raw; -1: there is no such CPU */
		struct backend_losses before;   /* the counters began anew */
		/* before what may begin them anew: `discarded` has what the buffer held */
		struct backend_losses counted;
	} per_cpu[];
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
		return tr_fail(err, ret, "an instance of tracefs cannot be set up: %s",
			       strerror(-ret));
	/*
	 * Children of who is tracked are tracked. Where the kernel has this; a failure shows when
	 * it is needed.
	 */
	tracefs_write(c->dir, "options/event-fork", "1", false);
	tracefs_write(c->dir, "options/function-fork", "1", false);
	snprintf(size, sizeof(size), "%" PRIu64, g->bytes / 1024);
	ret = tracefs_write(c->dir, "buffer_size_kb", size, false);
	if (ret)
		return tr_fail(err, ret,
			       "the kernel gives no buffers of %" PRIu64 " bytes per CPU: %s",
			       g->bytes, strerror(-ret));
	return 0;
}

static int open_buffers(struct backend_channel *c)
{
	char path[64];

	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
		c->per_cpu[cpu].raw = openat(c->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (c->per_cpu[cpu].raw < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

static void close_buffers(struct backend_channel *c)
{
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		if (c->per_cpu[cpu].raw >= 0)
			close(c->per_cpu[cpu].raw);
		c->per_cpu[cpu].raw = -1;
	}
}

/* What the kernel made of the sizes asked for. */
static int learn_sizes(struct backend_channel *c)
{
	struct md_buf text = MD_BUF_INIT;
	unsigned long kb;

	c->layout = c->b->layout;
	c->page_size = c->layout.data_at + c->layout.data_size;
	/*
	 * Newer kernels can have larger sub-buffers; an instance takes the main one's setting when
	 * it is made.
	 */
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

int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			 bool adopt, struct backend_channel **out, struct tr_err *err)
{
	struct backend_channel *c = calloc(1, sizeof(*c) + g->cpus * sizeof(c->per_cpu[0]));
	int ret;

	if (!c)
		return tr_fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	CDS_INIT_LIST_HEAD(&c->node);
	c->b = b;
	c->dir = -1;
	c->cpus = g->cpus;
	c->bytes = g->bytes;
	c->overwrite = g->overwrite;
	c->tsc = g->tsc;
	for (uint32_t i = 0; i < g->cpus; i++)
		c->per_cpu[i].raw = -1;
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
		pthread_mutex_destroy(&c->lock);
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
			tr_fail(err, ret, "the buffers of tracefs cannot be opened: %s",
				strerror(-ret));
	}
	if (ret) {
		tracefs_channel_close(c, !adopt);
		return ret;
	}
	pthread_mutex_lock(&b->lock);
	cds_list_add_tail(&c->node, &b->channels);
	pthread_mutex_unlock(&b->lock);
	*out = c;
	return 0;
}

void tracefs_channel_close(struct backend_channel *c, bool remove)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->b->lock);
	cds_list_del(&c->node);
	pthread_mutex_unlock(&c->b->lock);
	close_buffers(c);
	if (c->dir >= 0)
		close(c->dir);
	if (remove && unlinkat(c->b->dir, c->path, AT_REMOVEDIR) == 0)
		tracefs_text_remove(c->b, c->group);
	free(c->ids);
	pthread_mutex_destroy(&c->lock);
	free(c->page);
	free(c);
}

/* Whether the word in brackets is that: `local [mono] x86-tsc`. */
static bool has_choice(struct backend_channel *c, const char *file, const char *word)
{
	struct md_buf text = MD_BUF_INIT;
	char choice[32];
	bool has;

	snprintf(choice, sizeof(choice), "[%s]", word);
	has = tracefs_read(c->dir, file, 4096, &text) <= 0 || strstr(md_buf_str(&text), choice);
	md_buf_deinit(&text);
	return has;
}

bool tracefs_changed(struct backend_channel *c, int tracked, struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT;
	size_t before = out->len;
	bool some;

	if (!has_choice(c, "trace_clock", c->tsc ? "x86-tsc" : "mono"))
		md_buf_puts(out, "trace_clock");
	if (tracefs_read(c->dir, "options/overwrite", 16, &text) > 0 &&
	    (*md_buf_str(&text) != '0') != c->overwrite)
		md_buf_printf(out, "%soptions/overwrite", out->len ? ", " : "");
	md_buf_reset(&text);
	/* Empty, or `no pid`. */
	if (tracefs_read(c->dir, "set_event_pid", 1u << 20, &text) >= 0) {
		some = strpbrk(md_buf_str(&text), "0123456789");
		if (tracked >= 0 && some != tracked)
			md_buf_printf(out, "%sset_event_pid", out->len ? ", " : "");
	}
	md_buf_deinit(&text);
	return out->len > before;
}

/* Another clock empties the buffers: it is set only where somebody has changed it. */
static void set_again(struct backend_channel *c)
{
	const char *clock = c->tsc ? "x86-tsc" : "mono";

	if (!has_choice(c, "trace_clock", clock))
		tracefs_write(c->dir, "trace_clock", clock, false);
	tracefs_write(c->dir, "options/overwrite", c->overwrite ? "1" : "0", false);
}

int tracefs_record(struct backend_channel *c, bool on)
{
	if (on)
		set_again(c);
	return tracefs_write(c->dir, "tracing_on", on ? "1" : "0", false);
}

/* All of the system calls: entries with text are probes, so they cannot be had with one write. */
static int enable_syscalls(struct backend_channel *c, bool on)
{
	char path[32 + TRACEFS_GROUP_MAX];

	if (on)
		return tracefs_texts_supported(c->b)
			       ? -EOPNOTSUPP
			       : tracefs_write(c->dir, "events/syscalls/enable", "1", false);
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
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s%senable", system, event ? event : "",
			     event ? "/" : "") >= sizeof(path))
		return -ENAMETOOLONG;
	ret = tracefs_write(c->dir, path, on ? "1" : "0", false);
	return ret == -ENOENT && !on && system == c->group ? 0 : ret;
}

int tracefs_filter(struct backend_channel *c, const char *system, const char *event,
		   const char *text, size_t len)
{
	char path[600];
	int ret;

	(void)len;

	if (tracefs_has_text(c->b, system, event)) {
		ret = *text ? tracefs_text_make(c->b, c->group, event, c->ids) : 0;
		if (ret)
			return ret;
		system = c->group;
	}
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/filter", system, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	ret = tracefs_write(c->dir, path, *text ? text : "0", false);
	/*
	 * What it did not understand stands there now, and lets nothing but all through; that is
	 * not to be seen.
	 */
	if (ret && *text)
		tracefs_write(c->dir, path, "0", false);
	return ret == -ENOENT && !*text && system == c->group ? 0 : ret;
}

int tracefs_filter_text(struct backend_channel *c, const char *system, const char *event,
			struct md_buf *out)
{
	char path[600];
	ssize_t n;

	if (tracefs_has_text(c->b, system, event))
		system = c->group;
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/filter", system, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	n = tracefs_read(c->dir, path, 1u << 16, out);
	if (n < 0)
		return (int)n;
	md_buf_str(out);
	if (out->len && out->data[out->len - 1] == '\n')
		out->len--;
	if (out->len == 4 && !memcmp(out->data, "none", 4))
		out->len = 0;
	return 0;
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
			md_buf_printf(out, "syscalls%.*s", (int)(end - strchrnul(line, ':')),
				      strchrnul(line, ':'));
		else
			md_buf_put(out, line, (size_t)(end - line));
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}

static uint64_t stat_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/*
 * What a CPU has lost since its counters began; with `held`, what its buffer holds counts as
 * discarded.
 */
static int read_lost(struct backend_channel *c, uint32_t cpu, bool held, struct backend_losses *l)
{
	struct md_buf text = MD_BUF_INIT;
	char path[64];
	ssize_t n;

	*l = (struct backend_losses){ 0 };
	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	n = tracefs_read(c->dir, path, 4096, &text);
	if (n > 0) {
		const char *p = md_buf_str(&text);

		l->overwritten = stat_of(p, "\noverrun: ");
		l->discarded = stat_of(p, "\ncommit overrun: ") + stat_of(p, "\ndropped events: ");
		l->discarded += held && !strncmp(p, "entries: ", 9) ? strtoull(p + 9, NULL, 10) : 0;
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}

static void add_losses(struct backend_losses *sum, const struct backend_losses *l)
{
	sum->overwritten += l->overwritten;
	sum->discarded += l->discarded;
}

void tracefs_before_reset(struct backend *b)
{
	struct backend_channel *c;

	pthread_mutex_lock(&b->lock);
	cds_list_for_each_entry(c, &b->channels, node) {
		pthread_mutex_lock(&c->lock);
		for (uint32_t cpu = 0; cpu < c->cpus; cpu++)
			read_lost(c, cpu, true, &c->per_cpu[cpu].counted);
	}
}

/* Counters that went back began anew. Of a channel that records they do not. */
void tracefs_after_reset(struct backend *b)
{
	struct backend_channel *c;
	struct backend_losses now, *then;

	cds_list_for_each_entry(c, &b->channels, node) {
		for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
			then = &c->per_cpu[cpu].counted;
			if (!read_lost(c, cpu, true, &now) &&
			    now.overwritten + now.discarded < then->overwritten + then->discarded)
				add_losses(&c->per_cpu[cpu].before, then);
		}
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

/*
 * The kernel refuses to change the tracer while somebody has the buffers open, and empties them
 * when it does. So this is done once for a channel, mostly before its first event; what is in the
 * buffers otherwise counts as lost.
 */
static int set_tracer(struct backend_channel *c, const char *tracer)
{
	struct md_buf on = MD_BUF_INIT;
	bool recording = tracefs_read(c->dir, "tracing_on", 16, &on) > 0 && *md_buf_str(&on) == '1';
	struct backend_losses lost;
	int ret, opened;

	md_buf_deinit(&on);
	pthread_mutex_lock(&c->lock);
	tracefs_write(c->dir, "tracing_on", "0", false);
	close_buffers(c);
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		read_lost(c, cpu, true, &lost);
		add_losses(&c->per_cpu[cpu].before, &lost);
	}
	ret = tracefs_write(c->dir, "current_tracer", tracer, false);
	opened = open_buffers(c);
	if (recording)
		tracefs_write(c->dir, "tracing_on", "1", false);
	pthread_mutex_unlock(&c->lock);
	return ret ? ret : opened;
}

/*
 * All names within one open: the kernel takes them over, in place of what was there, when it is
 * closed. No name would mean every function; so there is always one that is never called while
 * anybody is there to look. -EOPNOTSUPP: there is none; -ENOENT: no other.
 */
static int filter_functions(int fd, const char *names)
{
	static const char *const idle[] = { "kernel_halt\n", "kernel_power_off\n", "machine_halt\n",
					    "emergency_restart\n" };
	bool some = false, any = !*names;
	char word[600];
	size_t n;

	for (size_t i = 0; i < sizeof(idle) / sizeof(*idle) && !some; i++)
		some = write(fd, idle[i], strlen(idle[i])) > 0;
	for (; *names && some; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		/* One of a module that is gone: the others go on. */
		if ((size_t)snprintf(word, sizeof(word), "%.*s\n", (int)n, names) < sizeof(word))
			any |= write(fd, word, n + 1) > 0;
	}
	return !some ? -EOPNOTSUPP : any ? 0 : -ENOENT;
}

static bool traces_functions(struct backend_channel *c)
{
	struct md_buf text = MD_BUF_INIT;
	bool yes = tracefs_read(c->dir, "current_tracer", 4096, &text) > 0 &&
		   !strcmp(md_buf_str(&text), "function\n");

	md_buf_deinit(&text);
	return yes;
}

int tracefs_functions(struct backend_channel *c, const char *names)
{
	bool on = traces_functions(c);
	int fd, ret;

	if (!on && !*names)
		return 0;
	fd = openat(c->dir, "set_ftrace_filter", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = filter_functions(fd, names);
	/* Before the empty filter comes into force. */
	if (ret == -EOPNOTSUPP && on)
		set_tracer(c, "nop");
	close(fd);
	return ret || on ? ret : set_tracer(c, "function");
}

static int track_file(struct backend_channel *c, const char *file, const uint32_t *tids,
		      size_t count)
{
	char number[16];
	int ret = tracefs_write(c->dir, file, "", true), one;

	for (size_t i = 0; i < count && !ret; i++) {
		snprintf(number, sizeof(number), "%u", tids[i]);
		one = tracefs_write(c->dir, file, number, false);
		if (one && one != -ESRCH)
			ret = one;
	}
	return ret;
}

int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	int ret = track_file(c, "set_event_pid", tids, count);

	/* Functions have a set of their own. */
	return !ret && c->b->functions ? track_file(c, "set_ftrace_pid", tids, count) : ret;
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
		sink->missed(sink->arg, p.missed_known ? p.missed : 0);
	while (kpage_next(&p, &ts, &record, &len)) {
		uint16_t as = __atomic_load_n(&c->ids[krecord_id(record)], __ATOMIC_RELAXED);

		if (as)
			memcpy((uint8_t *)(uintptr_t)record, &as, sizeof(as));  /* in c->page */
		sink->record(sink->arg, ts, record, len);
	}
}

/* 0: there is nothing, or no such CPU. */
static ssize_t read_page(struct backend_channel *c, uint32_t cpu)
{
	ssize_t n;
	int err;

	pthread_mutex_lock(&c->lock);
	n = c->per_cpu[cpu].raw < 0 ? 0 : read(c->per_cpu[cpu].raw, c->page, c->page_size);
	err = errno;
	pthread_mutex_unlock(&c->lock);
	return n >= 0 ? n : err == EAGAIN || err == EINTR ? 0 : -err;
}

int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	/* What was there at first has been read, or overwritten, after so many pages. */
	uint64_t most = c->bytes / c->layout.data_size + 4;
	ssize_t n;

	while (cpu < c->cpus && most--) {
		n = read_page(c, cpu);
		if (n <= 0)
			return (int)n;
		take(c, (size_t)n, sink);
	}
	return 0;
}

int tracefs_lost(struct backend_channel *c, uint32_t cpu, struct backend_losses *losses)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = read_lost(c, cpu, false, losses);
	if (cpu < c->cpus)
		add_losses(losses, &c->per_cpu[cpu].before);
	pthread_mutex_unlock(&c->lock);
	return ret;
}
