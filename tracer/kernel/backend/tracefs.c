// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own tracer by its files: works on every kernel with tracefs, and needs no module.
 * Each channel is an instance with its own buffers, clock and events, so other users of tracefs are
 * not disturbed.
 */
#include "tracer/kernel/backend/tracefs.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/rule/rule.h"
#include "tracer/kernel/bpf/bpf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TRACEFS_MAGIC 0x74726163
#define WHERE "/sys/kernel/tracing"

static bool is_tracefs(const char *path)
{
	struct statfs st;

	return statfs(path, &st) == 0 && (unsigned long)st.f_type == TRACEFS_MAGIC;
}

/* Opens tracefs; mounts it first if it is not mounted and that is allowed. */
static int open_tracefs(struct tr_err *err)
{
	static const char *const places[] = { WHERE, "/sys/kernel/debug/tracing" };
	int fd;

	if (!is_tracefs(WHERE) && geteuid() == 0)
		mount("tracefs", WHERE, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!is_tracefs(places[i]))
			continue;
		fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return tr_fail(err, -EACCES, "%s: %s", places[i], strerror(errno));
		return fd;
	}
	return tr_fail(err, -EOPNOTSUPP, "tracefs is not mounted at " WHERE);
}

static bool has_word(int dir, const char *path, const char *word)
{
	struct md_buf text = MD_BUF_INIT;
	bool found = tracefs_read(dir, path, TRACEFS_FILE_MAX, &text) > 0 &&
		     strstr(md_buf_str(&text), word);

	md_buf_deinit(&text);
	return found;
}

/*
 * Whether the kernel has the tracer `function` (not only function_graph) and allows opening its
 * files, which some kernels refuse even to root.
 */
