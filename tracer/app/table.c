// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/app.h"
#include "tracer/base/hash.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/os/state_file.h"
#include "tracer/session/session.h"

#define BUCKETS 4096u           /* a power of two */
#define USERS 256u

struct apptable {
	struct cds_list_head names[BUCKETS], pids[BUCKETS], files[BUCKETS];     /* bucket_of() */
	struct user *users[USERS];
	struct cds_list_head fresh;     /* users, by user.fresh */
	bool has_fresh;                 /* atomic; written under tracer.lock */
	uint64_t junk;                  /* removed; atomic */
};

int app_table_create(struct tracer *t)
{
	struct apptable *table = calloc(1, sizeof(*table));

	apps_of(t)->table = table;
	if (!table)
		return -ENOMEM;
	CDS_INIT_LIST_HEAD(&table->fresh);
	return 0;
}

void app_table_destroy(struct tracer *t)
{
	struct apptable *table = apps_of(t)->table;

	for (uint32_t i = 0; table && i < USERS; i++)
		while (table->users[i]) {
			struct user *u = table->users[i];

			table->users[i] = u->next;
			free(u);
		}
	free(table);
}

static uint32_t mix(uint64_t v)
{
	return (uint32_t)(v * 0x9e3779b97f4a7c15u >> 40) & (BUCKETS - 1);
}

/* A list of the table, which is zero until its first use: most pages are never touched. */
static struct cds_list_head *bucket_of(struct cds_list_head all[BUCKETS], uint64_t v)
{
	struct cds_list_head *bucket = &all[mix(v)];

	if (!bucket->next)
		CDS_INIT_LIST_HEAD(bucket);
	return bucket;
}

static struct cds_list_head *bucket_of_name(struct tracer *t, const char *name)
{
	return bucket_of(apps_of(t)->table->names, hash_string(HASH_START, name));
}

static struct cds_list_head *bucket_of_file(struct tracer *t, dev_t dev, ino_t ino)
{
	return bucket_of(apps_of(t)->table->files, (uint64_t)ino * 31 + (uint64_t)dev);
}

void app_table_add(struct tracer *t, struct app *a)
{
	cds_list_add_tail(&a->by_name, bucket_of_name(t, a->name));
	cds_list_add_tail(&a->by_file, bucket_of_file(t, a->file->dev, a->file->ino));
	CDS_INIT_LIST_HEAD(&a->by_pid);
}

void app_table_remove(struct tracer *t, struct app *a)
{
	(void)t;
	cds_list_del(&a->by_name);
	cds_list_del(&a->by_file);
	cds_list_del(&a->by_pid);
}

struct app *app_by_name(struct tracer *t, const char *name)
{
	struct cds_list_head *bucket = bucket_of_name(t, name);
	struct app *a;

	cds_list_for_each_entry(a, bucket, by_name)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

struct app *app_by_file(struct tracer *t, dev_t dev, ino_t ino)
{
	struct cds_list_head *bucket = bucket_of_file(t, dev, ino);
	struct app *a;

	cds_list_for_each_entry(a, bucket, by_file)
		if (a->file->ino == ino && a->file->dev == dev)
			return a;
	return NULL;
}

struct app *app_of_pid(struct tracer *t, uint32_t pid, const struct app *a)
{
	struct cds_list_head *bucket = bucket_of(apps_of(t)->table->pids, pid),
			     *at = a ? a->by_pid.next : bucket->next;

	for (; pid && at != bucket; at = at->next) {
		struct app *next = cds_list_entry(at, struct app, by_pid);

		if (next->pid == pid)
			return next;
	}
	return NULL;
}

void app_forget_cgroups(struct app *a)
{
	free(a->cgroups);
	a->cgroups = NULL;
}

void app_set_pid(struct tracer *t, struct app *a, uint32_t pid)
{
	if (a->pid == pid)
		return;
	cds_list_del_init(&a->by_pid);
	/* Once two processes use the registration, keep the group of the one that registered. */
	a->shared = a->shared || a->pid;
	if (!a->shared)
		app_forget_cgroups(a);
	a->pid = pid;
	if (pid)
		cds_list_add_tail(&a->by_pid, bucket_of(apps_of(t)->table->pids, pid));
}

void junk_count(struct tracer *t)
{
	__atomic_fetch_add(&apps_of(t)->table->junk, 1, __ATOMIC_RELAXED);
}

uint64_t junk_removed(const struct tracer *t)
{
	return __atomic_load_n(&apps_of(t)->table->junk, __ATOMIC_RELAXED);
}

struct user *user_find(struct tracer *t, uid_t uid)
{
	struct user **bucket = &apps_of(t)->table->users[mix(uid) & (USERS - 1)], *u;

