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
#include "tracer/abi/module_ring.h"
#include "tracer/kernel/backend/module_syscalls.h"
#include "tracer/kernel/backend/module.h"
#include "tracer/base/context/inclusion_set.h"

struct reader {                          /* how far a ring is read */
	const struct kring *ring;       /* mapped; NULL: no such CPU */
	const uint8_t *data;
	uint64_t pos;
	uint64_t events;                /* below pos */
	uint64_t overwritten;           /* of these, overwritten before they were read */
};

struct backend_channel {
	struct backend *b;
	int fd;
	char name[MODABI_NAME_MAX];
	uint64_t size, total, stride;   /* bytes of a sub-buffer, of all sub-buffers, of a ring */
	bool overwrite;
	uint8_t *copy;                  /* of one sub-buffer */
	uint32_t cpus;
	struct reader readers[];
};

/* ---- open and close ---- */

static uint64_t round_to_power_of_two(uint64_t n, uint64_t least, uint64_t most)
{
	uint64_t p = least;

	while (p < n && p < most)
		p *= 2;
	return p;
}

static int open_descriptor(struct backend *b, const struct backend_geometry *g, bool adopt,
			   struct modabi_channel *m)
{
	m->subbuf_size = (uint32_t)round_to_power_of_two(g->bytes / 16, 16384, 1u << 20);
	m->subbuf_count = (uint32_t)round_to_power_of_two(g->bytes / m->subbuf_size, 2,
							  KRING_SUBBUF_COUNT_MAX);
	m->overwrite = g->overwrite;
	m->tsc = g->tsc;
	return ioctl(b->device, adopt ? MODABI_OPEN : MODABI_CREATE, m);
}

