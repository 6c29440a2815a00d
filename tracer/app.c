// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Applications: their registration files, and the state words that the rules ask for.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tracer/core.h"

/* What a user's registrations may take: a storm must not use up everybody's descriptors and memory. */
#define APPS_PER_USER 16384u
#define APP_BYTES_PER_USER (64u << 20)

struct app *app_by_name(struct tracer *t, const char *name)
{
	struct app *a;

	cds_list_for_each_entry(a, &t->apps, node)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

static void app_free(struct app *a)
{
	regfile_close(a->file);
	free(a->signatures);
	free(a->words);
	free(a);
}

/*
 * Which process an application is. The number in its file is its own idea, and means nothing if it lives in another PID
 * namespace: so it counts only if that process has the file mapped. The peer of a connection is told by the kernel (serve.c);
 * for the rest there is /proc/locks, whose reading takes the kernel some 10 ms and is left to who wants to see a list.
 */
static void identify(struct app *a)
{
	char path[32], line[512];
	FILE *maps;

	if (a->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/maps", a->file->pid);
	maps = fopen(path, "re");
	while (maps && !a->pid && fgets(line, sizeof(line), maps))
		if (strstr(line, a->name))
			a->pid = a->file->pid;
	if (maps)
		fclose(maps);
}

static void match_lock(struct tracer *t, const char *line)
{
	char where[64], place[64];
	unsigned int pid;
	struct app *a;

	if (sscanf(line, "%*s FLOCK %*s %*s %u %63s", &pid, where) != 2)
		return;
	cds_list_for_each_entry(a, &t->apps, node) {
		snprintf(place, sizeof(place), "%02x:%02x:%lu", major(a->file->dev), minor(a->file->dev),
			 (unsigned long)a->file->ino);
		if (!a->pid && !strcmp(where, place))
			a->pid = pid;
	}
}

static void identify_rest(struct tracer *t)
{
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL;
	bool unknown = false;
	struct app *a;
	ssize_t n = 1;
	int fd;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &t->apps, node)
		unknown = unknown || !a->pid;
	pthread_mutex_unlock(&t->lock);
	fd = unknown ? open("/proc/locks", O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	while (n > 0 && md_buf_room(&text, 65536)) {
		n = read(fd, text.data + text.len, 65536);
		text.len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	md_buf_str(&text);
	pthread_mutex_lock(&t->lock);
	for (line = text.failed ? NULL : strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		match_lock(t, line);
	pthread_mutex_unlock(&t->lock);
	md_buf_deinit(&text);
}

static bool is_name(const char *name)
{
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

static bool too_much(const struct tracer *t, const struct regfile *f)
{
	uint64_t bytes = f->size;
	uint32_t n = 1;
	struct app *a;

	cds_list_for_each_entry(a, &t->apps, node)
		if (a->file->uid == f->uid) {
			n++;
			bytes += a->file->size;
		}
	return n > APPS_PER_USER || bytes > APP_BYTES_PER_USER;
}

/* The words may say anything: a forked child has its parent's, an earlier daemon left its own. */
static void read_words(struct app *a, unsigned int lane)
{
	const struct regfile *f = a->file;
	uint32_t word;

	for (uint32_t e = 0; e < f->event_count; e++) {
		if (pread(f->fd, &word, sizeof(word), f->state_offset + 4 * (off_t)e) == (ssize_t)sizeof(word))
			a->words[e] = word >> (8 * lane) & 255;
		if (a->words[e] > a->generation && a->words[e] != TRAIL_WORD_UNKNOWN)
			a->generation = a->words[e];
	}
}

static struct app *app_new(struct regfile *f, const char *name, int dir)
{
	struct app *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->signatures = calloc(f->event_count + 1, sizeof(*a->signatures));
	a->words = calloc(f->event_count + 1, 1);
	if (!a->signatures || !a->words) {
		free(a->signatures);
		free(a->words);
		free(a);
		return NULL;
	}
	a->file = f;
	a->dir = dir;
	snprintf(a->name, sizeof(a->name), "%s", name);
	return a;
}

/* What a process that is gone had counted but not moved to its rings: hits while it was attaching. */
static void settle_missed(struct tracer *t, const struct app *a, uint32_t event)
{
	uint64_t n = regfile_missed(a->file, event);
	const struct regfile_event *e = &a->file->events[event];
	struct session *s;
	struct channel *c;
	struct class *cl;
	struct buffer *b;

	if (!n || n > UINT32_MAX)       /* more than any process hits in 10 ms: not to be believed */
		return;
	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a->file->uid))
			continue;
		cds_list_for_each_entry(c, &s->channels, node) {
			cl = channel_wants(c, e->name, e->level) ? owner_class(c, a) : NULL;
			b = cl ? class_buffer(cl, TRAIL_RINGS_CPU, 0) : NULL;
			if (b)
				__atomic_fetch_add(&region_ring(b->region, 0)->lost, n, __ATOMIC_RELAXED);
		}
	}
}

void apps_reap(struct tracer *t)
{
	struct app *a, *next;

	cds_list_for_each_entry_safe(a, next, &t->apps, node)
		app_check(t, a->name);
}

static void app_drop(struct tracer *t, struct app *a)
{
	cds_list_del(&a->node);
	t->app_count--;
	app_free(a);
	tracer_changed(t, NULL);
}

void app_check(struct tracer *t, const char *name)
{
	struct app *a = is_name(name) ? app_by_name(t, name) : NULL;

	if (a && regfile_gone(a->file)) {
		for (uint32_t e = 0; a->file->missed_offset && e < a->file->event_count; e++)
			settle_missed(t, a, e);
		unlinkat(t->apps_fds[a->dir], name, 0);
		app_drop(t, a);
	}
}

int app_found(struct tracer *t, const char *name)
{
	const char *reason = "";
	struct regfile *f = NULL;
	struct app *a;
	int err = -ENOENT, dir;

	if (!is_name(name))
		return -EINVAL;
	if (app_by_name(t, name))
		return 0;
	for (dir = 0; dir < 2; dir++) {
		if (t->apps_fds[dir] < 0)
			continue;
		err = regfile_open(t->apps_fds[dir], name, &f, &reason);
		if (err != -ENOENT)
			break;
	}
	if (err == -ENOENT)
		return err;
	if (err) {
		t->rejected++;
		if (err == -EBADMSG)
			tracer_report(t, "registration %s: %s", name, reason);
		return err;
	}
	/* A daemon that is not root's serves its own user. */
	if ((t->lane == TRAIL_LANE_USER && f->uid != geteuid()) || too_much(t, f)) {
		regfile_close(f);
		return -EPERM;
	}
	a = app_new(f, name, dir);
	if (!a) {
		regfile_close(f);
		return -ENOMEM;
	}
	read_words(a, t->lane);
	cds_list_add_tail(&a->node, &t->apps);
	t->app_count++;
	app_apply(t, a, true);
	tracer_changed(t, NULL);
	app_check(t, name);     /* it may be gone already, with something to account for */
	return 0;
}

void app_arrived(struct tracer *t, const char *name)
{
	struct app *a;

	app_found(t, name);
	a = app_by_name(t, name);
	if (a)
		identify(a);
}

/* What an application left that was killed between creating its file and naming it. A young one may be at it right now. */
static void sweep(int dir, const char *name)
{
	struct stat st;
	int fd;

	if (name[0] != '.' || !is_name(name + 1) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    wall_clock() / 1000000000 - st.st_mtim.tv_sec < 10)
		return;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir, name, 0);
	close(fd);
}

static void scan_dir(struct tracer *t, int apps_fd)
{
	int fd = openat(apps_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] == '.')
			sweep(apps_fd, d->d_name);
		else
			app_arrived(t, d->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* All files that are there: at the start, and when the kernel's queue of changes overflowed. */
void apps_scan(struct tracer *t)
{
	apps_reap(t);
	for (int i = 0; i < 2; i++)
		if (t->apps_fds[i] >= 0)
			scan_dir(t, t->apps_fds[i]);
}

void apps_drop(struct tracer *t, bool switch_off)
{
	struct app *a, *next;

	cds_list_for_each_entry_safe(a, next, &t->apps, node) {
		for (uint32_t e = 0; switch_off && e < a->file->event_count; e++)
			if (a->words[e])
				regfile_switch(a->file, e, t->lane, 0);
		app_drop(t, a);
	}
}

/* A digest of the channels that want the event: when it changes, the application has to ask again. */
uint64_t app_signature(struct tracer *t, const struct app *a, uint32_t event)
{
	const struct regfile_event *e = &a->file->events[event];
	struct session *s;
	struct channel *c;
	uint64_t sum = 0;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a->file->uid))
			continue;
		cds_list_for_each_entry(c, &s->channels, node)
			if (channel_wants(c, e->name, e->level))
				sum = (sum ^ c->serial) * 0x100000001b3u + 1;
	}
	return sum;
}

