// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One channel as an instance of tracefs. Its directory and buffers stay open: no other program can
 * then remove the instance, and it keeps working if tracefs is unmounted.
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

#include "tracer/kernel/backend/tracefs_channel.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/base/probe/probe.h"

#define TEXT_MAX "165"

static int set_options(struct backend_channel *c, const struct backend_geometry *g,
		       struct tr_err *err)
{
	int ret = tracefs_write(c->dir, "tracing_on", "0", false);

	if (!ret)
		ret = tracefs_write(c->dir, "trace_clock", g->tsc ? "x86-tsc" : "mono", false);
	if (!ret)
		ret = tracefs_write(c->dir, "options/overwrite", g->overwrite ? "1" : "0", false);
	if (ret)
		return tr_fail(err, ret, "an instance of tracefs cannot be set up: %s",
			       strerror(-ret));
	/*
	 * Track descendants of tracked threads, too. Older kernels lack these options; setting a
	 * set of threads fails then.
	 */
	tracefs_write(c->dir, "options/event-fork", "1", false);
	tracefs_write(c->dir, "options/function-fork", "1", false);
	/* The first record wakes a thread that waits in tracefs_watch()'s epoll. */
	tracefs_write(c->dir, "buffer_percent", "0", false);
	/* Text of a system call's arguments, from Linux 6.19: as long as the kernel allows. */
	tracefs_write(c->dir, "syscall_user_buf_size", TEXT_MAX, false);
	return tracefs_make_buffers(c, err);
}

static void adopt_ids(struct backend_channel *c)
{
	tracefs_text_adopt(c->b, c->group, c->ids);
	tracefs_data_adopt(c->b, c->dir, c->ids);
}

/* Whether the channel may be recorded here. */
static int check_choice(const struct backend *b, const struct backend_geometry *g,
			struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;

	if (g->by == BACKEND_MODULE)
		return tr_fail(err, -EOPNOTSUPP,
			       "the channel's `backend` is module, but trail.ko was not loaded "
			       "when the daemon started");
	if (g->by == BACKEND_BPF && !b->bpf)
		return tr_fail(err, -EOPNOTSUPP, "the channel's `backend` is bpf, but %s",
			       bpf_supported(&why) ? why.sentence
						   : "BPF records nothing here: see the line "
						     "kernel in version");
	return 0;
}

static void begin_channel(struct backend_channel *c, struct backend *b, const char *name,
			  const struct backend_geometry *g)
{
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
}

