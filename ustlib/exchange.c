// SPDX-License-Identifier: MIT
/*
 * The exchange with the daemon of one lane (tracer/abi/app.h): the question, the wait, the answer.
 * The wait ends when the daemon has been silent for attach_ms. Then the connection stays open, so
 * that an answer that comes late is taken by a later hit instead of being asked for again. All with
 * the registration lock held, where nothing else is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/exchange.h"
#include "ustlib/lib.h"

#define SIGNS_AT_ONCE 16 /* of life: the daemon sends no second one before the first is read */

/* A question without an answer. */
static struct question {
	bool open; /* atomic */
	int fd;
	dev_t dev; /* what fd is: the program may close descriptors that are not its own */
	ino_t ino;
	pid_t pid; /* of the process that asked; see was_asked_here() */
	int64_t asked;                          /* now_us */
	_Alignas(8) int64_t look;               /* when to look for the answer next; atomic */
	uint32_t object_count;
	struct object *objects[TRAIL_OBJECT_MAX];
} questions[LANES];

static bool say_hello(struct question *q, unsigned int lane)
{
	uint8_t msg[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16];
	struct trail_hello hello = {
		.magic = TRAIL_HELLO_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 8 * sizeof(void *),
		.lane = lane,
		.flags = TRAIL_HELLO_INLINE | TRAIL_HELLO_PICKS |
			 (rseq_usable ? 0 : TRAIL_HELLO_NO_RSEQ),
	};
	size_t size = sizeof(hello);

	q->object_count = 0;
	for (struct object *o = objects; o && q->object_count < TRAIL_OBJECT_MAX; o = o->next) {
		if (!o->map)
			continue;
		memcpy(msg + size, o->name, 16);
		size += 16;
		q->objects[q->object_count++] = o;
	}
	hello.object_count = q->object_count;
	memcpy(msg, &hello, sizeof(hello));
	return send(q->fd, msg, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/*
 * A message of the daemon, guarded by the registration lock. Static: a thread that attaches may
 * have a small stack. The plan, if it is in the message, is aligned as in a memfd.
 */
static struct message {
	_Alignas(64) uint8_t plan[TRAIL_PLAN_INLINE_MAX];
	struct trail_answer answer;
	bool has_plan;
	int fds[TRAIL_REGION_MAX + 1], count;
} message;

enum heard { HEARD_ANSWER, HEARD_LIFE, HEARD_NOTHING, HEARD_END };

static bool is_answer(const struct message *m, size_t size)
{
	const struct trail_answer *a = &m->answer;

	return size >= sizeof(*a) && a->magic == TRAIL_ANSWER_MAGIC && !a->error &&
	       a->plan_size <= TRAIL_PLAN_MAX && a->region_count <= TRAIL_REGION_MAX &&
	       size == sizeof(*a) + (m->has_plan ? a->plan_size : 0) &&
	       m->count == (int)a->region_count + !m->has_plan;
}

static void close_fds(struct message *m)
{
	while (m->count > 0)
		close(m->fds[--m->count]);
}

/* One message into `message`, without waiting. The caller closes the descriptors of an answer. */
static enum heard hear(int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * (TRAIL_REGION_MAX + 1))];
		struct cmsghdr align;
	} control;
	struct message *m = &message;
	struct iovec iov[] = { { &m->answer, sizeof(m->answer) }, { m->plan, sizeof(m->plan) } };
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.buf,
		/*
		 * CMSG_SPACE() rounds up, and the kernel fills it: one descriptor more than fds has
		 */
		.msg_controllen = CMSG_LEN(sizeof(int) * (TRAIL_REGION_MAX + 1)),
	};
	struct cmsghdr *c;
	ssize_t n;

	m->count = 0;
	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? HEARD_NOTHING : HEARD_END;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		m->count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(m->fds, CMSG_DATA(c), (size_t)m->count * sizeof(int));
	}
	m->has_plan = n > (ssize_t)sizeof(m->answer);
	if (n == (ssize_t)sizeof(m->answer) && m->answer.magic == TRAIL_ALIVE_MAGIC && !m->count)
		return HEARD_LIFE;
	if (!(msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) && is_answer(m, (size_t)n))
		return HEARD_ANSWER;
	close_fds(m);
	return HEARD_END;
}

/* ---- taking a plan over ---- */

