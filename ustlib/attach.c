// SPDX-License-Identifier: MIT
/*
 * Attaching: the first hit after a state word changed asks the daemon where its events go. One thread does it, with signals
 * blocked and 10 ms in all (TRAIL_ATTACH_TIMEOUT changes that); the others count what they would have recorded through
 * tp->missed, in the registration file; it is moved to the rings' `lost` afterwards. After a failure nothing is tried before
 * a word changes again. What becomes of the answer is in slots.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "ustlib/statedump.h"
#include "tracer/abi/ring_write.h"

int attach_ms = 10;
bool attach_failed, attach_sealed;

/* Under the registration lock, as all here: */
static bool lane_failed[LANES];
static uint64_t lane_statedump[LANES];          /* the number that the last plan had */
static bool statedump_due;

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

static bool say_hello(int fd, unsigned int lane, struct taken_plan *p)
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

static bool map_plan(struct taken_plan *p, const struct trail_answer *answer, const int *fds)
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
	p->contexts = (const struct trail_plan_context *)(p->regions + p->head->region_count);
	p->slots = (const struct trail_plan_slot *)(p->contexts + p->head->context_count);
	p->blob = (const uint8_t *)(p->slots + p->head->slot_count);
	for (uint32_t i = 0; i < answer->region_count; i++) {
		p->mapped[i] = mapping_get(&p->regions[i], fds[i + 1]);
		if (p->mapped[i])
			__atomic_store_n(&p->mapped[i]->blocking, p->regions[i].blocking, __ATOMIC_RELAXED);
	}
	return true;
}

/* The state that the trace point will have been set up for when this is over. */
static void set_pending(struct trail__tp *tp, unsigned int lane, uint32_t value)
{
	tp->pending &= ~(255ul << (8 * lane));
	tp->pending |= (unsigned long)(value & 255) << (8 * lane);
}

static void apply(const struct taken_plan *p, unsigned int lane)
{
	uint32_t i = 0, n = p->head->slot_count;

	for (uint32_t o = 0; o < p->object_count; o++)
		for (uint32_t e = 0; e < p->objects[o]->event_count; e++) {
			uint32_t first;

			while (i < n && (p->slots[i].object < o || (p->slots[i].object == o && p->slots[i].event < e)))
				i++;
			for (first = i; i < n && p->slots[i].object == o && p->slots[i].event == e; i++)
				;
			slots_set(p->objects[o]->tps[e], lane, p, &p->slots[first], i - first);
			set_pending(p->objects[o]->tps[e], lane, i > first ? p->slots[first].word : 0);
		}
}

enum outcome { TAKEN, FAILED, NOBODY };

static enum outcome exchange(unsigned int lane)
{
	static struct taken_plan plan;        /* large; under the lock */
	struct trail_answer answer;
	int fds[TRAIL_REGION_MAX + 1], count = -1, fd;
	int64_t deadline = now_ms() + attach_ms;
	enum outcome outcome = FAILED;

	memset(&plan, 0, sizeof(plan));
	while ((fd = dial(lane)) < 0 && errno == EAGAIN && now_ms() < deadline) {
		const struct timespec pause = { .tv_nsec = 500000 };    /* the daemon's queue is full */

		nanosleep(&pause, NULL);
	}
	if (fd < 0)
		return errno == ECONNREFUSED || errno == ENOENT ? NOBODY : FAILED;
	if (say_hello(fd, lane, &plan))
		count = hear_answer(fd, &answer, fds, deadline);
	if (count > 0 && map_plan(&plan, &answer, fds)) {
		apply(&plan, lane);
		statedump_due = statedump_due || (plan.head->statedump && plan.head->statedump != lane_statedump[lane]);
		lane_statedump[lane] = plan.head->statedump;
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

/* What other threads counted while there were no slots goes to the rings that would have had it. */
static void settle_missed(struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);
	uint64_t n;

	if (!tp->missed || !__atomic_load_n((trail_u64 *)tp->missed, __ATOMIC_RELAXED))
		return;
	n = __atomic_exchange_n((trail_u64 *)tp->missed, 0, __ATOMIC_RELAXED);
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
			/* Pairs with the acquire loads at the call site and in trail__ready. */
			__atomic_store_n(&o->tps[e]->seen, (uint32_t)o->tps[e]->pending, __ATOMIC_RELEASE);
}

bool attach_daemon_lives(unsigned int lane)
{
	int fd = dial(lane);

	if (fd < 0)
		return errno == EAGAIN;
	close(fd);
	return true;
}

/* A fork that fork(3) knew nothing of is made good here, with the lock held. */
static void after_strange_fork(void)
{
	thread_state.forked = false;
	thread_state.shift = 0;
	register_forked();
}

static bool any_stale(const struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);

	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (*slots->slot[i].on && *slots->slot[i].on != slots->slot[i].on_value)
			return true;
	return false;
}

bool attach(struct trail__tp *tp, bool again)
{
	bool dump = false;
	int saved = errno;

	if (attach_sealed || thread_is_foreign())
		return false;
	if (thread_state.forked && objects_trylock())
		after_strange_fork();
	if (!objects_trylock()) {
		tp_missed(tp);
		errno = saved;
		return false;
	}
	/* The word may be an old one: of a process that the daemon does not know yet. Ask all the same. */
	if (again && tp->seen == __atomic_load_n(tp->state, __ATOMIC_RELAXED))
		tp->seen = ~tp->seen;
	if (tp->object && tp->seen != __atomic_load_n(tp->state, __ATOMIC_RELAXED)) {
		attach_lanes(false);
		for (struct object *o = objects; o; o = o->next)
			for (uint32_t e = 0; e < o->event_count; e++)
				if (!attach_failed)
					settle_missed(o->tps[e]);
		/* Nobody who could tell: what is stale stays so, and costs no more attempts before a word changes. */
		if (again && any_stale(tp))
			slots_drop(tp);
		slots_reclaim();
		dump = statedump_due;
		statedump_due = false;
	}
	objects_unlock();
	if (dump)
		trail__statedump_run();
	errno = saved;
	return true;
}

bool attach_last(struct object *o)
{
	bool missed = false;

	for (uint32_t e = 0; e < o->event_count; e++)
		missed = missed || (o->tps[e]->missed && *o->tps[e]->missed && *o->tps[e]->state);
	if (missed && attach_failed)
		attach_lanes(true);
	missed = missed && attach_failed;
	for (uint32_t e = 0; e < o->event_count; e++) {
		if (!missed)
			settle_missed(o->tps[e]);
		slots_drop(o->tps[e]);
	}
	return !missed;
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
				own = own || slots->slot[i].own;
			if (!own)
				continue;
			slots_drop(tp);
			tp->seen = ~*tp->state;
		}
}

/* ---- for applications ---- */

TRAIL_EXPORT int trail_attach(void)
{
	int saved = errno, tries = 0;
	bool failed;

	while (!objects_trylock())
		if (tries++ > 1000 || attach_sealed)
			return -EAGAIN;
		else
			sched_yield();
	attach_lanes(true);
	slots_reclaim();
	failed = attach_failed;
	objects_unlock();
	errno = saved;
	return failed ? -ETIMEDOUT : 0;
}

TRAIL_EXPORT int trail_seal(void)
{
	int saved = errno, err = trail_attach();
	bool all;

	while (!objects_trylock())
		sched_yield();
	all = slots_populate();
	context_fetch();
	/* Pairs with the loads at each place that would make a system call. */
	__atomic_store_n(&attach_sealed, true, __ATOMIC_SEQ_CST);
	objects_unlock();
	errno = saved;
	return err ? err : all ? 0 : -ENOMEM;
}
