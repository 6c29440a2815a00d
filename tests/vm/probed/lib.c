/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library of probed.c */
int from_library(int n);

__attribute__((noinline)) int from_library(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n - 1;
}
