/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/process.h"
#include "fs/tree/kept_image.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/face/tracer.h"

#define LASTS 3000      /* ms from the take-over until those that nothing has taken are dropped */

static struct {
	pthread_mutex_t lock;           /* guards the rest, and which entries are used */
	uint64_t serial;
	uint64_t left;                  /* bit n: entry n is an earlier daemon's; read atomically */
	int64_t until;                  /* when those that are left are dropped */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };
_Static_assert(HANDOVER_IMAGES <= 64, "bits of `left`");

static void name_of(uint32_t place, char name[24])
{
	snprintf(name, 24, KEEPER_IMAGE "%u", place % HANDOVER_IMAGES);
}

uint64_t kept_image_serial(void)
{
	const struct handover_head *h = handover_head();
	uint64_t serial;

	pthread_mutex_lock(&kept.lock);
	serial = (uint64_t)(h ? h->taken : 0) << 32 | ++kept.serial;
	pthread_mutex_unlock(&kept.lock);
	return serial;
}

static int64_t created(struct session *s)
{
	struct session_info info;

	session_info(s, &info);
	return info.created;
}

/* An entry for it, which is used from now on, or HANDOVER_NONE. */
static uint32_t take_entry(const struct handover_image *what)
{
	struct handover_head *h = handover_head();
	uint32_t i;

	pthread_mutex_lock(&kept.lock);
	for (i = 0; h && i < HANDOVER_IMAGES && h->images[i].serial; i++)
		;
	if (h && i < HANDOVER_IMAGES)
		h->images[i] = *what;
	pthread_mutex_unlock(&kept.lock);
	return h && i < HANDOVER_IMAGES ? i : HANDOVER_NONE;
}

uint32_t kept_image_put(struct session *s, const struct process *p, uint64_t serial,
			struct trace_image *image)
{
	const struct handover_image what = {
		.serial = serial, .created = created(s), .start = p->start, .pid = p->pid,
		.uid = p->uid,
	};
	uint32_t place = image_hold(image) ? HANDOVER_NONE : take_entry(&what);
	char name[24];

	if (place == HANDOVER_NONE)
		return place;
	name_of(place, name);
	if (!tracer_hold(fs.tracer, name, image_held(image)))
		return place;
	kept_image_drop(place);
	return HANDOVER_NONE;
}

void kept_image_drop(uint32_t place)
{
	struct handover_head *h = handover_head();
	char name[24];

	if (place >= HANDOVER_IMAGES)
		return;
	/* Until the entry is free, no other image gets this name. */
	name_of(place, name);
	tracer_release(fs.tracer, name);
	pthread_mutex_lock(&kept.lock);
	if (h)
		h->images[place].serial = 0;
	pthread_mutex_unlock(&kept.lock);
}

/* The entry of it that is left, or HANDOVER_NONE. It is not left any more. */
static uint32_t take_left(const struct handover_head *h, int64_t session, const struct process *p)
{
	uint32_t i;

	pthread_mutex_lock(&kept.lock);
	for (i = 0; i < HANDOVER_IMAGES; i++) {
		const struct handover_image *k = &h->images[i];

		if (kept.left >> i & 1 && k->created == session &&
		    process_same(p, &(struct process){ k->pid, k->start, k->uid }))
			break;
	}
	if (i < HANDOVER_IMAGES)
		__atomic_store_n(&kept.left, kept.left & ~(UINT64_C(1) << i), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kept.lock);
	return i < HANDOVER_IMAGES ? i : HANDOVER_NONE;
}

bool kept_image_take(struct session *s, const struct process *p, struct trace_image **image,
		     uint64_t *serial, uint32_t *place)
{
	const struct handover_head *h = handover_head();
	uint32_t i = h ? take_left(h, created(s), p) : HANDOVER_NONE;
	char name[24];
	int fd, rc;

	if (i == HANDOVER_NONE)
		return false;
	name_of(i, name);
	fd = tracer_held(fs.tracer, name);
	rc = fd < 0 ? fd : image_adopt(s, fd, image);
	if (rc && fd >= 0)
		close(fd);
	/* Again: a keeper that replaces this one shall get it, too. */
	if (!rc) {
		rc = tracer_hold(fs.tracer, name, fd);
		if (rc)
			image_put(*image);
	}
	if (rc) {
		say(SAY_INFO, "an image of trace/ cannot continue: its readers get an error");
		kept_image_drop(i);
		return false;
	}
	*serial = h->images[i].serial;
	*place = i;
	return true;
}

void kept_images_recall(void)
{
	const struct handover_head *h = handover_head();
	uint64_t left = 0;

	for (uint32_t i = 0; h && i < HANDOVER_IMAGES; i++)
		left |= (uint64_t)(h->images[i].serial != 0) << i;
	pthread_mutex_lock(&kept.lock);
	kept.until = chores_clock() + LASTS;
	__atomic_store_n(&kept.left, left, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kept.lock);
}

bool kept_images_left(void)
{
	return __atomic_load_n(&kept.left, __ATOMIC_RELAXED) != 0;
}

int64_t kept_images_expire(int64_t now)
{
	uint64_t left;

	if (!kept_images_left())
		return -1;
	pthread_mutex_lock(&kept.lock);
	left = now < kept.until ? 0 : kept.left;
	__atomic_store_n(&kept.left, kept.left & ~left, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kept.lock);
	for (uint32_t i = 0; i < HANDOVER_IMAGES; i++)
		if (left >> i & 1)
			kept_image_drop(i);
	return kept_images_left() ? kept.until : -1;
}
