// SPDX-License-Identifier: GPL-2.0-or-later
/* Passes on what the rings of a sampler had, in the order of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/kernel/sample/internal.h"

#define PATH_LEAST 8u           /* bytes of a path in a record, with NULs */

struct task_record {            /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

struct comm_record {            /* PERF_RECORD_COMM */
	struct perf_event_header header;
	uint32_t pid, tid;
};

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* ---- one record ---- */

static void pass_mappings(const struct sampled_process *p, const struct sampler_sink *sink)
{
	struct code_mapping m;

	for (size_t at = p->passed; process_next_mapping(p, &at, &m);)
		sink->mapping(sink->arg, p->pid, &m);
}

/*
 * Splits the addresses of a callchain, in which markers say whose stack follows. Returns false if
 * it does not fit into the record.
 */
static bool split_chain(const struct perf_event_header *h, struct cpu_sample *out)
{
	const uint8_t *p = (const uint8_t *)h;
	const uint64_t *chain;
	struct perf_sample raw;
	uint64_t context = 0;

	memcpy(&raw, p, sizeof(raw));
	if (raw.count > (h->size - sizeof(raw)) / 8)
		return false;
	/* Records begin at multiples of 8 bytes. */
	chain = (const uint64_t *)(const void *)(p + sizeof(raw));
	out->kernel = out->user = chain;
	for (uint64_t i = 0; i < raw.count; i++) {
		if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			context = chain[i];
			if (context == (uint64_t)PERF_CONTEXT_KERNEL && !out->kernel_count)
				out->kernel = chain + i + 1;
			if (context == (uint64_t)PERF_CONTEXT_USER && !out->user_count)
				out->user = chain + i + 1;
		} else if (context == (uint64_t)PERF_CONTEXT_KERNEL) {
			out->kernel_count++;
		} else if (context == (uint64_t)PERF_CONTEXT_USER) {
			out->user_count++;
		}
	}
	return true;
}

static void pass_sample(struct sampler *s, const struct record *r,
			const struct perf_event_header *h, const struct sampler_sink *sink)
{
	struct cpu_sample out = { .kind = (enum sample_kind)r->event,
				  .cpu = r->cpu,
				  .time = r->time };
	struct perf_sample raw;
	struct sampled_process *p;

	memcpy(&raw, h, sizeof(raw));
	out.pid = (int32_t)raw.pid;
	out.tid = (int32_t)raw.tid;
	out.address = raw.address;
	/* A counter of the hardware also counts while a CPU is idle. */
	if (!out.tid)
		return;
	p = process_find(&s->processes, out.pid);
	if (s->tracks && p && p->doubted && process_decide(&s->processes, p)) {
		sink->lost(sink->arg, r->cpu, 1);
		return;
	}
	if (s->tracks && !(p && p->tracked))
		return;
	if (!split_chain(h, &out)) {
		sink->lost(sink->arg, r->cpu, 1);
		return;
	}
	if (!sink->wants(sink->arg, &out))
		return;
	if (p && s->copies[out.kind]) {
		size_t used = sizeof(raw) + (size_t)raw.count * 8;

		sampler_unwind(s, p, (const uint8_t *)h + used, h->size - used, &out);
	}
	if (p && out.user_count) {
		/* A library that is loaded later is mapped after the first sample. */
		if (p->maps.len)
			pass_mappings(p, sink);
		else if (!p->known)
			sink->unknown(sink->arg, p->pid, p->parent);
		process_mapped(&s->processes, p);
	}
	sink->sample(sink->arg, &out);
}

/* Keeps the record without its trailer; the path in it ends with a NUL. */
static void keep_mapping(struct sampler *s, const struct perf_event_header *h)
{
	struct md_buf copy = MD_BUF_INIT;
	struct mapping_record m;
	struct sampled_process *p;
	size_t size = h->size - sizeof(struct perf_trailer);

	if (h->size < sizeof(m) + PATH_LEAST + sizeof(struct perf_trailer) ||
	    ((const char *)h)[size - 1])
		return;
	memcpy(&m, h, sizeof(m));
	m.header.size = (uint16_t)size;
	p = process_find(&s->processes, (int32_t)m.pid);
	if (!p)
		return;
	if (s->tracks && !p->tracked) {
		process_missed(&s->processes, p);
		return;
	}
	md_buf_put(&copy, &m, sizeof(m));
	md_buf_put(&copy, (const char *)h + sizeof(m), size - sizeof(m));
	process_maps(&s->processes, p, &copy);
	md_buf_deinit(&copy);
}

static void pass_record(struct sampler *s, const struct record *r, const struct sampler_sink *sink)
{
	const struct perf_event_header *h = r->copy ? r->copy : r->in_ring;
	struct task_record task;
	struct comm_record comm;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		pass_sample(s, r, h, sink);
		return;
	case PERF_RECORD_MMAP2:
		keep_mapping(s, h);
		return;
	case PERF_RECORD_COMM:
		if (h->size < sizeof(comm) || !(h->misc & PERF_RECORD_MISC_COMM_EXEC))
			return;
		memcpy(&comm, h, sizeof(comm));
		process_executes(&s->processes, (int32_t)comm.pid);
		return;
	default:
		if (h->size < sizeof(task))
			return;
		memcpy(&task, h, sizeof(task));
		if (h->type == PERF_RECORD_FORK && task.pid != task.parent)
			process_born(&s->processes, (int32_t)task.pid, (int32_t)task.parent);
		if (h->type == PERF_RECORD_EXIT && task.pid == task.tid)
			process_ended(&s->processes, (int32_t)task.pid);
	}
}

void sampler_drain(struct sampler *s, uint64_t until, const struct sampler_sink *sink)
{
	size_t done = 0;

	if (!s->time.mult && s->clock->mult)
		s->ahead = clock_measure_offset(s->clock, CLOCK_MONOTONIC);
	s->spent = 0;
	for (uint32_t n = 0; n < EVENTS; n++)
		sampler_read(s, n, sink);
	if (s->count)
		qsort(s->records, s->count, sizeof(*s->records), compare_records);
	for (; done < s->count && s->records[done].order <= until; done++) {
		struct record *r = &s->records[done];

		pass_record(s, r, sink);
		if (r->in_ring)
			perf_ring_release(ring_of(s, r->cpu, r->event), r->end);
		free(r->copy);
	}
	s->count -= done;
	if (done)
		memmove(s->records, s->records + done, s->count * sizeof(*s->records));
}
