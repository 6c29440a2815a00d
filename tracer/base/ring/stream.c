// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <unistd.h>

#include "tracer/base/ring/stream_files.h"
#include "tracer/base/ring/stream.h"

struct trace *trace_get(struct trace *t)
{
	__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void trace_put(struct trace *t)
{
	/*
	 * Release: this holder's accesses come before the free; acquire: the last holder sees them.
	 */
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (t->release)
		t->release(t->import);
	md_trace_destroy(t->md);
	if (t->log_fd >= 0)
		close(t->log_fd);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void stream_set_deinit(struct stream_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		trace_put(set->streams[i].trace);
		region_put(set->streams[i].region);
		stream_files_put(set->streams[i].log);
	}
	free(set->streams);
	*set = (struct stream_set){ 0 };
}
