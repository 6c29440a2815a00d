// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/sample/process_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANCESTORS_MAX 64        /* more are not looked at */
#define PROCESSES_MAX 16384u    /* with more, those that ended are forgotten */
#define BYTES_MAX (8u << 20)

static uint32_t bucket_of(int32_t pid)
{
	return (uint32_t)pid & (PROCESS_BUCKETS - 1);
}

static void forget_records(struct process_table *t, struct sampled_process *p)
{
	t->bytes -= p->maps.len;
	md_buf_deinit(&p->maps);
	p->maps = (struct md_buf){ 0 };
	p->spaced = p->passed = 0;
}

static void forget_space(struct sampled_process *p)
{
	unwind_space_free(p->space);
	p->space = NULL;
}

/* Other threads of a process whose first one has ended may continue: so it is forgotten late. */
static void forget_ended(struct process_table *t)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct sampled_process **at = &t->buckets[i], *p; (p = *at);) {
			if (!p->ended) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			forget_records(t, p);
			forget_space(p);
			free(p);
			t->count--;
		}
}

struct sampled_process *process_known(const struct process_table *t, int32_t pid)
{
	struct sampled_process *p = t->buckets[bucket_of(pid)];

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

struct sampled_process *process_find(struct process_table *t, int32_t pid)
{
	struct sampled_process *p = process_known(t, pid), **bucket = &t->buckets[bucket_of(pid)];

	if (p)
		return p;
	if (t->count >= PROCESSES_MAX)
		forget_ended(t);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->doubted = t->gap;
	p->next = *bucket;
	*bucket = p;
	t->count++;
	return p;
}

void process_born(struct process_table *t, int32_t pid, int32_t parent)
{
	struct sampled_process *maker = process_find(t, parent), *p;
	bool tracked = maker && maker->tracked, doubted = maker && maker->doubted && !tracked;

	/* This may free the maker. */
	p = process_find(t, pid);
	if (!p)
		return;
	process_missed(t, p);
	p->parent = parent;
	p->tracked = tracked;
	p->doubted = doubted;
	p->ended = false;
}

void process_missed(struct process_table *t, struct sampled_process *p)
{
	forget_records(t, p);
	forget_space(p);
	p->known = false;
	p->parent = 0;
}

void process_executes(struct process_table *t, int32_t pid)
{
	struct sampled_process *p = process_find(t, pid);

	if (!p)
		return;
	/* It has other mappings from now on, and all of them are recorded. */
	process_missed(t, p);
	p->space = unwind_space_create();
}

void process_ended(struct process_table *t, int32_t pid)
{
	struct sampled_process *p = process_find(t, pid);

	if (!p)
		return;
	forget_records(t, p);
	forget_space(p);
	p->ended = true;
}

void process_doubt(struct process_table *t)
{
	t->gap = true;
	for (size_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct sampled_process *p = t->buckets[i]; p; p = p->next) {
			process_missed(t, p);
			p->doubted = !p->tracked;
		}
}

/* The process that made it, by proc_pid_stat(5); 0: none. -1: it has ended. */
static int32_t find_parent(int32_t pid)
{
	char path[32], text[256], *end;
	FILE *f;
	size_t n;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* The name before it may have any characters. */
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : -1;
}

int process_decide(const struct process_table *t, struct sampled_process *p)
{
	const struct sampled_process *ancestor = NULL;
	int32_t pid = find_parent(p->pid);

	if (pid < 0)
		return -ESRCH;
	for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++, pid = find_parent(pid)) {
		ancestor = process_known(t, pid);
		if (ancestor && ancestor->tracked)
			p->tracked = true;
		if (ancestor && !ancestor->doubted)
			break;
	}
	p->doubted = false;
	return 0;
}

void process_maps(struct process_table *t, struct sampled_process *p, const struct md_buf *record)
{
	if (record->failed || t->bytes + record->len > BYTES_MAX) {
		process_missed(t, p);
		return;
	}
	t->bytes -= p->maps.len;
	md_buf_put(&p->maps, record->data, record->len);
	t->bytes += p->maps.len;
}

void process_mapped(struct process_table *t, struct sampled_process *p)
{
	p->known = true;
	p->passed = p->maps.len;
	if (!p->space || p->spaced >= p->maps.len)
		forget_records(t, p);
}

void process_untrack(struct process_table *t)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct sampled_process *p = t->buckets[i]; p; p = p->next)
			p->tracked = p->doubted = false;
}

void process_table_deinit(struct process_table *t)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++)
		for (struct sampled_process *p = t->buckets[i], *next; p; p = next) {
			next = p->next;
			md_buf_deinit(&p->maps);
			unwind_space_free(p->space);
			free(p);
		}
}

bool process_next_mapping(const struct sampled_process *p, size_t *at, struct code_mapping *out)
{
	struct mapping_record m;

	if (*at >= p->maps.len)
		return false;
	memcpy(&m, p->maps.data + *at, sizeof(m));
	*out = (struct code_mapping){
		.start = m.start,
		.size = m.size,
		.offset = m.offset,
		.major = m.major,
		.minor = m.minor,
		.inode = m.inode,
		.path = p->maps.data + *at + sizeof(m),
	};
	*at += m.header.size;
	return true;
}
