/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the keeper waits for the daemon that is to take a mount. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/keeper/mounted.h"

#define MINUTE 60000

static void waits_longer_for_one_that_comes(void)
{
	struct mounted m = { .process = -1 };

	mounted_died(&m, -1, false, 0);
	CHECK(mounted_patience(&m) > 0 && mounted_patience(&m) <= MINUTE);
	mounted_awaits(&m, false);
	CHECK(mounted_patience(&m) > MINUTE);
	mounted_served(&m);
	CHECK(mounted_patience(&m) == -1);
}

/* Another daemon serves the mount, or the keeper is about to start one. */
static void awaits_none_otherwise(void)
{
	struct mounted m = { .process = -1 };

	mounted_awaits(&m, false);
	CHECK(mounted_patience(&m) == -1);
	mounted_died(&m, -1, true, 0);
	mounted_awaits(&m, true);
	CHECK(mounted_patience(&m) == 0);
}

/* It ended before the keeper could refer to its process. */
static void names_one_that_has_ended(void)
{
	struct mounted m = { .process = -1 };
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	mounted_replaced(&m, true, pid);
	CHECK(mounted_work(&m, -1, 0));
	CHECK(!strcmp(m.why, "the daemon ended before it had the mount"));
	CHECK(m.dead == pid);
}

int main(void)
{
	CASE(names_one_that_has_ended);
	CASE(waits_longer_for_one_that_comes);
	CASE(awaits_none_otherwise);
	return test_summary();
}