static bool can_trace_functions(int dir)
{
	static const char tracer[] = "function";
	int fd = openat(dir, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	struct md_buf text = MD_BUF_INIT;
	size_t n = strlen(tracer);
	bool found = false;

	if (fd < 0)
		return false;
	close(fd);
	if (tracefs_read(dir, "available_tracers", 4096, &text) > 0)
		for (const char *p = md_buf_str(&text); *p && !found; p += strspn(p, " \n")) {
			found = !strncmp(p, tracer, n) && (!p[n] || strchr(" \n", p[n]));
			p += strcspn(p, " \n");
		}
	md_buf_deinit(&text);
	return found;
}

static int check_tracefs(struct backend *b, struct tr_err *err)
{
	struct md_buf page = MD_BUF_INIT, event = MD_BUF_INIT;
	int ret = 0;

	if (faccessat(b->dir, "instances", R_OK | W_OK | X_OK, AT_EACCESS))
		ret = tr_fail(err, -EACCES, "instances of tracefs cannot be made: %s",
			      strerror(errno));
	else if (tracefs_read(b->dir, "events/header_page", TRACEFS_FILE_MAX, &page) < 0 ||
		 tracefs_read(b->dir, "events/header_event", TRACEFS_FILE_MAX, &event) < 0)
		ret = tr_fail(err, -EACCES, "the events of tracefs cannot be read");
	else if (kpage_layout_parse(page.data, page.len, &b->layout) ||
		 kpage_check_header_event(event.data, event.len))
		ret = tr_fail(err, -EOPNOTSUPP,
			      "the layout of this kernel's trace buffers is not known");
	b->uprobes = faccessat(b->dir, "uprobe_events", F_OK, 0) == 0;
	b->functions = can_trace_functions(b->dir);
	b->tsc = has_word(b->dir, "trace_clock", "x86-tsc");
	tracefs_read_stacks(b);
	md_buf_deinit(&page);
	md_buf_deinit(&event);
	return ret;
}

void tracefs_destroy(struct backend *b)
{
	if (!b)
		return;
	tracefs_texts_destroy(b);
	tracefs_data_destroy(b->data);
	if (b->dir >= 0)
		close(b->dir);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static int probe_tracefs(const char *owner, struct backend **out, struct tr_err *err)
{
	struct backend *b = calloc(1, sizeof(*b));
	int ret;

	if (!b)
		return tr_fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&b->lock, NULL);
	CDS_INIT_LIST_HEAD(&b->channels);
	b->dir = open_tracefs(err);
	b->texts = tracefs_texts_create(owner);
	b->data = tracefs_data_create();
	ret = b->dir < 0 ? b->dir
	      : b->texts && b->data ? check_tracefs(b, err)
			 : tr_fail(err, -ENOMEM, "out of memory");
	if (ret) {
		tracefs_destroy(b);
		return ret;
	}
	*out = b;
	return 0;
}

static const char *put_part(struct md_buf *out, const char *between, const char *text)
{
	md_buf_printf(out, "%s%s", between, text);
	return ", ";
}

void tracefs_describe(const struct backend *b, struct md_buf *out)
{
	struct tr_err err = TR_ERR_INIT;
	struct backend_boot boot;
	const char *between = "";
	int ret = b->bpf ? 0 : bpf_supported(&err);

	if (!tracefs_has_kprobes(b))
		between = put_part(out, between, "no kprobes");
	if (!b->uprobes)
		between = put_part(out, between, "no uprobes");
	if (!b->functions)
		between = put_part(out, between, "no function tracing");
	/* (The line of README on `e:`, an event probe.) */
	if (!has_word(b->dir, "README", "e[:["))
		between = put_part(out, between, "no event probes");
	if (!tracefs_has_user_events(b))
		between = put_part(out, between, "no user_events");
	if (tracefs_boot_find(b, &boot))
		between = put_part(out, between, "no memory of the last boot");
	if (b->bpf) {
		between = put_part(out, between, "strings of system calls by BPF");
		put_part(out, between, "contexts and stacks by BPF");
	} else {
		between = put_part(out, between, tracefs_texts_supported(b)
							 ? "no BPF" : "no strings of system calls");
		if (ret)
			md_buf_printf(out, ": %s", err.sentence);
	}
}

int tracefs_list(const struct backend *b, struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT;
	ssize_t n = tracefs_read(b->dir, "available_events", TRACEFS_FILE_MAX, &text);
	const char *line, *end;

	for (line = md_buf_str(&text); n >= 0 && *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (!tracefs_is_text(line))
			md_buf_put(out, line, (size_t)(end - line));
	}
	if (n > 0)
		tracefs_data_list(b, md_buf_str(&text), out);
	md_buf_deinit(&text);
	if (n > 0 && b->functions)
		md_buf_puts(out, BACKEND_FUNCTION_SYSTEM ":" BACKEND_FUNCTION_EVENT "\n");
	return n < 0 ? (int)n : 0;
}

static int print_format(const struct backend *b, const char *system, const char *event,
		  struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT, types = MD_BUF_INIT;
	bool model = tracefs_is_model(system, event);
	char tracepoint[TRACEFS_TRACEPOINT_MAX];
	int ret;

	if (!strcmp(system, BACKEND_DATA_SYSTEM))
		return tracefs_data_format(b, event, out);
	if (!tracefs_has_text(b, system, event))
		return tracefs_read_format(b, system, event, out);
	ret = tracefs_read_format(b, model ? system : tracefs_text_model(b), event, &text);
	if (!ret && model)
		ret = tracefs_model_of(b, system, event, tracepoint);
	if (!ret && model) {
		system = tracepoint;
		event = tracepoint + strlen(tracepoint) + 1;
	}
	if (!ret)
		ret = tracefs_read_format(b, system, event, &types);
	if (!ret)
		tracefs_text_format(md_buf_str(&types), md_buf_str(&text), model, out);
	md_buf_deinit(&text);
	md_buf_deinit(&types);
	return ret;
}

int tracefs_probe_create(struct backend *b, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err)
{
	if (d->kind == DYN_EVENT && !tracefs_texts_supported(b))
		return tr_fail(err, -EOPNOTSUPP,
			       "this kernel was built without event probes: its tracepoints have "
			       "no extra data; %s rules have",
			       tracefs_has_kprobes(b)   ? "kprobe: and uprobe:"
			       : tracefs_has_uprobes(b) ? "uprobe: and usdt:"
							: "on other kernels kprobe:");
	return dynamic_event_create(b->dir, group, d, names, err);
}

bool tracefs_has_kprobes(const struct backend *b)
{
	return faccessat(b->dir, "kprobe_events", F_OK, 0) == 0;
}

bool tracefs_has_uprobes(const struct backend *b)
{
	return faccessat(b->dir, "uprobe_events", F_OK, 0) == 0;
}

bool tracefs_has_user_events(const struct backend *b)
{
	return faccessat(b->dir, "user_events_data", F_OK, 0) == 0;
}

int tracefs_probe_remove(struct backend *b, const char *group, const char *name)
{
	int ret;

	tracefs_before_reset(b);
	ret = dynamic_event_remove(b->dir, group, name);
	tracefs_after_reset(b);
	return ret;
}

int tracefs_ids(const struct backend *b, struct md_buf *out)
{
	/* the groups of all daemons begin with this */
	return dynamic_event_ids(b->dir, "trail", out);
}

int tracefs_probes(const struct backend *b, const char *group, struct md_buf *names)
{
	return dynamic_event_list(b->dir, group, names);
}

/*
 * The file has about 60000 lines `name` or `name [module]`, which the kernel produces as they are
 * read: stop at the first match.
 */
int tracefs_function_check(const struct backend *b, const char *name, struct tr_err *err)
{
	int fd = b->functions ? openat(b->dir, "available_filter_functions", O_RDONLY | O_CLOEXEC)
			      : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[1024];
	bool found = false;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return tr_fail(err, -EOPNOTSUPP,
			       "this kernel does not trace functions, or does not permit it");
	}
	while (!found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\n")] = '\0';
		found = glob_match(name, line);
	}
	fclose(f);
	return found ? 0
		     : tr_fail(err, -ENOENT,
			       "the kernel has no function '%s' that can be traced%s", name,
			       tracefs_has_kprobes(b) ? "; `kprobe:` may still be possible" : "");
}

