/* SPDX-License-Identifier: MIT */
/*
 * What is loaded, as events: state dumps, lttng_ust_statedump:*, and what came and went since the
 * last look, lttng_ust_lib:{load, build_id, debug_link, unload}. Of libtrail-dl.so, and of the
 * drop-in.
 *
 * A state dump may be due anywhere, so it never waits for the lock: it leaves a mark for the thread
 * that has it.
 */
#ifndef USTLIB_PRELOAD_DUMP_H
#define USTLIB_PRELOAD_DUMP_H

#include <signal.h>
#include <string.h>

#include "ustlib/preload/loaded.h"
#include "ustlib/preload/point.h"

struct held {
	sigset_t mask;
	int cancel;
};

/*
 * The lock of the list of what is loaded, held with signals blocked and cancellation off. What is
 * called within takes of the loader's locks only that of its list, which no thread holds while code
 * like this runs.
 */
void dump_take(struct held *h);
/* Dumps what is due. */
void dump_give_back(const struct held *h);
/*
 * Looks at what is loaded, where the loader's list may be looked at: not in a signal handler, nor
 * in the child of a fork. From the second time on it records what came and went, as called at ip.
 * Caller holds the lock.
 */
void dump_renew(void *ip);

/*
 * Before all others but dump_look. later: the list may be old wherever a dump becomes due, so this,
 * which is async-signal-safe, has a thread call dump_look(). NULL: the list is always renewed in
 * time, and dumped where a dump is due. False: there is no lock.
 */
bool dump_init(void (*later)(void));
/*
 * Registers for state dumps, and dumps if a session wants it already. Caller may look at what is
 * loaded, as for the next.
 */
void dump_start(void);
/*
 * If a session wants any of these events: looks at what is loaded, and dumps if that is due. Else
 * it costs some loads.
 */
void dump_look(void *ip);

/* ---- events that several providers have ---- */

#define BUILD_ID_FIELDS { \
	{ "baddr", TRAIL__CODE((void *)0), 0, 0 }, \
	/* with a length of 8 bytes, as LTTng has it */ \
	{ "build_id", TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, TRAIL__HEX, 1) | 8u << 24, 0, 0 }, \
	{ 0, 0, 0, 0 } }

void dump_build_id(struct trail__tp *tp, uintptr_t base, const struct elf_id *id, void *ip);

#define BUILD_ID(ip, provider, base, id) \
	do { \
		static const struct trail__field fields[] = BUILD_ID_FIELDS; \
		POINT_TP(TRAIL__LEVEL_DEBUG_LINE, #provider, "build_id", fields); \
		if ((id)->build_id_size && TRAIL__IS_ON(point_tp)) \
			dump_build_id(&point_tp, base, id, ip); \
	} while (0)

/* The file of something that is loaded, read when the first event wants to know. */
struct file_of {
	const char *path;       /* null: there is none */
	bool read;
	struct elf_file file;
};

static inline const struct elf_file *file_of(struct file_of *f)
{
	if (!f->read && (!f->path || !elf_file(&f->file, f->path)))
		memset(&f->file, 0, sizeof(f->file));
	f->read = true;
	return &f->file;
}

#define DEBUG_LINK_FIELDS { \
	{ "baddr", TRAIL__CODE((void *)0), 0, 0 }, \
	{ "crc", TRAIL__CODE((uint32_t)0), 0, 0 }, \
	{ "filename", TRAIL__CODE((const char *)0), 0, 0 }, \
	{ 0, 0, 0, 0 } }

#define DEBUG_LINK(ip, provider, base, f) \
	do { \
		static const struct trail__field fields[] = DEBUG_LINK_FIELDS; \
		POINT_TP(TRAIL__LEVEL_DEBUG_LINE, #provider, "debug_link", fields); \
		if (TRAIL__IS_ON(point_tp) && file_of(f)->debug_link[0]) { \
			POINT_HIT(&point_tp, ip, debug_link, (void *)(base), (f)->file.crc, \
				(const char *)(f)->file.debug_link) \
		} \
	} while (0)

#endif