static int map_rings(struct backend_channel *c)
{
	for (uint32_t cpu = 0; cpu < c->cpus; cpu++) {
		struct reader *p = &c->readers[cpu];
		void *at = mmap(NULL, c->stride, PROT_READ, MAP_SHARED, c->fd,
				(off_t)(cpu * c->stride));

		if (at == MAP_FAILED && errno == EINVAL)
			continue;       /* the kernel has no such CPU */
		if (at == MAP_FAILED)
			return -errno;
		p->ring = at;
		p->data = (const uint8_t *)at + KRING_PAGE;
		p->pos = p->ring->consumed;
		p->events = p->ring->consumed_events;
		p->overwritten = p->ring->overwritten;
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
	c->size = m.subbuf_size;
	c->total = (uint64_t)m.subbuf_size * m.subbuf_count;
	c->stride = m.ring_stride;
	c->overwrite = m.overwrite;
	c->copy = malloc(c->size);
	ret = c->copy ? map_rings(c) : -ENOMEM;
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
	free(c->copy);
	free(c);
}

/* ---- settings ---- */

int module_contexts(struct backend_channel *c, const struct context *contexts, size_t count)
{
	struct modabi_context items[MODABI_CONTEXTS_MAX];
	struct modabi_contexts m = { .items = (uintptr_t)items, .count = (uint32_t)count };

	if (!count)
		return 0;
	if (count > MODABI_CONTEXTS_MAX)
		return -E2BIG;
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

int module_track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	struct modabi_track m = { .ids = (uintptr_t)tids,
				  .count = (uint32_t)count,
				  .all = !count,
				  .by = MODABI_TRACK_TID };

	if (count > MODABI_IDS_MAX)
		return -E2BIG;
	return ioctl(c->fd, MODABI_TRACK, &m) ? -errno : 0;
}

int module_track_by(struct backend_channel *c, int attr, const struct track *set)
{
	static const uint32_t by[TRACK_ATTRS] = {
		[TRACK_KERNEL_VPID] = MODABI_TRACK_VPID, [TRACK_KERNEL_UID] = MODABI_TRACK_UID,
		[TRACK_KERNEL_VUID] = MODABI_TRACK_VUID, [TRACK_KERNEL_GID] = MODABI_TRACK_GID,
		[TRACK_KERNEL_VGID] = MODABI_TRACK_VGID,
	};
	struct modabi_track m = { .ids = (uintptr_t)set->ids,
				  .count = (uint32_t)set->count,
				  .all = !set->some,
				  .by = by[attr] };

	if (set->count > MODABI_IDS_MAX)
		return -E2BIG;
	return ioctl(c->fd, MODABI_TRACK, &m) ? -errno : 0;
}

/* ---- read ---- */

/* Position of the first sub-buffer that no writer has begun to overwrite. */
static uint64_t oldest_position(const struct backend_channel *c, const struct kring *r)
{
	uint64_t claimed = kring_position(__atomic_load_n(&r->reserve, __ATOMIC_ACQUIRE));
	uint64_t end = (claimed + c->size - 1) & ~(c->size - 1);

	return end > c->total ? end - c->total : 0;
}

/*
 * Copies the ring from the reader's position to the end of the sub-buffer, at most to head. Returns
 * the number of bytes; 0: a writer overwrote them meanwhile.
 */
static size_t copy_subbuf(const struct backend_channel *c, const struct reader *p, uint64_t head)
{
	uint64_t end = (p->pos & ~(c->size - 1)) + c->size;
	size_t len = (size_t)((end < head ? end : head) - p->pos);

	if (p->pos < oldest_position(c, p->ring))
		return 0;
	memcpy(c->copy, p->data + (p->pos & (c->total - 1)), len);
	/*
	 * Pairs with the writer's fence after it claims space: a writer that overwrote bytes during
	 * the copy had claimed them, and the next check sees the claim.
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return p->pos < oldest_position(c, p->ring) ? 0 : len;
}

static void count_overwritten(struct reader *p, uint64_t events, const struct backend_sink *sink)
{
	if (events <= p->events)
		return;
	p->overwritten += events - p->events;
	if (sink)
		sink->missed(sink->arg, events - p->events);
	p->events = events;
}

/* A record with its context fields in front. */
static int process_contexts(const struct krec *rec, const uint8_t *at,
			    const struct backend_sink *sink)
{
	uint32_t size;
	size_t front;

	if (rec->len < sizeof(size))
		return -EBADMSG;
	memcpy(&size, at, sizeof(size));
	front = (sizeof(size) + (size_t)size + 7) & ~(size_t)7;
	if (rec->len < front + KRECORD_HEADER)
		return -EBADMSG;
	if (sink->contexts)
		sink->contexts(sink->arg, at + sizeof(size), size);
	sink->record(sink->arg, rec->ts, at + front, rec->len - front);
	return 0;
}

static int process_records(const struct backend_channel *c, struct reader *p, size_t len,
		const struct backend_sink *sink)
{
	struct krec_begin r;
	size_t at, next;

	for (at = 0; len - at >= sizeof(r.rec); at = next) {
		memcpy(&r.rec, c->copy + at, sizeof(r.rec));
		if (r.rec.len > len - at - sizeof(r.rec))
			return -EBADMSG;
		next = at + sizeof(r.rec) + ((r.rec.len + 7u) & ~7u);
		next = next < len ? next : len;
		if (r.rec.kind == KREC_BEGIN && r.rec.len == sizeof(r.events)) {
			memcpy(&r.events, c->copy + at + sizeof(r.rec), sizeof(r.events));
			count_overwritten(p, r.events, sink);
		} else if (r.rec.kind == KREC_EVENT && r.rec.len >= KRECORD_HEADER) {
			sink->record(sink->arg, r.rec.ts, c->copy + at + sizeof(r.rec), r.rec.len);
			p->events++;
		} else if (r.rec.kind == KREC_CONTEXTS &&
			   !process_contexts(&r.rec, c->copy + at + sizeof(r.rec), sink)) {
			p->events++;
		} else if (r.rec.kind != KREC_PAD) {
			return -EBADMSG;
		}
	}
	return 0;
}

static int release_space(const struct backend_channel *c, uint32_t cpu)
{
	const struct reader *p = &c->readers[cpu];
	struct modabi_consume m = {
		.cpu = cpu, .consumed = p->pos, .events = p->events, .overwritten = p->overwritten
	};

	return ioctl(c->fd, MODABI_CONSUME, &m) ? -errno : 0;
}

int module_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	struct reader *p = &c->readers[cpu];
	uint64_t head, from;
	size_t len;
	int ret = 0;

	if (cpu >= c->cpus || !p->ring)
		return 0;
	head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
	while (p->pos < head && !ret) {
		len = copy_subbuf(c, p, head);
		if (!len) {
			from = oldest_position(c, p->ring);
			p->pos = from > p->pos ? from : p->pos;
			continue;
		}
		ret = process_records(c, p, len, sink);
		p->pos += len;
		/* Release the space after each sub-buffer, so that writers can use it early. */
		if (!ret)
			ret = release_space(c, cpu);
	}
	return ret;
}

int module_lost(struct backend_channel *c, uint32_t cpu, struct backend_losses *losses)
{
	struct reader now = c->readers[cpu];
	struct krec_begin first;
	uint64_t from;

	*losses = (struct backend_losses){ 0 };
	if (cpu >= c->cpus || !now.ring)
		return 0;
	while (now.pos < (from = oldest_position(c, now.ring))) {
		memcpy(&first, now.data + (from & (c->total - 1)), sizeof(first));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (from >= oldest_position(c, now.ring)) {
			count_overwritten(&now, first.rec.kind == KREC_BEGIN ? first.events : 0,
					  NULL);
			break;
		}
	}
	losses->discarded = __atomic_load_n(&now.ring->lost, __ATOMIC_RELAXED);
	losses->overwritten = now.overwritten;
	return 0;
}