/* The plan of `message`; NULL: it is none. */
static const uint8_t *plan_of(const struct message *m)
{
	const uint8_t *base;

	if (m->has_plan)
		return m->plan;
	if (!memfd_is_sealed(m->fds[0], m->answer.plan_size, F_SEAL_SHRINK | F_SEAL_WRITE))
		return NULL;
	base = mmap(NULL, m->answer.plan_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, m->fds[0], 0);
	return base == MAP_FAILED ? NULL : base;
}

static bool map_plan(struct taken_plan *p, const struct message *m)
{
	const struct trail_answer *answer = &m->answer;
	const int *fds = m->fds + !m->has_plan; /* of the regions */
	uint64_t need;
	const uint8_t *base;

	p->size = answer->plan_size;
	base = p->size < sizeof(struct trail_plan) ? NULL : plan_of(m);
	if (!base)
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
		p->mapped[i] = mapping_get(&p->regions[i], fds[i], &p->errors[i]);
		if (p->mapped[i])
			__atomic_store_n(&p->mapped[i]->blocking, p->regions[i].blocking,
					 __ATOMIC_RELAXED);
	}
	return true;
}

/*
 * Says that the plan was taken over, and which regions could not be mapped. FAILED: in one of them
 * losses cannot be counted either, so they are counted as those of a daemon that did not answer.
 */
static enum outcome confirm(const struct question *q, const struct taken_plan *p)
{
	static union { /* under the lock */
		struct trail_taken head;
		uint8_t bytes[sizeof(struct trail_taken) +
			      TRAIL_REGION_MAX * sizeof(struct trail_taken_region)];
	} taken;
	size_t size;

	taken.head = (struct trail_taken){ .magic = TRAIL_TAKEN_MAGIC };
	for (uint32_t i = 0; i < p->head->region_count; i++) {
		if (!p->errors[i])
			continue;
		taken.head.regions[taken.head.count++] = (struct trail_taken_region){
			.key = p->regions[i].key, .error = p->errors[i]
		};
		if (!p->mapped[i])
			taken.head.flags |= TRAIL_TAKEN_UNCOUNTED;
		debug_print("cannot map a buffer of %" PRIu64 " bytes: errno %d",
			    p->regions[i].size, p->errors[i]);
	}
	size = sizeof(taken.head) + taken.head.count * sizeof(taken.head.regions[0]);
	if (send(q->fd, &taken, taken.head.count ? size : 1, MSG_NOSIGNAL) < 0)
		return FAILED;
	return taken.head.flags & TRAIL_TAKEN_UNCOUNTED ? FAILED : TAKEN;
}

/* Takes over the answer in `message`. */
static enum outcome take(const struct question *q, unsigned int lane)
{
	static struct taken_plan plan; /* large; under the lock */
	enum outcome outcome = FAILED;

	memset(&plan, 0, sizeof(plan));
	memcpy(plan.objects, q->objects, sizeof(plan.objects));
	plan.object_count = q->object_count;
	if (map_plan(&plan, &message)) {
		attach_apply(&plan, lane);
		outcome = confirm(q, &plan);
	}
	if (plan.head && !message.has_plan)
		munmap((void *)plan.head, plan.size);
	close_fds(&message);
	return outcome;
}

/* ---- questions ---- */

/*
 * A child that neither fork(3) nor clone(2) of libc made has a copy of the descriptor. The answer
 * is for its parent.
 */
static bool was_asked_here(const struct question *q)
{
	uint32_t bit = 1u << (q - questions);

	return __atomic_load_n(&context_page.questions, __ATOMIC_RELAXED) & bit &&
	       q->pid == (pid_t)syscall(SYS_getpid);
}

