/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/mounttable.h"
#include "fs/daemon/daemon.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/face/tracer.h"

#define TYPE "fuse.trailfs"

struct holder {
	int pid;
	char device[24];
	char *point;            /* into the text */
};

void holder_announce(struct tracer *t, const char *path, const char *device)
{
	struct md_buf text = MD_BUF_INIT;

	/* The mount point comes last: it may have any byte. */
	md_buf_printf(&text, "%d %s %s", (int)getpid(), *device ? device : "-", path);
	tracer_announce(t, md_buf_str(&text));
	md_buf_deinit(&text);
}

static bool parse_holder(char *text, struct holder *h)
{
	int at = 0;

	if (sscanf(text, "%d %23s %n", &h->pid, h->device, &at) < 2 || !at || h->pid <= 0 ||
	    text[at] != '/')
		return false;
	h->point = text + at;
	/* It goes to a terminal, and may have been written by any user whose daemon this is. */
	for (char *p = h->point; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	return true;
}

/* The mount is not in our table: is it in that of a process elsewhere? */
static void say_unmounted(const char *state_dir, const struct holder *h)
{
	struct mount_entry copy;
	pid_t other = mounttable_elsewhere(TYPE, h->device, h->pid, &copy);

	if (other && other != h->pid)
		say(SAY_ERROR,
		    "%s: process %d, another trailfs daemon, uses this state directory. Its mount "
		    "on %s is not in "
		    "this mount namespace, but process %d has it on %s: unmount it there "
		    "(nsenter -t %d -m umount %s), or end the daemon and its sessions by `kill %d`",
		    state_dir, h->pid, h->point, (int)other, copy.point, (int)other, copy.point,
		    h->pid);
	else if (other)
		say(SAY_ERROR,
		    "%s: process %d, another trailfs daemon, uses this state directory. Its mount "
		    "on %s is in the "
		    "mount namespace that it was started in and no other process is in: look at it "
		    "by "
		    "`nsenter -t %d -m`, or end the daemon and its sessions by `kill %d`",
		    state_dir, h->pid, h->point, h->pid, h->pid);
	else
		say(SAY_ERROR,
		    "%s: process %d, another trailfs daemon, uses this state directory. Its mount "
		    "on %s was taken "
		    "away, but some process still has a file or directory of it open, or a mount "
		    "namespace that "
		    "cannot be seen from here has a copy: end the daemon and its sessions by `kill "
		    "%d`",
		    state_dir, h->pid, h->point, h->pid);
}

void holder_say(const char *state_dir)
{
	struct md_buf text = MD_BUF_INIT;
	struct holder h = { 0 };
	struct mount_entry here;
	bool announced = !tracer_announced(state_dir, &text) &&
			 parse_holder((char *)md_buf_str(&text), &h);

	/* (This daemon has waited for the lock as long as one that was killed may take.) */
	if (announced && keeper_find_daemon(state_dir) == KEEPER_DAEMON_ENDS)
		say(SAY_ERROR,
		    "%s: the killed trailfs daemon %d uses this state directory and cannot end: "
		    "one of its threads waits in the kernel, perhaps for a disk "
		    "that hangs",
		    state_dir, h.pid);
	else if (!announced)
		say(SAY_ERROR,
		    "%s: another trailfs daemon uses this state directory, and has not mounted yet",
		    state_dir);
	else if (mounttable_find(0, h.point, strcmp(h.device, "-") ? h.device : NULL, &here))
		say(SAY_ERROR,
		    "%s: process %d, another trailfs daemon, uses this state directory and is "
		    "mounted on %s: use that, "
		    "or unmount it, which ends its sessions (fusermount3 -u %s)",
		    state_dir, h.pid, h.point, h.point);
	else
		say_unmounted(state_dir, &h);
	md_buf_deinit(&text);
}
