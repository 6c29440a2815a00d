// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The follower: knows which thread ran at a time, which the kernel's records do not say. While a
 * kernel channel exists, a small buffer of the backend records births, new names and ends of
 * threads for the whole daemon. It is read up to a record's time before the record is processed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/id_calls.h"
#include "tracer/kernel/kevent/ring_page.h"
#include "tracer/kernel/task/task.h"

#define NAME "trailfs-threads"
#define BYTES (256u << 10)      /* per CPU: enough for more than a thousand processes */

enum what { BORN, RENAMED, ENDED, EXECUTED, KINDS, CALLED = KINDS, RETURNED, FAILED };

#define QUESTIONS 512u          /* threads whose status is read at once */

struct layout {                 /* of one event's records; id 0: the event is not available */
	uint32_t id;
	/* Offsets in the record; other: of clone_flags, the new name or the thread before. */
	uint32_t tid, comm, other;
	uint32_t other_size;
	uint32_t need;                  /* smallest size of a record */
};

struct thread_record {
	uint64_t time;
	enum what what;
	int32_t tid, maker;             /* EXECUTED: maker is the thread before */
	uint64_t flags;                 /* of clone(2) */
	char comm[KTHREAD_COMM], after[KTHREAD_COMM];
	struct kstatus_call call;       /* CALLED */
};

struct follower {
	struct tracer *tracer;
	uint32_t users;                 /* number of kernel channels; guarded by the lock */
	pthread_mutex_t lock;	/* guards the rest; taken after kchannel.lock, before tracer.lock */
	struct backend_channel *bc;     /* NULL: threads are not followed */
	bool scanned;
	struct layout layouts[KINDS];
	struct id_calls calls;          /* while `need` has users and groups */
	bool calls_enabled;
	struct kthreads *threads;
	uint32_t need;                  /* parts of a status that were asked for so far */
	uint32_t read;                  /* parts that were read of all threads */
	uint64_t calls_since;           /* calls are recorded since this time */
	uint32_t turn;                  /* grows with each read of records */
	uint64_t until;                 /* the table is complete up to this time */
	bool missed;                    /* during the current read */
	struct thread_record *records;  /* of the current read, and newer ones */
	size_t count;
};

static void print_channel_name(const struct kernel *k, char *name, size_t size)
{
	snprintf(name, size, NAME "%s", k->suffix);
}

bool kernel_follows_by(const struct kernel *k, const char *name)
{
	char own[64];

	print_channel_name(k, own, sizeof(own));
	return k->follower && k->follower->bc && !strcmp(name, own);
}

/* ---- records of threads ---- */

static const struct kformat_field *find_field(const struct kformat *f, const char *name,
					      uint32_t size)
{
	for (uint32_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].kernel_name, name) &&
		    f->fields[i].place == KFORMAT_FIXED && (!size || f->fields[i].size == size))
			return &f->fields[i];
	return NULL;
}

static void read_layout(struct kernel *k, struct layout *l, const char *system, const char *event,
			 const char *comm, const char *other, uint32_t other_size)
{
	struct kformat *f = k->format_of(k, system, event);
	const struct kformat_field *tid, *name, *more;

	*l = (struct layout){ 0 };
	if (!f)
		return;
	tid = find_field(f, "pid", 4);
	name = comm ? find_field(f, comm, KTHREAD_COMM) : tid;
	more = other ? find_field(f, other, other_size) : tid;
	if (tid && name && more && more->size <= 16)
		*l = (struct layout){ .id = f->id,
				      .tid = tid->offset,
				      .comm = name->offset,
				      .other = more->offset,
				      .other_size = more->size,
				      .need = f->size };
	kformat_free(f);
}

/* NULL: no memory. */
static struct thread_record *add_record(struct follower *f, uint64_t time, enum what what,
					const uint8_t *bytes)
{
	struct thread_record *t;

	if (!array_double(f->records, f->count)) {
		f->missed = true;
		return NULL;
	}
	t = &f->records[f->count++];
	*t = (struct thread_record){ .time = clock_convert(&f->tracer->clock, time),
			    .what = what,
			    .tid = krecord_pid(bytes),
			    .maker = krecord_pid(bytes) };
	return t;
}

