/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/tree/kept_image.h"
#include "tracer/base/hash.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/face/tracer.h"

#define LASTS 3000      /* ms from the take-over until earlier daemons' images are dropped */

static struct {
	pthread_mutex_t lock;           /* guards the rest, and which entries are used */
	uint64_t serial;
	uint64_t left;                  /* bit n: entry n is an earlier daemon's; read atomically */
	bool ended;                     /* there may be images that have ended; read atomically */
	int64_t until;                  /* when those that are left are dropped */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };
_Static_assert(HANDOVER_IMAGES <= 64, "bits of `left`");
_Static_assert(HANDOVER_IMAGES < HANDOVER_IMAGES_ALL, "entries for those that end");

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

static bool same_reader(const struct handover_image *a, const struct handover_image *b)
{
	return a->created == b->created && a->form == b->form && a->pid == b->pid &&
	       a->start == b->start && a->uid == b->uid;
}

/* An entry from first to end - 1, which is used from now on, or HANDOVER_NONE. With the lock. */
static uint32_t take_entry(const struct handover_image *what, uint32_t first, uint32_t end)
{
	struct handover_head *h = handover_head();
	uint32_t i = first;

	while (h && i < end && h->images[i].serial)
		i++;
	if (!h || i == end)
		return HANDOVER_NONE;
	h->images[i] = *what;
	return i;
}

/* For an image that ends with its daemon; HANDOVER_NONE: there is no room. */
static uint32_t note(const struct handover_image *what)
{
	uint32_t place;

	pthread_mutex_lock(&kept.lock);
	place = take_entry(what, HANDOVER_IMAGES, HANDOVER_IMAGES_ALL);
	pthread_mutex_unlock(&kept.lock);
	return place;
}

/* Gives it to the keeper; its place, or HANDOVER_NONE. */
static uint32_t hold_image(const struct handover_image *what, struct trace_image *image)
{
	uint32_t place = HANDOVER_NONE;
	char name[24];

	if (image_hold(image))
		return HANDOVER_NONE;
	pthread_mutex_lock(&kept.lock);
	place = take_entry(what, 0, HANDOVER_IMAGES);
	pthread_mutex_unlock(&kept.lock);
	if (place == HANDOVER_NONE)
		return HANDOVER_NONE;
	name_of(place, name);
	if (!tracer_hold(fs.tracer, name, image_held(image)))
		return place;
	kept_image_drop(place);
	return HANDOVER_NONE;
}

static bool is_earlier(const struct handover_head *h, const struct handover_image *k)
{
	return k->serial && k->serial >> 32 < h->taken;
}

