/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registration files as the daemon reads them: hostile until checked (tracer/abi/app.h has the
 * format). Read with pread, never mapped; only regular files with one link, of the owner's, of
 * bounded size.
 */
#ifndef TRACER_APP_REGISTRATION_H
#define TRACER_APP_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "metadata/model.h"
#include "tracer/abi/app.h"

struct registration_event {
	char *name;             /* "provider:event" */
	int level;
	const char *uri;        /* of the model, in registration.strings; or NULL */
	uint64_t
		/* of name, level, written fields and uri: equal layouts have equal digests */
		digest;
	uint32_t first_field, field_count;      /* in registration.fields */
	uint32_t written;       /* the first of them; the others have TRAIL_FIELD_NOWRITE */
	/*
	 * Why it is never recorded nor listed: what its file says of it is wrong. NULL: it is not
	 * left out. The name may then have any bytes; it has no fields.
	 */
	const char *refused;
};

struct layout;
struct layouts;

struct registration {
	int fd;                 /* O_RDWR, held as long as the registration lives */
	uid_t uid;              /* owner of the file */
	uint32_t pid;           /* as the application sees itself */
	dev_t dev;
	ino_t ino;
	/* What follows belongs to the layout, when there is one (app/layout.h). */
	struct layout *layout;
	uint16_t word_bits;
	uint32_t size;          /* of the file */
	uint32_t state_offset, missed_offset;
	char *object;           /* path of the object file, as claimed */
	uint32_t event_count, field_count, enum_count, label_count;
	struct registration_event *events;
	uint32_t refused_count;         /* of the events */
	struct trail_reg_field *fields;         /* as in the file; names are offsets into strings */
	struct trail_reg_enum *enums;           /* as in the file, too */
	struct trail_reg_label *labels;
	char *strings;
	struct md_clock *clock;                 /* of its plug-in (plugin_clock.c); NULL: none */
};

/*
 * Opens `name` in dir with O_RDWR|O_NOFOLLOW|O_NONBLOCK|O_NOCTTY|O_CLOEXEC (with the file owner's
 * fsuid when root), checks it whole and parses it. 0; -EBADMSG and a reason (static string) if the
 * tables are wrong (an event that is wrong is left out, see `refused`); other -errno from the
 * system. In all failures nothing is held.
 * Memory is bounded by a small multiple of the file's size. -ENOENT also if the file is removed
 * meanwhile; -EAGAIN if it also has its hidden name still. known: a cache of layouts, or NULL.
 */
int registration_open(struct layouts *known, int dir, const char *name, struct registration **out,
		      const char **reason);
void registration_close(struct registration *r);
/*
 * True if the application is gone: its lock can be had, or the file was unlinked. On overlayfs the
 * lock goes with a descriptor, which a living process may have closed:
 * registration_may_lack_lock().
 */
bool registration_gone(const struct registration *r);
bool registration_removed(const struct registration *r);        /* unlinked */
bool registration_may_lack_lock(const struct registration *r);
/* Writes one byte of one state word. lane: TRAIL_LANE_*. */
int registration_switch(const struct registration *r, uint32_t event, unsigned int lane,
			uint8_t value);
/* State words of `max` events from `first` on. Returns of how many it knows. */
uint32_t registration_words(const struct registration *r, uint32_t first, uint32_t *out,
			    uint32_t max);
/*
 * Hits of `max` events from `first` on that no caller has accounted for yet. Returns of how many it
 * knows.
 */
uint32_t registration_missed(const struct registration *r, uint32_t first, uint64_t *out,
			     uint32_t max);
/*
 * How many hits of all events together the process can have counted since its file was made: an
 * upper bound by time and CPUs. What the file says beyond is not true.
 */
uint64_t registration_most_missed(const struct registration *r);
/*
 * Removes the regular file `name` if no process holds its lock, and it was not changed in the last
 * `seconds`. 0; -EAGAIN: it is too young; -EBUSY: its process lives; or another -errno.
 */
int registration_remove_stale(int dir, const char *name, unsigned int seconds);
/*
 * Removes an entry of any kind. A directory with its contents, JUNK_AT_ONCE entries in one call:
 * -EAGAIN if there are more. 0 or -errno.
 */
int registration_remove_junk(int dir, const char *name);
/* Of a field with TRAIL_FIELD_BLOB: "" if it has none. Points into strings. */
static inline const char *registration_media_type(const char *strings,
						  const struct trail_reg_field *f)
{
	return strchr(strings + f->name, 0) + 1;
}
/*
 * The event in the type model, what is not written left out, for a stream class; NULL when memory
 * ran out. id is not set.
 */
struct md_event *registration_event(const struct registration *r, uint32_t event);

#endif
