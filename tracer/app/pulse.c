// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/app.h"
#include "tracer/app/pulse.h"
#include "tracer/base/os/clock.h"

#define PERIOD 3000000          /* ns between two signs: a few of them in what applications wait */
/* Connections accepted ahead of the thread that answers: */
#define EARLY_MAX 1024u         /* of one listener */
#define EARLY_ALL_MAX 4096u

struct fds {
	int *items;
	uint32_t count, size;
};

struct source {
	int listener;
	struct fds early;               /* accepted, and not returned by pulse_accept() yet */
};

struct pulse {
	pthread_t thread;
	bool runs;                      /* of the thread that answers: `thread` exists */
	int wake, timer;
	bool stop;                      /* atomic */
	/* Guards the rest. Held for EARLY_ALL_MAX accepts and one sign to each peer at most. */
	pthread_mutex_t lock;
	struct fds waiting;             /* all that wait for an answer */
	struct source *sources;
	uint32_t source_count;
	uint32_t turn;                  /* pulse_accept() looks at this source first */
	uint32_t early_count;           /* of all sources */
};

static int fds_add(struct fds *f, int fd)
{
	if (f->count == f->size) {
		uint32_t size = f->size ? 2 * f->size : 64;
		int *more = realloc(f->items, size * sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->items = more;
		f->size = size;
	}
	f->items[f->count++] = fd;
	return 0;
}

/* The newest are last, and answered first if there are few. */
static void fds_remove(struct fds *f, int fd)
{
	for (uint32_t i = f->count; i > 0; i--)
		if (f->items[i - 1] == fd) {
			f->items[i - 1] = f->items[--f->count];
			return;
		}
}

static void accept_from(struct pulse *p, struct source *s)
{
	while (s->early.count < EARLY_MAX && p->early_count < EARLY_ALL_MAX) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			break;
		if (fds_add(&s->early, fd)) {
			close(fd);
			break;
		}
		p->early_count++;
		fds_add(&p->waiting, fd);
	}
}

/* The newest listeners first: the oldest one is for all users, and may have the most to accept. */
static void accept_early(struct pulse *p)
{
	const uint64_t one = 1;
	uint32_t before = p->early_count;

	for (uint32_t i = p->source_count; i > 0; i--)
		accept_from(p, &p->sources[i - 1]);
	if (p->early_count > before && write(p->wake, &one, sizeof(one)) < 0)
		return;         /* it is full: so it is awake */
}

/*
 * A peer that has not read the last sign needs no other. More would fill the socket, within a
 * second, and the answer would find no room; and they are kernel memory that any user could make us
 * take.
 */
static bool has_unread(int fd)
{
	int bytes;

	return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* False: the peer has closed its end, so it needs no more signs. */
static bool send_sign(int fd)
{
	const struct trail_answer life = { .magic = TRAIL_ALIVE_MAGIC };

	return has_unread(fd) || send(fd, &life, sizeof(life), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       (errno != EPIPE && errno != ECONNRESET);
}

static void send_signs(struct pulse *p)
{
	uint64_t begin = monotonic_now(), took;

	pthread_mutex_lock(&p->lock);
	accept_early(p);
	for (uint32_t i = p->waiting.count; i > 0; i--)
		if (!send_sign(p->waiting.items[i - 1]))
			p->waiting.items[i - 1] = p->waiting.items[--p->waiting.count];
	pthread_mutex_unlock(&p->lock);
	took = monotonic_now() - begin;
	/* A mutex is not fair: the thread that answers must get it, however many peers wait. */
	if (took > PERIOD / 2)
		nanosleep(&(struct timespec){ (time_t)(took / 1000000000),
					       (long)(took % 1000000000) },
			  NULL);
}

static void *run(void *arg)
{
	struct pulse *p = arg;
	uint64_t ticks;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid),
		    -15); /* as near to being in time as can be */
	while (read(p->timer, &ticks, sizeof(ticks)) == sizeof(ticks) || errno == EINTR) {
		/* Pairs with the release store in pulse_destroy(). */
		if (__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE))
			break;
		send_signs(p);
	}
	return NULL;
}