/* A call that changes users, groups or namespaces, or its return */
static void queue_call(struct follower *f, uint64_t time, const uint8_t *bytes, size_t len)
{
	static const enum what whats[] = { [ID_CALL_BEGUN] = CALLED, [ID_CALL_DONE] = RETURNED,
					   [ID_CALL_FAILED] = FAILED };
	struct kstatus_call call;
	enum id_call_record is = id_calls_read(&f->calls, bytes, len, &call);
	struct thread_record *t;

	/* After a new program's own record, the return of its call says nothing new. */
	if (is != ID_CALL_NONE && !(is == ID_CALL_DONE && call.kind == KSTATUS_EXEC) &&
	    (t = add_record(f, time, whats[is], bytes)))
		t->call = call;
}

static void queue_record(void *arg, uint64_t time, const uint8_t *bytes, size_t len)
{
	struct follower *f = arg;
	struct thread_record *t;
	int what = 0;

	while (what < KINDS &&
	       (f->layouts[what].id != krecord_id(bytes) || len < f->layouts[what].need))
		what++;
	if (what == KINDS)
		queue_call(f, time, bytes, len);
	t = what == KINDS ? NULL : add_record(f, time, (enum what)what, bytes);
	if (!t)
		return;
	memcpy(&t->tid, bytes + f->layouts[what].tid, sizeof(t->tid));
	if (what == EXECUTED) {
		memcpy(&t->maker, bytes + f->layouts[what].other, sizeof(t->maker));
		return;
	}
	memcpy(t->comm, bytes + f->layouts[what].comm, KTHREAD_COMM);
	if (what == RENAMED)
		memcpy(t->after, bytes + f->layouts[what].other, KTHREAD_COMM);
	if (what == BORN)
		memcpy(&t->flags, bytes + f->layouts[what].other,
		       f->layouts[what].other_size < 8 ? f->layouts[what].other_size : 8);
}

static void note_missed(void *arg, uint64_t events)
{
	struct follower *f = arg;

	(void)events;
	f->missed = true;
}

static int compare_times(const void *a, const void *b)
{
	const struct thread_record *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static void apply_record(struct follower *f, const struct thread_record *t)
{
	struct kthreads *k = f->threads;
	struct kthread_question q;

	if (t->what == BORN) {
		/* Its maker's present priority: no record says when that changes. */
		if (kthreads_lacks(k, t->time, t->maker, f->need & KSTATUS_PRIO, f->turn, &q)) {
			kstatus_read(q.number, q.need, &q.is);
			kthreads_learn(k, &q, f->turn);
		}
		kthreads_born(k, t->time, t->tid, t->maker, t->flags, t->comm);
	} else if (t->what == RENAMED)
		kthreads_renamed(k, t->time, t->tid, t->comm, t->after);
	else if (t->what == ENDED)
		kthreads_ended(k, t->time, t->tid, t->comm);
	else if (t->what == EXECUTED)
		kthreads_executed(k, t->time, t->tid, t->maker);
	else if (t->what == CALLED)
		kthreads_called(k, t->tid, &t->call);
	else
		kthreads_returned(k, t->time, t->tid, t->what == RETURNED);
}

/*
 * Buffers are read one after the other: of a thread that moved to another CPU, a record in a buffer
 * that was read late may be there while the one before it is not. All that came before `until` are
 * there. Newer ones wait for the next read, which has those before them.
 */
static void apply_records(struct follower *f, uint64_t until)
{
	size_t i = 0;

	if (f->count)
		qsort(f->records, f->count, sizeof(*f->records), compare_times);
	while (i < f->count && f->records[i].time <= until)
		apply_record(f, &f->records[i++]);
	f->count -= i;
	if (f->count)
		memmove(f->records, f->records + i, f->count * sizeof(*f->records));
}

/* Reads all records up to now into the table, and those before the time of an event. */
static void catch_up(struct follower *f, uint64_t event)
{
	struct backend_sink sink = { .record = queue_record, .missed = note_missed, .arg = f };
	const struct backend_ops *ops = kernel_of(f->tracer)->ops;
	uint64_t now = clock_now(&f->tracer->clock);

	if (now < event)
		now = event;
	f->missed = false;
	for (uint32_t cpu = 0; f->bc && cpu < f->tracer->cpus; cpu++)
		ops->drain(f->bc, cpu, &sink);
	if (f->missed) {
		kthreads_missed(f->threads, f->until);
		f->read = 0;
	}
	apply_records(f, now);
	f->until = now;
	f->turn++;
}

void kernel_thread(struct kernel *k, uint64_t time, int32_t tid, struct kthread *out)
{
	struct follower *f = k->follower;

	*out = (struct kthread){ .pid = tid ? -1 : 0, .ppid = tid ? -1 : 0 };
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->bc && time >= f->until)
		catch_up(f, time);
	kthreads_at(f->threads, time, tid, out);
	pthread_mutex_unlock(&f->lock);
}