void app_apply(struct tracer *t, struct app *a, bool again)
{
	bool bumped = false;

	for (uint32_t e = 0; e < a->file->event_count; e++) {
		uint64_t want = app_signature(t, a, e);
		uint8_t word;

		if (want == a->signatures[e] && !again)
			continue;
		if (want && !bumped) {
			a->generation = a->generation + 1 < (int)TRAIL_WORD_UNKNOWN ? a->generation + 1 : 1;
			bumped = true;
		}
		a->signatures[e] = want;
		word = want ? a->generation : 0;
		if (word != a->words[e] && regfile_switch(a->file, e, t->lane, word) == 0)
			a->words[e] = word;
	}
}

/* ---- what apps/ and available/user show ---- */

static bool visible(const struct app *a, uid_t viewer)
{
	return viewer == 0 || a->file->uid == viewer;
}

void apps_list(struct tracer *t, uid_t viewer, struct md_buf *names)
{
	struct app *a, *b;
	bool again;

	identify_rest(t);
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &t->apps, node) {
		again = false;
		/* A process has a file per object: it is listed with the first. */
		cds_list_for_each_entry(b, &t->apps, node) {
			if (a == b)
				break;
			again = again || b->pid == a->pid;
		}
		if (!again && a->pid && visible(a, viewer)) {
			md_buf_printf(names, "%u", a->pid);
			md_buf_putc(names, 0);
		}
	}
	pthread_mutex_unlock(&t->lock);
}