	for (u = *bucket; u; u = u->next)
		if (u->uid == uid)
			return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	CDS_INIT_LIST_HEAD(&u->fresh);
	u->next = *bucket;
	*bucket = u;
	return u;
}

void user_release(struct tracer *t, struct user *u)
{
	struct user **at;

	if (!u || u->apps || u->conns || u->queue)
		return;
	cds_list_del(&u->fresh);        /* from the list, or from itself */
	for (at = &apps_of(t)->table->users[mix(u->uid) & (USERS - 1)]; *at != u; at = &(*at)->next)
		;
	*at = u->next;
	free(u);
}

void user_note_fresh(struct tracer *t, struct user *u)
{
	if (u->was_fresh)
		return;
	u->was_fresh = true;
	cds_list_add_tail(&u->fresh, &apps_of(t)->table->fresh);
	__atomic_store_n(&apps_of(t)->table->has_fresh, true, __ATOMIC_RELAXED);
}

bool users_have_fresh(const struct tracer *t)
{
	return __atomic_load_n(&apps_of(t)->table->has_fresh, __ATOMIC_RELAXED);
}

struct user *user_take_fresh(struct tracer *t)
{
	struct user *u;

	if (cds_list_empty(&apps_of(t)->table->fresh)) {
		__atomic_store_n(&apps_of(t)->table->has_fresh, false, __ATOMIC_RELAXED);
		return NULL;
	}
	u = cds_list_first_entry(&apps_of(t)->table->fresh, struct user, fresh);
	cds_list_del_init(&u->fresh);
	return u;
}

/* ---- which process an application is, and whether it has ended ---- */

#define CLOSED_AGAIN 100        /* ms */
#define CLOSED_NS 20000000000u  /* that long; the kernel takes far less */
#define UNLOCKED_AGAIN 1000     /* ms: the map of a large process is long */

#define GENERATION_FILE "generation"    /* in the state directory: the last daemon's number */
#define GENERATION_BYTES 16
/* To the next daemon's: more than a program's words change in the life of most daemons. */
#define GENERATION_STEP 83u

void apps_begin_generations(struct tracer *t)
{
	struct md_buf last = MD_BUF_INIT;
	char text[GENERATION_BYTES];
	unsigned long n = 0;

	if (!state_file_read(t->state_fd, GENERATION_FILE, GENERATION_BYTES, &last))
		n = strtoul(md_buf_str(&last), NULL, 10);
	md_buf_deinit(&last);
	n = (n % TRAIL_WORD_ASKING + GENERATION_STEP) % (TRAIL_WORD_ASKING - 1);
	apps_of(t)->first_generation = (uint8_t)n;
	/* A directory without room: the next daemon begins like this one. */
	state_file_write(t->state_fd, GENERATION_FILE, text,
			 (size_t)snprintf(text, sizeof(text), "%lu\n", n));
}

/* The name of the file is random, so no other file has it. */
static bool has_mapped(const struct app *a, uint32_t pid)
{
	char path[32], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, a->name);
	if (maps)
		fclose(maps);
	return found;
}

/*
 * The process wrote the number in its file itself, and in another PID namespace the number has
 * another meaning: it counts only if that process has the file mapped. For an application that
 * attaches the kernel names the peer (app/attach_connection.c). For all others /proc/locks has it;
 * the kernel needs about 10 ms to print that file, so only a reader of a list of applications
 * causes it.
 */
void app_identify(struct tracer *t, struct app *a)
{
	if (!a->pid && has_mapped(a, a->file->pid))
		app_set_pid(t, a, a->file->pid);
}

bool app_has_ended(struct tracer *t, struct app *a)
{
	if (!registration_gone(a->file)) {
		a->unlocked_at = 0;
		return false;
	}
	if (registration_removed(a->file) || !registration_may_lack_lock(a->file))
		return true;
	app_identify(t, a);
	if (!a->pid || !has_mapped(a, a->pid))
		return true;
	a->unlocked_at = monotonic_now();
	cds_list_move(&a->closed, &apps_of(t)->closed);
	return false;
}

void app_closed(struct tracer *t, const char *name)
{
	struct app *a;

	app_check(t, name);
	a = app_by_name(t, name);
	if (!a)
		return;
	a->closed_at = monotonic_now();
	cds_list_move(&a->closed, &apps_of(t)->closed);
}

unsigned int apps_check_closed(struct tracer *t)
{
	uint64_t now = monotonic_now();
	struct app *a, *next;
	unsigned int again = 0;

	cds_list_for_each_entry_safe(a, next, &apps_of(t)->closed, closed) {
		/* The kernel says nothing when a process without the lock ends. */
		if (a->unlocked_at && now - a->unlocked_at < UNLOCKED_AGAIN * 1000000ull)
			continue;
		if (!a->unlocked_at && now - a->closed_at > CLOSED_NS)
			cds_list_del_init(&a->closed);
		else if (!a->unlocked_at)
			again = CLOSED_AGAIN;
		app_check(t, a->name);
	}
	return again || cds_list_empty(&apps_of(t)->closed) ? again : UNLOCKED_AGAIN;
}
