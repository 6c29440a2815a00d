// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/task/thread_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/kernel/task/thread_table.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80              /* Linux 5.6 */
#endif

#define STATUS_SIZE 4096u       /* bytes of /proc/PID/status that are read */
#define IDS_MAX 33u             /* PID namespaces are nested 32 times at most */

static const struct { const char *name; uint32_t flag; } namespaces[KSTATUS_NS] = {
	{ "cgroup", CLONE_NEWCGROUP }, { "ipc", CLONE_NEWIPC }, { "mnt", CLONE_NEWNS },
	{ "net", CLONE_NEWNET }, { "pid", CLONE_NEWPID }, { "time", CLONE_NEWTIME },
	{ "user", CLONE_NEWUSER }, { "uts", CLONE_NEWUTS },
};

uint32_t kstatus_need(uint32_t kind)
{
	if (kind >= TRAIL_CONTEXT_CGROUP_NS && kind < TRAIL_CONTEXT_CGROUP_NS + KSTATUS_NS)
		return KSTATUS_NAMESPACE << (kind - TRAIL_CONTEXT_CGROUP_NS);
	if (kind == TRAIL_CONTEXT_UID || kind == TRAIL_CONTEXT_GID)
		return KSTATUS_IDS;
	if (kind > TRAIL_CONTEXT_UID && kind <= TRAIL_CONTEXT_SGID)
		return KSTATUS_IDS | KSTATUS_SAVED;
	return kind == TRAIL_CONTEXT_VPID || kind == TRAIL_CONTEXT_VTID	  ? KSTATUS_IDS
	       : kind == TRAIL_CONTEXT_VPPID				  ? KSTATUS_PARENT
	       : kind == TRAIL_CONTEXT_PRIO || kind == TRAIL_CONTEXT_NICE ? KSTATUS_PRIO
									  : 0;
}

uint32_t kstatus_missing(const struct kstatus *is, uint32_t need)
{
	uint32_t missing = need & ~is->have;

	if (is->have & KSTATUS_IDS &&
	    (is->vpid == -1 || is->vtid == -1 || is->ids[0] == UINT32_MAX ||
	     is->ids[3] == UINT32_MAX))
		missing |= KSTATUS_IDS;
	if (is->have & KSTATUS_PARENT && is->vppid == -1)
		missing |= KSTATUS_PARENT;
	for (int i = 0; i < 6; i++)
		if (is->have & KSTATUS_SAVED && is->ids[i] == UINT32_MAX)
			missing |= KSTATUS_SAVED;
	return missing & need;
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

/*
 * The parent in the thread's PID namespace, as getppid(2) has it. The parent's namespace is the
 * thread's or one around it: it has an id at the thread's level, or none, which is 0.
 */
static void read_parent(const char *text, struct kstatus *is)
{
	char of_parent[STATUS_SIZE];
	int32_t ids[IDS_MAX], parent;
	size_t level = read_ids(text, "\nNStgid:", ids);

	if (!level || !read_ids(text, "\nPPid:", ids))
		return;
	parent = ids[0];
	/* A parent that ends here has another as its heir: the value is unknown now. */
	if (parent && level > 1) {
		if (!read_text(parent, "status", of_parent, sizeof(of_parent)) ||
		    !read_ids(of_parent, "\nNStgid:", ids))
			return;
		parent = read_ids(of_parent, "\nNStgid:", ids) < level ? 0 : ids[level - 1];
	}
	is->vppid = parent;
	is->have |= KSTATUS_PARENT;
}

/* 0: it is unknown, or the kernel has no such namespaces. */
static uint32_t read_inode(const char *thread, const char *name)
{
	char path[64], link[64], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", thread, name);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	p = strchr(link, '[');
	return p ? (uint32_t)strtoul(p + 1, NULL, 10) : 0;
}

/* What the thread's calls and children need: see struct kstatus. */
static void read_future(const char *thread, struct kstatus *is)
{
	uint32_t user = read_inode(thread, "user"), time = read_inode(thread, "time");

	is->mapped = user != read_inode("self", "user");
	/* The PID namespace of children cannot be read before it has its first process. */
	is->later = read_inode(thread, "pid") != read_inode(thread, "pid_for_children")
			    ? CLONE_NEWPID : 0;
	if (time && time != read_inode(thread, "time_for_children"))
		is->later |= CLONE_NEWTIME;
}

static void read_status(int32_t number, const char *thread, uint32_t need, struct kstatus *is)
{
	char text[STATUS_SIZE];

	if (!read_text(number, "status", text, sizeof(text)))
		return;
	/*
	 * A thread that ends meanwhile has the number 0 there. The kernel takes the parent before
	 * it takes this number.
	 */
	if (!read_last(text, "\nNStgid:", &is->vpid) || !read_last(text, "\nNSpid:", &is->vtid) ||
	    !is->vpid || !is->vtid)
		return;
	if (need & KSTATUS_PARENT)
		read_parent(text, is);
	if (!read_three(text, "\nUid:", is->ids) || !read_three(text, "\nGid:", is->ids + 3))
		return;
	read_future(thread, is);
	is->have |= KSTATUS_IDS | KSTATUS_SAVED;
}

/* Fields 18 and 19 of `stat`; the name before them may have any characters. */
static void read_stat(int32_t number, struct kstatus *is)
{
	char text[1024], *p;

	if (read_text(number, "stat", text, sizeof(text)) && (p = strrchr(text, ')')) &&
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d %d",
		   &is->prio, &is->nice) == 2)
		is->have |= KSTATUS_PRIO;
}

