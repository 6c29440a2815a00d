/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/trail, the interface between the daemon and trail.ko. Structures have the same layout for
 * 32-bit and 64-bit programs; pointers are 64 bits. Reserved members must be zero, or the call
 * fails with EINVAL.
 *
 * The device: lists the channels (MODABI_LIST), creates and opens channels (MODABI_CREATE and
 * MODABI_OPEN return a descriptor of a channel), removes them (MODABI_REMOVE), and gives numbers of
 * system calls (MODABI_NUMBER). Channels outlive their descriptors, hence the daemon. read(2) on
 * the device returns the events that have compiled probes, as lines `system:event`.
 *
 * A channel: what to record, and how far the daemon has read. mmap(2) maps one ring
 * (abi/module_ring.h) a call, read-only and shared: offset cpu * ring_stride, length ring_stride.
 */
#ifndef TRACER_ABI_MODULE_H
#define TRACER_ABI_MODULE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "tracer/abi/context_kind.h"

#define MODABI_VERSION 3u
#define MODABI_NAME_MAX 256u            /* with the NUL */
#define MODABI_IDS_MAX 65536u           /* ids in one inclusion set */
#define MODABI_CONTEXTS_MAX 64u
#define MODABI_CALLS 512u               /* system calls that may have events of their own */
#define MODABI_CAPTURES_MAX 6u
#define MODABI_CAPTURED_MAX 8192u       /* bytes, of one call */
#define MODABI_PROGRAM_MAX 8192u        /* bytes of a filter program */
/* Contexts that filters may read, one bit a kind. */
#define MODABI_FILTER_CONTEXTS \
	(MODABI_KINDS(VPID, PROCNAME) | MODABI_KINDS(CPU_ID, UTS_NS) | \
	 MODABI_KINDS(PID, INTERRUPTIBLE))
#define MODABI_KINDS(first, last) ((2ull << TRAIL_CONTEXT_##last) - (1ull << TRAIL_CONTEXT_##first))

struct modabi_version {
	__u32 abi;
	__u32 cpus;                     /* possible: rings of a channel */
	__u32 compiled;                 /* events with compiled probes */
	__u32 reserved;
};

struct modabi_channel {
	char name[MODABI_NAME_MAX];
	/* for MODABI_CREATE; MODABI_OPEN fills them in */
	__u32 subbuf_size, subbuf_count;        /* powers of two */
	__u32 overwrite;
	__u32 tsc;                      /* times are the TSC's; else CLOCK_MONOTONIC */
	__u64 ring_stride;              /* out */
	__u32 cpus;                     /* out */
	__u32 reserved;
};

struct modabi_list {
	__u64 buffer;                   /* names, each with a NUL */
	__u64 size;                     /* of the buffer; out: of all names */
};

enum modabi_how {
	MODABI_COMPILED = 1,            /* a probe of its own */
	MODABI_SYSCALL = 2,
	MODABI_PERF = 3,                /* by the kernel's performance counters */
};

/*
 * User memory that an argument of a system call points to. The module copies it into the record,
 * after the fixed part, as far as it is in memory; otherwise it copies nothing. For each capture
 * the record has a __data_loc after the arguments (or the result), in their order.
 */
struct modabi_capture {
	__u8 kind;                      /* enum modabi_kind */
	__u8 pointer;                   /* the argument that is the pointer */
	__u8 count;                     /* the argument that is the number of elements */
#define MODABI_ONE 16u                  /* instead of an argument: one element */
	__u8 flags;
#define MODABI_COUNT_BEHIND 1u          /* that argument points to the number */
#define MODABI_COUNT_BITS 2u            /* the number counts bits */
#define MODABI_COUNT_RETURNED 4u        /* the result is the number */
#define MODABI_IF_SUCCESS 8u            /* only if the result is not negative */
#define MODABI_IF_POSITIVE 16u          /* only if the result is positive */
	__u16 size;                     /* of an element */
	__u16 max;                      /* bytes */
};

enum modabi_kind {
	MODABI_STRING = 1,              /* up to and with its NUL */
	MODABI_BYTES,
};

