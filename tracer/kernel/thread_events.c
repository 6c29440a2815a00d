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
#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/kevent/ring_page.h"
#include "tracer/kernel/task/task.h"

#define NAME "trailfs-threads"
#define BYTES (256u << 10)      /* per CPU: enough for more than a thousand processes */

enum what { BORN, RENAMED, ENDED, KINDS };

struct layout {                 /* of one event's records; id 0: the event is not available */
	uint32_t id;
	/* Offsets in the record; other: of clone_flags or the new name. */
	uint32_t tid, comm, other;
	uint32_t other_size;
	uint32_t need;                  /* smallest size of a record */
};

struct thread_record {
	uint64_t time;
	enum what what;
	int32_t tid, maker;
	uint64_t flags;                 /* of clone(2) */
	char comm[KTHREAD_COMM], after[KTHREAD_COMM];
};

struct follower {
	struct tracer *tracer;
	uint32_t users;                 /* number of kernel channels; guarded by the lock */
	pthread_mutex_t lock;	/* guards the rest; taken after kchannel.lock, before tracer.lock */
	struct backend_channel *bc;     /* NULL: threads are not followed */
	bool scanned;
	struct layout layouts[KINDS];
	struct kthreads *threads;
	struct kstatuses *statuses;
	uint32_t need;                  /* parts of a status that were asked for so far */
	uint32_t turn;                  /* grows with each read of records */
	uint64_t until;                 /* the table is complete up to this time */
	bool missed;                    /* during the current read */
	struct thread_record *records;              /* records of the current read */
	size_t count, room;
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
	struct kevent *e = kernel_find(k, system, event, strlen(event));
	struct kformat *f = e ? kernel_format(k, e) : NULL;
	const struct kformat_field *tid, *name, *more;

