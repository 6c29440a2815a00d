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
#include "tracer/app/prepared_slots.h"
#include "tracer/app/selection.h"
#include "tracer/base/os/clock.h"
#include "tracer/session/session.h"

/*
 * What a user's registrations may take: a storm must not use up everybody's descriptors and memory.
 */
#define APPS_PER_USER 16384u
#define APP_BYTES_PER_USER (64u << 20)
#define STORE_SECONDS \
	1 /* for an application to store its state words; it waits less for the answer */
#define HIDDEN_SECONDS 10u      /* an application takes less to lock and to name its file */

static void app_free(struct app *a)
{
	selection_put(a->selection);
	registration_close(a->file);
	free(a->words);
	free(a->cgroups);
	free(a);
}

static bool is_name(const char *name)
{
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

static bool too_much(const struct user *u, const struct registration *f)
{
	return u->apps >= APPS_PER_USER || u->bytes + f->size > APP_BYTES_PER_USER;
}

#define WORDS_AT_ONCE 2048u

typedef void words_fn(struct app *a, unsigned int lane, uint32_t first, const uint8_t *bytes,
		      uint32_t n);

/* Calls fn with this daemon's bytes of the state words, many at once. */
static void read_words(struct app *a, unsigned int lane, words_fn *fn)
{
	uint32_t words[WORDS_AT_ONCE], n;
	uint8_t bytes[WORDS_AT_ONCE];

	for (uint32_t e = 0; e < a->file->event_count; e += n) {
		n = registration_words(a->file, e, words, WORDS_AT_ONCE);
		if (!n)
			return;
		for (uint32_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)(words[i] >> trail_lane_shift(lane));
		fn(a, lane, e, bytes, n);
	}
}

/*
 * The words may have any values: a forked child has its parent's, an earlier daemon left its own.
 */
static void take_bytes(struct app *a, unsigned int lane, uint32_t first, const uint8_t *bytes,
		       uint32_t n)
{
	uint8_t others = 0;

	(void)lane;
	memcpy(a->words + first, bytes, n);
	for (uint32_t i = 0; i < n; i++)
		others |= bytes[i] ^ TRAIL_WORD_ASKING;
	if (!others)
		return;
	a->stores_words = false;
	for (uint32_t i = 0; i < n; i++)
		if (bytes[i] > a->generation && bytes[i] < TRAIL_WORD_ASKING)
			a->generation = bytes[i];
}

/*
 * An application that registers while a session is active asks at once, and stores the words of the
 * answer itself: the daemon writes none.
 */
static void take_words(struct tracer *t, struct app *a)
{
	a->stores_words = true;
	read_words(a, t->lane, take_bytes);
	if (!a->stores_words)
		return;
	memset(a->words, 0, a->file->event_count);
	/* If it does not ask, the words are written then. */
	a->retry_at = wall_clock() + STORE_SECONDS * 1000000000ll;
	cds_list_add_tail(&a->retry, &apps_of(t)->retries);
}

static void correct_bytes(struct app *a, unsigned int lane, uint32_t first, const uint8_t *bytes,
			  uint32_t n)
{
	if (!memcmp(bytes, a->words + first, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (bytes[i] != a->words[first + i])
			registration_switch(a->file, first + i, lane, a->words[first + i]);
}

/* The application has stored its words, or will not: writes those that are not right. */
static void correct_words(struct tracer *t, struct app *a)
{
	if (a->stores_words)
		read_words(a, t->lane, correct_bytes);
	a->stores_words = false;
}

void app_attached(struct tracer *t, struct app *a)
{
	a->failures = 0;
	cds_list_del_init(&a->retry);
	correct_words(t, a);
}

void app_retry(struct tracer *t, struct app *a)
{
	cds_list_del_init(&a->retry);
	app_identify(t, a);
	correct_words(t, a);
	app_apply(t, a, true);
}

static struct app *app_new(struct registration *f, const char *name, int dir,
			   uint8_t first_generation)
{
	struct app *a = calloc(1, sizeof(*a));
	struct stat st;

	if (!a)
		return NULL;
	/* A new file has the group of the process that made it. */
	if (fstat(f->fd, &st) == 0)
		a->gid = st.st_gid;
	a->words = calloc(f->event_count + 1, 1);
	if (!a->words) {
		free(a);
		return NULL;
	}
	CDS_INIT_LIST_HEAD(&a->retry);
	CDS_INIT_LIST_HEAD(&a->closed);
	a->file = f;
	a->generation = first_generation;
	a->dir = dir;
	snprintf(a->name, sizeof(a->name), "%s", name);
	return a;
}

/*
 * What a process that is gone had counted but not moved to its rings: hits while it was attaching.
 * too_many: it claims more than n, which is not possible.
 */
static void settle_missed(struct tracer *t, struct app *a, uint32_t event, uint64_t n,
			  bool too_many)
{
	struct stream_group *group;
	struct wanted wanted;
	struct session *s;
	struct channel *c;
	struct buffer *b;
	bool settled;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a))
			continue;
		settled = false;
		cds_list_for_each_entry(c, &s->channels, node) {
			group = app_wanted(c, a, event, &wanted) ? owner_group(c, a) : NULL;
			if (!group || group_buffer(group, TRAIL_RINGS_CPU, 0, &b))
				continue;
			/* No filter can judge them now. */
			if (!c->counts || wanted.size ||
			    !slots_count_missed(c, a, group, b, event, n))
				__atomic_fetch_add(&region_ring(b->region, 0)->lost, n,
						   __ATOMIC_RELAXED);
			settled = true;
		}
		if (settled && too_many)
			session_failed(s,
				       "process %u of user %u claims to have missed more events "
				       "than it can "
				       "have hit: only those that are possible count as discarded",
				       a->pid ? a->pid : a->file->pid, (unsigned int)a->file->uid);
	}
}

