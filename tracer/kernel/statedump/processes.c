/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of the kernel's state dump. All files are read below an open directory /proc/PID:
 * if another process gets the number meanwhile, reading fails, and the two cannot be mixed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/kernel/statedump/internal.h"
#include "tracer/kernel/task/task.h"

enum { LEVELS = 33 };           /* of nested namespaces; the kernel has 32 */

/* LTTng's enumerations. */
enum { USER_THREAD = 0, KERNEL_THREAD = 1 };
enum { MODE_UNKNOWN = 5 };
enum { SUBMODE_UNKNOWN = 1 };
enum { UNNAMED = 0, WAIT_CPU = 2, ZOMBIE = 4, WAIT = 5, DEAD = 7 };

struct thread {
	int32_t tid, pid, ppid;
	char comm[16];
	bool is_kernel;
	int status;
	uint64_t cpu;
	uint64_t uid, gid;
	int levels;             /* of pid namespaces, from the daemon's inwards */
	int32_t vtid[LEVELS], vpid[LEVELS];
};

static int convert_state(char state)
{
	switch (state) {
	case 'R':
		return WAIT_CPU;        /* includes running ones; LTTng has no other value */
	case 'S': case 'D': case 'I':
		return WAIT;
	case 'Z':
		return ZOMBIE;
	case 'X': case 'x':
		return DEAD;
	default:
		return UNNAMED;
	}
}

/* Parses `TID (COMM) S PPID … FLAGS … CPU`; COMM may have any bytes, and the last ')' ends it. */
static bool parse_stat(struct thread *t, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), state;
	unsigned long flags;
	unsigned int cpu;

	if (!open || !close || close < open ||
	    sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u "
		   "%*u %*d %*u %*u %*u %*u %*u "
		   "%*u %*u %*u %*u %*u %*u %*u %*u %*d %u",
		   &state, &t->ppid, &flags, &cpu) != 4)
		return false;
	*close = '\0';
	t->tid = atoi(text);
	snprintf(t->comm, sizeof(t->comm), "%.15s", open + 1);
	t->is_kernel = flags & 0x00200000;      /* PF_KTHREAD */
	t->status = convert_state(state);
	t->cpu = cpu;
	return true;
}

/* Reads at most max numbers of a line `KEY:\tN\tN…`. */
static int parse_numbers(const char *text, const char *key, int32_t *out, int max)
{
	const char *p = strstr(text, key);
	char *end;
	int n = 0;

	if (!p)
		return 0;
	for (p += strlen(key); n < max; p = end, n++) {
		p += strspn(p, "\t ");
		if (*p < '0' || *p > '9')
			break;
		out[n] = (int32_t)strtoul(p, &end, 10);
	}
	return n;
}

static bool parse_status(struct thread *t, const char *text)
{
	int32_t ids[4];
	int levels = parse_numbers(text, "\nNSpid:", t->vtid, LEVELS);

	if (parse_numbers(text, "\nTgid:", &t->pid, 1) != 1)
		return false;
	if (parse_numbers(text, "\nNStgid:", t->vpid, LEVELS) != levels || !levels) {
		levels = 1;             /* a kernel without pid namespaces */
		t->vtid[0] = t->tid;
		t->vpid[0] = t->pid;
	}
	t->levels = levels;
	t->uid = parse_numbers(text, "\nUid:", ids, 1) ? (uint32_t)ids[0] : 0;
	t->gid = parse_numbers(text, "\nGid:", ids, 1) ? (uint32_t)ids[0] : 0;
	return true;
}

/* dir is /proc/PID/task/TID or /proc/PID. False: the thread has ended. */
static bool read_thread(struct thread *t, int dir)
{
	char text[8192];

	memset(t, 0, sizeof(*t));
	return kdump_read(dir, "stat", text, sizeof(text)) > 0 && parse_stat(t, text) &&
	       kdump_read(dir, "status", text, sizeof(text)) > 0 && parse_status(t, text);
}

/* The number in `net:[4026531840]`; 0: not readable. */
static uint64_t read_ns(int dir, const char *path)
{
	char text[64], *open;
	ssize_t n = readlinkat(dir, path, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	open = strchr(text, '[');
	return open ? strtoull(open + 1, NULL, 10) : 0;
}

/* The numbers of a namespace and of those around it, innermost first, up to the daemon's own. */
static int read_ns_chain(int dir, const char *path, uint64_t numbers[LEVELS])
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), n = 0, next;
	struct stat st;

	while (fd >= 0 && n < LEVELS && !fstat(fd, &st)) {
		numbers[n++] = st.st_ino;
		next = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = next;
	}
	if (fd >= 0)
		close(fd);
	return n;
}

