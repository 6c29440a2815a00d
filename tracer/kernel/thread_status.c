// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/thread_status.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_SIZE 4096u       /* bytes of /proc/PID/status that are read */
#define IDS_MAX 33u             /* PID namespaces are nested 32 times at most */
#define SLOTS 16384u            /* a power of two; threads with the same slot replace each other */

/* HAS_NS << i: namespace i */
enum { HAS_STATUS = 1, HAS_STAT = 2, HAS_PARENT = 4, HAS_NS = 8 };

struct slot { int32_t tid; uint32_t turn; struct kstatus is; };
struct kstatuses { struct slot slots[SLOTS]; };

struct kstatuses *kstatuses_create(void)
{
	return calloc(1, sizeof(struct kstatuses));
}

void kstatuses_destroy(struct kstatuses *s)
{
	free(s);
}

uint32_t kstatus_need(uint32_t kind)
{
	if (kind >= TRAIL_CONTEXT_CGROUP_NS && kind < TRAIL_CONTEXT_CGROUP_NS + KSTATUS_NS)
		return HAS_NS << (kind - TRAIL_CONTEXT_CGROUP_NS);
	if (kind >= TRAIL_CONTEXT_UID && kind <= TRAIL_CONTEXT_SGID)
		return HAS_STATUS;
	return kind == TRAIL_CONTEXT_VPID || kind == TRAIL_CONTEXT_VTID	  ? HAS_STATUS
	       : kind == TRAIL_CONTEXT_VPPID				  ? HAS_PARENT
	       : kind == TRAIL_CONTEXT_PRIO || kind == TRAIL_CONTEXT_NICE ? HAS_STAT
									  : 0;
}

/* ---- /proc ---- */

static bool read_text(int32_t number, const char *file, char *text, size_t size)
{
	char path[48];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", number, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * The ids of a line `NAME a b c`, from the PID namespace of /proc to the innermost one. Returns how
 * many these are; 0: there is no such line.
 */
static size_t read_ids(const char *text, const char *name, int32_t ids[IDS_MAX])
{
	const char *p = strstr(text, name);
	size_t n = 0;
	char *end;

	for (p = p ? p + strlen(name) : NULL; p && n < IDS_MAX; p = end) {
		p += strspn(p, " \t");
		ids[n] = (int32_t)strtol(p, &end, 10);
		if (end == p)
			break;
		n++;
	}
	return n;
}

/* The last one of such a line: the id in the innermost namespace. */
static bool read_last(const char *text, const char *name, int32_t *out)
{
	int32_t ids[IDS_MAX];
	size_t n = read_ids(text, name, ids);

	if (n)
		*out = ids[n - 1];
	return n > 0;
}

static bool read_three(const char *text, const char *name, uint32_t *out)
{
	const char *p = strstr(text, name);

	return p && sscanf(p + strlen(name), "%u %u %u", &out[0], &out[1], &out[2]) == 3;
}

static void read_status(int32_t number, struct kstatus *is)
{
	char text[STATUS_SIZE];

	if (read_text(number, "status", text, sizeof(text)) &&
	    read_last(text, "\nNStgid:", &is->vpid) && read_last(text, "\nNSpid:", &is->vtid) &&
	    read_three(text, "\nUid:", is->ids) && read_three(text, "\nGid:", is->ids + 3))
		is->have |= HAS_STATUS;
}

/*
 * The parent in the thread's PID namespace, as getppid(2) has it. The parent's namespace is the
 * thread's or one around it: it has an id at the thread's level, or none, which is 0.
 */
static void read_parent(int32_t number, struct kstatus *is)
{
	char text[STATUS_SIZE];
	int32_t ids[IDS_MAX], parent;
	size_t level;

	if (!read_text(number, "status", text, sizeof(text)) ||
	    !(level = read_ids(text, "\nNStgid:", ids)) || !read_ids(text, "\nPPid:", ids))
		return;
	parent = ids[0];
	/* A parent that ends here has another as its heir: the value is unknown in this turn. */
	if (parent && level > 1) {
		if (!read_text(parent, "status", text, sizeof(text)) ||
		    !read_ids(text, "\nNStgid:", ids))
			return;
		parent = read_ids(text, "\nNStgid:", ids) < level ? 0 : ids[level - 1];
	}
	is->vppid = parent;
	is->have |= HAS_PARENT;
}

/* Fields 18 and 19 of `stat`; the name before them may have any characters. */
static void read_stat(int32_t number, struct kstatus *is)
{
	char text[1024], *p;

	if (read_text(number, "stat", text, sizeof(text)) && (p = strrchr(text, ')')) &&
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d %d",
		   &is->prio, &is->nice) == 2)
		is->have |= HAS_STAT;
}

