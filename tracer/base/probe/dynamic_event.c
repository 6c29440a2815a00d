/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates, lists and removes dynamic kernel events in tracefs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/base.h"

int dynamic_event_write(int tracefs_fd, const char *file, const char *definition, size_t len)
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

static bool is_kernel(const struct dynamic_event *d)
{
	return d->kind == DYN_KPROBE || d->kind == DYN_KRETPROBE;
}

/* Identifies a rule in the names of its events, because its text is too long for a name. */
static uint64_t hash_rule(const struct dynamic_event *d)
{
	/* of a tracepoint the pattern is hashed */
	bool found = dynamic_event_has_record(d);
	const char *const parts[] = { d->path, d->symbol, found ? NULL : d->provider,
				      found ? NULL : d->name };
	uint64_t h = HASH_START ^ (uint64_t)d->kind;
	struct md_buf text = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		h = hash_step(hash_string(h, parts[i] ? parts[i] : ""), 0xff);
	if (d->label)
		h = hash_string(hash_step(h, '\v'), d->label);
	extra_print(&d->extra, &text);
	if (text.len)
		h = hash_bytes(h, text.data, text.len);
	md_buf_deinit(&text);
	return h;
}

/*
 * Identifies the file and its contents, because the symbols of a rebuilt program have other places.
 */
static uint32_t hash_file(const struct dynamic_event *d)
{
	uint64_t h = HASH_START;
	struct stat st;

	if (d->fd < 0 || fstat(d->fd, &st))
		return 0;
	h = hash_bytes(h, &st.st_dev, sizeof(st.st_dev));
	h = hash_bytes(h, &st.st_ino, sizeof(st.st_ino));
	h = hash_bytes(h, &st.st_size, sizeof(st.st_size));
	h = hash_bytes(h, &st.st_mtim.tv_sec, sizeof(st.st_mtim.tv_sec));
	h = hash_bytes(h, &st.st_mtim.tv_nsec, sizeof(st.st_mtim.tv_nsec));
	return (uint32_t)(h ^ h >> 32);
}

/* KIND_SYMBOL_RULE, the common prefix of a rule's names. Returns its length. */
static size_t make_stem(const struct dynamic_event *d, char name[DYN_NAME_MAX])
{
	static const char *const kinds[] = { "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt",
					     DYN_EVENT_NAME, "arguments" };
	int n = snprintf(name, DYN_NAME_MAX, "%s_%.16s_%016llx_", kinds[d->kind],
			 d->symbol ? d->symbol : d->name, (unsigned long long)hash_rule(d));

	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	return (size_t)n;
}

/* KIND_SYMBOL_RULE_FILE, and _PLACE for all places but the first. */
static void make_name(const struct dynamic_event *d, size_t place, char name[DYN_NAME_MAX])
{
	size_t n = make_stem(d, name);

	n += (size_t)snprintf(name + n, DYN_NAME_MAX - n, "%08x", hash_file(d));
	if (place)
		snprintf(name + n, DYN_NAME_MAX - n, "_%zx", place);
}

bool dynamic_event_made(const struct dynamic_event *d, const char *name)
{
	struct dynamic_event other = *d;
	char stem[DYN_NAME_MAX];

	if (!strncmp(name, stem, make_stem(d, stem)))
		return true;
	/* An unresolved rule may have become the other. */
	other.kind = DYN_ARGUMENTS;
	return d->kind == DYN_EVENT && !strncmp(name, stem, make_stem(&other, stem));
}

static bool is_created(int tracefs_fd, const char *group, const char *name)
{
	char path[2 * DYN_NAME_MAX + 16];

	snprintf(path, sizeof(path), "events/%s/%s", group, name);
	return !faccessat(tracefs_fd, path, F_OK, 0);
}

/*
 * Candidates from kallsyms, which has about 200,000 names: those with the same first byte and about
 * the same length.
 */
struct near {
	char *names[2048];
	size_t count;
};

static bool add_near(struct near *near, const char *name, const char *wanted, size_t len)
{
	size_t n = strlen(name);

	if (*name != *wanted || n > len + 8 || n + 3 < len ||
	    near->count == sizeof(near->names) / sizeof(near->names[0]))
		return true;
	near->names[near->count] = strdup(name);
	return near->names[near->count] && ++near->count;
}

/* 1: kallsyms has the symbol; 0: it does not (near is filled); -1: kallsyms is not readable. */
static int find_kernel_symbol(const char *symbol, size_t len, struct near *near)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], *name;
	int found = 0;

	if (!f)
		return -1;
	while (!found && fgets(line, sizeof(line), f)) {
		name = strchr(line, ' ');       /* after the address, the type and a blank */
		if (!name || !name[1] || name[2] != ' ')
			continue;
		name += 3;
		name[strcspn(name, " \t\n")] = '\0';
		found = strlen(name) == len && !memcmp(name, symbol, len);
		if (!found && !add_near(near, name, symbol, len))
			break;
	}
	fclose(f);
	return found;
}

