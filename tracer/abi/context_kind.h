/* SPDX-License-Identifier: MIT */
/*
 * Numbers of contexts: what applications, the daemon and the kernel module call them. No dependency. Their layouts in an event: packed,
 * in the order of the list.
 */
#ifndef TRACER_CONTEXTKIND_H
#define TRACER_CONTEXTKIND_H

enum trail_context {
	/* Of applications; their layouts in the kernel domain are in tracer/context/kernel_context.c. */
	TRAIL_CONTEXT_VPID = 1,         /* int32 */
	TRAIL_CONTEXT_VTID,             /* int32 */
	TRAIL_CONTEXT_PROCNAME,         /* 17 bytes of text, padded with NUL */
	TRAIL_CONTEXT_PTHREAD_ID,       /* uint64 */
	TRAIL_CONTEXT_IP,               /* uint64, hexadecimal */
	TRAIL_CONTEXT_CPU_ID,           /* int32 */
	TRAIL_CONTEXT_VUID, TRAIL_CONTEXT_VEUID, TRAIL_CONTEXT_VSUID,          /* uint32 */
	TRAIL_CONTEXT_VGID, TRAIL_CONTEXT_VEGID, TRAIL_CONTEXT_VSGID,
	TRAIL_CONTEXT_CGROUP_NS, TRAIL_CONTEXT_IPC_NS, TRAIL_CONTEXT_MNT_NS, TRAIL_CONTEXT_NET_NS,     /* uint64: inode number */
	TRAIL_CONTEXT_PID_NS, TRAIL_CONTEXT_TIME_NS, TRAIL_CONTEXT_USER_NS, TRAIL_CONTEXT_UTS_NS,
	TRAIL_CONTEXT_PERF,             /* uint64: a counter of the thread; in the kernel domain of the CPU */
	TRAIL_CONTEXT_APP,              /* a tag byte, then what it says: enum trail_dynamic */
	TRAIL_CONTEXT_KINDS,            /* of applications */
	/* Of the kernel domain only. */
	TRAIL_CONTEXT_PID = TRAIL_CONTEXT_KINDS, TRAIL_CONTEXT_TID, TRAIL_CONTEXT_PPID, TRAIL_CONTEXT_VPPID,  /* int32 */
	TRAIL_CONTEXT_PRIO, TRAIL_CONTEXT_NICE,         /* int32 */
	TRAIL_CONTEXT_HOSTNAME,         /* 65 bytes of text, padded with NUL */
	TRAIL_CONTEXT_UID, TRAIL_CONTEXT_EUID, TRAIL_CONTEXT_SUID,              /* uint32 */
	TRAIL_CONTEXT_GID, TRAIL_CONTEXT_EGID, TRAIL_CONTEXT_SGID,
	TRAIL_CONTEXT_NEED_RESCHEDULE, TRAIL_CONTEXT_PREEMPTIBLE, TRAIL_CONTEXT_MIGRATABLE,     /* uint8 */
	TRAIL_CONTEXT_INTERRUPTIBLE,    /* int8 */
	TRAIL_CONTEXT_CALLSTACK_KERNEL, TRAIL_CONTEXT_CALLSTACK_USER,           /* uint32 number, then as many uint64 */
	TRAIL_CONTEXT_ALL
};

#endif
