/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdatomic.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/tree/rows.h"
#include "tracer/tracer.h"

#define PAUSE 500       /* ms between two looks: applications may come and go in crowds */
#define RETRY 100       /* ms until the next look, when a directory may be locked */

static atomic_bool noted;
static int64_t last = -PAUSE;   /* the helper thread's */

void prune_later(void)
{
	/* If it was noted before, the helper has been called, or comes back after its pause. */
	if (!atomic_exchange(&noted, true))
		helper_kick();
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
 * helper thread with it; and if the daemon is killed meanwhile, it cannot end. False: names are
 * left because a directory may be locked.
 */
static bool drop_names(void)
{
	struct md_buf found = MD_BUF_INIT;
	const char *p, *end;
	bool done;

	/* Children first: the kernel drops a directory only when nothing is in it. */
	node_collect(is_stale, &found);
	p = found.data;
	end = p + found.len;
	while (p < end && !dir_requested()) {
		const struct node_name *n = (const void *)p;

		if (n->row != &app_row || app_ended(n->name))
			notify_forget_name(n->parent, n->name);
		p += n->size;
	}
	done = p >= end;
	md_buf_deinit(&found);
	return done;
}

int64_t prune(int64_t now)
{
	if (!atomic_load(&noted))
		return -1;
	if (now - last < PAUSE)
		return last + PAUSE;
	atomic_store(&noted, false);
	if (!dir_requested() && drop_names()) {
		last = now;
		return -1;
	}
	atomic_store(&noted, true);
	return now + RETRY;
}
