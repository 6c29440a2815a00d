#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kbuild.sh KERNEL_BUILD_DIRECTORY DIRECTORY [ARGUMENT…]: builds the modules of the directory, as
# `make -C KERNEL_BUILD_DIRECTORY M=DIRECTORY ARGUMENT… modules` does where the kernel's compiler
# and pahole are installed, with what there is.
KDIR=$1 M=$2
shift 2

# Debian's headers name the compiler that the kernel was built with. If it is not here, this
# machine's default does it, but for an option that begins with gcc 14.
named=$(sed -n 's/^CC = .*)\(gcc-[0-9]*\)$/\1/p' "$KDIR/.kernelvariables" 2>/dev/null)
[ -z "$named" ] || command -v "${CROSS_COMPILE-}$named" >/dev/null ||
	set -- CC="${CROSS_COMPILE-}gcc" CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= "$@"

# From 6.12 on, headers come with a vmlinux, for which kbuild would want pahole. Without debugging
# information, which build.sh strips anyway, the compiler takes a sixth less time.
exec make -C "$KDIR" M="$M" CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-g0 "$@" modules