static struct app *find_pid(struct tracer *t, uid_t viewer, const char *pid)
{
	char text[16];
	struct app *a;

	cds_list_for_each_entry(a, &t->apps, node) {
		snprintf(text, sizeof(text), "%u", a->pid);
		if (a->pid && !strcmp(text, pid) && visible(a, viewer))
			return a;
	}
	return NULL;
}

int app_owner(struct tracer *t, uid_t viewer, const char *pid, uid_t *uid)
{
	struct app *a;

	identify_rest(t);
	pthread_mutex_lock(&t->lock);
	a = find_pid(t, viewer, pid);
	if (a)
		*uid = a->file->uid;
	pthread_mutex_unlock(&t->lock);
	return a ? 0 : -ENOENT;
}

static void read_proc(uint32_t pid, const char *file, struct md_buf *out)
{
	char path[64], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	if (!strcmp(file, "exe")) {
		n = readlink(path, text, sizeof(text));
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (fd >= 0)
			close(fd);
	}
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0)
		md_buf_escape(out, text, (size_t)n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted lines, each once. */
static void put_sorted(struct md_buf *lines, struct md_buf *out)
{
	char **all, *line, *save = NULL, *text = (char *)md_buf_str(lines);
	size_t n = 0, i = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	all = n ? malloc(n * sizeof(*all)) : NULL;
	if (!all)
		return;
	for (line = strtok_r(text, "\n", &save); line && i < n; line = strtok_r(NULL, "\n", &save))
		all[i++] = line;
	qsort(all, i, sizeof(*all), by_name);
	for (size_t j = 0; j < i; j++)
		if (!j || strcmp(all[j], all[j - 1]) != 0)
			md_buf_printf(out, "%s\n", all[j]);
	free(all);
}

static void put_tracepoints(const struct app *a, struct md_buf *lines)
{
	for (uint32_t e = 0; e < a->file->event_count; e++) {
		const struct regfile_event *ev = &a->file->events[e];

		md_buf_printf(lines, "%s %s\n", ev->name, level_name(ev->level));
	}
}

int app_show(struct tracer *t, uid_t viewer, const char *pid, enum app_file what, struct md_buf *out)
{
	struct md_buf lines = MD_BUF_INIT;
	uint32_t objects = 0, on = 0;
	struct app *first, *a;

	pthread_mutex_lock(&t->lock);
	first = find_pid(t, viewer, pid);
	switch (first ? what : APP_UID) {
	case APP_COMM:
		read_proc(first->pid, "comm", out);
		md_buf_putc(out, '\n');
		break;
	case APP_UID:
		if (first)
			md_buf_printf(out, "%u\n", first->file->uid);
		break;
	case APP_TRACEPOINTS:
		cds_list_for_each_entry(a, &t->apps, node)
			if (a->pid == first->pid && visible(a, viewer))
				put_tracepoints(a, &lines);
		put_sorted(&lines, out);
		break;
	case APP_STATUS:
		cds_list_for_each_entry(a, &t->apps, node) {
			if (a->pid != first->pid || !visible(a, viewer))
				continue;
			objects++;
			for (uint32_t e = 0; e < a->file->event_count; e++)
				on += a->words[e] != 0;
			md_buf_puts(&lines, "object ");
			md_buf_escape(&lines, a->file->object, strlen(a->file->object));
			md_buf_printf(&lines, " tracepoints %u\n", a->file->event_count);
		}
		md_buf_puts(out, "exe ");
		read_proc(first->pid, "exe", out);
		md_buf_printf(out, "\npid_inside %u\nword_bits %u\nobjects %u\ntracepoints_on %u\n", first->file->pid,
			      first->file->word_bits, objects, on);
		md_buf_put(out, lines.data, lines.len);
		break;
	}
	pthread_mutex_unlock(&t->lock);
	md_buf_deinit(&lines);
	return first ? 0 : -ENOENT;
}

void available_user(struct tracer *t, uid_t viewer, struct md_buf *out)
{
	struct md_buf lines = MD_BUF_INIT;
	struct app *a;

	md_buf_puts(&lines, "trail:log info\n");
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(a, &t->apps, node)
		if (visible(a, viewer))
			put_tracepoints(a, &lines);
	pthread_mutex_unlock(&t->lock);
	put_sorted(&lines, out);
	md_buf_deinit(&lines);
}
