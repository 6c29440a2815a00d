/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages (sub-buffers) of the kernel's ring buffer, as read from per_cpu/cpuN/trace_pipe_raw:
 *
 *	timestamp (8) | commit (8 or 4): bytes used, and two flags | records … | with a flag: the
 *	missed count | zeros
 *
 * A record is a word of 5 bits type and 27 bits time since the previous record, then its data. All
 * values are checked: no byte outside the page is read, and an invalid page ends early, with
 * p->error set.
 */
#ifndef TRACER_KEVENT_RING_PAGE_H
#define TRACER_KEVENT_RING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kpage_layout {                   /* from events/header_page */
	uint32_t time_at;
	uint32_t commit_at, commit_size;
	uint32_t data_at;
	uint32_t data_size;             /* of a sub-buffer, whose size is data_at + data_size */
	uint8_t long_size;              /* of the kernel's unsigned long: of the missed count */
};

/*
 * 0 or -EINVAL. Each instance has its own events/header_page, because sub-buffer sizes may differ.
 */
int kpage_layout_parse(const char *text, size_t len, struct kpage_layout *l);
/* 0 if events/header_event describes the format that kpage_next reads; else -EINVAL. */
int kpage_check_header_event(const char *text, size_t len);

struct kpage {
	const uint8_t *p, *end;         /* the next record's word; end of the records */
	uint64_t ts;                    /* of the last record */
	uint64_t missed;                /* events lost just before this page */
	/*
	 * False: at least `missed` (1) were lost; the page has no room for the number. With records
	 * of one size that may happen again and again: `overrun` in per_cpu/cpuN/stats counts all.
	 */
	bool missed_known;
	uint32_t odd;                   /* records left out: shorter than KRECORD_HEADER */
	int error;                      /* 0, or -EBADMSG: the rest of the page is invalid */
};

/*
 * 0 (also for an empty page); -EBADMSG: not a valid page, do not use p. The caller keeps `bytes`.
 */
int kpage_begin(struct kpage *p, const void *bytes, size_t size, const struct kpage_layout *l);

/*
 * The next record: its time in the instance's clock, its bytes in the page (at least
 * KRECORD_HEADER). False: no more records.
 */
bool kpage_next(struct kpage *p, uint64_t *ts, const uint8_t **record, size_t *len);

#define KRECORD_HEADER 8u       /* common_type, _flags, _preempt_count, _pid: the same since 3.x */

static inline uint16_t krecord_id(const uint8_t *record)        /* struct kformat.id */
{
	uint16_t id;

	memcpy(&id, record, sizeof(id));
	return id;
}

static inline uint8_t krecord_preempt_count(const uint8_t *record)
{
	return record[3];
}

static inline int32_t krecord_pid(const uint8_t *record)        /* of the thread that ran */
{
	int32_t pid;

	memcpy(&pid, record + 4, sizeof(pid));
	return pid;
}

#endif