struct modabi_call {
	__u32 nr;
#define MODABI_OTHERS 0xffffffffu       /* all calls whose numbers are not in `known` */
	__u8 compat;                    /* of a 32-bit program */
	__u8 exit;
	__u8 captures;
	__u8 reserved;
	struct modabi_capture capture[MODABI_CAPTURES_MAX];
	__u64 known[MODABI_CALLS / 64];
};

struct modabi_number {                  /* of the system call of a kernel event */
	char name[128];
	__u32 nr;                       /* out */
	__u32 reserved;
};

struct modabi_event {
	char system[64], name[128];
	__u32 id;                       /* in records; of kernel events: of the format file */
	__u32 on;
	__u32 how;                      /* out, enum modabi_how */
	__u32 reserved;
	struct modabi_call call;        /* of the system `syscalls`; else zeros */
};

struct modabi_enabled {
	__u64 buffer;                   /* lines system:name */
	__u64 size;                     /* of the buffer; out: of the text */
};

enum modabi_track_by {
	MODABI_TRACK_TID,               /* threads and their children */
	MODABI_TRACK_VPID, MODABI_TRACK_UID, MODABI_TRACK_VUID, MODABI_TRACK_GID,
	MODABI_TRACK_VGID,
	MODABI_TRACK_COUNT
};

/* One inclusion set. The module records a thread that is in all sets of the channel. */
struct modabi_track {
	__u64 ids;                      /* __u32 each */
	__u32 count;
	__u32 all;                      /* 1: all threads */
	__u32 by;                       /* enum modabi_track_by */
	/* 1: adds threads to the set, which there must be, while the channel records */
	__u32 more;
};

struct modabi_context {
	__u32 kind;                     /* enum trail_context: abi/context_kind.h */
	__u32 perf_type;                /* TRAIL_CONTEXT_PERF: perf_event_attr.type, .config */
	__u64 perf_config;
};

/*
 * The contexts before each event (KREC_CONTEXTS): packed, in this order, with the types of
 * context/kernel_context.h. Can be set once. -EEXIST: contexts are set; -EOPNOTSUPP: this kernel
 * lacks one of them; else an error of perf_event_open(2).
 */
struct modabi_contexts {
	__u64 items;                    /* struct modabi_context */
	__u32 count;
	__u32 reserved;
};

struct modabi_consume {
	__u64 consumed;                 /* position of an event boundary; never decreases */
	__u64 events;                   /* below it */
	__u64 overwritten;              /* of these, overwritten before the daemon read them */
	__u32 cpu;
	__u32 reserved;
};

/*
 * The filter of an enabled event: a program of abi/filter_bytecode.h, which reads the record in the
 * form in which it would be recorded. The module verifies it (EINVAL). It replaces the previous
 * program; disabling the event removes it.
 */
struct modabi_filter {
	char system[64], name[128];
	__u64 program;
	__u32 size;                     /* 0: no filter, all are recorded */
	__u32 reserved;
};

#define MODABI_GET_VERSION _IOR('t', 0xa0, struct modabi_version)
#define MODABI_LIST _IOWR('t', 0xa1, struct modabi_list)
#define MODABI_CREATE _IOWR('t', 0xa2, struct modabi_channel)
#define MODABI_OPEN _IOWR('t', 0xa3, struct modabi_channel)
#define MODABI_REMOVE _IOW('t', 0xa4, struct modabi_channel)
#define MODABI_NUMBER _IOWR('t', 0xa5, struct modabi_number)

#define MODABI_RECORD _IOW('t', 0xb0, __u32)
#define MODABI_EVENT _IOWR('t', 0xb1, struct modabi_event)
#define MODABI_ENABLED _IOWR('t', 0xb2, struct modabi_enabled)
#define MODABI_TRACK _IOW('t', 0xb3, struct modabi_track)
#define MODABI_CONSUME _IOW('t', 0xb4, struct modabi_consume)
#define MODABI_SET_CONTEXTS _IOW('t', 0xb8, struct modabi_contexts)
#define MODABI_FILTER _IOW('t', 0xb9, struct modabi_filter)

#endif
