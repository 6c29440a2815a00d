// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The per-CPU buffers of a tracefs instance: reads their pages, with the stacks in them, and counts
 * the events that they lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tracer/abi/context_kind.h"
#include "tracer/kernel/backend/tracefs_channel.h"

/* The last event of a buffer may lack its stacks for the moment: so often it is read again. */
#define STACK_READS 8

int tracefs_open_buffers(struct backend_channel *c)
{
	char path[64];

	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
		c->per_cpu[cpu].raw = openat(c->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (c->per_cpu[cpu].raw < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

void tracefs_close_buffers(struct backend_channel *c)
{
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		if (c->per_cpu[cpu].raw >= 0)
			close(c->per_cpu[cpu].raw);
		c->per_cpu[cpu].raw = -1;
	}
}

int tracefs_watch(struct backend_channel *c, int epoll)
{
	struct epoll_event want = { .events = EPOLLIN };
	int count = 0;

	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		if (c->per_cpu[cpu].raw < 0)
			continue;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->per_cpu[cpu].raw, &want) < 0)
			return -errno;
		count++;
	}
	return count;
}

static uint64_t parse_stat(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Reads a CPU's loss counters. held: events in the buffer count as discarded, too. */
static int read_lost(struct backend_channel *c, uint32_t cpu, bool held, struct source_counts *l)
{
	struct md_buf text = MD_BUF_INIT;
	char path[64];
	ssize_t n;

	*l = (struct source_counts){ 0 };
	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	n = tracefs_read(c->dir, path, 4096, &text);
	if (n > 0) {
		const char *p = md_buf_str(&text);

		l->overwritten = parse_stat(p, "\noverrun: ");
		l->discarded =
			parse_stat(p, "\ncommit overrun: ") + parse_stat(p, "\ndropped events: ");
		l->discarded += held && !strncmp(p, "entries: ", 9) ? strtoull(p + 9, NULL, 10) : 0;
		l->read = parse_stat(p, "\nread events: ");
	}
	md_buf_deinit(&text);
	return n < 0 ? (int)n : 0;
}

static void add_losses(struct source_counts *sum, const struct source_counts *l)
{
	sum->overwritten += l->overwritten;
	sum->discarded += l->discarded;
}

void tracefs_keep_losses(struct backend_channel *c)
{
	struct source_counts lost;

	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		read_lost(c, cpu, true, &lost);
		add_losses(&c->per_cpu[cpu].before, &lost);
	}
}

void tracefs_before_reset(struct backend *b)
{
	struct backend_channel *c;

	pthread_mutex_lock(&b->lock);
	cds_list_for_each_entry(c, &b->channels, node) {
		pthread_mutex_lock(&c->lock);
		for (uint32_t cpu = 0; cpu < c->cpus; cpu++)
			read_lost(c, cpu, true, &c->per_cpu[cpu].counted);
	}
}

/*
 * A counter that became smaller was reset. The kernel does not reset those of channels that record.
 */
