/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * The time that a session has of the kernel's event which a trigger has seen, earlier or later by
 * the time that the kernel may let pass between two recordings of it.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "metadata/decode.h"
#include "tests/lib/state_dir.h"
#include "tests/lib/kernel_pid.h"
#include "tests/lib/test.h"
#include "tracer/face/tracer.h"
#include "tracer/kernel/kernel.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/session/streams.h"

#define MS UINT64_C(1000000)

static struct tracer *t;
static struct session *s;

static uint64_t seen_at(uint64_t at)
{
	static char name[] = "syscall_entry_getppid";
	const struct md_event class = { .name = name };
	const uint8_t payload[1] = { 0 };
	const struct md_occurrence o = { .event = &class, .payload = payload, .end = payload };
	const struct snapshot_request r = { .at = at, .event = snapshot_event(&o), .kernel = true };

	return snapshot_event_time(s, &r);
}

/* The time of the only event. */
static uint64_t only_event(void)
{
	uint64_t at = clock_now(session_clock(s));

	for (int i = 0; i < 10000; i++, at -= 50 * MS)
		if (seen_at(at) != at)
			return seen_at(at);
	return 0;
}

static void other_recording(void)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;
	uint64_t time;
	char rule[64];

	if (!kernel_of(t) || access("/sys/kernel/tracing/events/syscalls/sys_enter_getppid", F_OK))
		SKIP("the kernel's system calls cannot be traced here");
	snprintf(rule, sizeof(rule), "syscall:entry:getppid if $ctx.tid == %d\n", kernel_pid());
	CHECK(session_create(t, "s", &me, &err) == 0);
	s = session_get(t, "s");
	CHECK(events_store(s, DOMAIN_KERNEL, NULL, rule, true, &err) == 0);
	CHECK(session_control(s, "start\n", 0, &err) == 0);
	if (*err.sentence)
		printf("# %s\n", err.sentence);
	syscall(SYS_getppid);
	CHECK(session_control(s, "stop\n", 0, &err) == 0);
	time = only_event();
	CHECK(time != 0);
	CHECK(seen_at(time + 90 * MS) == time);
	CHECK(seen_at(time - 90 * MS) == time);
	CHECK(seen_at(time + 110 * MS) == time + 110 * MS);
	CHECK(seen_at(time - 110 * MS) == time - 110 * MS);
	session_put(s);
}

int main(int argc, char **argv)
{
	static struct tracer_config config;
	struct tr_err err = TR_ERR_INIT;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	if (!make_state_dir("hit", &config))
		return 2;
	if (tracer_open(&config, &t, &err)) {
		printf("not ok: %s\n", err.sentence);
		return 1;
	}
	alarm(300);
	CASE(other_recording);
	tracer_close(t, false);
	return test_summary();
}
