/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's ring buffer pages (sub-buffers), as read from per_cpu/cpuN/trace_pipe_raw:
 *
 *	timestamp (8) | commit (8 or 4): bytes used, and two flags | records … | if so flagged: the missed count | zeros
 *
 * A record is a word of 5 bits type and 27 bits time since the record before, then its data. What is read is checked: no byte
 * outside of the page is touched, and a page that is no good ends early, with p->error set.
 */
#ifndef TRACER_KEVENT_RING_PAGE_H
#define TRACER_KEVENT_RING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kpage_layout {                   /* what events/header_page says */
	uint32_t time_at;
	uint32_t commit_at, commit_size;
	uint32_t data_at;
	uint32_t data_size;             /* of a whole sub-buffer; its size is data_at + data_size */
	uint8_t long_size;              /* of the kernel's unsigned long: of the missed count */
};

/* 0 or -EINVAL. header_page is in events/ of each instance: the sub-buffers of instances may differ in size. */
int kpage_layout_parse(const char *text, size_t len, struct kpage_layout *l);
/* 0 if events/header_event says what kpage_next does; -EINVAL. */
int kpage_check_header_event(const char *text, size_t len);

struct kpage {
	const uint8_t *p, *end;         /* the next record's word; end of the records */
	uint64_t ts;                    /* of the last record */
	uint64_t missed;                /* events lost just before this page */
	/*
	 * False: at least `missed` (1) were; how many, the page does not say, since its records left no room for it. Records of
	 * one size may do that again and again: `overrun` in per_cpu/cpuN/stats has them all.
	 */
	bool missed_known;
	uint32_t odd;                   /* records left out: shorter than KRECORD_HEADER */
	int error;                      /* 0, or -EBADMSG: the rest of the page could not be read */
};

/* 0 (an empty page is fine); -EBADMSG: no such page, nothing may be done with p then. `bytes` stay the caller's. */
int kpage_begin(struct kpage *p, const void *bytes, size_t size, const struct kpage_layout *l);

/*
 * The next record: its time in the instance's clock, its bytes in the page (at least KRECORD_HEADER). False: there are no more.
 */
bool kpage_next(struct kpage *p, uint64_t *ts, const uint8_t **record, size_t *len);

#define KRECORD_HEADER 8u       /* common_type, common_flags, common_preempt_count, common_pid: the same since 3.x */

static inline uint16_t krecord_id(const uint8_t *record)        /* struct kformat.id */
{
	return (uint16_t)(record[0] | record[1] << 8);
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
