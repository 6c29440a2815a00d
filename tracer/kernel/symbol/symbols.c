/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/hash_table.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/base/os/cred.h"
#include "tracer/kernel/symbol/process.h"

#define PROCESSES_MAX 65536u
#define MAPPINGS_MAX 262144u    /* of all processes */
#define MAPPINGS_EACH 4096u     /* of one */
#define OBJECTS_MAX 16384u
#define NO_GROUP ((gid_t)65534)
#define ANSWERS 8192u           /* a power of two */

struct answer {                 /* of a search, as long as the process has as many mappings */
	const struct symbol_process *process;  /* NULL: none */
	uint64_t address;
	bool returns;
	uint32_t count;
	struct symbol symbol;
};

struct symbols {
	struct owner owner;
	bool here;
	uint64_t boot;                  /* ns since the epoch */
	bool settled;
	bool kernel_asked;
	struct ksyms *kernel;           /* or NULL */
	struct code_object **objects;   /* owned, elements too */
	struct hash_table object_table; /* of `objects`, by path and build id */
	struct symbol_process **processes;      /* owned, elements too */
	struct hash_table process_table;        /* of `processes`, by pid */
	uint32_t mapping_count;
	struct answer answers[ANSWERS];
};

struct symbols *symbols_create(const struct owner *owner, bool here)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->owner = *owner;
	s->here = here;
	s->boot = boot_time();
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->object_table.count; i++)
		object_free(s->objects[i]);
	free(s->objects);
	hash_deinit(&s->object_table);
	for (uint32_t i = 0; i < s->process_table.count; i++) {
		free(s->processes[i]->mappings);
		functions_deinit(&s->processes[i]->compiled);
		free(s->processes[i]);
	}
	free(s->processes);
	hash_deinit(&s->process_table);
	ksyms_free(s->kernel);
	free(s);
}

void symbols_settle(struct symbols *s)
{
	s->settled = true;
}

/* A new one if there is none. NULL: there is no room. */
static struct symbol_process *find_process(struct symbols *s, int32_t pid)
{
	uint64_t hash = hash_step(HASH_START, (uint32_t)pid);
	struct symbol_process *p;

	for (uint32_t at = 0, i; (i = hash_find(&s->process_table, hash, &at)) != HASH_NONE;)
		if (s->processes[i]->pid == pid)
			return s->processes[i];
	if (s->process_table.count == PROCESSES_MAX ||
	    !array_double(s->processes, s->process_table.count) || !(p = calloc(1, sizeof(*p))))
		return NULL;
	if (!hash_add(&s->process_table, hash)) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	return s->processes[s->process_table.count - 1] = p;
}

/* ---- mappings ---- */

static struct code_object *create_object(const struct symbol_mapping *m, uint64_t hash)
{
	struct code_object *o = calloc(1, sizeof(*o));
	const char *slash;

	if (!o)
		return NULL;
	o->path = strndup(m->path, m->path_len);
	if (!o->path) {
		free(o);
		return NULL;
	}
	slash = strrchr(o->path, '/');
	o->shown = slash ? slash + 1 : o->path;
	o->hash = hash;
	o->id_size = (uint8_t)m->id_size;
	if (m->id_size)
		memcpy(o->id, m->id, m->id_size);
	return o;
}

/* The index of the object of this path and build id. -1: there is no room. */
static int64_t find_object(struct symbols *s, const struct symbol_mapping *m)
{
	uint64_t hash = hash_bytes(hash_step(HASH_START, m->path_len), m->path, m->path_len);
	struct code_object *o;

	hash = hash_bytes(hash, m->id, m->id_size);
	for (uint32_t at = 0, i; (i = hash_find(&s->object_table, hash, &at)) != HASH_NONE;) {
		o = s->objects[i];
		if (o->hash == hash && o->id_size == m->id_size &&
		    !strncmp(o->path, m->path, m->path_len) && !o->path[m->path_len] &&
		    (!m->id_size || !memcmp(o->id, m->id, m->id_size)))
			return i;
	}
	if (s->object_table.count == OBJECTS_MAX ||
	    !array_double(s->objects, s->object_table.count) || !(o = create_object(m, hash)))
		return -1;
	if (!hash_add(&s->object_table, hash)) {
		object_free(o);
		return -1;
	}
	s->objects[s->object_table.count - 1] = o;
	return s->object_table.count - 1;
}