	*l = (struct layout){ 0 };
	if (!f)
		return;
	tid = find_field(f, "pid", 4);
	name = find_field(f, comm, KTHREAD_COMM);
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

static void queue_record(void *arg, uint64_t time, const uint8_t *bytes, size_t len)
{
	struct follower *f = arg;
	const struct clock *clock = &f->tracer->clock;
	struct thread_record *t;
	int what = 0;

	while (what < KINDS &&
	       (f->layouts[what].id != krecord_id(bytes) || len < f->layouts[what].need))
		what++;
	if (what == KINDS)
		return;
	if (f->count == f->room) {
		if (!array_room(f->records, f->room ? 2 * f->room : 256)) {
			f->missed = true;
			return;
		}
		f->room = f->room ? 2 * f->room : 256;
	}
	t = &f->records[f->count++];
	*t = (struct thread_record){ .time = clock_convert(clock, time),
			    .what = what,
			    .maker = krecord_pid(bytes) };
	memcpy(&t->tid, bytes + f->layouts[what].tid, sizeof(t->tid));
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

static void apply_records(struct follower *f)
{
	if (f->count)
		qsort(f->records, f->count, sizeof(*f->records), compare_times);
	for (size_t i = 0; i < f->count; i++) {
		const struct thread_record *t = &f->records[i];

		if (t->what == BORN) {
			kthreads_born(f->threads, t->time, t->tid, t->maker, t->flags, t->comm);
			if (f->need)
				kstatuses_born(f->statuses, t->tid, t->maker,
					       kthreads_number(f->threads, t->maker), f->turn,
					       f->need, t->flags);
		} else if (t->what == RENAMED)
			kthreads_renamed(f->threads, t->time, t->tid, t->comm, t->after);
		else
			kthreads_ended(f->threads, t->time, t->tid, t->comm);
	}
	f->count = 0;
}

/* Reads all records up to now into the table. */
static void catch_up(struct follower *f)
{
	struct backend_sink sink = { .record = queue_record, .missed = note_missed, .arg = f };
	const struct backend_ops *ops = f->tracer->kernel->ops;
	uint64_t now = clock_now(&f->tracer->clock);

	f->missed = false;
	for (uint32_t cpu = 0; f->bc && cpu < f->tracer->cpus; cpu++)
		ops->drain(f->bc, cpu, &sink);
	if (f->missed)
		kthreads_missed(f->threads, f->until);
	apply_records(f);
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
		catch_up(f);
	kthreads_at(f->threads, time, tid, out);
	pthread_mutex_unlock(&f->lock);
}

/* What /proc says of the thread: see thread_status.h. */
static void get_status(struct kernel *k, uint64_t time, int32_t tid, uint32_t need,
		       struct kstatus *out)
{
	struct follower *f = k->follower;

	*out = (struct kstatus){ 0 };
	if (!f || !tid)
		return;
	pthread_mutex_lock(&f->lock);
	f->need |= need;
	if (f->bc && time >= f->until)
		catch_up(f);
	*out = *kstatuses_find(f->statuses, tid, kthreads_number(f->threads, tid), f->turn, need);
	pthread_mutex_unlock(&f->lock);
}

void kernel_note_need(struct kernel *k, uint32_t need)
{
	struct follower *f = k->follower;

	if (!f || !need)
		return;
	pthread_mutex_lock(&f->lock);
	f->need |= need;
	pthread_mutex_unlock(&f->lock);
}

void kernel_scan(struct tracer *t)
{
	struct follower *f = t->kernel ? t->kernel->follower : NULL;
	struct tr_err err = TR_ERR_INIT;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	/* Without a channel there is nothing to follow yet: the first start scans. */
	if (f->bc && !f->scanned) {
		if (kthreads_scan(f->threads, &err))
			tracer_report(t, "names and processes are known only of threads that "
				      "begin from now on: %s", err.sentence);
		f->scanned = true;
	}
	pthread_mutex_unlock(&f->lock);
}

/* ---- contexts ---- */

static const struct kthread *find_thread(struct event_origin *w)
{
	if (!w->asked) {
		kernel_thread(w->kernel, w->ts, w->tid, &w->is);
		if (!w->tid)
			snprintf(w->is.comm, sizeof(w->is.comm), "swapper/%u", w->cpu);
		w->asked = true;
	}
	return &w->is;
}

/* What /proc has. False: it is unknown. */
static bool find_status(struct event_origin *w, uint32_t kind, int64_t *value)
{
	uint32_t need = kstatus_need(kind);

	if (need & ~w->has) {
		w->has |= need;
		for (uint32_t i = 0; w->kc && i < w->kc->context_count; i++)
			w->has |= kstatus_need(w->kc->contexts[i]);
		get_status(w->kernel, w->ts, w->tid, w->has, &w->status);
	}
	return kstatus_value(&w->status, kind, value);
}

static size_t put_context(struct event_origin *w, uint32_t kind, uint8_t *at)
{
	size_t size = kcontext_size(kind);
	int32_t value;
	int64_t of_proc;

	memset(at, 0, size);
	if (kstatus_need(kind)) {
		find_status(w, kind, &of_proc);
		value = (int32_t)of_proc;
		memcpy(at, &value, sizeof(value));
		return size;
	}
	if (kind == TRAIL_CONTEXT_PROCNAME) {
		memcpy(at, find_thread(w)->comm, KTHREAD_COMM);
		return size;
	}
	value = kind == TRAIL_CONTEXT_CPU_ID ? (int32_t)w->cpu
		: kind == TRAIL_CONTEXT_PID  ? find_thread(w)->pid
		: kind == TRAIL_CONTEXT_PPID ? find_thread(w)->ppid
					     : w->tid;
	if (kind == TRAIL_CONTEXT_CPU_ID || kind == TRAIL_CONTEXT_PID ||
	    kind == TRAIL_CONTEXT_TID || kind == TRAIL_CONTEXT_PPID)
		memcpy(at, &value, sizeof(value));
	return size;
}

void event_origin_put(struct event_origin *w, const struct kchannel *kc, uint8_t *at)
{
	if (w->contexts) {
		memcpy(at, w->contexts, w->contexts_len);
		return;
	}
	for (uint32_t i = 0; i < kc->context_count; i++)
		at += put_context(w, kc->contexts[i], at);
}

bool event_origin_value(void *who, uint32_t kind, const char *name, struct filter_value *out)
{
	struct event_origin *w = who;
	const uint8_t *at = w->contexts ? kcontext_find(w->kc->contexts, w->kc->context_count, kind,
							w->contexts, w->contexts_len)
					: NULL;

	(void)name;
	if (at) {
		kcontext_value(kind, at, out);
		return out->type != FILTER_NONE;
	}
	*out = (struct filter_value){ .type = FILTER_SIGNED };
	switch (kind) {
	case TRAIL_CONTEXT_CPU_ID:
		out->i = w->cpu;
		return true;
	case TRAIL_CONTEXT_TID:
		out->i = w->tid;
		return true;
	case TRAIL_CONTEXT_PID:
		out->i = find_thread(w)->pid;
		return out->i >= 0;
	case TRAIL_CONTEXT_PPID:
		out->i = find_thread(w)->ppid;
		return out->i >= 0;
	case TRAIL_CONTEXT_PROCNAME:
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = find_thread(w)->comm,
					      .len = strnlen(find_thread(w)->comm, KTHREAD_COMM) };
		return out->len > 0;
	default:
		if (kcontext_value_type(kind) == FILTER_UNSIGNED)
			out->type = FILTER_UNSIGNED;
		return kstatus_need(kind) && find_status(w, kind, &out->i);
	}
}

bool event_origin_is_in(struct event_origin *w, const struct track *only)
{
	static const struct { int attr; uint32_t kind; } by[] = {
		{ TRACK_KERNEL_VPID, TRAIL_CONTEXT_VPID },
		{ TRACK_KERNEL_UID, TRAIL_CONTEXT_UID },
		{ TRACK_KERNEL_GID, TRAIL_CONTEXT_GID },
	};
	int64_t value;

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++)
		if (only[by[i].attr].some &&
		    !(find_status(w, by[i].kind, &value) &&
		      track_has(&only[by[i].attr], (uint32_t)value)))
			return false;
	return true;
}