void kstatus_read(int32_t number, uint32_t need, struct kstatus *out)
{
	char thread[16];

	*out = (struct kstatus){ 0 };
	if (number <= 0)
		return;
	snprintf(thread, sizeof(thread), "%d", number);
	if (need & (KSTATUS_IDS | KSTATUS_SAVED | KSTATUS_PARENT))
		read_status(number, thread, need, out);
	if (need & KSTATUS_PRIO)
		read_stat(number, out);
	for (unsigned int i = 0; i < KSTATUS_NS; i++)
		if (need & KSTATUS_NAMESPACE << i &&
		    (out->ns[i] = read_inode(thread, namespaces[i].name)))
			out->have |= KSTATUS_NAMESPACE << i;
}

void kstatus_merge(struct kstatus *is, const struct kstatus *now)
{
	if (now->have & KSTATUS_IDS) {
		is->vpid = now->vpid;
		is->vtid = now->vtid;
		memcpy(is->ids, now->ids, sizeof(is->ids));
		is->later = now->later;
		is->mapped = now->mapped;
	}
	if (now->have & KSTATUS_PARENT)
		is->vppid = now->vppid;
	if (now->have & KSTATUS_PRIO) {
		is->prio = now->prio;
		is->nice = now->nice;
	}
	for (unsigned int i = 0; i < KSTATUS_NS; i++)
		if (now->have & KSTATUS_NAMESPACE << i)
			is->ns[i] = now->ns[i];
	is->have |= now->have;
}

/* ---- what follows from records ---- */

/* The thread may be in other namespaces of these kinds now. flags: of clone(2). */
static void forget_namespaces(struct kstatus *is, uint64_t flags)
{
	for (unsigned int i = 0; i < KSTATUS_NS; i++)
		if (flags & namespaces[i].flag)
			is->have &= ~((uint32_t)KSTATUS_NAMESPACE << i);
	if (flags & CLONE_NEWUSER)
		is->mapped = true;
}

void kstatus_inherit(struct kstatus *is, int32_t tid, int32_t maker, uint64_t flags)
{
	bool apart = (flags & CLONE_NEWPID) || (is->later & CLONE_NEWPID);

	if (!(is->have & KSTATUS_IDS)) {
		/* Where its children begin is unknown, too. */
		is->have = 0;
		return;
	}
	/* Else it has its maker's parent. */
	if (apart || !(flags & (CLONE_THREAD | CLONE_PARENT))) {
		is->vppid = apart ? 0 : is->vpid;
		is->have |= KSTATUS_PARENT;
	}
	/* Its ids differ, unless no namespace is in between. */
	if (is->vtid != maker || apart)
		is->vpid = is->vtid = -1;
	else
		is->vtid = tid;
	if (is->vtid >= 0 && !(flags & CLONE_THREAD))
		is->vpid = tid;
	forget_namespaces(is, flags | is->later);
	/* A child in the same memory may stay in its maker's time namespace. */
	is->later &= flags & CLONE_VM ? CLONE_NEWTIME : 0;
}

/*
 * setuid(2): the effective user is u. With the capability, the other two are as well; without it,
 * u was one of them. Both is so if u is none of the others.
 */
static void set_one(uint32_t ids[3], uint32_t u)
{
	uint32_t real = ids[0], saved = ids[2];

	ids[1] = u;
	if (saved == UINT32_MAX || saved == u)
		ids[0] = real == u ? u : UINT32_MAX;
	else
		ids[0] = u;
	if (real == UINT32_MAX || real == u)
		ids[2] = saved == u ? u : UINT32_MAX;
	else
		ids[2] = u;
}

static void set_ids(uint32_t ids[3], const struct kstatus_call *call)
{
	uint32_t old = ids[0];

	if (call->count == 1) {
		set_one(ids, call->values[0]);
		return;
	}
	for (uint32_t i = 0; i < call->count; i++)
		if (call->values[i] != UINT32_MAX)
			ids[i] = call->values[i];
	if (call->count != 2)
		return;
	if (call->values[0] != UINT32_MAX)
		ids[2] = ids[1];
	else if (call->values[1] != UINT32_MAX && call->values[1] != old && ids[2] != ids[1])
		ids[2] = old == UINT32_MAX ? UINT32_MAX : ids[1];
}

