// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/thread_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/kernel/task/task.h"

#define BUCKETS 8192u           /* a power of two */
#define STATES_MAX 16u          /* of one thread id: names and lives */
#define ENDED_MAX 16384u        /* most ended threads that are remembered */
#define ENTRIES_MAX 262144u     /* with more threads, the table is emptied */

struct state {                  /* holds until the next state begins */
	uint64_t from;
	struct kthread is;
	bool guess;             /* from /proc, of an unknown time */
	bool orphan;            /* /proc was asked since the parent ended */
};

struct entry {                  /* all states of one thread id */
	struct entry *next;
	int32_t tid;
	uint32_t epoch;
	uint64_t ended;         /* when the last life ended; 0: it has not */
	uint32_t count;         /* at least 1 */
	struct state *states;   /* ordered by time */
};

struct kthreads {
	struct entry *buckets[BUCKETS];
	uint32_t count;
	enum kthreads_source source;
	struct tasks list;      /* of KTHREADS_LIST, sorted by tid */
	uint32_t listed;        /* its epoch, from 1; 0: not read yet */
	uint32_t epoch;         /* grows when records were lost … */
	uint64_t missed;        /* … since this time */
	struct {
		int32_t tid;
		uint64_t time;
	} ended[ENDED_MAX];     /* a ring, oldest first at next_ended */
	uint32_t next_ended;
};

struct kthreads *kthreads_create(enum kthreads_source source)
{
	struct kthreads *k = calloc(1, sizeof(*k));

	if (k) {
		k->source = source;
		k->epoch = 1;
	}
	return k;
}

static struct entry **find_slot(struct kthreads *k, int32_t tid)
{
	struct entry **e = &k->buckets[(uint32_t)tid & (BUCKETS - 1)];

	while (*e && (*e)->tid != tid)
		e = &(*e)->next;
	return e;
}

static void remove_entry(struct kthreads *k, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	free(e->states);
	free(e);
	k->count--;
}

static void remove_entries(struct kthreads *k)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (k->buckets[i])
			remove_entry(k, &k->buckets[i]);
}

void kthreads_destroy(struct kthreads *k)
{
	if (!k)
		return;
	remove_entries(k);
	tasks_deinit(&k->list);
	free(k);
}

/* ---- /proc ---- */

static const struct kthread unknown = { .pid = -1, .ppid = -1 };

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static void set_comm(struct kthread *t, const char *comm)
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

/* Sets process and parent, by the numbers of /proc. False: the thread does not exist. */
static bool read_status(int32_t number, struct kthread *t)
{
	char path[48], text[1024], *pid, *ppid;

	snprintf(path, sizeof(path), "/proc/%d/status", number);
	if (read_file(path, text, sizeof(text)) <= 0 || !(pid = strstr(text, "\nTgid:")) ||
	    !(ppid = strstr(text, "\nPPid:")))
		return false;
	t->pid = (int32_t)strtol(pid + 6, NULL, 10);
	t->ppid = (int32_t)strtol(ppid + 6, NULL, 10);
	return true;
}

/* What /proc says about a thread; pid -1 if it does not exist. */
static struct kthread read_proc(int32_t tid)
{
	struct kthread t = unknown;
	char path[48], text[64];

	if (!read_status(tid, &t))
		return t;
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	if (read_file(path, text, sizeof(text)) > 0) {
		text[strlen(text) - 1] = '\0';  /* the newline */
		strip_worker(text);
		set_comm(&t, text);
	}
	return t;
}

/* ---- the list ---- */

static int compare_tids(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Reads it, unless no record was lost since it was read. What fails stays unknown. */
static int refresh_list(struct kthreads *k, struct tr_err *err)
{
	int ret = 0;

	if (k->listed == k->epoch)
		return 0;
	tasks_deinit(&k->list);
	ret = tasks_read(&k->list, err);
	if (!ret)
		qsort(k->list.items, k->list.count, sizeof(*k->list.items), compare_tids);
	k->listed = k->epoch;
	return ret;
}

static struct kthread find_listed(struct kthreads *k, int32_t tid)
{
	struct task key = { .tid = tid };
	struct kthread t = unknown;
	const struct task *found;

	refresh_list(k, NULL);
	found = k->list.count ? bsearch(&key, k->list.items, k->list.count, sizeof(key),
					compare_tids) : NULL;
	if (found) {
		if (read_status(found->number, &t))
			t.ppid = tasks_translate(&k->list, t.ppid);
		t.pid = found->pid;
		set_comm(&t, found->comm);
	}
	return t;
}

int32_t kthreads_number(struct kthreads *k, int32_t tid)
{
	struct task key = { .tid = tid };
	const struct task *found;

	if (k->source != KTHREADS_LIST)
		return k->source == KTHREADS_PROC ? tid : 0;
	refresh_list(k, NULL);
	found = k->list.count ? bsearch(&key, k->list.items, k->list.count, sizeof(key),
					compare_tids) : NULL;
	return found ? found->number : 0;
}

/* What is known about a thread now; pid -1 if it does not exist. */
static struct kthread ask(struct kthreads *k, int32_t tid)
{
	return k->source == KTHREADS_PROC   ? read_proc(tid)
	       : k->source == KTHREADS_LIST ? find_listed(k, tid)
					    : unknown;
}

/* ---- entries ---- */

static struct state *last_of(struct entry *e)
{
	return &e->states[e->count - 1];
}

static bool append_state(struct entry *e, uint64_t from, const struct kthread *is, bool guess)
{
	if (e->count == STATES_MAX) {
		memmove(e->states, e->states + 1, (STATES_MAX - 1) * sizeof(*e->states));
		e->count--;
	} else {
		if (!array_room(e->states, e->count + 1))
			return false;
	}
	/* Events of two reads may be out of order by the time that a commit takes. */
	if (e->count && from < last_of(e)->from)
		from = last_of(e)->from;
	e->states[e->count++] = (struct state){ .from = from, .is = *is, .guess = guess };
	return true;
}

/*
 * Finds the entry, or makes it with what is known of the thread since the beginning. NULL: no
 * memory.
 */
static struct entry *get_entry(struct kthreads *k, int32_t tid, const struct kthread *known)
{
	struct entry **at = find_slot(k, tid), *e = *at;

	if (e)
		return e;
	if (k->count == ENTRIES_MAX) {
		remove_entries(k);
		at = find_slot(k, tid);
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->tid = tid;
	e->epoch = k->epoch;
	if (!append_state(e, 0, known, true)) {
		free(e);
		return NULL;
	}
	*at = e;
	k->count++;
	return e;
}

static struct entry *find_or_ask(struct kthreads *k, int32_t tid)
{
	struct entry *e = *find_slot(k, tid);
	struct kthread is;

	if (e && e->epoch == k->epoch)
		return e;
	is = ask(k, tid);
	if (!e)
		return get_entry(k, tid, &is);
	/*
	 * Records were lost: check whether the thread is still the same. If it has ended, assume
	 * that it was the same until its end.
	 */
	if (is.pid >= 0 && memcmp(&is, &last_of(e)->is, sizeof(is)) != 0)
		append_state(e, k->missed, &is, true);
	e->epoch = k->epoch;
	return e;
}

static void scan_proc(struct kthreads *k)
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
				find_or_ask(k, (int32_t)strtol(d->d_name, NULL, 10));
		if (tasks)
			closedir(tasks);
	}
	if (proc)
		closedir(proc);
}

