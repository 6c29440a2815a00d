// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One channel of trail.ko: what it records, and its rings in the layout of abi/module_ring.h. The
 * rings are mapped read-only. Only the kernel writes them; positions are checked nevertheless.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/base/context/context.h"
#include "tracer/kernel/backend/kring_reader.h"
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/kernel/backend/module.h"
#include "tracer/base/context/inclusion_set.h"

struct backend_channel {
	struct backend *b;
	int fd;
	char name[MODABI_NAME_MAX];
	struct kring_shape geo;
	uint64_t stride;                /* bytes of a ring, mapped */
	uint32_t cpus;
	struct kring_reader readers[];
};

/* ---- open and close ---- */

static int open_descriptor(struct backend *b, const struct backend_geometry *g, bool adopt,
			   struct modabi_channel *m)
{
	m->subbuf_count = kring_choose_sizes(g->bytes, &m->subbuf_size);
	m->overwrite = g->overwrite;
	m->tsc = g->tsc;
	return ioctl(b->device, adopt ? MODABI_OPEN : MODABI_CREATE, m);
}

static int map_rings(struct backend_channel *c)
{
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		struct kring_reader *p = &c->readers[cpu];
		void *at = mmap(NULL, c->stride, PROT_READ, MAP_SHARED, c->fd,
				(off_t)(cpu * c->stride));

		if (at == MAP_FAILED && errno == EINVAL)
			continue;       /* the kernel has no such CPU */
		if (at == MAP_FAILED)
			return -errno;
		p->ring = at;
		p->data = (const uint8_t *)at + KRING_PAGE;
		kring_reader_begin(p);
	}
	return 0;
}

int module_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			bool adopt, struct backend_channel **out, struct tr_err *err)
{
	struct backend_channel *c = calloc(1, sizeof(*c) + g->cpus * sizeof(c->readers[0]));
	struct modabi_channel m = { .subbuf_size = 0 };
	int ret;

	if (!c)
		return tr_fail(err, -ENOMEM, "out of memory");
	if (g->by == BACKEND_TRACEFS || g->by == BACKEND_BPF) {
		free(c);
		return tr_fail(err, -EOPNOTSUPP,
			       "the channel's `backend` is %s, but trail.ko records all channels",
			       g->by == BACKEND_BPF ? "bpf" : "tracefs");
	}
	c->b = b;
	c->cpus = g->cpus;
	snprintf(c->name, sizeof(c->name), "%s", name);
	memcpy(m.name, c->name, sizeof(m.name));
	/* Removes what a daemon left that ran before the module was loaded. */
	tracefs_backend.channel_remove(b, c->name);
	c->fd = open_descriptor(b, g, adopt, &m);
	if (c->fd < 0) {
		ret = -errno;
		tr_fail(err, ret, "trail.ko gives no channel of %" PRIu64 " bytes per CPU: %s%s",
			g->bytes, strerror(-ret),
			ret == -ENOMEM
				? "; make subbuf_size or subbuf_count smaller, or remove a session"
				: "");
		free(c);
		return ret;
	}
	c->geo.size = m.subbuf_size;
	c->geo.total = (uint64_t)m.subbuf_size * m.subbuf_count;
	c->stride = m.ring_stride;
	c->geo.copy = malloc(c->geo.size);
	ret = c->geo.copy ? map_rings(c) : -ENOMEM;
	if (ret) {
		tr_fail(err, ret, "the rings of trail.ko cannot be mapped: %s", strerror(-ret));
		module_channel_close(c, !adopt);
		return ret;
	}
	*out = c;
	return 0;
}

int module_channel_remove(struct backend *b, const char *name)
{
	struct modabi_channel m = { .subbuf_size = 0 };

	snprintf(m.name, sizeof(m.name), "%s", name);
	if (!ioctl(b->device, MODABI_REMOVE, &m))
		return 0;
	return errno == ENOENT ? tracefs_backend.channel_remove(b, name) : -errno;
}

void module_channel_close(struct backend_channel *c, bool remove)
{
	if (!c)
		return;
	if (remove)
		module_channel_remove(c->b, c->name);
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++)
		if (c->readers[cpu].ring)
			munmap((void *)(uintptr_t)c->readers[cpu].ring, c->stride);
	close(c->fd);
	free(c->geo.copy);
	free(c);
}

/* ---- settings ---- */

int module_contexts(struct backend_channel *c, const struct context *contexts, size_t count,
		    struct tr_err *err)
{
	struct modabi_context items[MODABI_CONTEXTS_MAX];
	struct modabi_contexts m = { .items = (uintptr_t)items, .count = (uint32_t)count };

