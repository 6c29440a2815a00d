// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of locks, checked: see lock_order.h. */
#include "tracer/base/lock_order.h"

#ifdef LOCKS_CHECKED

#undef pthread_mutex_lock
#undef pthread_mutex_trylock
#undef pthread_mutex_unlock
#undef pthread_mutex_destroy

#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 1024
#define HELD_MAX 16

struct ranked {
	struct ranked *next;
	const pthread_mutex_t *mutex;
	enum lock_rank rank;
};

/* All locks with a rank. */
static struct {
	pthread_rwlock_t lock;          /* guards the buckets */
	struct ranked *buckets[BUCKETS];
} ranks = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* What this thread holds. */
static __thread struct {
	const pthread_mutex_t *mutex;
	enum lock_rank rank;
} held[HELD_MAX];
static __thread unsigned int held_count;

void lock_broken(const char *format, ...)
{
	char line[300];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	__sanitizer_report_error_summary(line);
	abort();
}

static const char *name_of(enum lock_rank rank)
{
	static const char *const names[] = {
		"a lock without a rank",
#define LOCK_RANK_TEXT(name, text) text,
		LOCK_RANKS(LOCK_RANK_TEXT)
#undef LOCK_RANK_TEXT
	};

	return names[rank];
}

static struct ranked **bucket_of(const pthread_mutex_t *m)
{
	return &ranks.buckets[(uintptr_t)m / 16 % BUCKETS];
}

static enum lock_rank rank_of(const pthread_mutex_t *m)
{
	enum lock_rank rank = LOCK_UNRANKED;

	pthread_rwlock_rdlock(&ranks.lock);
	for (const struct ranked *r = *bucket_of(m); r && !rank; r = r->next)
		if (r->mutex == m)
			rank = r->rank;
	pthread_rwlock_unlock(&ranks.lock);
	return rank;
}

static void note_held(const pthread_mutex_t *m, enum lock_rank rank)
{
	if (!rank)
		return;
	if (held_count == HELD_MAX)
		lock_broken("a thread holds more than %d locks", HELD_MAX);
	held[held_count].mutex = m;
	held[held_count++].rank = rank;
}

static void check_order(enum lock_rank rank)
{
	for (unsigned int i = 0; rank && i < held_count; i++) {
		if (held[i].rank < rank)
			continue;
		lock_broken("order of locks: %s is taken while %s is held", name_of(rank),
			    name_of(held[i].rank));
	}
}

int lock_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr, enum lock_rank rank)
{
	struct ranked *r = malloc(sizeof(*r));
	int ret = pthread_mutex_init(m, attr);

	if (!r)
		return ret;
	pthread_rwlock_wrlock(&ranks.lock);
	*r = (struct ranked){ .next = *bucket_of(m), .mutex = m, .rank = rank };
	*bucket_of(m) = r;
	pthread_rwlock_unlock(&ranks.lock);
	return ret;
}

int lock_destroy(pthread_mutex_t *m)
{
	struct ranked **at, *dead = NULL;

	pthread_rwlock_wrlock(&ranks.lock);
	for (at = bucket_of(m); *at && (*at)->mutex != m; at = &(*at)->next)
		;
	if (*at) {
		dead = *at;
		*at = dead->next;
	}
	pthread_rwlock_unlock(&ranks.lock);
	free(dead);
	return pthread_mutex_destroy(m);
}

int lock_take(pthread_mutex_t *m)
{
	enum lock_rank rank = rank_of(m);
	int ret;

	check_order(rank);
	ret = pthread_mutex_lock(m);
	note_held(m, rank);
	return ret;
}

/* It never waits, so it may be taken in any order. */
int lock_try(pthread_mutex_t *m)
{
	int ret = pthread_mutex_trylock(m);

	if (!ret)
		note_held(m, rank_of(m));
	return ret;
}

int lock_release(pthread_mutex_t *m)
{
	unsigned int i = held_count;

	while (i && held[i - 1].mutex != m)
		i--;
	if (i) {
		held_count--;
		for (i--; i < held_count; i++)
			held[i] = held[i + 1];
	}
	return pthread_mutex_unlock(m);
}

bool lock_held(const pthread_mutex_t *m)
{
	for (unsigned int i = 0; i < held_count; i++)
		if (held[i].mutex == m)
			return true;
	return false;
}

#else
typedef int lock_order_is_empty;        /* ISO C wants a declaration in each file */
#endif
