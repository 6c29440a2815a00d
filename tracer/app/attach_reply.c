// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/session/session.h"
#include "tracer/app/attach_reply.h"
#include "tracer/app/prepared_slots.h"
#include "tracer/app/selection.h"
#include "tracer/app/trouble.h"

#define BLOB_MAX (64u << 20)    /* programs of one reply */
/* So there is room for the regions and contexts. */
#define SLOTS_MAX (TRAIL_PLAN_MAX - BLOB_MAX - (8u << 20))

struct attach_reply {
	struct md_buf slots;            /* struct trail_plan_slot */
	struct md_buf contexts;         /* struct trail_plan_context */
	struct md_buf blob;
	uint32_t slot_count, region_count, context_count;
	uint64_t statedump;
	struct trail_plan_region regions[TRAIL_REGION_MAX];
	struct region *held[TRAIL_REGION_MAX];
};

struct attach_reply *attach_reply_create(void)
{
	return calloc(1, sizeof(struct attach_reply));
}

void attach_reply_destroy(struct attach_reply *p)
{
	if (!p)
		return;
	md_buf_deinit(&p->slots);
	md_buf_deinit(&p->contexts);
	md_buf_deinit(&p->blob);
	free(p);
}

/* Returns the offset in the blob. */
static uint32_t put_blob(struct attach_reply *p, const void *data, size_t size, size_t align)
{
	uint32_t at;

	/* If memory is short nothing more is added, and len stays. */
	while (!p->blob.failed && p->blob.len & (align - 1))
		md_buf_putc(&p->blob, 0);
	at = (uint32_t)p->blob.len;
	md_buf_put(&p->blob, data, size);
	return at;
}

/* Of a long path its end, which has the container's name. 0: the group is not known. */
static uint32_t put_cgroup(struct attach_reply *p, struct app *a)
{
	const char *path;
	uint32_t at;
	size_t len;

	if (!a->pid)
		return 0;
	if (!a->cgroups)
		a->cgroups = track_read_cgroups(a->pid);
	path = a->cgroups ? track_cgroup_path(a->cgroups, &len) : NULL;
	if (!path)
		return 0;
	if (len > TRAIL_NAME_MAX) {
		path += len - TRAIL_NAME_MAX;
		len = TRAIL_NAME_MAX;
	}
	at = put_blob(p, path, len, 1);
	md_buf_putc(&p->blob, '\0');
	return at + 1;
}

static void put_contexts(struct attach_reply *p, const struct context_list *l, struct app *a)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct context *c = &l->items[i];
		struct trail_plan_context out = { .kind = c->kind,
						  .perf_type = c->perf_type,
						  .perf_config = c->perf_config };

		if (c->kind == TRAIL_CONTEXT_APP)
			out.name = put_blob(p, context_app_name(c), strlen(context_app_name(c)) + 1,
					    1);
		if (context_is_cgroup(c))
			out.value = put_cgroup(p, a);
		md_buf_put(&p->contexts, &out, sizeof(out));
		p->context_count++;
	}
}

static int attach_reply_region(struct attach_reply *p, const struct channel *c, struct app *a,
			       struct region *r, bool own)
{
	for (uint32_t i = 0; i < p->region_count; i++)
		if (p->held[i] == r)
			return (int)i;
	if (p->region_count == TRAIL_REGION_MAX)
		return -ENOSPC;
	p->held[p->region_count] = r;
	p->regions[p->region_count] = (struct trail_plan_region){
		.key = r->key, .size = r->size,
		.flags = (own ? TRAIL_REGION_PROCESS : 0) |
			 (c->session->wakes ? TRAIL_REGION_WAKE : 0),
		.blocking = r->geo.mode == TRAIL_MODE_DISCARD ? c->blocking : 0,
		.first_context = p->context_count, .context_count = (uint32_t)c->contexts.count,
	};
	put_contexts(p, &c->contexts, a);
	return (int)p->region_count++;
}

/* The newest request of the sessions that record it; never an older one than it knows. */
static void attach_reply_statedump(struct attach_reply *p, struct tracer *t, struct app *a)
{
	uint64_t newest = 0;
	struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		if (session_wants(s, a) && s->statedump > newest)
			newest = s->statedump;
	if (!newest)
		return;
	if (newest > a->statedump)
		a->statedump = newest;
	if (a->statedump > p->statedump)
		p->statedump = a->statedump;
}

/* Completes prepared slots for one application. */
static int put_slots(struct attach_reply *p, const struct prepared_slots *from, const struct app *a,
		     uint32_t object, uint16_t region)
{
	size_t bytes = from->count * sizeof(*from->slots);
	struct trail_plan_slot *to =
		(struct trail_plan_slot *)(void *)md_buf_room(&p->slots, bytes);
	uint32_t programs;

	if (p->blob.len + from->programs.len > BLOB_MAX || p->slots.len + bytes > SLOTS_MAX)
		return -ENOSPC;
	if (!to)
		return -ENOMEM;
	programs = put_blob(p, from->programs.data, from->programs.len, 8);
	for (uint32_t i = 0; i < from->count; i++) {
		to[i] = from->slots[i];
		to[i].object = (uint16_t)object;
		to[i].region = region;
		to[i].word = a->words[to[i].event];
		to[i].program += programs;
		to[i].pick += programs;
	}
	p->slots.len += bytes;
	p->slot_count += from->count;
	return 0;
}

