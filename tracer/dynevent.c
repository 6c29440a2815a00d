/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dynamic kernel events, made and removed in tracefs: see dynevent.h. dynrule.c has the rules and definitions. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/dynevent.h"
#include "tracer/nearest.h"

int dyn_write(int tracefs_fd, const char *file, const char *definition, size_t len)
{
	/* Truncating one of these files removes all events of the machine. */
	int fd = openat(tracefs_fd, file, O_WRONLY | O_APPEND | O_CLOEXEC), ret = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, definition, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		ret = -errno;
	else if ((size_t)n != len)
		ret = -EIO;
	close(fd);
	return ret;
}

static bool is_kernel(const struct dynevent *d)
{
	return d->kind == DYN_KPROBE || d->kind == DYN_KRETPROBE;
}

/* FNV-1a: names of events are short, rules are not. */
static uint64_t digest(const struct dynevent *d)
{
	const char *const parts[] = { d->path, d->symbol, d->provider, d->name };
	uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)d->kind;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const char *p = parts[i]; p && *p; p++)
			h = (h ^ (unsigned char)*p) * 0x100000001b3u;
		h = (h ^ 0xff) * 0x100000001b3u;
	}
	return h;
}

static bool make_name(const struct dynevent *d, char *name, size_t size)
{
	static const char *const kinds[] = { "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt" };
	int n = snprintf(name, size, "%s_%.24s_%016llx", kinds[d->kind], d->symbol ? d->symbol : d->name, (unsigned long long)digest(d));

	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
			*p = '_';
	return n > 0 && (size_t)n < size;
}

static bool is_there(int tracefs_fd, const char *group, const char *name)
{
	char path[2 * DYN_NAME_MAX + 16];

	snprintf(path, sizeof(path), "events/%s/%s", group, name);
	return !faccessat(tracefs_fd, path, F_OK, 0);
}

/* Of kallsyms only what begins alike and is about as long: there are some 200000 names. */
struct near {
	char *names[2048];
	size_t count;
};

static bool add_near(struct near *near, const char *name, const char *wanted, size_t len)
{
	size_t n = strlen(name);

	if (*name != *wanted || n > len + 8 || n + 3 < len || near->count == sizeof(near->names) / sizeof(near->names[0]))
		return true;
	near->names[near->count] = strdup(name);
	return near->names[near->count] && ++near->count;
}

/* 1: kallsyms has it, 0: not (near is filled), -1: cannot tell */
static int look_up(const char *symbol, size_t len, struct near *near)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[600];
	int found = 0;

	if (!f)
		return -1;
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*x %*c %599s", name) != 1)
			continue;
		found = strlen(name) == len && !memcmp(name, symbol, len);
		if (!found && !add_near(near, name, symbol, len))
			break;
	}
	fclose(f);
	return found;
}

/* Why the kernel refused a kernel symbol. */
static int explain_symbol(const struct dynevent *d, int code, struct tr_err *err)
{
	size_t len = strcspn(d->symbol, "+");
	struct near *near = calloc(1, sizeof(*near));
	const char *best;
	int known;

	if (!near)
		return tr_fail(err, -ENOMEM, "no memory for the kernel's names");
	known = look_up(d->symbol, len, near);
	best = nearest(d->symbol, len, (const char *const *)near->names, near->count);
	if (!known && best)
		code = tr_fail(err, -ENOENT, "the kernel has no function '%.*s'; did you mean '%s'?", (int)len, d->symbol, best);
	else if (!known)
		code = tr_fail(err, -ENOENT, "the kernel has no function '%.*s'", (int)len, d->symbol);
	else
		code = tr_fail(err, code, "the kernel allows no probe at '%s': %s", d->symbol, strerror(-code));
	for (size_t i = 0; i < near->count; i++)
		free(near->names[i]);
	free(near);
	return code;
}

static int explain(const struct dynevent *d, int code, struct tr_err *err)
{
	const char *what = is_kernel(d) ? "kprobe_events" : "uprobe_events";

	switch (code) {
	case -EACCES:
	case -EPERM:
		return tr_fail(err, code, "no permission to write %s of tracefs (a locked-down kernel?)", what);
	case -ENOENT:
	case -EINVAL:
	case -EILSEQ:
		if (is_kernel(d))
			return explain_symbol(d, code, err);
		return tr_fail(err, code, "the kernel allows no probe in %s: %s", d->path, strerror(-code));
	default:
		return tr_fail(err, code, "cannot make the event in %s of tracefs: %s", what, strerror(-code));
	}
}

static int write_lines(int tracefs_fd, const char *file, struct md_buf *b)
{
	const char *p = md_buf_str(b), *end;
	int ret = 0;

	for (; *p && !ret; p = end) {
		end = p + strcspn(p, "\n");
		end += *end == '\n';
		ret = dyn_write(tracefs_fd, file, p, (size_t)(end - p));
	}
	return ret;
}