static int emit_pid_ns(struct kdump_sink *sink, int dir, const struct thread *t,
		  const struct thread *parent)
{
	uint64_t numbers[LEVELS];
	int n, ret = 0;

	/* Nearly all processes are in the daemon's namespace, which need not be opened. */
	if (t->levels == 1) {
		numbers[0] = read_ns(dir, "ns/pid");
		n = numbers[0] != 0;
	} else {
		n = read_ns_chain(dir, "ns/pid", numbers);
	}
	for (int i = 0; i < n && i < t->levels && !ret; i++) {
		int level = t->levels - 1 - i;
		int32_t vppid = level < parent->levels ? parent->vpid[level] : 0;

		ret = kdump_emit(sink, KDUMP_PROCESS_PID_NS, t->tid, (uint64_t)t->tid,
				 (uint64_t)t->vtid[level], (uint64_t)t->vpid[level],
				 (uint64_t)vppid, (uint64_t)level, numbers[i]);
	}
	return ret;
}

/* Translates an id into the process's user namespace; the map has lines `inside outside count`. */
static uint64_t map_id(int dir, const char *file, uint64_t id)
{
	char text[4096], *line, *save = NULL;
	unsigned long inside, outside, count;

	if (kdump_read(dir, file, text, sizeof(text)) <= 0)
		return 65534;           /* the kernel's overflow id */
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && id >= outside &&
		    id - outside < count)
			return inside + (id - outside);
	return 65534;
}

static int emit_user_ns(struct kdump_sink *sink, int dir, const struct thread *t, uint64_t own)
{
	uint64_t number = read_ns(dir, "ns/user"), numbers[LEVELS];
	int n, ret;

	if (!number)
		return 0;
	if (number == own)
		return kdump_emit(sink, KDUMP_PROCESS_USER_NS, t->tid, (uint64_t)t->tid, t->uid,
				  t->gid, (uint64_t)0, number);
	n = read_ns_chain(dir, "ns/user", numbers);
	ret = kdump_emit(sink, KDUMP_PROCESS_USER_NS, t->tid, (uint64_t)t->tid,
			 map_id(dir, "uid_map", t->uid), map_id(dir, "gid_map", t->gid),
			 (uint64_t)(n ? n - 1 : 1), number);
	if (!ret && n > 1 && numbers[n - 1] == own)
		ret = kdump_emit(sink, KDUMP_PROCESS_USER_NS, t->tid, (uint64_t)t->tid, t->uid,
				 t->gid, (uint64_t)0, own);
	return ret;
}

static int emit_other_ns(struct kdump_sink *sink, int dir, const struct thread *t)
{
	static const struct {
		const char *path;
		enum kdump_type type;
	} kinds[] = {
		{ "ns/cgroup", KDUMP_PROCESS_CGROUP_NS }, { "ns/ipc", KDUMP_PROCESS_IPC_NS },
		{ "ns/mnt", KDUMP_PROCESS_MNT_NS }, { "ns/net", KDUMP_PROCESS_NET_NS },
		{ "ns/time", KDUMP_PROCESS_TIME_NS }, { "ns/uts", KDUMP_PROCESS_UTS_NS },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !ret; i++) {
		uint64_t number = read_ns(dir, kinds[i].path);

		if (number)
			ret = kdump_emit(sink, kinds[i].type, t->tid, (uint64_t)t->tid, number);
	}
	return ret;
}

struct walk {
	struct kdump_sink *sink;
	uint64_t own_user_ns;
	struct kdump_files *files;
	struct thread parent;           /* of the current process */
	struct tasks tasks;             /* where /proc has other numbers than records, else empty */
};

