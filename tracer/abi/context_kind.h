/* SPDX-License-Identifier: MIT */
/*
 * The numbers of context fields, the same for applications, the daemon and the kernel module. In an
 * event, contexts are packed and in the order of the channel's list.
 */
#ifndef TRACER_ABI_CONTEXT_KIND_H
#define TRACER_ABI_CONTEXT_KIND_H

enum trail_context {
	/*
	 * Of applications; context/kernel_context.c has the layouts of these in the kernel domain.
	 */
	TRAIL_CONTEXT_VPID = 1,         /* int32 */
	TRAIL_CONTEXT_VTID,             /* int32 */
	TRAIL_CONTEXT_PROCNAME,         /* 17 bytes of text, padded with NUL */
	TRAIL_CONTEXT_PTHREAD_ID,       /* uint64 */
	TRAIL_CONTEXT_IP,               /* uint64, hexadecimal */
	TRAIL_CONTEXT_CPU_ID,           /* int32 */
	/* uint32 */
	TRAIL_CONTEXT_VUID, TRAIL_CONTEXT_VEUID, TRAIL_CONTEXT_VSUID,
	TRAIL_CONTEXT_VGID, TRAIL_CONTEXT_VEGID, TRAIL_CONTEXT_VSGID,
	/* uint64: inode number */
	TRAIL_CONTEXT_CGROUP_NS, TRAIL_CONTEXT_IPC_NS, TRAIL_CONTEXT_MNT_NS, TRAIL_CONTEXT_NET_NS,
	TRAIL_CONTEXT_PID_NS, TRAIL_CONTEXT_TIME_NS, TRAIL_CONTEXT_USER_NS, TRAIL_CONTEXT_UTS_NS,
	/* uint64: a counter of the thread, for kernel events of the CPU */
	TRAIL_CONTEXT_PERF,
	/* a tag byte (enum trail_dynamic), then a value of that type */
	TRAIL_CONTEXT_APP,
	TRAIL_CONTEXT_KINDS,            /* the number of kinds of applications, 0 included */
	/* Of the kernel domain only. */
	/* int32 */
	TRAIL_CONTEXT_PID = TRAIL_CONTEXT_KINDS, TRAIL_CONTEXT_TID,
	TRAIL_CONTEXT_PPID, TRAIL_CONTEXT_VPPID, TRAIL_CONTEXT_PRIO, TRAIL_CONTEXT_NICE,
	TRAIL_CONTEXT_HOSTNAME,         /* 65 bytes of text, padded with NUL */
	/* uint32 */
	TRAIL_CONTEXT_UID, TRAIL_CONTEXT_EUID, TRAIL_CONTEXT_SUID,
	TRAIL_CONTEXT_GID, TRAIL_CONTEXT_EGID, TRAIL_CONTEXT_SGID,
	/* uint8 */
	TRAIL_CONTEXT_NEED_RESCHEDULE, TRAIL_CONTEXT_PREEMPTIBLE, TRAIL_CONTEXT_MIGRATABLE,
	TRAIL_CONTEXT_INTERRUPTIBLE,    /* int8 */
	/* a uint32 count, then that many uint64 */
	TRAIL_CONTEXT_CALLSTACK_KERNEL, TRAIL_CONTEXT_CALLSTACK_USER,
	TRAIL_CONTEXT_ALL
};

#endif