int dyn_create(int tracefs_fd, const char *group, const struct dynevent *d, char *name, size_t size, struct tr_err *err)
{
	const char *file = is_kernel(d) ? "kprobe_events" : "uprobe_events";
	struct md_buf b = MD_BUF_INIT;
	int ret;

	if (faccessat(tracefs_fd, file, F_OK, 0) && errno == ENOENT)
		return tr_fail(err, -EOPNOTSUPP, is_kernel(d) ? "this kernel was built without kprobes (there is no kprobe_events in tracefs)" :
			       "this kernel was built without uprobes (there is no uprobe_events in tracefs)");
	if (!make_name(d, name, size))
		return tr_fail(err, -ENAMETOOLONG, "the event's name is too long");
	ret = dyn_define(d, group, name, &b, err);
	if (ret)
		goto out;
	/* Definitions of the same name would add up to one event in several places. */
	if (is_there(tracefs_fd, group, name)) {
		ret = tr_fail(err, -EEXIST, "the event %s/%s is there already", group, name);
		goto out;
	}
	ret = write_lines(tracefs_fd, file, &b);
	if (ret) {
		dyn_remove(tracefs_fd, group, name);
		ret = explain(d, ret, err);
	}
out:
	md_buf_deinit(&b);
	return ret;
}

/* True unless the file is not there or says that the event is off. */
static bool is_on(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char c = '1';

	if (fd < 0)
		return errno != ENOENT;
	if (read(fd, &c, 1) != 1)
		c = '1';
	close(fd);
	return c != '0';
}

/*
 * True if the event is, or may be, enabled anywhere. The kernel tests that itself only for events in one place: of one in several (seen on
 * 6.18) it frees all but the last while they are armed, and the next hit runs into freed memory.
 */
static bool is_enabled(int tracefs_fd, const char *group, const char *name)
{
	char path[600];
	struct dirent *e;
	bool on;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/enable", group, name);
	if (is_on(tracefs_fd, path))
		return true;
	fd = openat(tracefs_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return true;
	}
	for (on = false; !on && (e = readdir(d));) {
		snprintf(path, sizeof(path), "%s/events/%s/%s/enable", e->d_name, group, name);
		on = e->d_name[0] != '.' && is_on(dirfd(d), path);
	}
	closedir(d);
	return on;
}

int dyn_remove(int tracefs_fd, const char *group, const char *name)
{
	char line[2 * DYN_NAME_MAX + 8];
	int n = snprintf(line, sizeof(line), "-:%s/%s\n", group, name);

	if (n < 0 || (size_t)n >= sizeof(line))
		return -ENAMETOOLONG;
	if (is_enabled(tracefs_fd, group, name))
		return -EBUSY;
	return dyn_write(tracefs_fd, "dynamic_events", line, (size_t)n);
}

static void disable(int tracefs_fd, const char *group, const char *name)
{
	char path[2 * DYN_NAME_MAX + 24];
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/enable", group, name);
	fd = openat(tracefs_fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If it fails, removing the event does, and says so. */
	if (write(fd, "0", 1) != 1)
		errno = 0;
	close(fd);
}

/* Takes apart `p:GROUP/NAME …`, `r8:GROUP/NAME …`; false if that is none of ours. */
static bool take_line(const char *line, const char *prefix, char group[DYN_NAME_MAX], char name[DYN_NAME_MAX])
{
	char kind;

	if (sscanf(line, "%c%*[0-9]:%63[^/ \n]/%63[^ \n]", &kind, group, name) != 3 &&
	    sscanf(line, "%c:%63[^/ \n]/%63[^ \n]", &kind, group, name) != 3)
		return false;
	return (kind == 'p' || kind == 'r' || kind == 'e') && !strncmp(group, prefix, strlen(prefix));
}

int dyn_remove_group(int tracefs_fd, const char *prefix)
{
	char group[DYN_NAME_MAX], name[DYN_NAME_MAX], *line = NULL;
	size_t size = 0;
	int fd, removed = 0, failed = 0, turns = 0, ret;
	FILE *f;

	if (!*prefix)
		return -EINVAL;
	fd = openat(tracefs_fd, "dynamic_events", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	/* Removing one while the list is read is safe, but what is behind it may be skipped: hence again until a turn finds none. */
	do {
		ret = failed = 0;
		rewind(f);
		while (getline(&line, &size, f) >= 0) {
			int one;

			if (!take_line(line, prefix, group, name))
				continue;
			disable(tracefs_fd, group, name);
			one = dyn_remove(tracefs_fd, group, name);
			ret += !one;
			failed = one && one != -ENOENT ? one : failed;
		}
		removed += ret;
	} while (ret && ++turns < 16);
	free(line);
	fclose(f);
	return failed ? failed : removed;
}
