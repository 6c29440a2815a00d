/* SPDX-License-Identifier: GPL-2.0-only */
/* Every difference between kernel versions is here, and nowhere else. */
#ifndef KMOD_COMPAT_H
#define KMOD_COMPAT_H

#include <linux/mm.h>
#include <linux/ns_common.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#ifdef CONFIG_X86_64
#include <asm/processor.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/pointer_auth.h>
#endif

#if !defined(CONFIG_64BIT) && \
	!(defined(CONFIG_ARM) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_8))
#error "of 32-bit kernels trail.ko is for ARMv7 alone: its rings exchange 64 bits at once"
#endif
#if PAGE_SHIFT != 12
#error "trail.ko is for kernels with pages of 4096 bytes, as its rings begin with one"
#endif

/* 6.3: vm_flags are changed by functions. */
static inline void compat_never_writable(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
#else
	vma->vm_flags = (vma->vm_flags | VM_DONTEXPAND | VM_DONTDUMP) & ~VM_MAYWRITE;
#endif
}

/* 6.2: perf_sample_data knows what of it is filled in. */
static inline const struct perf_raw_record *compat_raw(const struct perf_sample_data *data)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return data->sample_flags & PERF_SAMPLE_RAW ? data->raw : NULL;
#else
	return data->raw;
#endif
}

/* 6.10: __assign_str takes its source from where __string took the length. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define TRAIL_STRINGS_BY_SOURCE
#endif

/* 6.13: probes of system calls may sleep. syscall.c switches preemption off itself, for all. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define COMPAT_SYSCALL_PREEMPTS 0
#else
#define COMPAT_SYSCALL_PREEMPTS 1
#endif

/*
 * 7.0: tracepoints call their probes with preemption on. Rings, tracked tasks and filters need it
 * off, so probes of tracepoints other than system calls are between these two. (Kbuild has found
 * out which kernel it is.)
 */
static __always_inline void compat_probe_begins(void)
{
#ifdef TRAIL_PROBES_PREEMPTIBLE
	preempt_disable_notrace();
#endif
}

static __always_inline void compat_probe_ends(void)
{
#ifdef TRAIL_PROBES_PREEMPTIBLE
	preempt_enable_notrace();
#endif
}

/* Waits until all probes have ended that run now. May sleep. */
static inline void compat_wait_for_probes(void)
{
	tracepoint_synchronize_unregister();
#ifdef TRAIL_PROBES_PREEMPTIBLE
	/*
	 * That waits for readers of SRCU only, which tracepoints are. Counters of kprobes and
	 * uprobes call their handlers without it, and have preemption off.
	 */
	synchronize_rcu();
#endif
}

/*
 * What a struct mnt_namespace, which is private, begins with. Before 5.11 namespaces had their own
 * counts.
 */
struct compat_mnt_namespace {
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
	atomic_t count;
#endif
	struct ns_common ns;
};

static inline bool compat_migratable(const struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0) && defined(CONFIG_SMP)
	return !task->migration_disabled;
#else
	return true;
#endif
}

/*
 * An address that a program's function returns to, without what may protect it on arm64. 6.5 has
 * another name for it.
 */
static inline unsigned long compat_return_address(unsigned long address)
{
#ifdef ptrauth_strip_user_insn_pac
	return ptrauth_strip_user_insn_pac(address);
#elif defined(CONFIG_ARM64)
	return ptrauth_strip_insn_pac(address);
#else
	return address;
#endif
}

/*
 * The current task's memory is what addresses mean now: not so in an NMI, or an event, while the
 * kernel goes from one to the other. (nmi_uaccess_okay needs a variable that is not exported.)
 */
static inline bool compat_own_memory(void)
{
	const struct mm_struct *mm = current->mm;

	if (!mm)
		return false;
#ifdef CONFIG_X86_64
	return read_cr3_pa() == __sme_pa(mm->pgd);
#else
	return !in_nmi();
#endif
}

#endif
