// SPDX-License-Identifier: MIT
/*
 * Attaching: the first hit after a state word changed asks the daemon where its events go. One thread does it, with signals
 * blocked and 10 ms in all (TRAIL_ATTACH_TIMEOUT changes that); the others count what they would have recorded through
 * tp->missed, in the registration file; it is moved to the rings' `lost` afterwards. After a failure nothing is tried before
 * a word changes again.
 *
 * Reclaiming. Slots and mappings that no plan wants any more may still be in use by threads: inside a section, which read the
 * slot pointer in it, or in slow paths, which hold slot_users. So: publish the new pointers, restart all sections of this
 * process (membarrier), and if slot_users is 0 then, nobody has an old pointer: unmap. Else the next attach will.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/ringwrite.h"

#define MEMBARRIER_RSEQ (1 << 7)

int attach_ms = 10;
bool attach_failed;
uint32_t slot_users;

static struct mapping *mappings, *free_mappings;        /* under the registration lock, as all here */
static bool lane_failed[LANES];

struct plan {
	const struct trail_plan *head;
	const struct trail_plan_region *regions;
	const struct trail_plan_slot *slots;
	size_t size;
	struct mapping *mapped[TRAIL_REGION_MAX];
	struct object *objects[TRAIL_OBJECT_MAX];
	uint32_t object_count;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint32_t lane_of(uint32_t word, unsigned int lane)
{
	return word >> (8 * lane) & 255;
}

/* ---- the exchange ---- */

static int dial(unsigned int lane)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	size_t n = strlen(runtime_dir[lane]);
	int fd, err;

	memcpy(addr.sun_path, runtime_dir[lane], n);
	memcpy(addr.sun_path + n, "/socket", 8);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == 0 || peer.uid == geteuid()))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

