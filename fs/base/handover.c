/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/handover.h"
#include "tracer/base/hash.h"

#define MAGIC 0x54534654u       /* "TFST" */
#define HANDLE_INDEX 0xffffffffu

struct table {
	struct handover_head head;
	struct handover_node nodes[HANDOVER_NODES];
	char names[HANDOVER_NAMES][NAME_MAX + 1];
	struct handover_file files[HANDOVER_FILES];
	struct handover_text texts[HANDOVER_TEXTS];
};

static struct {
	struct table *t;        /* NULL: none */
	int fd;
	/* Entries that were used and are free, as stacks; guarded as the entries. */
	uint32_t *free_nodes, *free_files, *free_names;
	uint32_t free_node_count, free_file_count, free_name_count;
} own = { .fd = -1 };

/* how: MAP_SHARED, or MAP_PRIVATE for a copy */
static void *map(int fd, int how)
{
	void *p = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, how, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static bool is_node(const struct handover_node *n)
{
	return n->id > 1 && n->parent && n->parent < n->id && n->id < own.t->head.next_node &&
	       n->longer <= own.t->head.name_count && ends(n->name, sizeof(n->name)) &&
	       (!n->longer || ends(own.t->names[n->longer - 1], NAME_MAX + 1)) &&
	       handover_node_name(n)[0];
}

static bool is_given(const struct handover_given *g)
{
	return g->len <= HANDOVER_BYTES &&
	       (g->rest == HANDOVER_NONE || g->rest <= HANDOVER_BYTES - g->len);
}

static bool is_file(const struct handover_file *f, uint32_t index)
{
	return f->handle && (f->handle & HANDLE_INDEX) == index &&
	       f->handle >> 32 < own.t->head.next_handle && f->node && f->which < 2 &&
	       is_given(&f->given[0]) && is_given(&f->given[1]);
}

/* What is not valid becomes free. Those that were never used are not read: they take no memory. */
static void list_free(void)
{
	bool used[HANDOVER_NAMES] = { false };

	for (uint32_t i = own.t->head.node_count; i-- > 0;) {
		struct handover_node *n = &own.t->nodes[i];

		/* Two nodes with one entry for their names: one of them is wrong. */
		if (n->id && is_node(n) && !(n->longer && used[n->longer - 1])) {
			if (n->longer)
				used[n->longer - 1] = true;
			continue;
		}
		n->id = 0;
		own.free_nodes[own.free_node_count++] = i;
	}
	for (uint32_t i = own.t->head.name_count; i-- > 0;)
		if (!used[i])
			own.free_names[own.free_name_count++] = i;
	for (uint32_t i = own.t->head.file_count; i-- > 0;) {
		struct handover_file *f = &own.t->files[i];

		if (f->handle && is_file(f, i))
			continue;
		f->handle = 0;
		own.free_files[own.free_file_count++] = i;
	}
}

/* Owns fd if it returns 0. */
static int use(int fd, int how)
{
	own.free_nodes = calloc(HANDOVER_NODES, sizeof(*own.free_nodes));
	own.free_files = calloc(HANDOVER_FILES, sizeof(*own.free_files));
	own.free_names = calloc(HANDOVER_NAMES, sizeof(*own.free_names));
	own.t = own.free_nodes && own.free_files && own.free_names ? map(fd, how) : NULL;
	if (!own.t) {
		handover_end();
		return -ENOMEM;
	}
	own.fd = fd;
	return 0;
}

int handover_begin(const char *path)
{
	int fd = memfd_create("trailfs-mount", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;
	struct handover_head *h;

	if (fd < 0)
		return -errno;
	rc = strlen(path) >= PATH_MAX ? -ENAMETOOLONG
	     : ftruncate(fd, sizeof(struct table)) ||
			     fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
		     ? -errno
		     : use(fd, MAP_SHARED);
	if (rc) {
		close(fd);
		return rc;
	}
	h = &own.t->head;
	h->version = HANDOVER_VERSION;
	h->size = sizeof(struct table);
	h->next_node = 2;       /* 1 is the root */
	h->next_handle = 1;
	h->born = fs.born;
	strcpy(h->path, path);
	h->magic = MAGIC;
	return 0;
}

static bool is_table(const struct handover_head *h)
{
	return h->magic == MAGIC && h->version == HANDOVER_VERSION &&
	       h->size == sizeof(struct table) && h->init_len && h->init_len <= HANDOVER_REPLY &&
	       h->init_reply_len && h->init_reply_len <= HANDOVER_REPLY && h->next_node > 1 &&
	       h->node_count <= HANDOVER_NODES && h->file_count <= HANDOVER_FILES &&
	       h->name_count <= HANDOVER_NAMES &&
	       ends(h->device, sizeof(h->device)) && ends(h->path, sizeof(h->path));
}

/* A table that can shrink would kill the daemon that has mapped it. */
static bool is_sealed(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_size == (off_t)sizeof(struct table) &&
	       (fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW)) ==
		       (F_SEAL_SHRINK | F_SEAL_GROW);
}

static int take(int fd, int how)
{
	int rc = is_sealed(fd) ? use(fd, how) : -EPROTO;

	if (rc)
		return rc;
	if (!is_table(&own.t->head)) {
		own.fd = -1;
		handover_end();
		return -EPROTO;
	}
	own.t->head.taken++;
	list_free();
	fs.born = own.t->head.born;
	return 0;
}

int handover_take(int fd)
{
	return take(fd, MAP_SHARED);
}

int handover_try(int fd)
{
	return take(fd, MAP_PRIVATE);
}

bool handover_look(int fd, char path[PATH_MAX], char device[24])
{
	struct table *t = is_sealed(fd) ? map(fd, MAP_SHARED) : NULL;
	bool valid = t && is_table(&t->head);

	if (valid) {
		memcpy(path, t->head.path, PATH_MAX);
		memcpy(device, t->head.device, 24);
	}
	if (t)
		munmap(t, sizeof(*t));
	return valid;
}

void handover_end(void)
{
	if (own.t)
		munmap(own.t, sizeof(*own.t));
	if (own.fd >= 0)
		close(own.fd);
	free(own.free_nodes);
	free(own.free_files);
	free(own.free_names);
	memset(&own, 0, sizeof(own));
	own.fd = -1;
}

struct handover_head *handover_head(void)
{
	return own.t ? &own.t->head : NULL;
}

int handover_fd(void)
{
	return own.fd;
}

/* ---- nodes ---- */

uint32_t handover_node_new(void)
{
	if (!own.t)
		return HANDOVER_NONE;
	if (own.free_node_count)
		return own.free_nodes[--own.free_node_count];
	return own.t->head.node_count < HANDOVER_NODES ? own.t->head.node_count++ : HANDOVER_NONE;
}

struct handover_node *handover_node(uint32_t index)
{
	return own.t && index < HANDOVER_NODES ? &own.t->nodes[index] : NULL;
}

void handover_node_free(uint32_t index)
{
	struct handover_node *n = handover_node(index);

	if (!n)
		return;
	__atomic_store_n(&n->id, 0, __ATOMIC_RELEASE);
	if (n->longer)
		own.free_names[own.free_name_count++] = n->longer - 1;
	n->longer = 0;
	own.free_nodes[own.free_node_count++] = index;
}

bool handover_node_set_name(struct handover_node *n, const char *name)
{
	size_t size = strlen(name) + 1;
	uint32_t at;

	if (size <= sizeof(n->name)) {
		memcpy(n->name, name, size);
		return true;
	}
	if (size > NAME_MAX + 1)
		return false;
	if (own.free_name_count)
		at = own.free_names[--own.free_name_count];
	else if (own.t->head.name_count < HANDOVER_NAMES)
		at = own.t->head.name_count++;
	else
		return false;
	memcpy(own.t->names[at], name, size);
	n->longer = at + 1;
	return true;
}

const char *handover_node_name(const struct handover_node *n)
{
	return n->longer ? own.t->names[n->longer - 1] : n->name;
}

struct handover_node *handover_node_used(uint32_t index)
{
	return own.t && index < own.t->head.node_count ? &own.t->nodes[index] : NULL;
}

/* ---- files ---- */

struct handover_file *handover_file(uint64_t handle)
{
	uint32_t index = (uint32_t)(handle & HANDLE_INDEX);

	return own.t && index < HANDOVER_FILES && own.t->files[index].handle == handle
		       ? &own.t->files[index]
		       : NULL;
}

struct handover_file *handover_file_new(void)
{
	struct handover_file *f;
	uint32_t index;

	if (!own.t || (!own.free_file_count && own.t->head.file_count >= HANDOVER_FILES))
		return NULL;
	index = own.free_file_count ? own.free_files[--own.free_file_count]
				    : own.t->head.file_count++;
	f = &own.t->files[index];
	memset(f, 0, offsetof(struct handover_file, given));
	for (size_t i = 0; i < 2; i++)
		memset(&f->given[i], 0, offsetof(struct handover_given, bytes));
	f->node = 0;
	__atomic_store_n(&f->handle, own.t->head.next_handle++ << 32 | index, __ATOMIC_RELEASE);
	return f;
}

void handover_file_free(struct handover_file *f)
{
	if (!f || !own.t)
		return;
	__atomic_store_n(&f->handle, 0, __ATOMIC_RELEASE);
	own.free_files[own.free_file_count++] = (uint32_t)(f - own.t->files);
}

struct handover_file *handover_file_used(uint32_t index)
{
	return own.t && index < own.t->head.file_count ? &own.t->files[index] : NULL;
}

/* `to`, which is not the newest, has its bytes: makes it the newest. */
static void finish_given(struct handover_file *f, struct handover_given *to, uint64_t unique,
			 size_t len, uint64_t end)
{
	to->len = (uint32_t)len;
	to->unique = unique;
	to->end = end;
	__atomic_store_n(&f->which, !(f->which & 1), __ATOMIC_RELEASE);
	f->state &= ~HANDOVER_UNDELIVERED;
}

void handover_give_place(struct handover_file *f, uint64_t unique, const void *place, size_t n,
			 uint64_t end)
{
	struct handover_given *to = f ? &f->given[!(f->which & 1)] : NULL;

	if (!to || n > HANDOVER_BYTES)
		return;
	memcpy(to->bytes, place, n);
	to->more = 0;
	to->number = to->era = 0;
	to->rest = HANDOVER_NONE;
	finish_given(f, to, unique, n, end);
}

void handover_give(struct handover_file *f, const struct handover_read *r, const void *bytes,
		   size_t n)
{
	size_t keep = 0, all = n, rest = r->rest ? r->rest_len : 0, room = HANDOVER_BYTES - rest;
	const struct handover_given *old;
	struct handover_given *to;

	if (!f || rest > HANDOVER_REST)
		return;
	old = &f->given[f->which & 1];
	to = &f->given[!(f->which & 1)];
	if (n >= room) {
		bytes = (const uint8_t *)bytes + n - room;
		n = room;
	} else if (old->end + n == r->end && old->era == r->era) {
		keep = room - n < old->len ? room - n : old->len;
		memcpy(to->bytes, old->bytes + old->len - keep, keep);
	}
	if (n)
		memcpy(to->bytes + keep, bytes, n);
	if (rest)
		memcpy(to->bytes + keep + n, r->rest, rest);
	to->more = (uint32_t)(all > HANDOVER_BYTES);
	to->number = r->number;
	to->era = r->era;
	to->rest = r->rest ? (uint32_t)rest : HANDOVER_NONE;
	finish_given(f, to, r->unique, keep + n, r->end);
}

void handover_take_back(struct handover_file *f)
{
	f->state |= HANDOVER_UNDELIVERED;
	__atomic_store_n(&f->which, !(f->which & 1), __ATOMIC_RELEASE);
}

void handover_show(struct handover_file *f, const void *text, size_t n)
{
	struct handover_given *to = f ? &f->given[0] : NULL;

	if (!to)
		return;
	__atomic_store_n(&f->state, f->state & ~HANDOVER_SHOWN, __ATOMIC_RELEASE);
	to->more = n > HANDOVER_BYTES;
	to->len = to->more ? 0 : (uint32_t)n;
	to->end = n;
	to->number = to->more ? hash_bytes(HASH_START, text, n) : 0;
	if (to->len)
		memcpy(to->bytes, text, to->len);
	__atomic_store_n(&f->state, f->state | HANDOVER_SHOWN, __ATOMIC_RELEASE);
}

bool handover_shows(const struct handover_file *f, const void *text, size_t n)
{
	const struct handover_given *g = &f->given[0];

	return f->state & HANDOVER_SHOWN && g->end == n &&
	       (g->more ? g->number == hash_bytes(HASH_START, text, n)
			: g->len == n && !memcmp(g->bytes, text, n));
}

struct handover_text *handover_texts(void)
{
	return own.t ? own.t->texts : NULL;
}

/* ---- reads that wait ---- */

uint32_t handover_park(uint64_t unique)
{
	for (uint32_t i = 0; own.t && unique && i < HANDOVER_PARKED; i++) {
		uint64_t none = 0;

		/* Any thread may look for a place at a time. */
		if (__atomic_compare_exchange_n(&own.t->head.parked[i], &none, unique, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i;
	}
	return HANDOVER_NONE;
}

void handover_unpark(uint32_t place)
{
	if (own.t && place < HANDOVER_PARKED)
		__atomic_store_n(&own.t->head.parked[place], 0, __ATOMIC_RELAXED);
}
