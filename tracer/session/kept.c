// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the keeper held when this daemon started: buffers, and descriptors of parts of sessions. The
 * list holds them by key until session_restore claims them. kept_drop frees those without a
 * session.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>

#include "tracer/session/kept.h"
#include "tracer/base/array.h"
#include "tracer/session/session.h"

/* Filled before the first session is restored and emptied after the last; one thread uses it. */
static struct kept {
	uint64_t key;
	struct region *region;          /* NULL: claimed, or a descriptor */
	int snapshot;                   /* a descriptor of a session's part; -1: none, or taken */
} *kept;
static size_t kept_count;

struct region *kept_claim(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key && kept[i].region) {
			struct region *region = kept[i].region;

			kept[i].region = NULL;
			return region;
		}
	return NULL;
}

static uint64_t written_bytes(const struct region *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->geo.ring_count; i++)
		sum += region_head(r, i);
	return sum;
}

static int append_kept(uint64_t key, struct region *r, int snapshot)
{
	if (!array_room(kept, kept_count + 1))
		return -ENOMEM;
	kept[kept_count++] = (struct kept){ key, r, snapshot };
	return 0;
}

void kept_descriptor_name(uint64_t key, char out[32])
{
	snprintf(out, 32, "s%016" PRIx64, key);
}

int kept_descriptor(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].snapshot >= 0 && kept[i].key == key)
			return kept[i].snapshot;
	return -1;
}

void kept_descriptor_taken(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key)
			kept[i].snapshot = -1;
}

int kept_add(uint64_t key, struct region *r)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key && kept[i].region) {
			bool better = written_bytes(r) > written_bytes(kept[i].region);

			region_put(better ? kept[i].region : r);
			kept[i].region = better ? r : kept[i].region;
			return 0;
		}
	return append_kept(key, r, -1);
}

int kept_add_descriptor(uint64_t key, int fd)
{
	return append_kept(key, NULL, fd);
}

static void add_kept(void *arg, const char *name, int fd)
{
	struct tracer *t = arg;
	struct region *region;

	if (!strncmp(name, KEEPER_HELD, strlen(KEEPER_HELD)) ||
	    !strncmp(name, KEEPER_PROGRAMS, strlen(KEEPER_PROGRAMS))) {
		close(fd);      /* who knows it asks for it by its name */
	} else if (*name == 's') {
		if (kept_add_descriptor(strtoull(name + 1, NULL, 16), fd))
			close(fd);
	} else if (region_adopt(fd, &region) && region_adopt_spoiled(fd, &region)) {
		tracer_report(t, "the keeper held a descriptor that is not a buffer: %s", name);
		close(fd);
	} else {
		/* Applications can write the key in the region's header: use the keeper's name. */
		region->key = strtoull(name, NULL, 16);
		if (kept_add(region->key, region))
			region_put(region);
	}
}

void kept_take(struct tracer *t)
{
	int err = t->keeper ? keeper_each(t->keeper, add_kept, t) : 0;

	if (err)
		tracer_report(t, "the keeper does not answer: %s", strerror(-err));
}

size_t kept_drop(struct tracer *t)
{
	size_t unclaimed = 0;
	char name[32];

	for (size_t i = 0; i < kept_count; i++) {
		if (!kept[i].region && kept[i].snapshot < 0)
			continue;
		unclaimed += kept[i].region != NULL;
		if (kept[i].region)
			snprintf(name, sizeof(name), "%016" PRIx64, kept[i].key);
		else
			kept_descriptor_name(kept[i].key, name);
		if (t->keeper)
			keeper_drop(t->keeper, name);
		region_put(kept[i].region);
		if (kept[i].snapshot >= 0)
			close(kept[i].snapshot);
	}
	free(kept);
	kept = NULL;
	kept_count = 0;
	return unclaimed;
}