static bool read_inode(int32_t number, const char *name, uint32_t *inode)
{
	char path[48], link[64], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", number, name);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	p = strchr(link, '[');
	if (p)
		*inode = (uint32_t)strtoul(p + 1, NULL, 10);
	return p;
}

static void read_namespace(int32_t number, unsigned int i, struct kstatus *is)
{
	static const char *const names[KSTATUS_NS] = { "cgroup", "ipc", "mnt", "net", "pid", "time",
						       "user", "uts" };

	if (read_inode(number, names[i], &is->ns[i]))
		is->have |= HAS_NS << i;
}

/* Whether the process has left its PID namespace, for its children, by unshare(2) or setns(2). */
static bool makes_apart(int32_t number)
{
	uint32_t own, for_children;

	return number > 0 && read_inode(number, "pid", &own) &&
	       read_inode(number, "pid_for_children", &for_children) && own != for_children;
}

static void read_parts(int32_t number, uint32_t need, struct kstatus *is)
{
	is->have = 0;
	if (need & HAS_STATUS)
		read_status(number, is);
	if (need & HAS_STAT)
		read_stat(number, is);
	if (need & HAS_PARENT)
		read_parent(number, is);
	for (unsigned int i = 0; i < KSTATUS_NS; i++)
		if (need & HAS_NS << i)
			read_namespace(number, i, is);
}

/* ---- the table ---- */

const struct kstatus *kstatuses_find(struct kstatuses *s, int32_t tid, int32_t number,
				     uint32_t turn, uint32_t need)
{
	struct slot *at = &s->slots[(uint32_t)tid & (SLOTS - 1)];
	struct kstatus now = at->is;

	if (at->tid == tid && at->turn == turn && (at->is.have & need) == need)
		return &at->is;
	if (at->tid != tid)
		now = (struct kstatus){ 0 };
	need |= now.have;
	at->is = now;
	at->tid = tid;
	at->turn = turn;
	if (number > 0)
		read_parts(number, need, &now);
	/* Else it has ended: what was known holds. */
	if (number > 0 && now.have)
		at->is = now;
	return &at->is;
}

void kstatuses_born(struct kstatuses *s, int32_t tid, int32_t maker, int32_t number, uint32_t turn,
		    uint32_t need, uint64_t flags)
{
	/* What may be asked of it later cannot be read then, if it is gone. */
	struct kstatus is = *kstatuses_find(s, maker, number, turn, need | HAS_STATUS | HAS_STAT);
	bool apart = flags & CLONE_NEWPID || (!(flags & CLONE_THREAD) && makes_apart(number));

	/* Else it has its maker's parent. */
	if (need & HAS_PARENT && !(flags & (CLONE_THREAD | CLONE_PARENT))) {
		is.vppid = apart ? 0 : is.have & HAS_STATUS ? is.vpid : -1;
		is.have |= HAS_PARENT;
	}
	/* Its ids differ, unless no namespace is in between. */
	if (is.vtid != maker || apart)
		is.vpid = is.vtid = -1;
	else
		is.vtid = tid;
	if (is.vtid >= 0 && !(flags & CLONE_THREAD))
		is.vpid = tid;
	s->slots[(uint32_t)tid & (SLOTS - 1)] = (struct slot){ .tid = tid, .is = is };
}

bool kstatus_value(const struct kstatus *is, uint32_t kind, int64_t *value)
{
	uint32_t need = kstatus_need(kind);
	bool known = need && (is->have & need) == need;

	if (need >= HAS_NS)
		*value = known ? is->ns[kind - TRAIL_CONTEXT_CGROUP_NS] : 0;
	else if (need == HAS_STAT)
		*value = !known			     ? INT32_MIN
			 : kind == TRAIL_CONTEXT_PRIO ? is->prio
						      : is->nice;
	else if (need == HAS_PARENT)
		*value = known ? is->vppid : -1;
	else if (kind == TRAIL_CONTEXT_VPID || kind == TRAIL_CONTEXT_VTID)
		*value = !known ? -1 : kind == TRAIL_CONTEXT_VPID ? is->vpid : is->vtid;
	else
		*value = known ? is->ids[kind - TRAIL_CONTEXT_UID] : UINT32_MAX;
	return known && ((need != HAS_STATUS && need != HAS_PARENT) || *value != -1);
}