static int emit_thread(struct walk *w, int dir)
{
	struct thread t;
	int ret;

	if (!read_thread(&t, dir))
		return 0;
	t.tid = tasks_translate(&w->tasks, t.tid);
	t.pid = tasks_translate(&w->tasks, t.pid);
	t.ppid = tasks_translate(&w->tasks, t.ppid);
	ret = kdump_emit(w->sink, KDUMP_PROCESS_STATE, t.tid, (uint64_t)t.tid, (uint64_t)t.pid,
			 (uint64_t)t.ppid, t.comm,
			 (uint64_t)(t.is_kernel ? KERNEL_THREAD : USER_THREAD),
			 (uint64_t)MODE_UNKNOWN, (uint64_t)SUBMODE_UNKNOWN, (uint64_t)t.status,
			 t.cpu, t.is_kernel ? (uint64_t)0 : (uint64_t)t.pid);
	if (!ret)
		ret = emit_pid_ns(w->sink, dir, &t, &w->parent);
	if (!ret)
		ret = emit_user_ns(w->sink, dir, &t, w->own_user_ns);
	return ret ? ret : emit_other_ns(w->sink, dir, &t);
}

/* Calls each for every numeric entry of a directory. */
static int visit_numbers(int dir, const char *path, int (*each)(void *, int dir, long number),
		       void *arg)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!ret && (e = readdir(d)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			ret = each(arg, dirfd(d), strtol(e->d_name, NULL, 10));
	closedir(d);
	return ret;
}

static int open_number(int dir, long number)
{
	char name[24];

	snprintf(name, sizeof(name), "%ld", number);
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int visit_task(void *arg, int tasks, long tid)
{
	int dir = open_number(tasks, tid), ret;

	if (dir < 0)
		return 0;
	ret = emit_thread(arg, dir);
	close(dir);
	return ret;
}

struct files {
	struct kdump_sink *sink;
	int process;            /* /proc/PID */
	int32_t pid;
};

static int visit_descriptor(void *arg, int fds, long number)
{
	struct files *f = arg;
	char path[64], text[1024], target[4096];
	unsigned int flags = 0;
	ssize_t n;
	char *p;

	snprintf(path, sizeof(path), "%ld", number);
	n = readlinkat(fds, path, target, sizeof(target) - 1);
	snprintf(path, sizeof(path), "fdinfo/%ld", number);
	if (n < 0 || kdump_read(f->process, path, text, sizeof(text)) <= 0)
		return 0;
	target[n] = '\0';
	p = strstr(text, "flags:");
	if (p)
		/* O_CLOEXEC is a flag of the descriptor, not of the file. */
		flags = (unsigned int)strtoul(p + 6, NULL, 8) & ~(unsigned int)O_CLOEXEC;
	return kdump_emit(f->sink, KDUMP_FILE_DESCRIPTOR, f->pid, (uint64_t)f->pid,
			  (uint64_t)number, (uint64_t)flags, (uint64_t)((flags + 1) & 3), target);
}

static int visit_process(void *arg, int proc, long pid)
{
	struct walk *w = arg;
	struct files files = { .sink = w->sink,
			       .pid = tasks_translate(&w->tasks, (int32_t)pid) };
	struct thread self;
	int parent, ret;

	files.process = open_number(proc, pid);
	if (files.process < 0)
		return 0;
	w->parent.levels = 0;
	if (read_thread(&self, files.process) && self.ppid > 0) {
		parent = open_number(proc, self.ppid);
		if (parent >= 0) {
			if (!read_thread(&w->parent, parent))
				w->parent.levels = 0;
			close(parent);
		}
	}
	ret = visit_numbers(files.process, "task", visit_task, w);
	if (!ret)
		ret = visit_numbers(files.process, "fd", visit_descriptor, &files);
	if (!ret)
		ret = kdump_mappings(w->sink, w->files, files.process, files.pid);
	close(files.process);
	return ret;
}

int kdump_processes(struct kdump_sink *sink)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	struct walk *w;

	if (proc < 0)
		return -errno;
	w = calloc(1, sizeof(*w));
	if (w)
		w->files = kdump_files_create();
	if (!w || !w->files) {
		free(w);
		close(proc);
		return -ENOMEM;
	}
	w->sink = sink;
	w->own_user_ns = read_ns(proc, "self/ns/user");
	/* Without the numbers that records have, the events would be about other processes. */
	ret = tasks_global() ? 0 : tasks_read(&w->tasks, NULL);
	if (!ret)
		ret = visit_numbers(proc, ".", visit_process, w);
	else if (ret == -EOPNOTSUPP)
		ret = 0;
	tasks_deinit(&w->tasks);
	kdump_files_free(w->files);
	free(w);
	close(proc);
	return ret;
}