int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			 bool adopt, struct backend_channel **out, struct tr_err *err)
{
	struct backend_channel *c = calloc(1, sizeof(*c) + g->cpus * sizeof(c->per_cpu[0]));
	int ret;

	if (!c)
		return tr_fail(err, -ENOMEM, "out of memory");
	ret = check_choice(b, g, err);
	if (ret) {
		free(c);
		return ret;
	}
	begin_channel(c, b, name, g);
	c->ids = calloc(UINT16_MAX + 1, sizeof(*c->ids));
	if (!c->ids) {
		free(c);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	if (!adopt && mkdirat(b->dir, c->path, 0700) < 0) {
		ret = tr_fail(err, -errno, "tracefs refuses a new instance: %s", strerror(errno));
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
		ret = set_options(c, g, err);
	if (!ret && adopt)
		adopt_ids(c);
	if (!ret) {
		ret = tracefs_read_sizes(c);
		if (!ret)
			ret = tracefs_open_buffers(c);
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
	tracefs_close_buffers(c);
	if (c->dir >= 0)
		close(c->dir);
	if (remove && unlinkat(c->b->dir, c->path, AT_REMOVEDIR) == 0)
		tracefs_text_remove(c->b, c->group);
	free(c->ids);
	pthread_mutex_destroy(&c->lock);
	free(c->page);
	free(c);
}

/* Whether the setting is this word: the file has it in brackets, as in `local [mono] x86-tsc`. */
static bool has_setting(struct backend_channel *c, const char *file, const char *word)
{
	struct md_buf text = MD_BUF_INIT;
	char choice[32];
	bool has;

	snprintf(choice, sizeof(choice), "[%s]", word);
	has = tracefs_read(c->dir, file, 4096, &text) <= 0 || strstr(md_buf_str(&text), choice);
	md_buf_deinit(&text);
	return has;
}

bool tracefs_changed(struct backend_channel *c, int tracked, struct md_buf *out, bool *threads)
{
	struct md_buf text = MD_BUF_INIT;
	size_t before = out->len;
	bool some;

	*threads = false;
	if (!has_setting(c, "trace_clock", c->tsc ? "x86-tsc" : "mono"))
		md_buf_puts(out, "trace_clock");
	if (tracefs_read(c->dir, "options/overwrite", 16, &text) > 0 &&
	    (*md_buf_str(&text) != '0') != c->overwrite)
		md_buf_printf(out, "%soptions/overwrite", out->len ? ", " : "");
	md_buf_reset(&text);
	/* The file is empty or has `no pid` if no thread is tracked. */
	if (tracefs_read(c->dir, "set_event_pid", 1u << 20, &text) >= 0) {
		some = strpbrk(md_buf_str(&text), "0123456789");
		*threads = tracked >= 0 && some != tracked;
		if (*threads)
			md_buf_printf(out, "%sset_event_pid", out->len ? ", " : "");
	}
	md_buf_deinit(&text);
	return out->len > before;
}

/*
 * Sets what other programs may have changed. A change of the clock empties the buffers, so the
 * clock is written only if it is wrong.
 */
static void restore_options(struct backend_channel *c)
{
	const char *clock = c->tsc ? "x86-tsc" : "mono";

	if (!has_setting(c, "trace_clock", clock))
		tracefs_write(c->dir, "trace_clock", clock, false);
	tracefs_write(c->dir, "options/overwrite", c->overwrite ? "1" : "0", false);
	tracefs_restore_stacks(c);
}

int tracefs_record(struct backend_channel *c, bool on)
{
	if (on)
		restore_options(c);
	return tracefs_write(c->dir, "tracing_on", on ? "1" : "0", false);
}

/* Whether events with data are enabled, which are of the same system in tracefs. */
static bool has_data(struct backend_channel *c)
{
	struct md_buf text = MD_BUF_INIT;
	const char *line, *end;
	bool some = false;

	if (tracefs_read(c->dir, "set_event", 1u << 20, &text) > 0)
		for (line = md_buf_str(&text); *line && !some; line = end + (*end == '\n')) {
			end = strchrnul(line, '\n');
			some = tracefs_is_data(c->b, line, end);
		}
	md_buf_deinit(&text);
	return some;
}

/*
 * Enables all system calls. Entries with strings are recorded by probes, which one write cannot
 * enable.
 */
static int enable_syscalls(struct backend_channel *c, bool on)
{
	char path[32 + TRACEFS_GROUP_MAX];

	if (on)
		return tracefs_texts_supported(c->b)
			       ? -EOPNOTSUPP
			       : tracefs_write(c->dir, "events/syscalls/enable", "1", false);
	if (has_data(c))
		return -EOPNOTSUPP;
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

static int enable_path(struct backend_channel *c, const char *system, const char *event, bool on)
{
	char path[600];

	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s%senable", system, event ? event : "",
			     event ? "/" : "") >= sizeof(path))
		return -ENAMETOOLONG;
	return tracefs_write(c->dir, path, on ? "1" : "0", false);
}

int tracefs_enable(struct backend_channel *c, const char *system, const char *event, bool on)
{
	int ret;

	if (!event && !strcmp(system, "syscalls"))
		return enable_syscalls(c, on);
	if (!event && !strcmp(system, BACKEND_DATA_SYSTEM))
		return -EOPNOTSUPP;
	if (tracefs_takes_data(&system)) {
		ret = on ? tracefs_data_make(c->b, event, c->ids) : 0;
		return ret ? ret : enable_path(c, system, event, on);
	}
	/* Models are not enabled, only their copies. */
	if (!event && tracefs_is_model(system, DYN_EVENT_NAME "_"))
		return -EOPNOTSUPP;
	if (event && on)
		tracefs_make_room(c, system, event);
	if (event && tracefs_has_text(c->b, system, event)) {
		ret = on ? tracefs_text_make(c->b, c->group, system, event, c->ids) : 0;
		if (ret)
			return ret;
		system = c->group;
	}
	ret = enable_path(c, system, event, on);
	return ret == -ENOENT && !on && system == c->group ? 0 : ret;
}

int tracefs_filter(struct backend_channel *c, const char *system, const char *event,
		   const char *text, size_t len)
{
	char path[600];
	int ret;

	(void)len;

	if (!tracefs_takes_data(&system) && tracefs_has_text(c->b, system, event)) {
		ret = *text ? tracefs_text_make(c->b, c->group, system, event, c->ids) : 0;
		if (ret)
			return ret;
		system = c->group;
	}
	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/filter", system, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	ret = tracefs_write(c->dir, path, *text ? text : "0", false);
	/* The kernel keeps a filter text that it could not parse: remove it from the file. */
	if (ret && *text)
		tracefs_write(c->dir, path, "0", false);
	return ret == -ENOENT && !*text && system == c->group ? 0 : ret;
}

int tracefs_filter_text(struct backend_channel *c, const char *system, const char *event,
			struct md_buf *out)
{
	char path[600];
	ssize_t n;

	if (!tracefs_takes_data(&system) && tracefs_has_text(c->b, system, event))
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

/* A probe of the channel, `:NAME`, as the event that it records. */
static void put_enabled(struct backend_channel *c, const char *colon, const char *end,
			struct md_buf *out)
{
	tracefs_text_of(c->b, colon + (*colon == ':'), out);
	md_buf_put(out, colon, (size_t)(end - colon));
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
			put_enabled(c, strchrnul(line, ':'), end, out);
		else if (tracefs_is_data(c->b, line, end))
			md_buf_printf(out, BACKEND_DATA_SYSTEM "%.*s",
				      (int)(end - strchrnul(line, ':')), strchrnul(line, ':'));
		else
			md_buf_put(out, line, (size_t)(end - line));
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}

/*
 * Writes all names between one open and close: the kernel replaces the old list at close. An empty
 * list would mean every function, so the list always has one function that only runs at shutdown.
 * -EOPNOTSUPP: there is no such function; -ENOENT: none of the names exists.
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
		/* A name may belong to a module that was unloaded: the other names stay. */
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
	/* The close puts the empty list into force: stop the function tracer first. */
	if (ret == -EOPNOTSUPP && on)
		tracefs_change_buffers(c, "current_tracer", "nop");
	close(fd);
	return ret || on ? ret : tracefs_change_buffers(c, "current_tracer", "function");
}

static int track_file(struct backend_channel *c, const char *file, const uint32_t *tids,
		      size_t count)
{
	char number[16];
	int ret = 0, one;

	for (size_t i = 0; i < count && !ret; i++) {
		snprintf(number, sizeof(number), "%u", tids[i]);
		one = tracefs_write(c->dir, file, number, false);
		if (one && one != -ESRCH)
			ret = one;
	}
	return ret;
}

int tracefs_track_more(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	int ret = track_file(c, "set_event_pid", tids, count);

	/* The function tracer has its own set of threads. */
	return !ret && c->b->functions ? track_file(c, "set_ftrace_pid", tids, count) : ret;
}

int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	int ret = tracefs_write(c->dir, "set_event_pid", "", true);

	if (!ret && c->b->functions)
		ret = tracefs_write(c->dir, "set_ftrace_pid", "", true);
	return ret ? ret : tracefs_track_more(c, tids, count);
}