static int put_channel(struct attach_reply *p, struct app *a, struct channel *c, uint32_t object,
		       uint32_t flags)
{
	bool threads = flags & TRAIL_HELLO_NO_RSEQ;
	struct stream_group *group = owner_group(c, a);
	struct prepared_slots *slots;
	uint32_t before = p->region_count;
	struct buffer *b;
	int err, region;

	if (!group)
		return -ENOMEM;
	err = group_buffer(group, threads ? TRAIL_RINGS_THREAD : TRAIL_RINGS_CPU,
			   threads ? a->pid : 0, &b);
	if (err)
		return err;
	/* Also when processes are chosen one by one: a forked child then has to ask for itself. */
	region = attach_reply_region(p, c, a, b->region,
				     threads || c->per_process ||
					     c->session->track[TRACK_VPID].some);
	if (region < 0)
		return region;
	/* The application is about to read them. */
	if (p->region_count > before && group_repair(group, b))
		trouble_spoiled(c, a->file->uid);
	slots = prepared_slots_get(a, c, group, b, flags & TRAIL_HELLO_PICKS);
	if (!slots)
		return -ENOMEM;
	err = put_slots(p, slots, a, object, (uint16_t)region);
	if (!slots->kept)
		prepared_slots_destroy(slots);
	return err;
}

/*
 * Those of triggers last: a program records an event in the order of its slots, and reads the clock
 * for each. So the time that a trigger sees is not before the time that a session has.
 */
static int compare_slots(const void *a, const void *b, void *reply)
{
	const struct trail_plan_slot *x = a, *y = b;
	const struct trail_plan_region *regions = ((const struct attach_reply *)reply)->regions;
	int wakes = (int)(regions[x->region].flags & TRAIL_REGION_WAKE) -
		    (int)(regions[y->region].flags & TRAIL_REGION_WAKE);

	if (x->event != y->event)
		return (x->event > y->event) - (x->event < y->event);
	return wakes ? wakes : (int)x->region - (int)y->region;
}

void attach_reply_app(struct attach_reply *p, struct tracer *t, struct app *a, uint32_t object,
		      uint32_t flags)
{
	uint32_t first = p->slot_count, channels = 0;
	struct session *s;
	struct channel *c;
	int err;

	attach_reply_statedump(p, t, a);
	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!a->selection || !session_wants(s, a))
			continue;
		cds_list_for_each_entry(c, &s->channels, node) {
			if (!selection_has_channel(a->selection, c->serial))
				continue;
			err = put_channel(p, a, c, object, flags);
			if (err && err != -EDQUOT)
				tracer_report(t,
					      "session %s: channel %s cannot record process %u: %s",
					      s->name, c->name, a->pid, strerror(-err));
			channels++;
		}
	}
	/* Each channel's slots are in order. */
	if (channels > 1 && !p->slots.failed)
		qsort_r((struct trail_plan_slot *)(void *)p->slots.data + first,
			p->slot_count - first, sizeof(struct trail_plan_slot), compare_slots, p);
}

/* Puts the whole plan into `all`. */
static int assemble(const struct attach_reply *p, struct md_buf *all)
{
	struct trail_plan head = {
		.magic = TRAIL_PLAN_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.region_count = p->region_count,
		.context_count = p->context_count,
		.slot_count = p->slot_count,
		.blob_size = (uint32_t)p->blob.len,
		.statedump = p->statedump,
	};

	md_buf_put(all, &head, sizeof(head));
	md_buf_put(all, p->regions, p->region_count * sizeof(p->regions[0]));
	md_buf_put(all, p->contexts.data, p->contexts.len);
	md_buf_put(all, p->slots.data, p->slots.len);
	md_buf_put(all, p->blob.data, p->blob.len);
	return all->failed || p->slots.failed || p->contexts.failed || p->blob.failed ? -ENOMEM : 0;
}

static int plan_memfd(const struct md_buf *all)
{
	int fd = memfd_create("trail-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (write(fd, all->data, all->len) != (ssize_t)all->len ||
			fcntl(fd, F_ADD_SEALS,
			      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* plan: its descriptor; -1: it is in the message. */
static int send_plan(const struct attach_reply *p, const struct md_buf *all, int plan, int to)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * (TRAIL_REGION_MAX + 1))];
		struct cmsghdr align;
	} control = { 0 };
	struct trail_answer answer = { .magic = TRAIL_ANSWER_MAGIC,
				       .plan_size = (uint32_t)all->len,
				       .region_count = p->region_count };
	struct iovec iov[] = { { &answer, sizeof(answer) }, { all->data, all->len } };
	int fds[TRAIL_REGION_MAX + 1], count = 0;
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = plan < 0 ? 2 : 1 };
	struct cmsghdr *c = &control.align;

	if (plan >= 0)
		fds[count++] = plan;
	for (uint32_t i = 0; i < p->region_count; i++)
		fds[count++] = p->held[i]->fd;
	if (count) {
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	}
	return sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int attach_reply_send(const struct attach_reply *p, int to, bool may_inline)
{
	struct md_buf all = MD_BUF_INIT;
	int err = assemble(p, &all), plan = -1;

	if (!err && (!may_inline || all.len > TRAIL_PLAN_INLINE_MAX)) {
		plan = plan_memfd(&all);
		err = plan < 0 ? -ENOMEM : 0;
	}
	if (!err)
		err = send_plan(p, &all, plan, to);
	if (plan >= 0)
		close(plan);
	md_buf_deinit(&all);
	return err;
}
