// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/task/thread_table.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/task/task.h"

#define BUCKETS 8192u           /* a power of two */
#define STATES_MAX 256u         /* of one thread id: names, changes of a status and lives */
#define ENDED_MAX 16384u        /* most ended threads that are remembered */
#define ENTRIES_MAX 262144u     /* with more threads, the table is emptied */

struct state {                  /* holds until the next state begins */
	uint64_t from;
	struct kthread is;
	bool guess;             /* from /proc, of an unknown time */
	bool orphan;            /* /proc was asked since the parent ended */
	uint32_t tried;         /* parts of the status for which /proc was asked */
	uint32_t turn;          /* when KSTATUS_PRIO was asked for last */
};

struct entry {                  /* all states of one thread id */
	struct entry *next;
	int32_t tid;
	uint32_t epoch;
	uint64_t ended;         /* when the last life ended; 0: it has not */
	uint64_t version;       /* kthreads.version at its last change */
	bool calling;           /* `call` has not returned */
	struct kstatus_call call;
	uint32_t count;         /* at least 1 */
	struct state *states;   /* ordered by time */
};

struct kthreads {
	struct entry *buckets[BUCKETS];
	uint32_t count;
	enum kthreads_source source;
	struct tasks list;      /* of KTHREADS_LIST, sorted by tid */
	uint32_t listed;        /* its epoch, from 1; 0: not read yet */
	uint64_t version;       /* grows with each change of a thread */
	uint32_t epoch;         /* grows when records were lost */
	uint64_t missed;        /* the time from which on records were lost */
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

static const struct kthread unknown = { .pid = -1, .ppid = -1 };

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
		if (kthread_read_ids(found->number, &t))
			t.ppid = tasks_translate(&k->list, t.ppid);
		t.pid = found->pid;
		kthread_set_comm(&t, found->comm);
	}
	return t;
}

/* In /proc; 0: unknown. */
static int32_t find_number(struct kthreads *k, int32_t tid)
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
	return k->source == KTHREADS_PROC   ? kthread_read(tid)
	       : k->source == KTHREADS_LIST ? find_listed(k, tid)
					    : unknown;
}

/* ---- entries ---- */

static struct state *last_of(struct entry *e)
{
	return &e->states[e->count - 1];
}

static void note_change(struct kthreads *k, struct entry *e)
{
	e->version = ++k->version;
}

static bool append_state(struct kthreads *k, struct entry *e, uint64_t from,
			 const struct kthread *is, bool guess)
{
	note_change(k, e);
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
	if (!append_state(k, e, 0, known, true)) {
		free(e);
		return NULL;
	}
	*at = e;
	k->count++;
	return e;
}

/* But for the status */
static bool same_thread(const struct kthread *a, const struct kthread *b)
{
	return a->pid == b->pid && a->ppid == b->ppid && !strcmp(a->comm, b->comm);
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
	if (is.pid >= 0 && !same_thread(&is, &last_of(e)->is))
		append_state(k, e, k->missed, &is, true);
	e->epoch = k->epoch;
	return e;
}

static void ask_each(void *arg, int32_t tid)
{
	find_or_ask(arg, tid);
}

int kthreads_scan(struct kthreads *k, struct tr_err *err)
{
	int ret = 0;

	if (k->source == KTHREADS_PROC)
		kthread_each(ask_each, k);
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
	kstatus_inherit(&is.status, tid, maker, flags);
	kthread_set_comm(&is, comm);
	e = get_entry(k, tid, &unknown);
	if (!e)
		return;
	/* An earlier question to /proc meant this life of the id. */
	if (last_of(e)->guess)
		last_of(e)->is = unknown;
	e->ended = 0;
	e->calling = false;
	e->epoch = k->epoch;
	append_state(k, e, time, &is, false);
}

void kthreads_renamed(struct kthreads *k, uint64_t time, int32_t tid, const char *before,
		      const char *after)
{
	struct entry *e = find_or_ask(k, tid);
	struct kthread is;

	if (!e)
		return;
	if (last_of(e)->guess)
		kthread_set_comm(&last_of(e)->is, before);
	last_of(e)->guess = false;
	is = last_of(e)->is;
	kthread_set_comm(&is, after);
	append_state(k, e, time, &is, false);
}

void kthreads_ended(struct kthreads *k, uint64_t time, int32_t tid, const char *comm)
{
	struct entry *e = find_or_ask(k, tid), **old;
	uint32_t i = k->next_ended;

	if (!e)
		return;
	if (last_of(e)->guess)
		kthread_set_comm(&last_of(e)->is, comm);
	last_of(e)->guess = false;
	e->ended = time;
	old = find_slot(k, k->ended[i].tid);
	if (k->ended[i].time && *old && (*old)->ended == k->ended[i].time)
		remove_entry(k, old);
	k->ended[i].tid = tid;
	k->ended[i].time = time;
	k->next_ended = (i + 1) % ENDED_MAX;
}