static void set_timer(const struct pulse *p, long ns)
{
	const struct itimerspec when = { .it_value.tv_nsec = ns, .it_interval.tv_nsec = ns };

	timerfd_settime(p->timer, 0, &when, NULL);
}

static void start(struct pulse *p)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	p->runs = !pthread_create(&p->thread, &attr, run, p);
	pthread_attr_destroy(&attr);
}

void pulse_busy(struct pulse *p)
{
	if (!p->runs)
		start(p);       /* if that fails, applications get no sign of life */
	set_timer(p, PERIOD);
}

void pulse_idle(struct pulse *p)
{
	set_timer(p, 0);
}

int pulse_add(struct pulse *p, int fd)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	fds_remove(&p->waiting, fd);    /* if it was accepted early */
	err = fds_add(&p->waiting, fd);
	pthread_mutex_unlock(&p->lock);
	return err;
}

void pulse_remove(struct pulse *p, int fd)
{
	pthread_mutex_lock(&p->lock);
	fds_remove(&p->waiting, fd);
	pthread_mutex_unlock(&p->lock);
}

/* The first of a source's connections; -1: there is none. */
static int take_early(struct pulse *p, struct source *s)
{
	int fd;

	if (!s->early.count)
		return -1;
	fd = s->early.items[0];
	s->early.count--;
	p->early_count--;
	memmove(s->early.items, s->early.items + 1, s->early.count * sizeof(int));
	return fd;
}

int pulse_accept(struct pulse *p)
{
	int fd = -1;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; fd < 0 && p->early_count && i < p->source_count; i++) {
		p->turn = (p->turn + 1) % p->source_count;
		fd = take_early(p, &p->sources[p->turn]);
	}
	pthread_mutex_unlock(&p->lock);
	return fd;
}

int pulse_listen(struct pulse *p, int listener)
{
	struct source *more;

	pthread_mutex_lock(&p->lock);
	more = realloc(p->sources, (p->source_count + 1) * sizeof(*more));
	if (more) {
		p->sources = more;
		p->sources[p->source_count++] = (struct source){ .listener = listener };
	}
	pthread_mutex_unlock(&p->lock);
	return more ? 0 : -ENOMEM;
}

static void source_remove(struct pulse *p, struct source *s)
{
	for (uint32_t i = 0; i < s->early.count; i++) {
		fds_remove(&p->waiting, s->early.items[i]);
		close(s->early.items[i]);
	}
	p->early_count -= s->early.count;
	free(s->early.items);
	*s = p->sources[--p->source_count];
}

void pulse_unlisten(struct pulse *p, int listener)
{
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = p->source_count; i > 0; i--)
		if (p->sources[i - 1].listener == listener)
			source_remove(p, &p->sources[i - 1]);
	pthread_mutex_unlock(&p->lock);
}

int pulse_create(int listener, int wake, struct pulse **out)
{
	struct pulse *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->wake = wake;
	pthread_mutex_init(&p->lock, NULL);
	err = pulse_listen(p, listener);
	p->timer = err ? -1 : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (!err && p->timer < 0)
		err = -errno;
	if (err) {
		pthread_mutex_destroy(&p->lock);
		free(p->sources);
		free(p);
		return err;
	}
	*out = p;
	return 0;
}

void pulse_destroy(struct pulse *p)
{
	if (!p)
		return;
	__atomic_store_n(&p->stop, true, __ATOMIC_RELEASE);
	set_timer(p, 1);
	if (p->runs)
		pthread_join(p->thread, NULL);
	while (p->source_count)
		source_remove(p, &p->sources[p->source_count - 1]);
	free(p->sources);
	free(p->waiting.items);
	close(p->timer);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