/* Whether the process had an image, and a new one is another one. */
static bool has_ended(const struct handover_image *what)
{
	const struct handover_head *h = handover_head();
	bool ended = false;

	if (!h || !__atomic_load_n(&kept.ended, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&kept.lock);
	for (uint32_t i = HANDOVER_IMAGES; !ended && i < HANDOVER_IMAGES_ALL; i++) {
		const struct handover_image *k = &h->images[i];

		ended = is_earlier(h, k) && same_reader(k, what) && k->alike != what->alike;
	}
	pthread_mutex_unlock(&kept.lock);
	return ended;
}

static uint64_t hash_files(struct trace_image *image)
{
	const struct image_file *files;
	uint64_t hash = HASH_START;

	for (size_t i = 0, n = image_files(image, &files); i < n; i++) {
		hash = hash_string(hash, files[i].path);
		hash = hash_bytes(hash, &files[i].size, sizeof(files[i].size));
		hash = hash_bytes(hash, &files[i].mtime, sizeof(files[i].mtime));
	}
	return hash;
}

int kept_image_put(struct handover_image *what, struct trace_image *image, bool hold,
		   uint32_t *place)
{
	if (!what->alike) {
		what->alike = hash_files(image);
		if (has_ended(what))
			return -ESTALE;
	}
	*place = hold ? hold_image(what, image) : HANDOVER_NONE;
	if (*place == HANDOVER_NONE)
		*place = note(what);
	return 0;
}

bool kept_image_continues(uint32_t place)
{
	return place < HANDOVER_IMAGES;
}

void kept_image_drop(uint32_t place)
{
	struct handover_head *h = handover_head();
	char name[24];

	if (place >= HANDOVER_IMAGES_ALL)
		return;
	if (kept_image_continues(place)) {
		/* Until the entry is free, no other image gets this name. */
		name_of(place, name);
		tracer_release(fs.tracer, name);
	}
	pthread_mutex_lock(&kept.lock);
	if (h)
		h->images[place].serial = 0;
	pthread_mutex_unlock(&kept.lock);
}

/* The entry of it that is left, or HANDOVER_NONE. It is not left any more. */
static uint32_t take_left(const struct handover_head *h, const struct handover_image *what)
{
	uint32_t i = 0;

	pthread_mutex_lock(&kept.lock);
	while (i < HANDOVER_IMAGES &&
	       !(kept.left >> i & 1 && same_reader(&h->images[i], what)))
		i++;
	if (i < HANDOVER_IMAGES)
		__atomic_store_n(&kept.left, kept.left & ~(UINT64_C(1) << i), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kept.lock);
	return i < HANDOVER_IMAGES ? i : HANDOVER_NONE;
}

/* Makes an image that cannot continue, and has no place with the keeper any more, an ended one. */
static void note_ended(const struct handover_image *k)
{
	note(k);
	__atomic_store_n(&kept.ended, true, __ATOMIC_RELAXED);
	chores_kick();          /* for kept_images_expire */
}

int kept_image_take(struct session *s, struct handover_image *what, struct trace_image **image,
		    uint32_t *place)
{
	const struct handover_head *h = handover_head();
	uint32_t i = h ? take_left(h, what) : HANDOVER_NONE;
	struct handover_image k;
	char name[24];
	int fd, rc;

	if (i == HANDOVER_NONE)
		return what->alike && has_ended(what) ? -ESTALE : 0;
	k = h->images[i];
	name_of(i, name);
	fd = tracer_held(fs.tracer, name);
	rc = fd < 0 ? fd : image_adopt(s, fd, image);
	if (rc && fd >= 0)
		close(fd);
	/* Again: a keeper that replaces this one shall get it, too. */
	if (!rc) {
		rc = tracer_hold(fs.tracer, name, fd);
		if (rc) {
			image_put(*image);
			*image = NULL;
		}
	}
	if (rc) {
		say(SAY_INFO, "an image of trace/ cannot continue: its readers get an error");
		note_ended(&k);
		kept_image_drop(i);
		return -ESTALE;
	}
	*what = k;
	*place = i;
	return 1;
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
	__atomic_store_n(&kept.ended, h != NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&kept.lock);
}

bool kept_images_left(void)
{
	return __atomic_load_n(&kept.left, __ATOMIC_RELAXED) != 0;
}

/* Caller holds the lock. */
static void forget_ended(void)
{
	struct handover_head *h = handover_head();

	for (uint32_t i = HANDOVER_IMAGES; h && i < HANDOVER_IMAGES_ALL; i++)
		if (is_earlier(h, &h->images[i]))
			h->images[i].serial = 0;
	__atomic_store_n(&kept.ended, false, __ATOMIC_RELAXED);
}

int64_t kept_images_expire(int64_t now)
{
	uint64_t left = 0;
	int64_t next = -1;

	if (!kept_images_left() && !__atomic_load_n(&kept.ended, __ATOMIC_RELAXED))
		return next;
	pthread_mutex_lock(&kept.lock);
	if (now < kept.until) {
		next = kept.until;
	} else {
		left = kept.left;
		__atomic_store_n(&kept.left, 0, __ATOMIC_RELAXED);
		forget_ended();
	}
	pthread_mutex_unlock(&kept.lock);
	for (uint32_t i = 0; i < HANDOVER_IMAGES; i++)
		if (left >> i & 1)
			kept_image_drop(i);
	return next;
}
