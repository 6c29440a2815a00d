/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/fuse/channel.h"

/* Not in the headers of older kernels */
#define NOTIFY_RESEND 7
#define RESENT (UINT64_C(1) << 63)      /* in `unique` of a message */

#define WAITING_MOST 65536              /* messages that are read before any is served */

/* A message that was read before a thread served. */
struct message {
	STAILQ_ENTRY(message) link;
	size_t size;
	char bytes[];
};

static struct {
	pthread_mutex_t lock;           /* guards the list */
	STAILQ_HEAD(, message) messages;
	/* The rest is constant while threads serve. */
	uint64_t *unanswered;           /* sorted */
	size_t unanswered_count;
	bool replaying, agreed;
} own = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.messages = STAILQ_HEAD_INITIALIZER(own.messages),
};

/* Of the calling thread */
static __thread struct {
	unsigned index;         /* from 1 on; 0: it serves no requests */
	uint64_t unique;
	bool again;
	bool init;              /* it has the message INIT, or its replay */
} thread;

void channel_thread(unsigned index)
{
	thread.index = index < HANDOVER_THREADS ? index + 1 : 0;
}

uint64_t channel_unique(void)
{
	return thread.unique;
}

bool channel_again(void)
{
	return thread.again;
}

static struct handover_doing *doing_now(void)
{
	struct handover_head *h = handover_head();

	return h && thread.index ? &h->doing[thread.index - 1] : NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_unanswered(uint64_t unique)
{
	return own.unanswered_count &&
	       bsearch(&unique, own.unanswered, own.unanswered_count, sizeof(unique), compare);
}

bool channel_unanswered(uint64_t unique)
{
	const struct handover_doing *d;

	if (!is_unanswered(unique))
		return false;
	/* What was noted will be sent: for all but the kernel it is answered. */
	d = handover_earlier(unique);
	return !(d && d->len);
}

/* ---- messages from the kernel ---- */

static void note_init(const void *message, size_t size)
{
	struct handover_head *h = handover_head();

	if (h && size <= HANDOVER_REPLY) {
		memcpy(h->init, message, size);
		h->init_len = (uint32_t)size;
	}
}

/* The kernel releases no handle while a request about it is with the daemon. */
static void note_poll(const struct fuse_poll_in *in)
{
	struct handover_file *f = handover_file(in->fh);

	if (f)
		f->poll = in->kh;
}

/* writev(2), which reply.c replaces. */
static ssize_t put_message(int fd, const struct iovec *iov, int count)
{
	return syscall(SYS_writev, fd, iov, count);
}

static void answer_again(int fd, uint64_t unique, struct handover_doing *before)
{
	struct fuse_out_header out;
	struct iovec iov[2] = { { &out, sizeof(out) },
				{ before->reply + sizeof(out), before->len - sizeof(out) } };

	memcpy(&out, before->reply, sizeof(out));
	out.unique = unique;
	if (put_message(fd, iov, before->len > sizeof(out) ? 2 : 1) < 0)
		say(SAY_DEBUG, "a reply that was sent again: %s", strerror(errno));
	__atomic_store_n(&before->unique, 0, __ATOMIC_RELEASE);
}

/*
 * The thread has a message. True: it has to be executed; false: it was answered as the earlier
 * daemon would have.
 */
static bool begin(int fd, const char *message, size_t size)
{
	struct handover_doing *d = doing_now();
	struct handover_doing *before;
	struct fuse_in_header h;

	if (size < sizeof(h))
		return true;
	memcpy(&h, message, sizeof(h));
	thread.unique = h.unique & ~RESENT;
	thread.again = false;
	thread.init = h.opcode == FUSE_INIT;
	if (thread.init)
		note_init(message, size);
	if (h.opcode == FUSE_POLL && size >= sizeof(h) + sizeof(struct fuse_poll_in)) {
		struct fuse_poll_in in;

		memcpy(&in, message + sizeof(h), sizeof(in));
		note_poll(&in);
	}
	before = h.unique & RESENT ? handover_earlier(thread.unique) : NULL;
	if (before && before->len) {
		answer_again(fd, h.unique, before);
		return false;
	}
	thread.again = before != NULL;
	if (!d || h.opcode == FUSE_INTERRUPT)
		return true;
	d->len = 0;
	d->opcode = h.opcode;
	__atomic_store_n(&d->unique, thread.unique, __ATOMIC_RELEASE);
	return true;
}

static struct message *take_message(void)
{
	struct message *m;