/* ---- status; caller holds the lock ---- */

static void answer(struct follower *f, struct kthread_question *q, size_t count)
{
	uint32_t turn = f->turn;

	for (size_t i = 0; i < count; i++)
		kstatus_read(q[i].number, q[i].need, &q[i].is);
	/* No record says when a priority changes. */
	if (count > 1 || q->need != KSTATUS_PRIO)
		catch_up(f, 0);
	for (size_t i = 0; i < count; i++)
		kthreads_learn(f->threads, &q[i], turn);
}

/* Reads what all threads lack. */
static void read_all(struct follower *f)
{
	struct kthread_question *q = calloc(QUESTIONS, sizeof(*q));
	size_t count = 0;

	/* Each thread is asked once, and again if it changed meanwhile: some may do so forever. */
	for (int i = 0; q && i < 256; i++) {
		count = kthreads_lacking(f->threads, f->need, q, QUESTIONS);
		if (!count)
			break;
		answer(f, q, count);
	}
	free(q);
	f->read = f->need;
}

static void scan(struct follower *f)
{
	struct tr_err err = TR_ERR_INIT;

	/* Without a channel there is nothing to follow yet: the first start scans. */
	if (!f->bc || f->scanned)
		return;
	if (kthreads_scan(f->threads, &err))
		tracer_report(f->tracer, "names and processes are known only of threads that "
			      "begin from now on: %s", err.sentence);
	f->scanned = true;
}

static void add_need(struct follower *f, uint32_t need)
{
	if (!f->bc || !(need & ~f->need))
		return;
	f->need |= need | KSTATUS_IDS;
	if (!f->calls_enabled) {
		id_calls_enable(&f->calls, kernel_of(f->tracer), f->bc);
		f->calls_enabled = true;
		f->calls_since = clock_now(&f->tracer->clock);
	}
	/* All threads, before what needs it is recorded: their children inherit it. */
	scan(f);
	catch_up(f, 0);
	read_all(f);
}

void kernel_status(struct kernel *k, uint64_t time, int32_t tid, uint32_t need,
		   struct kstatus *out)
{
	struct follower *f = k->follower;
	struct kthread_question q;
	struct kthread is;

	*out = (struct kstatus){ 0 };
	if (!f || !tid)
		return;
	pthread_mutex_lock(&f->lock);
	add_need(f, need);
	if (f->bc && time >= f->until)
		catch_up(f, time);
	/* This may find that the thread has another parent now. */
	kthreads_at(f->threads, time, tid, &is);
	if (kthreads_lacks(f->threads, time, tid, need, f->turn, &q)) {
		answer(f, &q, 1);
		kthreads_at(f->threads, time, tid, &is);
	}
	if (time >= f->calls_since)
		*out = is.status;
	pthread_mutex_unlock(&f->lock);
}

void kernel_note_need(struct kernel *k, uint32_t need)
{
	struct follower *f = k->follower;

	if (!f || !need)
		return;
	pthread_mutex_lock(&f->lock);
	add_need(f, need);
	pthread_mutex_unlock(&f->lock);
}

void kernel_scan(struct tracer *t)
{
	struct follower *f = kernel_of(t) ? kernel_of(t)->follower : NULL;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	scan(f);
	pthread_mutex_unlock(&f->lock);
}

void kernel_follower_read(struct kernel *k)
{
	struct follower *f = k->follower;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->bc)
		catch_up(f, 0);
	if (f->bc && f->need & ~f->read)
		read_all(f);
	pthread_mutex_unlock(&f->lock);
}