void symbols_add(struct symbols *s, const struct symbol_mapping *m)
{
	struct symbol_process *p;
	int64_t object;

	if (m->pid <= 0 || !m->size || !m->path_len || m->id_size > SYMBOL_ID_MAX ||
	    memchr(m->path, 0, m->path_len) || s->mapping_count == MAPPINGS_MAX)
		return;
	p = find_process(s, m->pid);
	if (!p || p->count == MAPPINGS_EACH)
		return;
	object = find_object(s, m);
	if (object < 0)
		return;
	if (!array_double(p->mappings, p->count))
		return;
	p->mappings[p->count++] = (struct mapping){ m->from,   m->start, m->size,
						    m->offset, (uint32_t)object, !s->settled };
	if (m->from > p->last)
		p->last = m->from;
	s->mapping_count++;
}

void symbols_set_id(struct symbols *s, int32_t pid, uint64_t start, const uint8_t *id, size_t size)
{
	struct symbol_process *p = pid > 0 ? find_process(s, pid) : NULL;
	uint32_t i = p ? p->count : 0;
	const struct code_object *old;
	int64_t object;

	while (i && p->mappings[i - 1].start != start)
		i--;
	if (!i || !size || size > SYMBOL_ID_MAX)
		return;
	old = s->objects[p->mappings[i - 1].object];
	object = find_object(s, &(struct symbol_mapping){ .path = old->path,
							  .path_len = strlen(old->path),
							  .id = id,
							  .id_size = size });
	if (object >= 0)
		p->mappings[i - 1].object = (uint32_t)object;
}

/* ---- the search ---- */

/*
 * The latest mapping up to this time that contains the address, else the earliest one that was
 * known before symbols_settle. NULL: none.
 */
static const struct mapping *find_mapping(const struct symbol_process *p, uint64_t time,
					  uint64_t address)
{
	const struct mapping *best = NULL, *later = NULL;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct mapping *m = &p->mappings[i];

		if (address - m->start >= m->size)
			continue;
		if (m->from <= time)
			best = best && best->from > m->from ? best : m;
		else if (m->early && (!later || m->from < later->from))
			later = m;
	}
	return best ? best : later;
}

static void search(struct symbols *s, const struct symbol_process *p, uint64_t time,
		   uint64_t address, bool returns, struct symbol *out)
{
	const struct mapping *m = find_mapping(p, time, address - returns);
	struct code_object *o;
	uint64_t at;

	if (!m) {
		out->name = functions_find(&p->compiled, address - returns, &out->offset);
		out->offset += out->name && returns;
		out->object = out->name ? "[JIT]" : NULL;
		return;
	}
	o = s->objects[m->object];
	if (!o->loaded)
		object_load(o, &s->owner, s->here);
	at = object_address(o, address - returns - m->start, m->offset);
	out->object = o->shown;
	out->name = functions_find(&o->functions, at, &out->offset);
	out->offset = (out->name ? out->offset : at) + returns;
}

void symbols_find(struct symbols *s, int32_t pid, uint64_t time, uint64_t address, bool returns,
		  struct symbol *out)
{
	struct symbol_process *p = pid > 0 ? find_process(s, pid) : NULL;
	struct answer *a;
	bool steady;

	*out = (struct symbol){ 0 };
	if (!p)
		return;
	if (!p->asked)
		process_ask(s, p, &s->owner, s->here && time >= s->boot, time);
	a = &s->answers[hash_step(hash_step(HASH_START, address), (uint64_t)pid) >> 20 &
			(ANSWERS - 1)];
	/* Then all its mappings count, and the answer depends on the address only. */
	steady = time >= p->last;
	if (steady && a->process == p && a->address == address && a->returns == returns &&
	    a->count == p->count) {
		*out = a->symbol;
		return;
	}
	search(s, p, time, address, returns, out);
	if (steady)
		*a = (struct answer){ p, address, returns, p->count, *out };
}

/* The kernel shows its addresses to those who may see them: the file is opened as the owner. */
static struct ksyms *load_kernel(const struct owner *owner)
{
	struct ksyms *k = NULL;
	struct cred cred;

	if (!owner->uid)
		return ksyms_load(KSYMS_FILE);
	if (cred_of(owner, &cred))
		return NULL;
	if (!cred_enter(&cred)) {
		k = ksyms_load(KSYMS_FILE);
		cred_leave(&cred);
	}
	cred_deinit(&cred);
	return k;
}

void symbols_find_kernel(struct symbols *s, uint64_t time, uint64_t address, bool returns,
			 struct symbol *out)
{
	*out = (struct symbol){ 0 };
	if (!s->here || time < s->boot)
		return;
	if (!s->kernel_asked)
		s->kernel = load_kernel(&s->owner);
	s->kernel_asked = true;
	if (!s->kernel)
		return;
	out->name = ksyms_find_at(s->kernel, address - returns, &out->offset);
	out->offset = out->name ? out->offset + returns : 0;
	out->object = out->name ? "[kernel]" : NULL;
}