	if (STAILQ_EMPTY(&own.messages))
		return NULL;
	pthread_mutex_lock(&own.lock);
	m = STAILQ_FIRST(&own.messages);
	if (m)
		STAILQ_REMOVE_HEAD(&own.messages, link);
	pthread_mutex_unlock(&own.lock);
	return m;
}

_Static_assert(sizeof(struct fuse_in_header) == HANDOVER_HEADER, "the header of a message");

/* The header comes by way of the hand-over: see there. */
static ssize_t read_message(int fd, char *buf, size_t size)
{
	struct handover_head *h = handover_head();
	struct iovec parts[2];
	ssize_t n;

	if (!h || !thread.index || size <= HANDOVER_HEADER)
		return read(fd, buf, size);
	parts[0] = (struct iovec){ h->reading[thread.index - 1], HANDOVER_HEADER };
	parts[1] = (struct iovec){ buf + HANDOVER_HEADER, size - HANDOVER_HEADER };
	n = readv(fd, parts, 2);
	if (n > 0)
		memcpy(buf, parts[0].iov_base, HANDOVER_HEADER);
	return n;
}

ssize_t channel_read(int fd, void *buf, size_t size, void *unused)
{
	struct message *m;
	ssize_t n;
	int state;

	(void)unused;
	do {
		m = take_message();
		if (m) {
			n = (ssize_t)(m->size < size ? m->size : size);
			memcpy(buf, m->bytes, (size_t)n);
			free(m);
		} else {
			n = read_message(fd, buf, size);
		}
		if (n <= 0)
			return n;
		/* A thread that is cancelled here would take a request with it. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		if (!begin(fd, buf, (size_t)n))
			n = 0;
		pthread_setcancelstate(state, NULL);
	} while (!n);
	return n;
}

/* ---- replies ---- */

static size_t total(const struct iovec *iov, int count)
{
	size_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += iov[i].iov_len;
	return sum;
}

static void copy_parts(uint8_t *to, const struct iovec *iov, int count)
{
	for (int i = 0; i < count; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
}

/* Of INIT: libfuse must have agreed to the same as before. Of the first daemon: notes it. */
static void note_init_reply(const struct iovec *iov, int count)
{
	struct handover_head *h = handover_head();
	uint8_t reply[HANDOVER_REPLY];
	size_t size = total(iov, count);

	if (!h || size > sizeof(reply))
		return;
	copy_parts(reply, iov, count);
	if (own.replaying) {
		own.agreed = size == h->init_reply_len && !memcmp(reply, h->init_reply, size);
	} else {
		memcpy(h->init_reply, reply, size);
		h->init_reply_len = (uint32_t)size;
	}
}

ssize_t channel_writev(int fd, struct iovec *iov, int count, void *unused)
{
	const struct fuse_out_header *out = iov[0].iov_base;
	struct handover_doing *d = doing_now();
	size_t size = total(iov, count);
	ssize_t n;

	(void)unused;
	if (d && (d->unique != (out->unique & ~RESENT) || !d->unique))
		d = NULL;
	if (thread.init) {
		note_init_reply(iov, count);
		if (own.replaying)
			return (ssize_t)size;
		thread.init = false;    /* what this thread writes next is no reply to INIT */
	}
	if (d && size <= HANDOVER_REPLY) {
		copy_parts(d->reply, iov, count);
		__atomic_store_n(&d->len, (uint32_t)size, __ATOMIC_RELEASE);
	}
	n = put_message(fd, iov, count);
	if (d) {
		int error = errno;

		__atomic_store_n(&d->unique, 0, __ATOMIC_RELEASE);
		errno = error;
	}
	return n;
}

/* ---- taking over ---- */

size_t channel_replay(void *buf, size_t size)
{
	const struct handover_head *h = handover_head();
	size_t n = h && h->init_len <= size ? h->init_len : 0;

	own.replaying = thread.init = n != 0;
	if (n)
		memcpy(buf, h->init, n);
	return n;
}

bool channel_agreed(void)
{
	return own.agreed;
}

static int notify(int fd, int code, const void *body, size_t size)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size), .error = code };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)body, size } };


	return put_message(fd, iov, size ? 2 : 1) < 0 ? -errno : 0;
}