/* A program with the set-uid or set-gid mode changes the effective and saved ones. */
static void run_program(struct kstatus *is)
{
	is->ids[1] = is->ids[2] = is->ids[4] = is->ids[5] = UINT32_MAX;
	forget_namespaces(is, is->later & CLONE_NEWTIME);
	is->later &= CLONE_NEWPID;
}

void kstatus_called(struct kstatus *is, const struct kstatus_call *call)
{
	static const uint32_t others[3] = { UINT32_MAX, UINT32_MAX, UINT32_MAX };
	uint32_t *ids = is->ids + (call->kind == KSTATUS_GROUPS ? 3 : 0);
	uint64_t flags = call->values[0];

	switch (call->kind) {
	case KSTATUS_EXEC:
		run_program(is);
		return;
	case KSTATUS_SETNS:
		if (!flags)
			flags = CLONE_NEWPID | CLONE_NEWTIME | CLONE_NEWCGROUP | CLONE_NEWIPC |
				CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUSER | CLONE_NEWUTS;
		is->later |= flags & CLONE_NEWPID;
		forget_namespaces(is, flags & ~(uint64_t)CLONE_NEWPID);
		return;
	case KSTATUS_UNSHARE:
		is->later |= flags & (CLONE_NEWPID | CLONE_NEWTIME);
		forget_namespaces(is, flags & ~(uint64_t)(CLONE_NEWPID | CLONE_NEWTIME));
		return;
	case KSTATUS_USERS:
	case KSTATUS_GROUPS:
		if (is->mapped)
			memcpy(ids, others, sizeof(others));
		else
			set_ids(ids, call);
	}
}

bool kstatus_value(const struct kstatus *is, uint32_t kind, int64_t *value)
{
	uint32_t need = kstatus_need(kind);
	bool known = need && (is->have & need) == need;

	if (need >= KSTATUS_NAMESPACE)
		*value = known ? is->ns[kind - TRAIL_CONTEXT_CGROUP_NS] : 0;
	else if (need == KSTATUS_PRIO)
		*value = !known			     ? INT32_MIN
			 : kind == TRAIL_CONTEXT_PRIO ? is->prio
						      : is->nice;
	else if (need == KSTATUS_PARENT)
		*value = known ? is->vppid : -1;
	else if (kind == TRAIL_CONTEXT_VPID || kind == TRAIL_CONTEXT_VTID)
		*value = !known ? -1 : kind == TRAIL_CONTEXT_VPID ? is->vpid : is->vtid;
	else {
		*value = known ? is->ids[kind - TRAIL_CONTEXT_UID] : UINT32_MAX;
		return known && *value != UINT32_MAX;
	}
	return known && (need == KSTATUS_PRIO || *value != -1);
}

/* ---- process, parent and name, for the table of threads ---- */

void kthread_set_comm(struct kthread *t, const char *comm)
{
	size_t n = strnlen(comm, KTHREAD_COMM - 1);

	memset(t->comm, 0, sizeof(t->comm));
	memcpy(t->comm, comm, n);
}

/*
 * /proc appends a worker's current work to its name, as in kworker/0:2H-kblockd; the task's own
 * name lacks that.
 */
static void strip_worker(char *comm)
{
	if (!strncmp(comm, "kworker/", 8) && strncmp(comm, "kworker/R-", 10) != 0)
		comm[strcspn(comm, "+-")] = '\0';
}

bool kthread_read_ids(int32_t number, struct kthread *t)
{
	char text[1024], *pid, *ppid;

	if (!read_text(number, "status", text, sizeof(text)) || !(pid = strstr(text, "\nTgid:")) ||
	    !(ppid = strstr(text, "\nPPid:")))
		return false;
	t->pid = (int32_t)strtol(pid + 6, NULL, 10);
	t->ppid = (int32_t)strtol(ppid + 6, NULL, 10);
	/* 0: it ended meanwhile. */
	return t->pid > 0;
}

struct kthread kthread_read(int32_t tid)
{
	struct kthread t = { .pid = -1, .ppid = -1 };
	char text[64];

	if (!kthread_read_ids(tid, &t))
		return (struct kthread){ .pid = -1, .ppid = -1 };
	if (read_text(tid, "comm", text, sizeof(text))) {
		text[strlen(text) - 1] = '\0';  /* the newline */
		strip_worker(text);
		kthread_set_comm(&t, text);
	}
	return t;
}

void kthread_each(void (*fn)(void *arg, int32_t tid), void *arg)
{
	DIR *proc = opendir("/proc"), *tasks;
	struct dirent *d;
	char path[48];

	while (proc && (d = readdir(proc))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.12s/task", d->d_name);
		tasks = opendir(path);
		while (tasks && (d = readdir(tasks)))
			if (d->d_name[0] != '.')
				fn(arg, (int32_t)strtol(d->d_name, NULL, 10));
		if (tasks)
			closedir(tasks);
	}
	if (proc)
		closedir(proc);
}
