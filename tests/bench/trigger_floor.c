/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: pthread */
/*
 * See trigger_hits.h. No tracer: what the kernel alone takes for the same wake-ups. A hit wakes a
 * process that sleeps on a futex, as a daemon does; that process wakes the listener (`notify`), or
 * stores that the event is off (`stop`).
 */
#include "trigger_hits.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static struct shared {
	_Atomic uint32_t hits;          /* a futex: of the process between */
	_Atomic uint32_t notifications; /* a futex: of the listener */
	_Atomic uint32_t recorded;
} *shared;
static uint32_t read_so_far;

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
	while (atomic_load(word) == value)
		syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void add_and_wake(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void hit(uint64_t number)
{
	(void)number;
	add_and_wake(&shared->hits);
}

static bool is_recorded(void)
{
	return atomic_load(&shared->recorded);
}

static void start_session(void)
{
	atomic_store(&shared->recorded, 1);
}

static void open_listener(void)
{
}

static bool next_notification(void)
{
	wait_while(&shared->notifications, read_so_far);
	read_so_far++;
	return true;
}

static void stand_between(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t seen = 0;; seen++) {
		wait_while(&shared->hits, seen);
		atomic_store(&shared->recorded, 0);
		add_and_wake(&shared->notifications);
	}
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (!fork())
		stand_between();
	return hits_main(argc, argv);
}