int kernel_follower_watch(struct kernel *k, int epoll)
{
	struct follower *f = k->follower;
	int ret = 0;

	if (!f)
		return 0;
	pthread_mutex_lock(&f->lock);
	if (f->bc)
		ret = k->ops->watch ? k->ops->watch(f->bc, epoll) : -EOPNOTSUPP;
	pthread_mutex_unlock(&f->lock);
	return ret;
}

/* ---- start and stop ---- */

int kernel_follower_make(struct tracer *t)
{
	struct follower *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->tracer = t;
	f->threads = kthreads_create(tasks_global() ? KTHREADS_PROC : KTHREADS_LIST);
	f->turn = 1;    /* 0: a status that was not read */
	if (!f->threads) {
		free(f);
		return -ENOMEM;
	}
	lock_init(&f->lock, NULL, LOCK_FOLLOWER);
	kernel_of(t)->follower = f;
	return 0;
}

static void stop_following(struct follower *f, bool remove)
{
	if (f->bc)
		kernel_of(f->tracer)->ops->channel_close(f->bc, remove);
	f->bc = NULL;
	f->scanned = false;
	f->calls_enabled = false;
	f->need = f->read = 0;
	f->count = 0;
}

void kernel_follower_free(struct kernel *k)
{
	struct follower *f = k->follower;

	if (!f)
		return;
	stop_following(f, !f->users);   /* else the next daemon continues it */
	kthreads_destroy(f->threads);
	pthread_mutex_destroy(&f->lock);
	free(f->records);
	free(f);
	k->follower = NULL;
}

static int start_following(struct follower *f, struct tr_err *err)
{
	static const struct {
		const char *system, *event, *comm, *other;
		uint32_t size;
	} events[KINDS] = {
		[BORN] = { "task", "task_newtask", "comm", "clone_flags", 0 },
		[RENAMED] = { "task", "task_rename", "oldcomm", "newcomm", KTHREAD_COMM },
		[ENDED] = { "sched", "sched_process_exit", "comm", NULL, 0 },
		[EXECUTED] = { "sched", "sched_process_exec", NULL, "old_pid", 4 },
	};
	struct kernel *k = kernel_of(f->tracer);
	/* By tracefs, whose files wake who waits for them: the follower needs no text. */
	bool has_bpf = k->ops == &bpf_backend;
	struct backend_geometry g = { .bytes = BYTES, .cpus = f->tracer->cpus, .overwrite = true,
				      .tsc = f->tracer->clock.mult != 0,
				      .by = has_bpf ? BACKEND_TRACEFS : BACKEND_AUTO };
	char name[64];
	int ret = 0;

	print_channel_name(k, name, sizeof(name));
	for (int i = 0; i < KINDS; i++)
		read_layout(k, &f->layouts[i], events[i].system, events[i].event, events[i].comm,
			     events[i].other, events[i].size);
	/* Adopt a killed daemon's channel: it has records that were not read yet. */
	if (!ret && k->ops->channel_open(k->backend, name, &g, true, &f->bc, NULL))
		ret = k->ops->channel_open(k->backend, name, &g, false, &f->bc, err);
	for (int i = 0; i < KINDS && !ret; i++)
		if (f->layouts[i].id)
			ret = k->ops->enable(f->bc, events[i].system, events[i].event, true);
	if (!ret)
		ret = k->ops->record(f->bc, true);
	/* Nothing was recorded since the last channel was removed. */
	if (!ret && f->until)
		kthreads_missed(f->threads, f->until);
	if (ret)
		stop_following(f, true);
	return ret;
}

void kernel_follow(struct tracer *t, bool on)
{
	struct follower *f = kernel_of(t)->follower;
	struct tr_err err = TR_ERR_INIT;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->users += on ? 1 : -1;
	if (f->users > 1 || (f->users == 1 && !on))
		;
	else if (!on)
		stop_following(f, true);
	else if (start_following(f, &err))
		tracer_report(
			t, "threads are not followed: processes and names are those of /proc: %s",
			err.sentence);
	pthread_mutex_unlock(&f->lock);
}
