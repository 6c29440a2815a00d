/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

#define PAUSE 500       /* ms between two looks: applications may come and go in crowds */
#define RETRY 100       /* ms until the next look, when a directory is locked for long */
#define SLOW_CHANGE 20          /* ms: an mkdir or rmdir that waits for nothing takes less */
#define REPEAT_MOST 8000        /* ms until the notes are sent again, at most */

static atomic_bool noted;
/* The main thread's */
static int64_t last = -PAUSE;
static int64_t repeat_at = -1;  /* when the notes are sent again; -1: there were none */
static int64_t repeat_pause;

static pthread_mutex_t changes_lock = PTHREAD_MUTEX_INITIALIZER;        /* guards changes */
static struct dir_change *changes;      /* the oldest first; one for each thread at most */

void dir_change_begin(struct dir_change *c)
{
	struct dir_change **end = &changes;

	*c = (struct dir_change){ .since = chores_clock() };
	pthread_mutex_lock(&changes_lock);
	while (*end)
		end = &(*end)->next;
	*end = c;
	pthread_mutex_unlock(&changes_lock);
}

void dir_change_end(struct dir_change *c)
{
	struct dir_change **at = &changes;

	pthread_mutex_lock(&changes_lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	pthread_mutex_unlock(&changes_lock);
}

/* An mkdir or rmdir waits within the daemon, for a disk or a program. now: chores_clock */
static bool dir_change_waits(int64_t now)
{
	bool waits;

	pthread_mutex_lock(&changes_lock);
	waits = changes && now - changes->since >= SLOW_CHANGE;
	pthread_mutex_unlock(&changes_lock);
	return waits;
}

void prune_later(void)
{
	/* If it was noted before, the main thread was kicked, or comes back after its pause. */
	if (!atomic_exchange(&noted, true))
		chores_kick();
}

static bool is_stale(const struct node *n)
{
	return n->row == &app_row || node_removed(n);
}

static bool app_ended(const char *pid)
{
	uid_t uid;

	return app_owner(fs.tracer, 0, pid, &uid) != 0;
}

/*
 * A note waits for the lock of its directory. So it would wait as long as an rmdir(2) does, and the
 * main thread with it; and if the daemon is killed meanwhile, it cannot end. False: names are
 * left because a directory is locked for long. *count grows by the notes that were sent.
 */
static bool drop_names(size_t *count)
{
	struct md_buf found = MD_BUF_INIT;
	const char *p, *end;
	bool done;

	/* Children first: the kernel drops a directory only when nothing is in it. */
	node_collect(is_stale, &found);
	p = found.data;
	end = p + found.len;
	while (p < end && !dir_change_waits(chores_clock())) {
		const struct node_name *n = (const void *)p;

		if (n->row != &app_row || app_ended(n->name)) {
			notify_forget_name(n->parent, n->name);
			++*count;
		}
		p += n->size;
	}
	done = p >= end;
	md_buf_deinit(&found);
	return done;
}

/*
 * The kernel may keep a name in spite of a note, because a process that has a directory open uses
 * it at that time. So notes are sent again while there are such nodes: one removed session that the
 * kernel remembers keeps its buffers. Those of files that stay open come less and less often.
 */
static void plan_repeat(int64_t now, bool asked, size_t count)
{
	repeat_pause = asked || !repeat_pause ? 2 * PAUSE : 2 * repeat_pause;
	if (repeat_pause > REPEAT_MOST)
		repeat_pause = REPEAT_MOST;
	repeat_at = count ? now + repeat_pause : -1;
}

int64_t prune(int64_t now)
{
	bool asked = atomic_load(&noted);
	size_t count = 0;

	if (!asked && (repeat_at < 0 || now < repeat_at))
		return repeat_at;
	if (now - last < PAUSE)
		return last + PAUSE;
	atomic_store(&noted, false);
	if (dir_change_waits(now) || !drop_names(&count)) {
		atomic_store(&noted, true);
		return now + RETRY;
	}
	last = now;
	plan_repeat(now, asked, count);
	return repeat_at;
}
