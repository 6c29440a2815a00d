/* SPDX-License-Identifier: MIT */
/* The architecture, by the names of LTTng-UST. */
#ifndef TRAIL_LTTNG_UST_ARCH_H
#define TRAIL_LTTNG_UST_ARCH_H

#if defined(__x86_64__)
#define LTTNG_UST_ARCH_X86 1
#define LTTNG_UST_ARCH_AMD64 1
#elif defined(__i386__)
#define LTTNG_UST_ARCH_X86 1
#define LTTNG_UST_ARCH_I386 1
#elif defined(__aarch64__)
#define LTTNG_UST_ARCH_AARCH64 1
#elif defined(__arm__)
#define LTTNG_UST_ARCH_ARM 1
#elif defined(__powerpc64__)
#define LTTNG_UST_ARCH_PPC 1
#define LTTNG_UST_ARCH_PPC64 1
#elif defined(__powerpc__)
#define LTTNG_UST_ARCH_PPC 1
#elif defined(__s390x__)
#define LTTNG_UST_ARCH_S390 1
#define LTTNG_UST_ARCH_S390X 1
#elif defined(__riscv)
#define LTTNG_UST_ARCH_RISCV 1
#endif

#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__powerpc__) || \
	defined(__s390x__)
#define LTTNG_UST_ARCH_HAS_EFFICIENT_UNALIGNED_ACCESS 1
#endif

#endif