static bool is_ours(const struct question *q)
{
	struct stat st;

	return fstat(q->fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == q->dev &&
	       st.st_ino == q->ino;
}

void exchange_drop(unsigned int lane)
{
	struct question *q = &questions[lane];

	if (q->open && is_ours(q))
		close(q->fd);
	__atomic_fetch_and(&context_page.questions, ~(1u << lane), __ATOMIC_RELAXED);
	__atomic_store_n(&q->open, false, __ATOMIC_RELAXED);
}

void exchange_forget(const struct object *gone)
{
	for (unsigned int lane = 0; lane < LANES; lane++)
		for (uint32_t i = 0; i < questions[lane].object_count; i++)
			if (questions[lane].objects[i] == gone)
				questions[lane].objects[i] = NULL;
}

bool exchange_open(unsigned int lane)
{
	return __atomic_load_n(&questions[lane].open, __ATOMIC_RELAXED);
}

/* Less and less often: a daemon that stands still must not cost each hit some system calls. */
bool exchange_due(unsigned int lane, int64_t now)
{
	return now >= __atomic_load_n(&questions[lane].look, __ATOMIC_RELAXED);
}

enum outcome exchange_look(unsigned int lane)
{
	struct question *q = &questions[lane];
	int64_t now = now_us();
	enum heard heard = HEARD_LIFE;
	enum outcome outcome;

	if (!q->open || !is_ours(q) || !was_asked_here(q)) {
		exchange_drop(lane);
		return FAILED;
	}
	for (int i = 0; i < SIGNS_AT_ONCE && heard == HEARD_LIFE; i++)
		heard = hear(q->fd);
	if (heard == HEARD_NOTHING || heard == HEARD_LIFE) {
		__atomic_store_n(&q->look, now + (now - q->asked) / 32, __ATOMIC_RELAXED);
		return LATE;
	}
	outcome = heard == HEARD_ANSWER ? take(q, lane) : FAILED;
	exchange_drop(lane);
	return outcome;
}

/* Leaves the question open for later hits, if that can be. */
static enum outcome leave_open(struct question *q)
{
	struct stat st;

	/* Other threads would have no such descriptor. */
	if (thread_state.private_files) {
		close(q->fd);
		return FAILED;
	}
	q->fd = fd_move_up(q->fd);
	if (q->fd < 0)
		return FAILED;
	if (fstat(q->fd, &st) < 0) {
		close(q->fd);
		return FAILED;
	}
	q->dev = st.st_dev;
	q->ino = st.st_ino;
	q->pid = (pid_t)syscall(SYS_getpid);
	q->asked = now_us();
	__atomic_fetch_or(&context_page.questions, 1u << (q - questions), __ATOMIC_RELAXED);
	__atomic_store_n(&q->look, q->asked, __ATOMIC_RELAXED);
	__atomic_store_n(&q->open, true, __ATOMIC_RELAXED);
	return LATE;
}

/* The daemon may be silent for attach_ms; a sign of life restarts that time, but not after end. */
static enum outcome wait_for_answer(struct question *q, unsigned int lane, int64_t silence,
				    int64_t end)
{
	struct pollfd pfd = { .fd = q->fd, .events = POLLIN };
	enum outcome outcome;
	enum heard heard;

	for (;;) {
		int64_t left = silence - now_us();
		const struct timespec timeout = { .tv_sec = left / 1000000,
						  .tv_nsec = left % 1000000 * 1000 };

		/* Late ourselves, we still take an answer that is there. */
		if (ppoll(&pfd, 1, left > 0 ? &timeout : &(struct timespec){ 0 }, NULL) <= 0)
			return leave_open(q);
		heard = hear(q->fd);
		if (heard == HEARD_LIFE) {
			int64_t now = now_us();

			/* There may be another sign already, without end. */
			if (now >= end)
				return leave_open(q);
			silence = now + (int64_t)attach_ms * 1000;
			silence = silence < end ? silence : end;
		} else if (heard != HEARD_NOTHING) {
			break;
		}
	}
	outcome = heard == HEARD_ANSWER ? take(q, lane) : FAILED;
	close(q->fd);
	return outcome;
}

static enum outcome ask(unsigned int lane)
{
	struct question *q = &questions[lane];
	int64_t begin = now_us(), silence = begin + (int64_t)attach_ms * 1000;

	exchange_drop(lane);
	while ((q->fd = dial(lane)) < 0 && errno == EAGAIN && now_us() < silence) {
		const struct timespec pause = { .tv_nsec =
							500000 }; /* the daemon's queue is full */

		nanosleep(&pause, NULL);
	}
	if (q->fd < 0)
		return errno == ECONNREFUSED || errno == ENOENT ? NO_DAEMON : FAILED;
	/*
	 * The daemon has the question, and can be silent, from now on. Other programs of a busy
	 * machine may have run in most of the time until here.
	 */
	if (say_hello(q, lane))
		return wait_for_answer(q, lane, now_us() + (int64_t)attach_ms * 1000,
				       begin + attach_total_us());
	close(q->fd);
	return FAILED;
}

enum outcome exchange(unsigned int lane)
{
	static const char *const results[] = {
		[TAKEN] = "answered", [LATE] = "has not answered yet",
		[FAILED] = "gave no valid answer", [NO_DAEMON] = "does not run",
	};
	enum outcome outcome = ask(lane);

	debug_print("the daemon of %s %s", runtime_dir[lane], results[outcome]);
	return outcome;
}