static bool say_hello(int fd, unsigned int lane, struct plan *p)
{
	uint8_t msg[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16];
	struct trail_hello hello = {
		.magic = TRAIL_HELLO_MAGIC, .version = TRAIL_ABI_VERSION, .word_bits = 8 * sizeof(void *),
		.lane = lane, .flags = rseq_usable ? 0 : TRAIL_HELLO_NO_RSEQ,
	};
	size_t size = sizeof(hello);

	for (struct object *o = objects; o && p->object_count < TRAIL_OBJECT_MAX; o = o->next) {
		if (!o->map)
			continue;
		memcpy(msg + size, o->name, 16);
		size += 16;
		p->objects[p->object_count++] = o;
	}
	hello.object_count = p->object_count;
	memcpy(msg, &hello, sizeof(hello));
	return send(fd, msg, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* The answer and its descriptors; -1 if there is none in time. */
static int hear_answer(int fd, struct trail_answer *answer, int *fds, int64_t deadline)
{
	union { char buf[CMSG_SPACE(sizeof(int) * (TRAIL_REGION_MAX + 1))]; struct cmsghdr align; } control;
	struct iovec iov = { answer, sizeof(*answer) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof(control.buf) };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct cmsghdr *c;
	int count = 0;
	ssize_t n;

	for (;;) {
		int64_t left = deadline - now_ms();

		/* Late ourselves, we still take an answer that is there. */
		if (poll(&pfd, 1, left > 0 ? (int)left : 0) <= 0)
			return -1;
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	for (c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
	}
	if (n == (ssize_t)sizeof(*answer) && answer->magic == TRAIL_ANSWER_MAGIC && !answer->error &&
	    !(msg.msg_flags & MSG_CTRUNC) && count == (int)answer->region_count + 1)
		return count;
	while (count > 0)
		close(fds[--count]);
	return -1;
}

/* ---- taking a plan over ---- */

static bool sealed(int fd, uint64_t size, int seals)
{
	struct stat st;
	int have = fcntl(fd, F_GET_SEALS);

	return have >= 0 && (have & seals) == seals && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size;
}

/* Copies the geometry out of the header page and holds it against the size of the mapping. */
static bool geometry(struct mapping *m)
{
	const struct trail_region *r = (const struct trail_region *)m->base;
	uint64_t control;

	m->region = r;
	m->subbuf_size = r->subbuf_size;
	m->subbuf_count = r->subbuf_count;
	m->ring_count = r->ring_count;
	m->ring_stride = r->ring_stride;
	m->ring_offset = r->ring_offset;
	m->data_offset = r->data_offset;
	m->switch_offset = r->switch_offset;
	m->switch_count = r->switch_count;
	m->mode = r->mode;
	m->kind = r->kind;
	m->populate = r->populate;
	m->clock_mult = r->clock_mult;
	m->clock_base = r->clock_base;
	control = sizeof(struct trail_ring) + 2 * (uint64_t)m->subbuf_count * sizeof(struct trail_subbuf);
	return r->magic == TRAIL_REGION_MAGIC && r->version == TRAIL_ABI_VERSION && r->key == m->key &&
	       m->subbuf_size >= TRAIL_SUBBUF_MIN && m->subbuf_size <= TRAIL_SUBBUF_MAX &&
	       !(m->subbuf_size & (m->subbuf_size - 1)) && m->subbuf_count >= 2 &&
	       m->subbuf_count <= TRAIL_SUBBUF_COUNT_MAX && !(m->subbuf_count & (m->subbuf_count - 1)) &&
	       m->ring_count > 0 && m->ring_count <= 65536 && m->mode <= TRAIL_MODE_OVERWRITE && m->kind <= TRAIL_RINGS_THREAD &&
	       m->switch_count <= TRAIL_EVENT_MAX && m->switch_offset >= sizeof(*r) &&
	       m->switch_offset + m->switch_count <= m->size && m->ring_offset % 64 == 0 && m->ring_stride % 64 == 0 &&
	       m->data_offset >= control && m->ring_offset <= m->size &&
	       m->ring_stride >= m->data_offset + m->subbuf_size * m->subbuf_count &&
	       m->ring_stride <= (m->size - m->ring_offset) / m->ring_count;
}

static size_t present_size(const struct mapping *m)
{
	return ((size_t)m->ring_count * m->subbuf_count + 7) / 8;
}

static uint8_t *present_bits(const struct mapping *m)
{
	uint8_t *bits = mmap(NULL, present_size(m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bits == MAP_FAILED ? NULL : bits;
}

static struct mapping *map_region(const struct trail_plan_region *r, int fd)
{
	struct mapping *m;

	for (m = mappings; m; m = m->next)
		if (m->key == r->key && m->size == r->size)
			return m;
	if (!sealed(fd, r->size, F_SEAL_SHRINK | F_SEAL_GROW) || r->size < sizeof(struct trail_region))
		return NULL;
	m = free_mappings ? free_mappings : arena_alloc(sizeof(*m));
	if (!m)
		return NULL;
	if (m == free_mappings)
		free_mappings = m->next;
	*m = (struct mapping){ .key = r->key, .size = r->size };
	m->base = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (m->base != MAP_FAILED && geometry(m) && (m->present = present_bits(m))) {
		m->next = mappings;
		mappings = m;
		return m;
	}
	if (m->base != MAP_FAILED)
		munmap(m->base, m->size);
	m->next = free_mappings;
	free_mappings = m;
	return NULL;
}

static bool map_plan(struct plan *p, const struct trail_answer *answer, const int *fds)
{
	uint64_t need;
	const uint8_t *base;

	p->size = answer->plan_size;
	if (p->size < sizeof(struct trail_plan) || !sealed(fds[0], p->size, F_SEAL_SHRINK | F_SEAL_WRITE))
		return false;
	base = mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fds[0], 0);
	if (base == MAP_FAILED)
		return false;
	p->head = (const struct trail_plan *)base;
	p->regions = (const struct trail_plan_region *)(p->head + 1);
	need = sizeof(*p->head) + p->head->region_count * sizeof(*p->regions) +
	       (uint64_t)p->head->context_count * sizeof(struct trail_plan_context) +
	       (uint64_t)p->head->slot_count * sizeof(*p->slots) + p->head->blob_size;
	if (p->head->magic != TRAIL_PLAN_MAGIC || p->head->version != TRAIL_ABI_VERSION ||
	    p->head->region_count != answer->region_count || need > p->size)
		return false;
	p->slots = (const struct trail_plan_slot *)((const struct trail_plan_context *)(p->regions + p->head->region_count) +
						    p->head->context_count);
	for (uint32_t i = 0; i < answer->region_count; i++)
		p->mapped[i] = map_region(&p->regions[i], fds[i + 1]);
	return true;
}

static void fill_slot(struct slot *s, struct mapping *m, uint32_t id, unsigned int lane, bool own)
{
	uint64_t header = id < TRAIL_ID_EXTENDED ? TRAIL_HEADER_COMPACT : TRAIL_HEADER_EXTENDED;

	*s = (struct slot){
		.rings = m->base + m->ring_offset, .on = m->base + m->switch_offset + id, .ring_stride = m->ring_stride,
		.subbuf_mask = m->subbuf_size - 1, .data_mask = m->subbuf_size * m->subbuf_count - 1,
		.limit = m->subbuf_size - header - TRAIL_SLACK, .clock_mult = m->clock_mult, .clock_base = m->clock_base,
		.ring_count = m->kind == TRAIL_RINGS_CPU && m->clock_mult ? m->ring_count : 0, .id = id,
		.data_offset = m->data_offset, .mapping = m, .lane = lane | (own ? 256u : 0),
	};
}

#define FREE_SIZES 8
static struct slots *free_slots[FREE_SIZES];    /* by capacity - 1 */
static struct slots *retired;                   /* threads may still read them: see reclaim() */
static unsigned int retired_count;

static struct slots *slots_alloc(uint32_t count)
{
	struct slots *s;

	if (count <= FREE_SIZES && (s = free_slots[count - 1]))
		free_slots[count - 1] = s->next;
	else if ((s = arena_alloc(sizeof(*s) + count * sizeof(struct slot))))
		s->capacity = count;
	return s;
}

static void slots_retire(struct slots *s)
{
	if (!s)
		return;
	s->next = retired;
	retired = s;
	retired_count++;
}

/* The slots of the other lane stay; those of this lane become what the plan says. */
static void set_slots(struct trail__tp *tp, unsigned int lane, const struct plan *p, const struct trail_plan_slot *from, uint32_t n)
{
	static struct slot scratch[2 * TRAIL_REGION_MAX];       /* too large for a small stack; under the lock */
	struct slots *old = slots_of(tp), *all = NULL;
	uint32_t at = 0;

	for (uint32_t i = 0; old && i < old->count && at < TRAIL_REGION_MAX; i++)
		if ((old->slot[i].lane & 255) != lane)
			scratch[at++] = old->slot[i];
	for (uint32_t i = 0; i < n && at < 2 * TRAIL_REGION_MAX; i++) {
		struct mapping *m = from[i].region < p->head->region_count ? p->mapped[from[i].region] : NULL;

		if (m && from[i].id < m->switch_count)
			fill_slot(&scratch[at++], m, from[i].id, lane, p->regions[from[i].region].flags & TRAIL_REGION_PROCESS);
	}
	if (old ? at == old->count && !memcmp(old->slot, scratch, at * sizeof(scratch[0])) : !at)
		return;
	if (at && !(all = slots_alloc(at)))
		return;
	if (all) {
		all->count = at;
		memcpy(all->slot, scratch, at * sizeof(scratch[0]));
	}
	/* A hit between the stores may find neither; it is then one that came before the change took effect. */
	__atomic_store_n(&tp->slot, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tp->slots, at > 1 ? all : NULL, __ATOMIC_SEQ_CST);
	if (at == 1)
		__atomic_store_n(&tp->slot, &all->slot[0], __ATOMIC_SEQ_CST);
	slots_retire(old);
}

/* The state that the trace point will have been set up for when this is over. */
static void set_pending(struct trail__tp *tp, unsigned int lane, uint32_t value)
{
	tp->pending &= ~(255ul << (8 * lane));
	tp->pending |= (unsigned long)(value & 255) << (8 * lane);
}

static void apply(const struct plan *p, unsigned int lane)
{
	uint32_t i = 0, n = p->head->slot_count;

	for (uint32_t o = 0; o < p->object_count; o++)
		for (uint32_t e = 0; e < p->objects[o]->event_count; e++) {
			uint32_t first;

			while (i < n && (p->slots[i].object < o || (p->slots[i].object == o && p->slots[i].event < e)))
				i++;
			for (first = i; i < n && p->slots[i].object == o && p->slots[i].event == e; i++)
				;
			set_slots(p->objects[o]->tps[e], lane, p, &p->slots[first], i - first);
			set_pending(p->objects[o]->tps[e], lane, i > first ? p->slots[first].word : 0);
		}
}

enum outcome { TAKEN, FAILED, NOBODY };

static enum outcome exchange(unsigned int lane)
{
	static struct plan plan;        /* large; under the lock */
	struct trail_answer answer;
	int fds[TRAIL_REGION_MAX + 1], count = -1, fd;
	int64_t deadline = now_ms() + attach_ms;
	enum outcome outcome = FAILED;

	memset(&plan, 0, sizeof(plan));
	fd = dial(lane);
	if (fd < 0)
		return errno == ECONNREFUSED || errno == ENOENT ? NOBODY : FAILED;
	if (say_hello(fd, lane, &plan))
		count = hear_answer(fd, &answer, fds, deadline);
	if (count > 0 && map_plan(&plan, &answer, fds)) {
		apply(&plan, lane);
		if (send(fd, "", 1, MSG_NOSIGNAL) == 1)
			outcome = TAKEN;
	}
	if (plan.head)
		munmap((void *)plan.head, plan.size);
	while (count > 0)
		close(fds[--count]);
	close(fd);
	return outcome;
}

/*
 * There is no daemon: what is not known is off, so that it costs nothing until one comes, which writes all words anew. Only
 * if it has not done so just now.
 */
static void nobody_wants(unsigned int lane)
{
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; o->map && e < o->event_count; e++) {
			uint8_t *byte = (uint8_t *)o->tps[e]->state + lane, unknown = TRAIL_WORD_UNKNOWN;

			if (__atomic_compare_exchange_n(byte, &unknown, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				set_pending(o->tps[e], lane, 0);
		}
}

/* ---- afterwards ---- */

static void unmap_unwanted(void)
{
	struct mapping **p, *m;

	for (p = &mappings; (m = *p);) {
		if (m->wanted) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		munmap(m->base, m->size);
		munmap(m->present, present_size(m));
		m->next = free_mappings;
		free_mappings = m;
	}
}

/* True if no thread can hold a pointer that was there before the call. */
static bool quiescent(void)
{
#ifdef SYS_membarrier
	if (rseq_usable && syscall(SYS_membarrier, MEMBARRIER_RSEQ, 0, 0) < 0)
		return false;
	/* Pairs with the increments in record.c: who comes after this sees the new pointers. */
	return __atomic_load_n(&slot_users, __ATOMIC_SEQ_CST) == 0;
#else
	return false;
#endif
}

static void reclaim(void)
{
	bool any = retired_count >= 64;

	for (struct mapping *m = mappings; m; m = m->next)
		m->wanted = false;
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; e < o->event_count; e++) {
			const struct slots *slots = slots_of(o->tps[e]);

			for (uint32_t i = 0; slots && i < slots->count; i++)
				slots->slot[i].mapping->wanted = true;
		}
	for (struct mapping *m = mappings; m; m = m->next)
		any = any || !m->wanted;
	if (!any || !quiescent())
		return;
	unmap_unwanted();
	while (retired) {
		struct slots *s = retired;

		retired = s->next;
		if (s->capacity <= FREE_SIZES) {
			s->next = free_slots[s->capacity - 1];
			free_slots[s->capacity - 1] = s;
		}
	}
	retired_count = 0;
}

/* What other threads counted while there were no slots goes to the rings that would have had it. */
static void settle_missed(struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);
	uint64_t n;

	if (!tp->missed || !__atomic_load_n(tp->missed, __ATOMIC_RELAXED))
		return;
	n = __atomic_exchange_n(tp->missed, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (*slots->slot[i].on)
			slot_lost(&slots->slot[i], n);
}

/* Attaches the lanes in which some word is not the one seen (all: also those that failed last time). */
static void attach_lanes(bool again)
{
	bool failed = false;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		bool dirty = again && lane_failed[lane];

		for (struct object *o = objects; o; o = o->next)
			for (uint32_t e = 0; o->map && e < o->event_count; e++) {
				/*
				 * If the daemon does not answer: not again before this changes. Taken before it is asked, so that
				 * a change after that is seen as a change.
				 */
				uint32_t word = __atomic_load_n(o->tps[e]->state, __ATOMIC_ACQUIRE);

				set_pending(o->tps[e], lane, lane_of(word, lane));
				dirty = dirty || lane_of(word, lane) != lane_of(o->tps[e]->seen, lane);
			}
		if (dirty) {
			enum outcome outcome = exchange(lane);

			lane_failed[lane] = outcome == FAILED;
			if (outcome == NOBODY)
				nobody_wants(lane);
		}
		failed = failed || lane_failed[lane];
	}
	__atomic_store_n(&attach_failed, failed, __ATOMIC_RELAXED);
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; o->map && e < o->event_count; e++)
			/* Pairs with the acquire load in trail__record. */
			__atomic_store_n(&o->tps[e]->seen, (uint32_t)o->tps[e]->pending, __ATOMIC_RELEASE);
}

bool attach(struct trail__tp *tp)
{
	int saved = errno;

	if (!objects_trylock()) {
		tp_missed(tp);
		errno = saved;
		return false;
	}
	if (tp->object && tp->seen != __atomic_load_n(tp->state, __ATOMIC_RELAXED)) {
		attach_lanes(false);
		for (struct object *o = objects; o; o = o->next)
			for (uint32_t e = 0; e < o->event_count; e++)
				if (!attach_failed)
					settle_missed(o->tps[e]);
		reclaim();
	}
	objects_unlock();
	errno = saved;
	return true;
}

void attach_last(struct object *o)
{
	bool missed = false;

	for (uint32_t e = 0; e < o->event_count; e++)
		missed = missed || (o->tps[e]->missed && *o->tps[e]->missed && *o->tps[e]->state);
	if (missed && attach_failed)
		attach_lanes(true);
	for (uint32_t e = 0; e < o->event_count; e++) {
		struct trail__tp *tp = o->tps[e];
		struct slots *slots = slots_of(tp);

		if (missed)
			settle_missed(tp);
		__atomic_store_n(&tp->slot, NULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&tp->slots, NULL, __ATOMIC_SEQ_CST);
		slots_retire(slots);
	}
}

/* In a forked child: rings of the parent process alone are not ours. What is dropped is asked for at the next hit. */
void attach_forked(void)
{
	slot_users = 0;         /* the other threads are not here */
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; e < o->event_count; e++) {
			struct trail__tp *tp = o->tps[e];
			const struct slots *slots = slots_of(tp);
			bool own = false;

			for (uint32_t i = 0; slots && i < slots->count; i++)
				own = own || slots->slot[i].lane & 256;
			if (!own)
				continue;
			tp->slot = tp->slots = NULL;
			tp->seen = ~*tp->state;
		}
}