void channel_wake(int fd, uint64_t poll)
{
	struct fuse_notify_poll_wakeup_out body = { .kh = poll };

	notify(fd, FUSE_NOTIFY_POLL, &body, sizeof(body));
}

static bool is_about_requests(uint32_t opcode)
{
	return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT;
}

/* Keeps a message that was read. -ENOMEM: it stays unanswered. */
static int keep_message(const char *bytes, size_t size)
{
	struct message *m = malloc(sizeof(*m) + size);

	if (!m)
		return -ENOMEM;
	m->size = size;
	memcpy(m->bytes, bytes, size);
	STAILQ_INSERT_TAIL(&own.messages, m, link);
	return 0;
}

static int keep_unanswered(uint64_t unique)
{
	size_t n = own.unanswered_count;

	/* The array has room for 64, then for twice as many each time. */
	if (!n || (n >= 64 && !(n & (n - 1)))) {
		uint64_t *more = realloc(own.unanswered, (n ? 2 * n : 64) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		own.unanswered = more;
	}
	own.unanswered[own.unanswered_count++] = unique;
	return 0;
}

/* The kernel has put them in front of all others: reads them until another one comes. */
static int read_unanswered(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char *buf = malloc(CHANNEL_MESSAGE);
	int rc = buf ? 0 : -ENOMEM;

	for (int i = 0; !rc && i < WAITING_MOST && poll(&p, 1, 0) == 1; i++) {
		ssize_t n = p.revents & POLLIN ? read(fd, buf, CHANNEL_MESSAGE) : 0;
		struct fuse_in_header h;

		if (n < (ssize_t)sizeof(h))
			break;
		memcpy(&h, buf, sizeof(h));
		rc = keep_message(buf, (size_t)n);
		if (is_about_requests(h.opcode))
			continue;
		if (!(h.unique & RESENT))
			break;
		rc = rc ? rc : keep_unanswered(h.unique & ~RESENT);
	}
	free(buf);
	if (own.unanswered_count)
		qsort(own.unanswered, own.unanswered_count, sizeof(*own.unanswered), compare);
	return rc;
}

static void interrupt(int fd, uint64_t unique)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = -EINTR, .unique = unique };

	if (unique && write(fd, &out, sizeof(out)) < 0 && errno != ENOENT)
		say(SAY_DEBUG, "an interrupted request: %s", strerror(errno));
}

/* A kernel that does not send them again */
static void interrupt_all(int fd, const struct handover_head *h)
{
	for (size_t i = 0; i < HANDOVER_THREADS; i++) {
		struct fuse_in_header in;

		memcpy(&in, h->reading[i], sizeof(in));
		interrupt(fd, in.unique);
	}
	for (size_t i = 0; i < HANDOVER_EARLIER; i++)
		interrupt(fd, h->earlier[i].unique);
	for (size_t i = 0; i < HANDOVER_PARKED; i++)
		interrupt(fd, h->parked[i]);
}

/* What the kernel did not send again was answered. */
static void drop_answered(struct handover_head *h)
{
	for (size_t i = 0; i < HANDOVER_EARLIER; i++)
		if (h->earlier[i].unique && !is_unanswered(h->earlier[i].unique))
			h->earlier[i].unique = 0;
}

int channel_resume(int fd)
{
	struct handover_head *h = handover_head();
	int rc;

	own.replaying = thread.init = false;
	handover_move_doing();
	rc = notify(fd, NOTIFY_RESEND, NULL, 0);
	if (rc == -EINVAL)
		interrupt_all(fd, h);
	else if (!rc)
		rc = read_unanswered(fd);
	if (!rc || rc == -EINVAL) {
		drop_answered(h);
		memset(h->parked, 0, sizeof(h->parked));
	}
	return rc;
}

void channel_end(void)
{
	struct message *m;

	while ((m = take_message()))
		free(m);
	free(own.unanswered);
	own.unanswered = NULL;
	own.unanswered_count = 0;
}