void tracefs_after_reset(struct backend *b)
{
	struct backend_channel *c;
	struct source_counts now, *then;

	cds_list_for_each_entry(c, &b->channels, node) {
		for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
			then = &c->per_cpu[cpu].counted;
			if (!read_lost(c, cpu, true, &now) &&
			    now.overwritten + now.discarded < then->overwritten + then->discarded)
				add_losses(&c->per_cpu[cpu].before, then);
		}
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- stacks ---- */

static const struct {
	const char *option, *event;     /* of an instance; what it records */
	int context;
} stack_kinds[RECORD_STACKS] = {
	[RECORD_STACK_KERNEL] = { "options/stacktrace", "kernel_stack",
				  TRAIL_CONTEXT_CALLSTACK_KERNEL },
	[RECORD_STACK_USER] = { "options/userstacktrace", "user_stack",
				TRAIL_CONTEXT_CALLSTACK_USER },
};

void tracefs_read_stacks(struct backend *b)
{
	struct md_buf text = MD_BUF_INIT;
	struct kformat *f;

	for (int i = 0; i < RECORD_STACKS; i++) {
		md_buf_reset(&text);
		if (faccessat(b->dir, stack_kinds[i].option, F_OK, 0) ||
		    tracefs_read_format(b, "ftrace", stack_kinds[i].event, &text) ||
		    kformat_parse("ftrace", text.data, text.len, &f))
			continue;
		b->stacks[i] = record_stack_layout(f);
		kformat_free(f);
	}
	md_buf_deinit(&text);
}

uint64_t tracefs_context_kinds(const struct backend *b)
{
	uint64_t kinds = 0;

	for (int i = 0; i < RECORD_STACKS; i++)
		kinds |= (uint64_t)(b->stacks[i].id != 0) << stack_kinds[i].context;
	return kinds;
}

int tracefs_stacks(struct backend_channel *c, bool kernel, bool user)
{
	const bool on[RECORD_STACKS] = { [RECORD_STACK_KERNEL] = kernel,
					 [RECORD_STACK_USER] = user };
	int ret = 0;

	for (int i = 0; i < RECORD_STACKS && !ret; i++)
		/* (Linux 6.1 for s390x has no stacks of processes.) */
		if (on[i] != c->stacks[i] && c->b->stacks[i].id)
			ret = tracefs_write(c->dir, stack_kinds[i].option, on[i] ? "1" : "0",
					    false);
	if (!ret) {
		pthread_mutex_lock(&c->lock);
		memcpy(c->stacks, on, sizeof(on));
		pthread_mutex_unlock(&c->lock);
	}
	return ret;
}

void tracefs_restore_stacks(struct backend_channel *c)
{
	for (int i = 0; i < RECORD_STACKS; i++)
		if (c->stacks[i])
			tracefs_write(c->dir, stack_kinds[i].option, "1", false);
}

/* ---- read ---- */

struct drain {
	struct backend_channel *c;
	const struct backend_sink *sink;
	struct record_stacks stacks;
	uint64_t read;                  /* records that are not said to be taken */
	/* This many pages include all records that were in the buffer at the first read. */
	uint64_t most;
};

static void say_taken(struct drain *d)
{
	if (d->sink->taken && d->read)
		d->sink->taken(d->sink->arg, d->read);
	d->read = 0;
}

static void pass_record(void *arg, uint64_t time, const uint8_t *record, size_t len,
			const struct record_stack stacks[RECORD_STACKS])
{
	const struct drain *d = arg;

	if (d->sink->stacks)
		d->sink->stacks(d->sink->arg, stacks);
	d->sink->record(d->sink->arg, time, record, len);
}

static void process_page(struct drain *d, size_t size)
{
	struct backend_channel *c = d->c;
	struct kpage p;
	const uint8_t *record;
	uint64_t ts;
	size_t len;

	if (kpage_begin(&p, c->page, size, &c->b->layout))
		return;
	if (p.missed) {
		record_stacks_flush(&d->stacks);
		d->sink->missed(d->sink->arg, p.missed_known ? p.missed : 0);
	}
	while (kpage_next(&p, &ts, &record, &len)) {
		uint16_t as = __atomic_load_n(&c->ids[krecord_id(record)], __ATOMIC_RELAXED);

		if (as)
			/* part of c->page */
			memcpy((uint8_t *)(uintptr_t)record, &as, sizeof(as));
		record_stacks_add(&d->stacks, ts, record, len);
		d->read++;
		if (!record_stacks_wait(&d->stacks))
			say_taken(d);
	}
}

/* 0: the buffer is empty, or there is no such CPU. */
static ssize_t read_page(struct backend_channel *c, uint32_t cpu)
{
	ssize_t n;
	int err;

	pthread_mutex_lock(&c->lock);
	n = c->per_cpu[cpu].raw < 0 ? 0 : read(c->per_cpu[cpu].raw, c->page, c->page_size);
	err = errno;
	pthread_mutex_unlock(&c->lock);
	/* ENODEV: the CPU has not been online since the instance was made. */
	return n >= 0 ? n : err == EAGAIN || err == EINTR || err == ENODEV ? 0 : -err;
}

static int read_pages(struct drain *d, uint32_t cpu)
{
	uint64_t most = d->most;
	uint32_t again = STACK_READS;
	ssize_t n;

	while (cpu < d->c->cpus && most--) {
		n = read_page(d->c, cpu);
		if (n > 0)
			process_page(d, (size_t)n);
		else if (n < 0 || !record_stacks_wait(&d->stacks) || !again--)
			return (int)n;
		else
			sched_yield();
	}
	return 0;
}

int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	struct drain d = { .c = c, .sink = sink, .stacks = { .pass = pass_record, .arg = &d } };
	int ret;

	memcpy(d.stacks.layouts, c->b->stacks, sizeof(d.stacks.layouts));
	pthread_mutex_lock(&c->lock);
	memcpy(d.stacks.wanted, c->stacks, sizeof(d.stacks.wanted));
	d.most = c->bytes / c->data_size + 4;
	pthread_mutex_unlock(&c->lock);
	ret = read_pages(&d, cpu);
	record_stacks_flush(&d.stacks);
	say_taken(&d);
	record_stacks_deinit(&d.stacks);
	return ret;
}

int tracefs_lost(struct backend_channel *c, uint32_t cpu, struct source_counts *losses)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = read_lost(c, cpu, false, losses);
	if (cpu < c->cpus)
		add_losses(losses, &c->per_cpu[cpu].before);
	pthread_mutex_unlock(&c->lock);
	return ret;
}
