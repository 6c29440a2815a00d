/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/lock_order.h"
#include "tracer/base/search.h"
#include "tracer/base/ring/stream_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_MAX 64      /* files of older chunks that are kept for their readers */

static struct trace_place *trace_place_get(struct trace_place *p)
{
	__atomic_fetch_add(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

void trace_place_put(struct trace_place *p)
{
	/* Release and acquire: as in trace_put. */
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (p->fd >= 0)
		close(p->fd);
	if (p->index_fd >= 0)
		close(p->index_fd);
	free(p);
}

struct stream_files *stream_files_create(uint64_t key, uint32_t ring, bool sealed)
{
	struct stream_files *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->refs = 1;
	l->key = key;
	l->ring = ring;
	l->sealed = sealed;
	l->next_serial = 1;
	lock_init(&l->lock, NULL, LOCK_STREAM_FILES);
	return l;
}

struct stream_files *stream_files_get(struct stream_files *l)
{
	__atomic_fetch_add(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void stream_files_put(struct stream_files *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < l->count; i++)
		trace_place_put(l->files[i].place);
	free(l->files);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Caller holds l->lock. */
static void remove_at(struct stream_files *l, size_t i)
{
	trace_place_put(l->files[i].place);
	memmove(&l->files[i], &l->files[i + 1], (l->count - i - 1) * sizeof(l->files[0]));
	l->count--;
}

int stream_files_add(struct stream_files *l, const struct stream_file *f)
{
	int err = 0;

	pthread_mutex_lock(&l->lock);
	if ((l->count & (l->count + 1)) == 0) {
		struct stream_file *more = realloc(l->files, 2 * (l->count + 1) * sizeof(*more));

		if (more)
			l->files = more;
		else
			err = -ENOMEM;
	}
	if (!err) {
		l->files[l->count] = *f;
		trace_place_get(f->place);
		l->count++;
		l->next_serial = f->serial + 1;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

void stream_files_grow(struct stream_files *l, uint64_t size, uint64_t index_size,
		       const struct outend *end)
{
	pthread_mutex_lock(&l->lock);
	l->files[l->count - 1].size = size;
	l->files[l->count - 1].index_size = index_size;
	l->end = *end;
	pthread_mutex_unlock(&l->lock);
}

void stream_files_set_end(struct stream_files *l, const struct outend *end)
{
	pthread_mutex_lock(&l->lock);
	l->end = *end;
	pthread_mutex_unlock(&l->lock);
}

struct outend stream_files_end(struct stream_files *l)
{
	struct outend end;

	pthread_mutex_lock(&l->lock);
	end = l->end;
	end.serial = l->count ? l->files[l->count - 1].serial : 0;
	end.size = l->count ? l->files[l->count - 1].size : 0;
	end.index_size = l->count ? l->files[l->count - 1].index_size : 0;
	pthread_mutex_unlock(&l->lock);
	return end;
}

void stream_files_drop(struct stream_files *l, uint64_t serial, struct stream_file *out)
{
	out->place = NULL;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->count; i++)
		if (l->files[i].serial == serial) {
			*out = l->files[i];
			trace_place_get(out->place);
			remove_at(l, i);
			break;
		}
	pthread_mutex_unlock(&l->lock);
}

void stream_files_clear(struct stream_files *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->count)
		remove_at(l, l->count - 1);
	pthread_mutex_unlock(&l->lock);
}

void stream_files_chunk(struct stream_files *l, uint64_t chunk)
{
	pthread_mutex_lock(&l->lock);
	l->chunk = chunk;
	while (l->count > OLD_MAX && l->files[0].place->chunk != chunk)
		remove_at(l, 0);
	pthread_mutex_unlock(&l->lock);
}

bool stream_files_find(struct stream_files *l, uint64_t serial, struct stream_file *out)
{
	size_t i = 0;
	bool found;

	pthread_mutex_lock(&l->lock);
	/* The list can have many thousands of files, and readers search each of them. */
	if (serial)
		i = search_above(l->files, l->count, sizeof(*l->files), serial - 1);
	found = i < l->count;
	if (found) {
		*out = l->files[i];
		trace_place_get(out->place);
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool stream_files_tell(struct stream_files *l, uint64_t serial, uint64_t offset)
{
	bool news;

	pthread_mutex_lock(&l->lock);
	news = serial > l->told_serial || (serial == l->told_serial && offset >= l->told_offset);
	if (news) {
		l->told_serial = serial;
		l->told_offset = offset + 1;
	}
	pthread_mutex_unlock(&l->lock);
	return news;
}

uint64_t stream_files_first(struct stream_files *l)
{
	uint64_t serial;

	pthread_mutex_lock(&l->lock);
	serial = l->next_serial;
	for (size_t i = l->count; i-- > 0 && l->files[i].place->chunk == l->chunk;)
		serial = l->files[i].serial;
	pthread_mutex_unlock(&l->lock);
	return serial;
}

int outfile_open(const struct stream_file *f, bool index)
{
	char name[200];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), index ? "%s.idx" : "%s", f->name);
	/* Non-blocking: the name may meanwhile belong to a FIFO, which the check below rejects. */
	fd = openat(index ? f->place->index_fd : f->place->fd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ESTALE : -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == f->dev &&
	    st.st_ino == (index ? f->index_ino : f->ino))
		return fd;
	close(fd);
	return -ESTALE;
}

int stream_files_open(struct stream_files *l, const struct stream_file *f)
{
	int fd = outfile_open(f, false);
	bool there = false;

	/*
	 * The output thread takes a file off the list before it tests whether the file is open
	 * elsewhere.
	 */
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->count && !there; i++)
		there = l->files[i].serial == f->serial;
	pthread_mutex_unlock(&l->lock);
	if (there || fd < 0)
		return fd;
	close(fd);
	return -ESTALE;
}