	if (!count)
		return 0;
	if (count > MODABI_CONTEXTS_MAX)
		return tr_fail(err, -E2BIG, "trail.ko records at most %d contexts",
			       MODABI_CONTEXTS_MAX);
	for (size_t i = 0; i < count; i++)
		items[i] = (struct modabi_context){ contexts[i].kind, contexts[i].perf_type,
						    contexts[i].perf_config };
	return ioctl(c->fd, MODABI_SET_CONTEXTS, &m) && errno != EEXIST ? -errno : 0;
}

int module_record(struct backend_channel *c, bool on)
{
	uint32_t word = on;

	return ioctl(c->fd, MODABI_RECORD, &word) ? -errno : 0;
}

int module_enable(struct backend_channel *c, const char *system, const char *event, bool on)
{
	struct modabi_event m = { .on = on };
	int ret = 0, id;

	if (!event)
		return -EOPNOTSUPP;     /* only one by one */
	if (strlen(system) >= sizeof(m.system) || strlen(event) >= sizeof(m.name))
		return -ENAMETOOLONG;
	if (strcmp(system, MODCALL_SYSTEM)) {
		id = tracefs_event_id(c->b, system, event);
		m.id = (uint32_t)id;
		ret = id < 0 ? id : 0;
	} else {
		ret = modcall_find(c->b, event, &m, NULL);
	}
	if (ret)
		return ret;
	memcpy(m.system, system, strlen(system));
	memcpy(m.name, event, strlen(event));
	return ioctl(c->fd, MODABI_EVENT, &m) ? -errno : 0;
}

int module_filter(struct backend_channel *c, const char *system, const char *event,
		  const char *filter, size_t len)
{
	struct modabi_filter m = { .program = (uintptr_t)filter, .size = (uint32_t)len };
	int ret;

	if (strlen(system) >= sizeof(m.system) || strlen(event) >= sizeof(m.name))
		return -ENAMETOOLONG;
	memcpy(m.system, system, strlen(system));
	memcpy(m.name, event, strlen(event));
	if (!ioctl(c->fd, MODABI_FILTER, &m))
		return 0;
	ret = -errno;
	/* The old filter must not remain: record all. */
	m.size = 0;
	if (len)
		ioctl(c->fd, MODABI_FILTER, &m);
	return ret;
}

int module_enabled(struct backend_channel *c, struct md_buf *out)
{
	struct modabi_enabled m = { .size = 1u << 20 };
	char *text = malloc(m.size);
	int ret;

	if (!text)
		return -ENOMEM;
	m.buffer = (uintptr_t)text;
	ret = ioctl(c->fd, MODABI_ENABLED, &m) ? -errno : m.size > 1u << 20 ? -E2BIG : 0;
	if (!ret)
		md_buf_put(out, text, m.size);
	free(text);
	return ret;
}

/* m->count may not have room for it. */
static int track(struct backend_channel *c, struct modabi_track m, size_t count)
{
	if (count > MODABI_IDS_MAX)
		return -E2BIG;
	m.count = (uint32_t)count;
	return ioctl(c->fd, MODABI_TRACK, &m) ? -errno : 0;
}

int module_track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	const struct modabi_track m = { .ids = (uintptr_t)tids,
					.all = !count,
					.by = MODABI_TRACK_TID };

	return track(c, m, count);
}

int module_track_more(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	const struct modabi_track m = { .ids = (uintptr_t)tids,
					.by = MODABI_TRACK_TID,
					.more = 1 };

	return track(c, m, count);
}

int module_track_by(struct backend_channel *c, int attr, const struct track *set)
{
	static const uint32_t by[TRACK_IDS] = {
		[TRACK_KERNEL_VPID] = MODABI_TRACK_VPID, [TRACK_KERNEL_UID] = MODABI_TRACK_UID,
		[TRACK_KERNEL_VUID] = MODABI_TRACK_VUID, [TRACK_KERNEL_GID] = MODABI_TRACK_GID,
		[TRACK_KERNEL_VGID] = MODABI_TRACK_VGID,
	};
	const struct modabi_track m = { .ids = (uintptr_t)set->ids,
					.all = !set->some,
					.by = by[attr] };

	return track(c, m, set->count);
}

/* ---- read ---- */

static int release_space(void *arg, const struct kring_reader *p)
{
	struct backend_channel *c = arg;
	struct modabi_consume m = {
		.cpu = (uint32_t)(p - c->readers), .consumed = p->pos, .events = p->events,
		.overwritten = p->overwritten
	};

	return ioctl(c->fd, MODABI_CONSUME, &m) ? -errno : 0;
}

int module_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	struct kring_reader *p = &c->readers[cpu];

	if (cpu >= c->cpus || !p->ring)
		return 0;
	return kring_drain(&c->geo, p, __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE), sink,
			   release_space, c);
}

int module_lost(struct backend_channel *c, uint32_t cpu, struct source_counts *losses)
{
	*losses = (struct source_counts){ 0 };
	if (cpu < c->cpus && c->readers[cpu].ring)
		kring_lost(&c->geo, &c->readers[cpu], losses);
	return 0;
}