/* The file is the application's: its counters may say anything. */
static void settle_all(struct tracer *t, struct app *a)
{
	uint64_t missed[2048], left = 0;
	bool known = false, told = false;
	uint32_t n;

	for (uint32_t e = 0; e < a->file->event_count; e += n) {
		n = registration_missed(a->file, e, missed, 2048);
		for (uint32_t i = 0; i < n; i++) {
			bool too_many;

			if (!missed[i])
				continue;
			if (!known)
				left = registration_most_missed(a->file);
			known = true;
			too_many = missed[i] > left;
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

	cds_list_for_each_entry_safe(a, next, &apps_of(t)->list, node)
		app_check(t, a->name);
}

static void app_drop(struct tracer *t, struct app *a)
{
	cds_list_del(&a->node);
	cds_list_del(&a->retry);
	cds_list_del(&a->closed);
	app_table_remove(t, a);
	a->user->apps--;
	a->user->bytes -= a->file->size;
	user_release(t, a->user);
	__atomic_fetch_sub(&apps_of(t)->count, 1, __ATOMIC_RELAXED);
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
		if (apps_of(t)->fds[dir] >= 0)
			registration_remove_stale(apps_of(t)->fds[dir], name, 0);
}

void app_check(struct tracer *t, const char *name)
{
	struct app *a = is_name(name) ? app_by_name(t, name) : NULL;

	if (!a && (is_name(name) || is_hidden_name(name)))
		remove_stale(t, name);
	if (a && app_has_ended(t, a)) {
		settle_all(t, a);
		unlinkat(apps_of(t)->fds[a->dir], name, 0);
		app_drop(t, a);
	}
}

int app_found(struct tracer *t, const char *name)
{
	struct apps *all = apps_of(t);
	const char *reason = "";
	struct registration *f = NULL;
	int err = -ENOENT, dir;
	struct app *a = NULL;
	struct user *u;

	if (!is_name(name))
		return -EINVAL;
	if (app_by_name(t, name))
		return 0;
	for (dir = 0; dir < 2; dir++) {
		if (all->fds[dir] < 0)
			continue;
		err = registration_open(all->layouts, all->fds[dir], name, &f, &reason);
		if (err != -ENOENT)
			break;
	}
	if (err == -ENOENT || err == -EAGAIN)
		return err;
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM) {
		all->rescan_pending = true;       /* later, perhaps */
		return err;
	}
	if (err) {
		__atomic_fetch_add(&all->rejected, 1, __ATOMIC_RELAXED);
		if (err == -EBADMSG)
			app_report_rejected(t, dir, name, reason);
		remove_stale(t, name);
		return err;
	}
	/* A daemon that is not root's serves its own user. */
	u = user_find(t, f->uid);
	if (!u || (t->lane == TRAIL_LANE_USER && f->uid != geteuid()) || too_much(u, f)) {
		remove_stale(t, name);
		err = -EPERM;
	} else {
		a = app_new(f, name, dir, all->first_generation);
	}
	if (!a) {
		user_release(t, u);
		registration_close(f);
		return err ? err : -ENOMEM;
	}
	take_words(t, a);
	cds_list_add_tail(&a->node, &all->list);
	app_table_add(t, a);
	a->user = u;
	u->apps++;
	user_note_fresh(t, u);
	u->bytes += f->size;
	__atomic_fetch_add(&all->count, 1, __ATOMIC_RELAXED);
	app_apply(t, a, true);
	app_report_refused(t, a);
	tracer_changed(t, NULL);
	app_check(t, name);     /* it may be gone already, with something to account for */
	return 0;
}

void app_arrived(struct tracer *t, const char *name)
{
	struct app *a;

	app_found(t, name);
	a = app_by_name(t, name);
	/* An application that asks is the peer of its connection. */
	if (a && !a->stores_words)
		app_identify(t, a);
}

/*
 * What an application left that was killed between creating its file and naming it. An application
 * may be between creating and locking a young one now: look again when it is older.
 */
static void remove_hidden(struct tracer *t, int dir, const char *name)
{
	int err = is_hidden_name(name) ? registration_remove_stale(dir, name, HIDDEN_SECONDS)
				       : -EINVAL;

	if (err == -EAGAIN)
		apps_of(t)->rescan_pending = true;
	if (!err)
		app_arrived(t, name + 1);       /* it may have had both names */
}

static void scan_dir(struct tracer *t, int apps_fd)
{
	int fd = openat(apps_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (app_junk(t, apps_fd, d->d_name))
			continue;
		else if (d->d_name[0] == '.')
			remove_hidden(t, apps_fd, d->d_name);
		else
			app_arrived(t, d->d_name);
	if (!dir)
		apps_of(t)->rescan_pending = true;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* All files that are there: at the start, and when the kernel's queue of changes overflowed. */
void apps_scan(struct tracer *t)
{
	apps_of(t)->rescan_pending = false;
	apps_gc(t);
	for (int i = 0; i < 2; i++)
		if (apps_of(t)->fds[i] >= 0)
			scan_dir(t, apps_of(t)->fds[i]);
}

void apps_drop(struct tracer *t, bool switch_off)
{
	struct app *a, *next;

	cds_list_for_each_entry_safe(a, next, &apps_of(t)->list, node) {
		for (uint32_t e = 0; switch_off && e < a->file->event_count; e++)
			if (a->words[e])
				registration_switch(a->file, e, t->lane, 0);
		app_drop(t, a);
	}
}

/* value: what the application attaches with. In `asking` it stores the value itself, if it can. */
static void set_word(struct tracer *t, struct app *a, uint32_t event, uint8_t value, bool asking)
{
	if (value == a->words[event])
		return;
	if (asking || registration_switch(a->file, event, t->lane, value) == 0)
		a->words[event] = value;
}

/* Sets the words to 0 that are not, and whose events are not selected. */
static void switch_others_off(struct tracer *t, struct app *a, const struct selection *new)
{
	const struct selected *at = new->events, *end = new->events + new->count;
	uint32_t n = a->file->event_count;

	for (uint32_t e = 0; e < n; e++) {
		uint64_t eight;

		if (e + 8 <= n && (memcpy(&eight, a->words + e, 8), !eight)) {
			e += 7;
			continue;
		}
		while (at < end && at->event < e)
			at++;
		if (at == end || at->event != e)
			set_word(t, a, e, 0, false);
	}
}

static uint8_t next_generation(const struct app *a)
{
	return a->generation + 1 < (int)TRAIL_WORD_ASKING ? a->generation + 1 : 1;
}

/* Gives the events whose signature changed (again: all) the next generation. */
static void switch_on(struct tracer *t, struct app *a, const struct selection *new, bool again,
		      bool asking)
{
	const struct selected *old = a->selection ? a->selection->events : NULL;
	const struct selected *end = old ? old + a->selection->count : NULL;
	uint8_t generation = next_generation(a);

	for (const struct selected *s = new->events; s < new->events + new->count; s++) {
		while (old < end && old->event < s->event)
			old++;
		if (!again && old < end && old->event == s->event && old->signature == s->signature)
			continue;
		a->generation = generation;
		set_word(t, a, s->event, generation, asking);
	}
}

void app_apply(struct tracer *t, struct app *a, bool again)
{
	struct selection *new = selection_get(t, a);
	/*
	 * Later changes are written: the application does not replace a word that is not unknown.
	 */
	bool asking = a->stores_words && !a->selection;

	if (!new)
		return;
	if (again || new != a->selection) {
		switch_others_off(t, a, new);
		switch_on(t, a, new, again, asking);
	}
	selection_put(a->selection);
	a->selection = new;
}
