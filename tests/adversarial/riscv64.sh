#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# libtrail for riscv64 (lib/foreign_lib.sh): before gcc 13, atomic operations on bytes are functions
# of libatomic there, which the Makefile finds out. (vm/riscv64.sh has a kernel for it.)
. "$(dirname "$0")/../lib/mount.sh"
root=/usr/riscv64-linux-gnu cc=riscv64-linux-gnu-gcc qemu=qemu-riscv64
command -v $cc >/dev/null && [ -e $root/include/stdio.h ] || skip "there is no compiler for riscv64"
. "$top/tests/lib/foreign_lib.sh"