/* ---- start and stop ---- */

int kernel_follower_make(struct tracer *t)
{
	struct follower *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->tracer = t;
	f->threads = kthreads_create(tasks_global() ? KTHREADS_PROC : KTHREADS_LIST);
	f->statuses = kstatuses_create();
	f->turn = 1;    /* 0: a status that was not read */
	if (!f->threads || !f->statuses) {
		kthreads_destroy(f->threads);
		kstatuses_destroy(f->statuses);
		free(f);
		return -ENOMEM;
	}
	lock_init(&f->lock, NULL, LOCK_FOLLOWER);
	t->kernel->follower = f;
	return 0;
}

static void stop_following(struct follower *f, bool remove)
{
	if (f->bc)
		f->tracer->kernel->ops->channel_close(f->bc, remove);
	f->bc = NULL;
	f->scanned = false;
}

void kernel_follower_free(struct kernel *k)
{
	struct follower *f = k->follower;

	if (!f)
		return;
	stop_following(f, !f->users);   /* else the next daemon continues it */
	kthreads_destroy(f->threads);
	kstatuses_destroy(f->statuses);
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
	};
	struct backend_geometry g = { .bytes = BYTES,
				      .cpus = f->tracer->cpus,
				      .overwrite = true,
				      .tsc = f->tracer->clock.mult != 0 };
	struct kernel *k = f->tracer->kernel;
	char name[64];
	int ret;

	print_channel_name(k, name, sizeof(name));
	ret = kernel_refresh(k);
	for (int i = 0; i < KINDS && !ret; i++)
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
	if (ret)
		stop_following(f, true);
	return ret;
}

void kernel_follow(struct tracer *t, bool on)
{
	struct follower *f = t->kernel->follower;
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
