/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * polite: events polite:work { n } until SIGTERM, whose handler only says so; then it ends with
 * status 0.
 */
#include <signal.h>
#include <stdio.h>

#include <trail/trail.h>

static volatile sig_atomic_t asked;

static void ask(int signal)
{
	(void)signal;
	asked = 1;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = ask, .sa_flags = SA_RESTART };

	sigaction(SIGTERM, &sa, NULL);
	puts("begins");
	fflush(stdout);
	for (int n = 0; !asked; n++)
		TRAIL(polite, work, n);
	return 0;
}