/* From then on, the thread has what this call changes; NULL: nothing is known of it. */
static void change_status(struct kthreads *k, struct entry *e, uint64_t time,
			  const struct kstatus_call *call)
{
	struct kthread is = last_of(e)->is;

	if (call && is.status.have & KSTATUS_IDS)
		kstatus_called(&is.status, call);
	else
		is.status = (struct kstatus){ 0 };
	/* Without memory for it, nothing is known of the time before, either. */
	if (!append_state(k, e, time, &is, last_of(e)->guess))
		last_of(e)->is.status = (struct kstatus){ 0 };
}

void kthreads_missed(struct kthreads *k, uint64_t since)
{
	k->epoch++;
	k->missed = since;
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct entry *e = k->buckets[i]; e; e = e->next) {
			e->calling = false;
			if (last_of(e)->is.status.have)
				change_status(k, e, since, NULL);
		}
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
	/* Its parent may have begun to end only. */
	if (now.pid == is.pid && now.ppid == is.ppid)
		return &last_of(e)->is;
	if (now.pid == is.pid)
		is.ppid = now.ppid;
	is.status.have &= ~(uint32_t)KSTATUS_PARENT;
	append_state(k, e, parent->ended, &is, last_of(e)->guess);
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

/* ---- status ---- */

void kthreads_called(struct kthreads *k, int32_t tid, const struct kstatus_call *call)
{
	struct entry *e = find_or_ask(k, tid);

	if (!e)
		return;
	note_change(k, e);
	e->calling = true;
	e->call = *call;
}

void kthreads_returned(struct kthreads *k, uint64_t time, int32_t tid, bool success)
{
	struct entry *e = find_or_ask(k, tid);

	if (!e)
		return;
	note_change(k, e);
	/* A call that began before its records did may have changed anything. */
	if (success)
		change_status(k, e, time, e->calling ? &e->call : NULL);
	e->calling = false;
}

void kthreads_executed(struct kthreads *k, uint64_t time, int32_t tid, int32_t before)
{
	static const struct kstatus_call call = { .kind = KSTATUS_EXEC };
	struct entry *e = find_or_ask(k, tid), *old = *find_slot(k, before);
	struct kthread is;

	if (!e)
		return;
	is = last_of(e)->is;
	/* The new program has the number of the process. */
	is.status = old ? last_of(old)->is.status : (struct kstatus){ 0 };
	is.status.vtid = is.status.vpid;
	if (old != e)
		append_state(k, e, time, &is, last_of(e)->guess);
	e->ended = 0;
	e->calling = false;
	change_status(k, e, time, &call);
}

/* Asks for these parts of the last state, if the thread can be read now. */
static bool ask_status(struct kthreads *k, const struct entry *e, uint32_t need,
		       struct kthread_question *out)
{
	if (!need || e->ended || e->calling)
		return false;
	*out = (struct kthread_question){ .tid = e->tid,
					  .number = find_number(k, e->tid),
					  .need = need,
					  .version = e->version };
	return out->number > 0;
}

static uint32_t find_lacks(struct entry *e, uint32_t need)
{
	return kstatus_missing(&last_of(e)->is.status, need) & ~last_of(e)->tried;
}

size_t kthreads_lacking(struct kthreads *k, uint32_t need, struct kthread_question *out,
			size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < BUCKETS && n < max; i++)
		for (struct entry *e = k->buckets[i]; e && n < max; e = e->next)
			n += ask_status(k, e, find_lacks(e, need), &out[n]);
	return n;
}

bool kthreads_lacks(struct kthreads *k, uint64_t time, int32_t tid, uint32_t need, uint32_t turn,
		    struct kthread_question *out)
{
	struct entry *e = tid ? find_or_ask(k, tid) : NULL;

	if (!e || last_of(e)->from > time)
		return false;
	if (last_of(e)->turn == turn)
		need &= ~(uint32_t)KSTATUS_PRIO;
	return ask_status(k, e, find_lacks(e, need) | (need & KSTATUS_PRIO), out);
}

void kthreads_learn(struct kthreads *k, const struct kthread_question *q, uint32_t turn)
{
	struct entry *e = *find_slot(k, q->tid);

	if (!e || e->version != q->version)
		return;
	kstatus_merge(&last_of(e)->is.status, &q->is);
	last_of(e)->tried |= q->need;
	last_of(e)->turn = turn;
}