int tracefs_channels(const struct backend *b, struct md_buf *names)
{
	int fd = openat(b->dir, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			md_buf_put(names, d->d_name, strlen(d->d_name) + 1);
	closedir(dir);
	return names->failed ? -ENOMEM : 0;
}

static int remove_channel(struct backend *b, const char *name)
{
	char path[300], group[TRACEFS_GROUP_MAX];

	snprintf(path, sizeof(path), "instances/%s", name);
	if (unlinkat(b->dir, path, AT_REMOVEDIR))
		return -errno;
	tracefs_text_group(b, name, group);
	tracefs_text_remove(b, group);
	return 0;
}

const struct backend_ops tracefs_backend = {
	.name = "tracefs",
	.probe = probe_tracefs,
	.destroy = tracefs_destroy,
	.describe = tracefs_describe,
	.list = tracefs_list,
	.ids = tracefs_ids,
	.format = print_format,
	.probe_create = tracefs_probe_create,
	.has_kprobes = tracefs_has_kprobes,
	.has_uprobes = tracefs_has_uprobes,
	.has_user_events = tracefs_has_user_events,
	.probe_remove = tracefs_probe_remove,
	.probes = tracefs_probes,
	.function_check = tracefs_function_check,
	.channels = tracefs_channels,
	.channel_open = tracefs_channel_open,
	.channel_remove = remove_channel,
	.channel_close = tracefs_channel_close,
	.context_kinds = tracefs_context_kinds,
	.stacks = tracefs_stacks,
	.record = tracefs_record,
	.recording = tracefs_recording,
	.changed = tracefs_changed,
	.filter_text = tracefs_filter_text,
	.enable = tracefs_enable,
	.enabled = tracefs_enabled,
	.filter = tracefs_filter,
	.functions = tracefs_functions,
	.track = tracefs_track,
	.track_more = tracefs_track_more,
	.drain = tracefs_drain,
	.lost = tracefs_lost,
	.note = tracefs_note,
	.watch = tracefs_watch,
	.boot_find = tracefs_boot_find,
	.boot_format = tracefs_read_format,
	.boot_record = tracefs_boot_record,
};
