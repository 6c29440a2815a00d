/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What probes.sh probes: a function of the program, one of its library, and a USDT probe. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A probe with a semaphore, as <sys/sdt.h> writes it: here in two places. */
static volatile unsigned short semaphore __attribute__((section(".probes"), used));
#define PLACE(n, wide) \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
			 ".4byte 8,994f-993f,3\n" \
			 ".asciz \"stapsdt\"\n993: .8byte 990b, _.stapsdt.base, %c1\n" \
			 ".asciz \"demo\"\n.asciz \"hit\"\n" \
			 ".asciz \"-4@%%edi 8@%%rsi\"\n994: .balign 4\n.popsection\n" \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n" \
			 ".ifndef _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base,1\n.endif\n.popsection" \
			 : : "D"(n), "i"(&semaphore), "S"(wide))

int from_library(int n);

__attribute__((noinline)) int from_program(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* probed N: calls all of them so often; prints its pid, and how many listen to the probe */
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < n; i++) {
		from_program(i);
		from_library(i);
		PLACE(i, 0x1122334455667788);
		PLACE(-i, 5L);
		syscall(SYS_getppid);
	}
	printf("%d %d\n", (int)getpid(), semaphore);
	return 0;
}