int kthreads_scan(struct kthreads *k, struct tr_err *err)
{
	int ret = 0;

	if (k->source == KTHREADS_PROC)
		scan_proc(k);
	if (k->source == KTHREADS_LIST) {
		k->listed = 0;
		ret = refresh_list(k, err);
		for (size_t i = 0; i < k->list.count; i++)
			find_or_ask(k, k->list.items[i].tid);
	}
	return ret;
}

/* ---- records of the kernel ---- */

void kthreads_born(struct kthreads *k, uint64_t time, int32_t tid, int32_t maker, uint64_t flags,
		   const char *comm)
{
	struct kthread is;
	struct entry *e;

	kthreads_at(k, time, maker, &is);
	/* The parent may have ended; the child exists. */
	if (is.pid < 0)
		is = ask(k, tid);
	else if (!(flags & (CLONE_THREAD | CLONE_PARENT)))
		is.ppid = is.pid;
	if (!(flags & CLONE_THREAD))
		is.pid = tid;
	set_comm(&is, comm);
	e = get_entry(k, tid, &unknown);
	if (!e)
		return;
	/* An earlier question to /proc meant this life of the id. */
	if (last_of(e)->guess)
		last_of(e)->is = unknown;
	e->ended = 0;
	e->epoch = k->epoch;
	append_state(e, time, &is, false);
}

void kthreads_renamed(struct kthreads *k, uint64_t time, int32_t tid, const char *before,
		      const char *after)
{
	struct entry *e = find_or_ask(k, tid);
	struct kthread is;

	if (!e)
		return;
	if (last_of(e)->guess)
		set_comm(&last_of(e)->is, before);
	last_of(e)->guess = false;
	is = last_of(e)->is;
	set_comm(&is, after);
	append_state(e, time, &is, false);
}

void kthreads_ended(struct kthreads *k, uint64_t time, int32_t tid, const char *comm)
{
	struct entry *e = find_or_ask(k, tid), **old;
	uint32_t i = k->next_ended;

	if (!e)
		return;
	if (last_of(e)->guess)
		set_comm(&last_of(e)->is, comm);
	last_of(e)->guess = false;
	e->ended = time;
	old = find_slot(k, k->ended[i].tid);
	if (k->ended[i].time && *old && (*old)->ended == k->ended[i].time)
		remove_entry(k, old);
	k->ended[i].tid = tid;
	k->ended[i].time = time;
	k->next_ended = (i + 1) % ENDED_MAX;
}

void kthreads_missed(struct kthreads *k, uint64_t since)
{
	k->epoch++;
	k->missed = since;
}

/*
 * The state of a process whose parent has ended: another one if /proc has another parent now. It is
 * the last one of e.
 */
static const struct kthread *find_orphan(struct kthreads *k, struct entry *e, uint64_t time)
{
	struct entry *parent = *find_slot(k, last_of(e)->is.ppid);
	struct kthread is = last_of(e)->is, now;

	if (last_of(e)->orphan || is.ppid <= 0 || !parent || !parent->ended ||
	    parent->ended > time)
		return &last_of(e)->is;
	now = ask(k, e->tid);
	if (now.pid == is.pid && now.ppid != is.ppid) {
		is.ppid = now.ppid;
		append_state(e, parent->ended, &is, last_of(e)->guess);
	}
	last_of(e)->orphan = true;
	return &last_of(e)->is;
}

void kthreads_at(struct kthreads *k, uint64_t time, int32_t tid, struct kthread *out)
{
	struct entry *e = tid ? find_or_ask(k, tid) : NULL;
	uint32_t i;

	*out = tid ? unknown : (struct kthread){ 0 };
	if (!e)
		return;
	for (i = e->count; i-- && e->states[i].from > time;)
		;
	if (i < e->count)
		*out = i == e->count - 1 ? *find_orphan(k, e, time) : e->states[i].is;
}