int dynamic_event_explain(const struct dynamic_event *d, int code, struct tr_err *err)
{
	size_t len = is_kernel(d) ? strcspn(d->symbol, "+") : 0;
	struct near *near;
	const char *best;
	int known;

	if (!is_kernel(d) || (code != -ENOENT && code != -EINVAL && code != -EILSEQ))
		return code;
	near = calloc(1, sizeof(*near));
	if (!near)
		return code;
	known = find_kernel_symbol(d->symbol, len, near);
	best = nearest(d->symbol, len, (const char *const *)near->names, near->count);
	if (!known && best)
		code = tr_fail(err, -ENOENT,
			       "the kernel has no function '%.*s'; did you mean '%s'?", (int)len,
			       d->symbol, best);
	else if (!known)
		code = tr_fail(err, -ENOENT, "the kernel has no function '%.*s'", (int)len,
			       d->symbol);
	else
		code = tr_fail(err, code, "the kernel allows no probe at '%s'%s: %s", d->symbol,
			       d->extra.count ? " with this data" : "", strerror(-code));
	for (size_t i = 0; i < near->count; i++)
		free(near->names[i]);
	free(near);
	return code;
}

/* The file of tracefs for definitions of this kind. */
static const char *choose_file(const struct dynamic_event *d)
{
	return is_kernel(d) ? "kprobe_events"
	       : dynamic_event_has_file(d) ? "uprobe_events" : "dynamic_events";
}

static int explain_error(const struct dynamic_event *d, int code, struct tr_err *err)
{
	const char *what = choose_file(d);
	const char *data = d->extra.count ? " with this data" : "";

	switch (code) {
	case -EACCES:
	case -EPERM:
		return tr_fail(err, code,
			       "no permission to write %s of tracefs (a locked-down kernel?)",
			       what);
	case -EADDRNOTAVAIL:
		return tr_fail(err, -EINVAL,
			       "the kernel has several functions '%s'; give the place as the name "
			       "of another function and +OFF",
			       d->symbol);
	case -ENOENT:
	case -EINVAL:
	case -EILSEQ:
		if (is_kernel(d))
			return tr_fail(err, code, "the kernel allows no probe at '%s'%s: %s",
				       d->symbol, data, strerror(-code));
		return tr_fail(err, code, "the kernel allows no probe in %s%s: %s",
			       dynamic_event_has_file(d) ? d->path : d->symbol, data,
			       strerror(-code));
	default:
		return tr_fail(err, code, "cannot create the event in %s of tracefs: %s", what,
			       strerror(-code));
	}
}

/* 1: created; 0: it exists. */
static int create_place(int tracefs_fd, const char *group, const struct dynamic_event *d,
			size_t place, const char *name, struct tr_err *err)
{
	const char *file = choose_file(d);
	struct md_buf line = MD_BUF_INIT;
	int ret;

	/* A second definition of a name would add a place to the event: see probe/probe.h. */
	if (is_created(tracefs_fd, group, name))
		return 0;
	ret = dynamic_event_define(d, place, group, name, &line, err);
	if (!ret) {
		ret = dynamic_event_write(tracefs_fd, file, md_buf_str(&line), line.len);
		ret = ret ? explain_error(d, ret, err) : 1;
	}
	md_buf_deinit(&line);
	return ret;
}

/* Whether the kernel has tracepoint probes. */
static bool has_arguments(int tracefs_fd)
{
	int fd = openat(tracefs_fd, "README", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " t[:[<group>/][<event>]] <tracepoint>");
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return found;
}

int dynamic_event_create(int tracefs_fd, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err)
{
	const char *file = choose_file(d);
	size_t count = dynamic_event_has_file(d) ? d->place_count : 1, i;
	bool made[DYN_PLACES_MAX] = { false };
	char name[DYN_NAME_MAX];
	int ret = 0;

	if (faccessat(tracefs_fd, file, F_OK, 0) && errno == ENOENT)
		return tr_fail(err, -EOPNOTSUPP,
			       "this kernel was built without %cprobes (tracefs has no %s)",
			       is_kernel(d) ? 'k' : 'u', file);
	if (d->kind == DYN_ARGUMENTS && !has_arguments(tracefs_fd)) {
		const struct extra_item *item = &d->extra.items[d->lacking];

		return extra_fail(&d->extra, item, item->root, -EINVAL, err,
				  "the record of '%.60s' does not have this pointer, and this "
				  "kernel has no tracepoint probes (Linux 6.5, "
				  "CONFIG_FPROBE_EVENTS)%s", d->name,
				  faccessat(tracefs_fd, "kprobe_events", F_OK, 0)
					  ? "" : "; a rule kprobe: on a function may have it");
	}
	if (!count || count > DYN_PLACES_MAX)
		return tr_fail(err, -EINVAL, "the place of the probe is not known");
	for (i = 0; i < count && ret >= 0; i++) {
		make_name(d, i, name);
		ret = create_place(tracefs_fd, group, d, i, name, err);
		made[i] = ret > 0;
		md_buf_put(names, name, strlen(name) + 1);
	}
	if (ret >= 0 && names->failed)
		ret = tr_fail(err, -ENOMEM, "no memory for the names of events");
	while (ret < 0 && i--) {
		make_name(d, i, name);
		if (made[i])
			dynamic_event_remove(tracefs_fd, group, name);
	}
	return ret < 0 ? ret : 0;
}

