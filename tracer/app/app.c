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
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"

/* What a user's registrations may take: a storm must not use up everybody's descriptors and memory. */
#define APPS_PER_USER 16384u
#define APP_BYTES_PER_USER (64u << 20)
#define HIDDEN_SECONDS 10u      /* an application takes less to lock and to name its file */

static void app_free(struct app *a)
{
	registration_close(a->file);
	free(a->signatures);
	free(a->words);
	free(a);
}

/*
 * Which process an application is. The number in its file is its own idea, and means nothing if it lives in another PID
 * namespace: so it counts only if that process has the file mapped. The peer of a connection is told by the kernel (app/attach_server.c);
 * for the rest there is /proc/locks, whose reading takes the kernel some 10 ms and is left to who wants to see a list.
 */
static void identify(struct tracer *t, struct app *a)
{
	char path[32], line[512];
	FILE *maps;

	if (a->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/maps", a->file->pid);
	maps = fopen(path, "re");
	while (maps && !a->pid && fgets(line, sizeof(line), maps))
		if (strstr(line, a->name))
			app_set_pid(t, a, a->file->pid);
	if (maps)
		fclose(maps);
}

static bool is_name(const char *name)
{
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

static bool too_much(const struct user *u, const struct registration *f)
{
	return u->apps >= APPS_PER_USER || u->bytes + f->size > APP_BYTES_PER_USER;
}

/* The words may say anything: a forked child has its parent's, an earlier daemon left its own. */
static void read_words(struct app *a, unsigned int lane)
{
	const struct registration *f = a->file;
	uint32_t words[1024], n;

	for (uint32_t e = 0; e < f->event_count; e++) {
		/* Many at once: one by one they would cost more than all else that attaching does. */
		if (e % 1024 == 0) {
			n = f->event_count - e < 1024 ? f->event_count - e : 1024;
			if (pread(f->fd, words, n * 4, f->state_offset + 4 * (off_t)e) != (ssize_t)(n * 4))
				return;
		}
		a->words[e] = words[e % 1024] >> (8 * lane) & 255;
		if (a->words[e] > a->generation && a->words[e] != TRAIL_WORD_UNKNOWN)
			a->generation = a->words[e];
	}
}

static struct app *app_new(struct registration *f, const char *name, int dir)
{
	struct app *a = calloc(1, sizeof(*a));
	struct stat st;

	if (!a)
		return NULL;
	/* A new file has the group of the process that made it. */
	if (fstat(f->fd, &st) == 0)
		a->gid = st.st_gid;
	a->signatures = calloc(f->event_count + 1, sizeof(*a->signatures));
	a->words = calloc(f->event_count + 1, 1);
	if (!a->signatures || !a->words) {
		free(a->signatures);
		free(a->words);
		free(a);
		return NULL;
	}
	CDS_INIT_LIST_HEAD(&a->retry);
	a->file = f;
	a->dir = dir;
	snprintf(a->name, sizeof(a->name), "%s", name);
	return a;
}

/*
 * What a process that is gone had counted but not moved to its rings: hits while it was attaching.
 * too_many: it claims more than n, which is not possible.
 */
static void settle_missed(struct tracer *t, const struct app *a, uint32_t event, uint64_t n, bool too_many)
{
	bool settled;

	struct session *s;
	struct channel *c;
	struct stream_group *cl;
	struct buffer *b;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a))
			continue;
		settled = false;
		cds_list_for_each_entry(c, &s->channels, node) {
			cl = app_wanted(c, a, event, NULL) ? owner_group(c, a) : NULL;
			if (!cl || group_buffer(cl, TRAIL_RINGS_CPU, 0, &b))
				continue;
			__atomic_fetch_add(&region_ring(b->region, 0)->lost, n, __ATOMIC_RELAXED);
			settled = true;
		}
		if (settled && too_many)
			session_failed(s, "process %u of user %u claims to have missed more events than it can "
				       "have hit: only those that are possible count as discarded",
				       a->pid ? a->pid : a->file->pid, (unsigned int)a->file->uid);
	}
}

/* The file is the application's: its counters may say anything. */
static void settle_all(struct tracer *t, const struct app *a)
{
	uint64_t missed[512], left = registration_most_missed(a->file);
	bool told = false;
	uint32_t n;

	for (uint32_t e = 0; e < a->file->event_count; e += n) {
		n = registration_missed(a->file, e, missed, 512);
		for (uint32_t i = 0; i < n; i++) {
			bool too_many = missed[i] > left;

			if (too_many)
				missed[i] = left;
			left -= missed[i];
			if (missed[i] || (too_many && !told))
				settle_missed(t, a, e + i, missed[i], too_many);
			told = told || too_many;
		}
		if (!n)
			break;
	}
}

void apps_gc(struct tracer *t)
{
	struct app *a, *next;

	cds_list_for_each_entry_safe(a, next, &t->apps, node)
		app_check(t, a->name);
}

