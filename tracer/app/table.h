/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registrations by name, by process and by file, and what each user has of them: nothing here takes
 * longer when there are thousands. All under the tracer's lock.
 */
#ifndef TRACER_APP_TABLE_H
#define TRACER_APP_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <urcu/list.h>

struct app;
struct tracer;

/* What one user takes up; a storm of one must not use up what is everybody's. */
struct user {
	struct user *next;
	uid_t uid;
	uint32_t apps, conns;
	uint64_t bytes;                 /* of registration files */
	/* app/user_queue.c: written by the thread that serves applications; keeps the user */
	struct user_queue *queue;
	struct cds_list_head fresh;     /* see user_take_fresh() */
	bool was_fresh;
};

int app_table_create(struct tracer *t);         /* 0 or -ENOMEM */
void app_table_destroy(struct tracer *t);
void app_table_add(struct tracer *t, struct app *a);
void app_table_remove(struct tracer *t, struct app *a);
struct app *app_by_name(struct tracer *t, const char *name);
struct app *app_by_file(struct tracer *t, dev_t dev, ino_t ino);
/* The registrations of a process, oldest first: a NULL gives the first. pid 0 has none. */
struct app *app_of_pid(struct tracer *t, uint32_t pid, const struct app *a);
void app_set_pid(struct tracer *t, struct app *a, uint32_t pid);

void junk_count(struct tracer *t);                      /* one more entry was removed */
uint64_t junk_removed(const struct tracer *t);          /* any lock state */

struct user *user_find(struct tracer *t, uid_t uid);    /* made if need be; NULL: memory */
void user_release(struct tracer *t, struct user *u);    /* frees it if it has nothing */
/* The user has an application: user_take_fresh() returns each such user once. */
void user_note_fresh(struct tracer *t, struct user *u);
bool users_have_fresh(const struct tracer *t);          /* without tracer.lock */
struct user *user_take_fresh(struct tracer *t);         /* NULL: there is none */

#endif