/* True unless the file does not exist or says that the event is off. */
static bool is_switched_on(int dir, const char *path)
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
 * True if the event is enabled, or may be, in any instance. The kernel checks that only for events
 * in one place. Of an event in several places (seen on 6.18) it frees all but the last while they
 * are armed, and the next hit uses freed memory.
 */
static bool is_enabled(int tracefs_fd, const char *group, const char *name)
{
	char path[600];
	struct dirent *e;
	bool on;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/enable", group, name);
	if (is_switched_on(tracefs_fd, path))
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
		on = e->d_name[0] != '.' && is_switched_on(dirfd(d), path);
	}
	closedir(d);
	return on;
}

int dynamic_event_remove(int tracefs_fd, const char *group, const char *name)
{
	char line[2 * DYN_NAME_MAX + 8];
	int n = snprintf(line, sizeof(line), "-:%s/%s\n", group, name);

	if (n < 0 || (size_t)n >= sizeof(line))
		return -ENAMETOOLONG;
	if (is_enabled(tracefs_fd, group, name))
		return -EBUSY;
	return dynamic_event_write(tracefs_fd, "dynamic_events", line, (size_t)n);
}

static void disable_event(int tracefs_fd, const char *group, const char *name)
{
	char path[2 * DYN_NAME_MAX + 24];
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/enable", group, name);
	fd = openat(tracefs_fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If it fails, the removal of the event fails, too, and reports it. */
	if (write(fd, "0", 1) != 1)
		errno = 0;
	close(fd);
}

/* Parses `p:GROUP/NAME …`, `r8:GROUP/NAME …`; false: another kind of line or group. */
static bool parse_line(const char *line, const char *prefix, char group[DYN_NAME_MAX],
		      char name[DYN_NAME_MAX])
{
	char kind;

	if (sscanf(line, "%c%*[0-9]:%63[^/ \n]/%63[^ \n]", &kind, group, name) != 3 &&
	    sscanf(line, "%c:%63[^/ \n]/%63[^ \n]", &kind, group, name) != 3)
		return false;
	return strchr("pret", kind) &&
	       !strncmp(group, prefix, strlen(prefix));
}

int dynamic_event_list(int tracefs_fd, const char *group, struct md_buf *names)
{
	char of[DYN_NAME_MAX], name[DYN_NAME_MAX], *line = NULL;
	int fd = openat(tracefs_fd, "dynamic_events", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t size = 0;

	if (!f) {
		int ret = fd < 0 ? (errno == ENOENT ? 0 : -errno) : -ENOMEM;

		if (fd >= 0)
			close(fd);
		return ret;
	}
	while (getline(&line, &size, f) >= 0)
		if (parse_line(line, group, of, name) && !strcmp(of, group))
			md_buf_put(names, name, strlen(name) + 1);
	free(line);
	fclose(f);
	return names->failed ? -ENOMEM : 0;
}

int dynamic_event_ids(int tracefs_fd, const char *except, struct md_buf *out)
{
	char group[DYN_NAME_MAX], name[DYN_NAME_MAX], path[2 * DYN_NAME_MAX + 24], *line = NULL;
	int fd = openat(tracefs_fd, "dynamic_events", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r"), *id;
	unsigned int number;
	size_t size = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? (errno == ENOENT ? 0 : -errno) : -ENOMEM;
	}
	while (getline(&line, &size, f) >= 0) {
		if (!parse_line(line, "", group, name) || !strncmp(group, except, strlen(except)))
			continue;
		snprintf(path, sizeof(path), "events/%s/%s/id", group, name);
		fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
		id = fd < 0 ? NULL : fdopen(fd, "r");
		if (id && fscanf(id, "%u", &number) == 1)
			md_buf_printf(out, "%s:%s %u\n", group, name, number);
		if (id)
			fclose(id);
		else if (fd >= 0)
			close(fd);
	}
	free(line);
	fclose(f);
	return out->failed ? -ENOMEM : 0;
}

int dynamic_event_remove_group(int tracefs_fd, const char *prefix)
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
	/*
	 * A removal while the list is read may make the reader skip lines, so repeat until a turn
	 * removes none.
	 */
	do {
		ret = failed = 0;
		rewind(f);
		while (getline(&line, &size, f) >= 0) {
			int one;

			if (!parse_line(line, prefix, group, name))
				continue;
			disable_event(tracefs_fd, group, name);
			one = dynamic_event_remove(tracefs_fd, group, name);
			ret += !one;
			failed = one && one != -ENOENT ? one : failed;
		}
		removed += ret;
	} while (ret && ++turns < 16);
	free(line);
	fclose(f);
	return failed ? failed : removed;
}