static void app_drop(struct tracer *t, struct app *a)
{
	cds_list_del(&a->node);
	cds_list_del(&a->retry);
	app_table_remove(t, a);
	a->user->apps--;
	a->user->bytes -= a->file->size;
	user_release(t, a->user);
	t->app_count--;
	app_free(a);
	tracer_changed(t, NULL);
}

static bool is_hidden_name(const char *name)
{
	return name[0] == '.' && is_name(name + 1);
}

/* A file that is no registration: it goes with its process, as one that is. */
static void remove_stale(struct tracer *t, const char *name)
{
	for (int dir = 0; dir < 2; dir++)
		if (t->apps_fds[dir] >= 0)
			registration_remove_stale(t->apps_fds[dir], name, 0);
}

void app_check(struct tracer *t, const char *name)
{
	struct app *a = is_name(name) ? app_by_name(t, name) : NULL;

	if (!a && (is_name(name) || is_hidden_name(name)))
		remove_stale(t, name);
	if (a && registration_gone(a->file)) {
		settle_all(t, a);
		unlinkat(t->apps_fds[a->dir], name, 0);
		app_drop(t, a);
	}
}

int app_found(struct tracer *t, const char *name)
{
	const char *reason = "";
	struct registration *f = NULL;
	struct user *u;
	struct app *a;
	int err = -ENOENT, dir;

	if (!is_name(name))
		return -EINVAL;
	if (app_by_name(t, name))
		return 0;
	for (dir = 0; dir < 2; dir++) {
		if (t->apps_fds[dir] < 0)
			continue;
		err = registration_open(t->apps_fds[dir], name, &f, &reason);
		if (err != -ENOENT)
			break;
	}
	if (err == -ENOENT || err == -EAGAIN)
		return err;
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM) {
		t->rescan_pending = true;       /* later, perhaps */
		return err;
	}
	if (err) {
		t->rejected++;
		if (err == -EBADMSG)
			tracer_report(t, "registration %s: %s", name, reason);
		remove_stale(t, name);
		return err;
	}
	/* A daemon that is not root's serves its own user. */
	u = user_find(t, f->uid);
	if (!u || (t->lane == TRAIL_LANE_USER && f->uid != geteuid()) || too_much(u, f)) {
		user_release(t, u);
		registration_close(f);
		remove_stale(t, name);
		return -EPERM;
	}
	a = app_new(f, name, dir);
	if (!a) {
		user_release(t, u);
		registration_close(f);
		return -ENOMEM;
	}
	read_words(a, t->lane);
	cds_list_add_tail(&a->node, &t->apps);
	app_table_add(t, a);
	a->user = u;
	u->apps++;
	u->bytes += f->size;
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
		identify(t, a);
}

/*
 * What an application left that was killed between creating its file and naming it. An application
 * may be between creating and locking a young one now: look again when it is older.
 */
static void remove_hidden(struct tracer *t, int dir, const char *name)
{
	int err = is_hidden_name(name) ? registration_remove_stale(dir, name, HIDDEN_SECONDS) : -EINVAL;

	if (err == -EAGAIN)
		t->rescan_pending = true;
	if (!err)
		app_arrived(t, name + 1);       /* it may have had both names */
}

static void scan_dir(struct tracer *t, int apps_fd)
{
	int fd = openat(apps_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] == '.')
			remove_hidden(t, apps_fd, d->d_name);
		else
			app_arrived(t, d->d_name);
	if (!dir)
		t->rescan_pending = true;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* All files that are there: at the start, and when the kernel's queue of changes overflowed. */
void apps_scan(struct tracer *t)
{
	t->rescan_pending = false;
	apps_gc(t);
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
				registration_switch(a->file, e, t->lane, 0);
		app_drop(t, a);
	}
}

/* A digest of the channels that want the event, and how: when it changes, the application has to ask again. */
static uint64_t signature(struct tracer *t, const struct app *a, uint32_t event)
{
	struct session *s;
	struct channel *c;
	uint64_t sum = 0, decision;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a))
			continue;
		cds_list_for_each_entry(c, &s->channels, node) {
			decision = app_wanted(c, a, event, NULL);
			if (decision)
				sum = hash_step(hash_step(sum, c->serial), decision) | 1;
		}
	}
	return sum;
}

void app_apply(struct tracer *t, struct app *a, bool again)
{
	bool bumped = false;

	for (uint32_t e = 0; e < a->file->event_count; e++) {
		uint64_t want = signature(t, a, e);
		uint8_t word;

		if (want == a->signatures[e] && !again)
			continue;
		if (want && !bumped) {
			a->generation = a->generation + 1 < (int)TRAIL_WORD_UNKNOWN ? a->generation + 1 : 1;
			bumped = true;
		}
		a->signatures[e] = want;
		word = want ? a->generation : 0;
		if (word != a->words[e] && registration_switch(a->file, e, t->lane, word) == 0)
			a->words[e] = word;
	}
}
