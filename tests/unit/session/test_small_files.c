// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Small files are read while another thread holds tracer.lock: a function that takes it waits until
 * the alarm ends the test.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/state_dir.h"
#include "tests/lib/test.h"
#include "tracer/base/ring/reader.h"
#include "tracer/face/tracer.h"
#include "tracer/session/session.h"

static struct tracer *t;
static struct session *s;

static bool has(const struct md_buf *names, const char *name)
{
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
		if (!strcmp(names->data + at, name))
			return true;
	return false;
}

static void reads_of_the_daemon(void)
{
	struct md_buf text = MD_BUF_INIT, names = MD_BUF_INIT;

	tracer_version(t, &text);
	tracer_status(t, 0, &(struct facts){ .out = &text });
	CHECK(strstr(md_buf_str(&text), "sessions 1\nsessions_active 1\n") != NULL);
	CHECK(strstr(md_buf_str(&text), "\nevents_recorded 1\n") != NULL);
	CHECK(strstr(md_buf_str(&text), "\nbuffers 1\n") != NULL);
	sessions_list(t, &names);
	CHECK(names.len == 2 && has(&names, "a"));
	md_buf_deinit(&text);
	md_buf_deinit(&names);
}

static void reads_of_a_session(void)
{
	struct session *found = session_get(t, "a");
	struct md_buf verbs = MD_BUF_INIT, names = MD_BUF_INIT;
	struct ring_counts counts = { 0 };
	struct session_info info;

	CHECK(found == s && !session_get(t, "b"));
	session_put(found);
	session_info(s, &info);
	CHECK(info.active && !info.gone && info.starts == 1 && info.mode == 0700);
	session_verbs(s, &verbs);
	CHECK(strstr(md_buf_str(&verbs), "stop\n") && !strstr(md_buf_str(&verbs), "start\n"));
	channels_list(s, DOMAIN_USER, &names);
	CHECK(has(&names, "channel0") && channel_exists(s, DOMAIN_USER, "channel0"));
	CHECK(!channel_exists(s, DOMAIN_KERNEL, "channel0"));
	session_counts(s, &counts);
	CHECK(counts.recorded == 1);
	md_buf_deinit(&verbs);
	md_buf_deinit(&names);
}

/* The thread that holds tracer.lock, and the point that it and main() both reach twice */
static pthread_barrier_t both;

static void *holder(void *arg)
{
	pthread_mutex_lock(&t->lock);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	pthread_mutex_unlock(&t->lock);
	return arg;
}

int main(int argc, char **argv)
{
	struct log_writer who = { .pid = (uint32_t)getpid(), .uid = getuid(), .gid = getgid() };
	struct tr_err err = TR_ERR_INIT;
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tracer_config config = { 0 };
	pthread_t thread;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	if (!make_state_dir("small", &config))
		return 2;
	if (tracer_open(&config, &t, &err) || session_create(t, "a", &me, &err) ||
	    !(s = session_get(t, "a")) || events_store(s, DOMAIN_USER, NULL, "*\n", true, &err) ||
	    session_control(s, "start\n", 0, &err) || tracer_log(t, &who, "x", 1, &err)) {
		printf("not ok: %s\n", err.sentence);
		return 1;
	}
	alarm(60);
	if (pthread_barrier_init(&both, NULL, 2) || pthread_create(&thread, NULL, holder, NULL))
		return 2;
	pthread_barrier_wait(&both);
	CASE(reads_of_the_daemon);
	CASE(reads_of_a_session);
	pthread_barrier_wait(&both);
	pthread_join(thread, NULL);
	session_put(s);
	tracer_close(t, false);
	return test_summary();
}
