/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of tree_storm.c that change sessions, channels and snapshots */
#ifndef TESTS_TREE_STORM_CHANGES_H
#define TESTS_TREE_STORM_CHANGES_H

#include <pthread.h>
#include <stdlib.h>

#include "tests/adversarial/tree_storm.h"

static void make_session(void)
{
	static const char *const rules[] = { "*", "trail:log", "tick:*", "tick:tock if n > 5" };
	static int serial;      /* of all threads; atomic */
	char path[400], file[500], text[400];

	session_path(path, sizeof(path));
	make(path);
	if (!pick(6))
		return;
	snprintf(file, sizeof(file), "%s/user/events", path);
	put(file, ONE_OF(rules), 0);
	if (!pick(8)) {
		snprintf(file, sizeof(file), "%s/kernel/events", path);
		put(file, "sched:sched_process_fork\nsched:sched_process_exit", 0);
	}
	if (pick(2)) {
		snprintf(file, sizeof(file), "%s/user/channels/channel0/subbuf_size", path);
		put(file, "4096", 0);
	}
	if (pick(2)) {
		snprintf(file, sizeof(file), "%s/output", path);
		snprintf(text, sizeof(text), "%s/%u/%d-%d", outputs, (unsigned int)user,
			 (int)getpid(), __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
		put(file, text, 0);
	}
	snprintf(file, sizeof(file), "%s/control", path);
	put(file, "start", 0);
}

/* One thread of a duel: a few operations on one session. */
struct duel {
	pthread_t thread;
	uint64_t seed;
	/* not reported: the one that waits for this thread has the note that is */
	struct note note;
	struct tally *tally;
	const char *session;
};

static void *fight(void *arg)
{
	static const char *const names[] = { "x",     "y",    "snapshot", "snapshot z",
					     "start", "stop", "clear",    "rotate" };
	struct duel *d = arg;
	char path[500];
	unsigned int i;

	seed = d->seed;
	note = &d->note;
	tally = d->tally;
	for (int n = 0; n < 3; n++) {
		i = pick(sizeof(names) / sizeof(names[0]) + 4);
		if (i < 2 || i >= sizeof(names) / sizeof(names[0])) {
			snprintf(path, sizeof(path), "%s/snapshots/%s", d->session, names[i % 2]);
			make(path);
		} else {
			snprintf(path, sizeof(path), "%s/control", d->session);
			put(path, names[i], 0);
		}
	}
	return NULL;
}

/* A session of one's own that is removed while two threads make snapshots of it and write verbs. */
static void duel(void)
{
	struct timespec pause = { 0 };
	struct duel duels[2];
	char session[400], path[500];
	int n = 0;

	snprintf(session, sizeof(session), "%s/sessions/%s-duel%u-%d", mnt, mark,
		 (unsigned int)user, (int)syscall(SYS_gettid));
	make(session);
	snprintf(path, sizeof(path), "%s/user/events", session);
	if (pick(2))
		put(path, "*", 0);
	while (n < 2) {
		duels[n] = (struct duel){ .seed = seed + (uint64_t)n + 1,
					  .tally = tally,
					  .session = session };
		if (pthread_create(&duels[n].thread, NULL, fight, &duels[n]))
			break;
		n++;
	}
	pause.tv_nsec = pick(3000000);
	nanosleep(&pause, NULL);
	drop(session);
	begin("the duel in %s", session);
	while (n)
		pthread_join(duels[--n].thread, NULL);
}

static void drop_session(void)
{
	char path[400];

	session_path(path, sizeof(path));
	drop(path);
}

/* A session that is removed while its snapshots are made, and then made again. */
static void replace_session(void)
{
	drop_session();
	make_session();
}

static void snapshots(void)
{
	static const char *const names[] = { "x", "y", "z" };
	char session[400], path[500];

	session_path(session, sizeof(session));
	snprintf(path, sizeof(path), "%s/snapshots/%s", session, ONE_OF(names));
	if (pick(3))
		make(path);
	else
		drop(path);
}

static void channels(void)
{
	char path[500];

	channel_path(path, sizeof(path));
	if (pick(3))
		make(path);
	else
		drop(path);
}

static void verbs(void)
{
	static const char *const texts[] = {
		"start",
		"start",
		"start",
		"stop",
		"clear",
		"rotate",
		"snapshot",
		"snapshot x",
		"regenerate metadata",
		"regenerate statedump",
		"stop\nstart",
		"clear\nsnapshot y\nclear",
		"rotate\nrotate",
		"stop\nclear\nstart",
		"snapshot z\nstop\nsnapshot",
		"nonsense",
	};
	char session[400], path[500];

	session_path(session, sizeof(session));
	snprintf(path, sizeof(path), "%s/control", session);
	put(path, ONE_OF(texts), 0);
}

static void rules(void)
{
	static const char *const user_rules[] = {
		"*",
		"trail:log",
		"tick:*",
		"tick:tock if n > 5 && thread == 0",
		"trail:log if msg == \"*a*\"",
		"!*",
		"~trail:log",
		"",
		"tick:* except tick:t*",
		"no such rule",
		"tick:tock loglevel <= info\ntrail:log\n*:*",
	};
	static const char *const kernel_rules[] = { "sched:sched_process_fork", "!*",
						    "sched:sched_process_exec if pid > 1",
						    "trail:log", "" };
	static const char *const contexts[] = { "vpid procname",      "pid",     "", "vtid\nip",
						"perf:thread:cycles", "nonsense" };
	char session[400], path[600];

	session_path(session, sizeof(session));
	if (!pick(6)) {
		snprintf(path, sizeof(path), "%s/%s/contexts", session, domain());
		put(path, ONE_OF(contexts), pick(2) ? O_TRUNC : 0);
		return;
	}
	if (pick(2)) {
		snprintf(path, sizeof(path), "%s/user/%sevents", session,
			 pick(2)   ? ""
			 : pick(2) ? "channels/a/"
				   : "channels/channel0/");
		put(path, ONE_OF(user_rules), pick(2) ? O_TRUNC : 0);
	} else {
		snprintf(path, sizeof(path), "%s/kernel/events", session);
		put(path, pick(8) ? "!*" : ONE_OF(kernel_rules), pick(2) ? O_TRUNC : 0);
	}
}

static void settings(void)
{
	static const char *const of_channels[][2] = {
		{ "enabled", "0" },           { "enabled", "1" },
		{ "subbuf_size", "4096" },    { "subbuf_size", "64k" },
		{ "subbuf_count", "2" },      { "loss_mode", "discard" },
		{ "loss_mode", "overwrite" }, { "buffering", "process" },
		{ "buffering", "user" },      { "switch_period", "1ms" },
		{ "read_period", "5ms" },     { "file_size", "16k" },
		{ "file_count", "2" },        { "blocking_timeout", "10" },
	};
	static const char *const of_sessions[][2] = {
		{ "rotate_size", "20k" },
		{ "rotate_size", "0" },
		{ "rotate_period", "50ms" },
		{ "rotate_period", "0" },
		{ "snapshot_max_size", "10k" },
		{ "snapshot_max_size", "0" },
		{ "snapshot_outputs", "" },
		{ "snapshot_outputs", "net://127.0.0.1:1:1 max-size 10k" },
		{ "output", "" },
		{ "user/track/vpid", "1" },
		{ "user/track/vpid", "*" },
		{ "user/track/vuid", "0 54321 54322" },
		{ "kernel/track/pid", "1" },
		{ "kernel/track/pid", "*" },
	};
	char path[600], of[500];
	unsigned int i;

	if (pick(2)) {
		channel_path(of, sizeof(of));
		i = pick(sizeof(of_channels) / sizeof(of_channels[0]));
		snprintf(path, sizeof(path), "%s/%s", of, of_channels[i][0]);
		put(path, of_channels[i][1], O_TRUNC);
	} else {
		session_path(of, sizeof(of));
		i = pick(sizeof(of_sessions) / sizeof(of_sessions[0]));
		snprintf(path, sizeof(path), "%s/%s", of, of_sessions[i][0]);
		put(path, of_sessions[i][1], O_TRUNC);
	}
}

/* The configuration of one session becomes that of another, or a new one. */
static void configure(void)
{
	char from[400], to[400], path[500], text[8192];
	ssize_t n = -1;
	int fd;

	session_path(from, sizeof(from));
	session_path(to, sizeof(to));
	snprintf(path, sizeof(path), "%s/config", from);
	begin("read %s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 40);
		close(fd);
	}
	if (n < 0)
		n = sprintf(text, "[user]\nevents = *\n[user channel]\nname = a\nevents = "
				  "trail:log\nsubbuf_size = 4096\n");
	text[n] = 0;
	if (pick(2))
		strcat(text, "[session]\nstart = yes\n");
	if (!pick(3))
		make(to);
	snprintf(path, sizeof(path), "%s/config", to);
	put(path, text, 0);
}

#endif
