// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracer as a whole: opens a state directory, restores its contents, closes it. */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/app/agent/agent.h"
#include "tracer/app/app.h"
#include "tracer/face/face.h"
#include "tracer/format/export/export.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/face/keeper_guard.h"
#include "tracer/view/map/map.h"
#include "tracer/session/hidden.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/session/trace_form.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/ring/reader.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/output/snapshot/target.h"
#include "tracer/output/output.h"
#include "tracer/output/relay/relay.h"
#include "tracer/base/os/cpus.h"
#include "tracer/base/os/slice.h"
#include "tracer/base/os/syncer.h"
#include "tracer/trigger/trigger.h"
#include "tracer/verb/reclaim.h"
#include "tracer/view/view.h"

/* The parts of a session besides its channels (session/part.h). A part may use earlier ones. */
static const struct session_part *const session_parts[] = {
	&form_part, &import_part, &text_part, &counts_part, &stats_part, &export_part, &map_part,
	&output_part, &snapshot_list_part, &snapshot_part, &trigger_part, &agent_part,
	&reclaim_part, NULL
};
static const struct domain_ops *const domains[DOMAINS] = {
	[DOMAIN_USER] = &user_domain, [DOMAIN_KERNEL] = &kernel_domain,
};
/* What other rooms keep in the tracer (session/part.h). */
static const struct tracer_room *const tracer_rooms[] = {
	&agent_room, &output_room, &map_room, &snapshot_room, &reclaim_room, &trigger_room,
	&face_room, NULL
};
static const struct output_sink *const sinks[] = {
	&relay_sink,
	NULL
};

#define WITHOUT_HELP(help, ...) __VA_ARGS__
#define SETTING(name, kind, member, ...) \
	{ name, SETTING_##kind, SETTING_MEMBER(session, member), WITHOUT_HELP(__VA_ARGS__, ) },
#define TEXT_SETTING(name, kind, ...) \
	{ name, SETTING_##kind, WITHOUT_HELP(__VA_ARGS__, ) },
static const struct setting session_settings[] = {
#include "tracer/session/session_settings.def"
	{ 0 }
};

#define SYNC_SECONDS 10         /* for which a clean end waits for disks */

/* One more than the greatest number of a CPU. */
static uint32_t possible_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t n = cpus < 1 ? 1 : (uint32_t)cpus;
	cpu_set_t set[8192 / CPU_SETSIZE];

	cpus_read(CPUS_POSSIBLE, set, sizeof(set));
	for (uint32_t i = n; i < sizeof(set) * 8; i++)
		if (CPU_ISSET_S(i, sizeof(set), set))
			n = i + 1;
	return n;
}

static int open_subdir(const struct tracer *t, const char *name, mode_t mode)
{
	int fd;

	if (mkdirat(t->state_fd, name, mode & 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(t->state_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/*
	 * A directory that existed before (made by tmpfiles.d, say) keeps its mode if it belongs to
	 * another user.
	 */
	if (fchmod(fd, mode) < 0 && errno != EPERM) {
		close(fd);
		return -errno;
	}
	return fd;
}

/*
 * A killed daemon holds its lock until the kernel has freed all of it: try more than once. Each
 * event of the kernel that it had enabled by itself takes some milliseconds.
 */
static bool lock_state_dir(const char *state_dir, int fd)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	int others = 0;

	for (int tries = 0; tries < 1000 && others < 50; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		others += keeper_find_daemon(state_dir) != KEEPER_DAEMON_ENDS;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Opens the state directory and its subdirectories, and takes its lock. */
static int open_state(struct tracer *t, struct tr_err *err)
{
	bool root = t->lane == TRAIL_LANE_ROOT;
	struct stat st;
	int ret = t->config.rings ? region_directory(t->config.rings, err) : 0, fd;

	if (ret)
		return ret;
	ret = state_file_mkdir(t->state_dir, root ? 0755 : 0700);
	if (ret)
		return tr_fail(err, ret, "the state directory cannot be made: %s%s",
			       strerror(-ret),
			       root ? ""
				    : ". Set TRAIL_RUNTIME_DIR to a directory of your own, for the "
				      "daemon and for the programs: /run/user/UID exists only in "
				      "a login session");
	t->state_fd = open(t->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->state_fd < 0 || fstat(t->state_fd, &st) < 0)
		return tr_fail(err, -errno, "the state directory %s cannot be opened: %s",
			       t->state_dir, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return tr_fail(err, -EPERM,
			       "the state directory %s must belong to this user and be writable "
			       "for no other",
			       t->state_dir);
	fd = openat(t->state_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	face_data(t)->lock_fd = fd;
	if (fd < 0)
		return tr_fail(err, -errno, "the state directory %s cannot be written: %s",
			       t->state_dir, strerror(errno));
	if (!lock_state_dir(t->state_dir, fd))
		return tr_fail(err, -EBUSY, "another trailfs daemon uses the state directory %s",
			       t->state_dir);
	ret = state_version_check(t->state_fd, err);
	if (!ret)
		ret = state_version_note(t->state_fd);
	if (ret)
		return err->sentence[0] ? ret
					: tr_fail(err, ret, "the state directory %s cannot be "
						  "written: %s", t->state_dir, strerror(-ret));
	tracer_announce(t, "");
	t->sessions_fd = open_subdir(t, "sessions", 0700);
	fd = open_subdir(t, "apps", root ? 01777 : 0700);
	apps_of(t)->fds[0] = fd;
	if (t->sessions_fd < 0 || fd < 0)
		return tr_fail(err, t->sessions_fd < 0 ? t->sessions_fd : fd,
			       "the state directory %s cannot be written", t->state_dir);
	apps_open(t);
	return 0;
}

size_t sessions_restore(struct tracer *t)
{
	int fd = openat(t->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		err = session_restore(t, d->d_name);
		/*
		 * A session that was removed, or not completely made, while no descriptor was free
		 * for its directory; or a hidden one that no file has.
		 */
		if (err == -ENOENT && (*d->d_name == '.' ||
				       (!t->reading &&
					!state_file_remove(t->sessions_fd, d->d_name))))
			continue;
		if (err)
			tracer_report(t, "session %s cannot be restored: %s", d->d_name,
				      strerror(-err));
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return kept_drop(t);
}

static void init_locks(struct tracer *t)
{
	pthread_mutexattr_t attr;

	/*
	 * Priority inheritance: the thread that serves applications must not wait for a thread of
	 * lower priority.
	 */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	lock_init(&t->lock, &attr, LOCK_TRACER);
	lock_init(&t->lists_lock, &attr, LOCK_LISTS);
	pthread_mutexattr_destroy(&attr);
	lock_init(&t->shares_lock, NULL, LOCK_SHARES);
}

struct tracer *tracer_new(const struct tracer_config *config)
{
	struct tracer *t = tracer_alloc(domains, tracer_rooms);

	if (!t)
		return NULL;
	init_locks(t);
	CDS_INIT_LIST_HEAD(&t->sessions);
	CDS_INIT_LIST_HEAD(&t->drafts);
	t->parts = session_parts;
	t->settings = session_settings;
	t->config = *config;
	t->config.wait_ms = config->wait_ms ? config->wait_ms : VERB_WAIT_MS;
	snprintf(t->state_dir, sizeof(t->state_dir), "%s", config->state_dir);
	t->config.state_dir = t->state_dir;
	t->state_fd = t->sessions_fd = -1;
	t->lane = geteuid() == 0 ? TRAIL_LANE_ROOT : TRAIL_LANE_USER;
	t->cpus = possible_cpus();
	gethostname(t->hostname, sizeof(t->hostname) - 1);
	tracer_create_rooms(t);
	output_data(t)->sinks = sinks;
	if (domains_create(t)) {
		tracer_free(t);
		return NULL;
	}
	return t;
}

void tracer_free(struct tracer *t)
{
	if (t->sessions_fd >= 0)
		close(t->sessions_fd);
	if (t->state_fd >= 0)
		close(t->state_fd);
	quota_deinit(t);
	programs_drop(t);
	domains_destroy(t);
	tracer_destroy_rooms(t);
	pthread_mutex_destroy(&t->shares_lock);
	pthread_mutex_destroy(&t->lists_lock);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/*
 * Starts the parts of sessions that an earlier daemon started, and finds their applications and
 * agents.
 */
static void start_sessions(struct tracer *t)
{
	struct session *s, **all;
	size_t count;

	hidden_forget_old(t);
	/* The list does not change before there are triggers and a mount. */
	cds_list_for_each_entry(s, &t->sessions, node) {
		struct tr_err why = TR_ERR_INIT;

		session_lock(s);
		for_each_part(p, t)
			if (s->starts && (*p)->start && LOCKED(s->tracer, (*p)->start(s, &why)))
				session_failed(s, "%s: %s", (*p)->name, why.sentence);
		session_apply(s);
		session_unlock(s);
	}
	/* Maps open hidden sessions, which are in the same list. */
	all = sessions_take(t, &count);
	for (size_t i = 0; i < count; i++) {
		session_follow_parts(all[i]);
		session_put(all[i]);
	}
	free(all);
	hidden_drop_unclaimed(t);
	pthread_mutex_lock(&t->lock);
	apps_scan(t);
	pthread_mutex_unlock(&t->lock);
	agents_open(t);
}

/* One descriptor per registration and per buffer is needed. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

bool tracer_helper(int argc, char **argv, int *status)
{
	if (argc == 3 && !strcmp(argv[1], "--keeper"))
		*status = keeper_main(argv[2]);
	else if (argc == 2 && !strcmp(argv[1], FOREIGN_VERB))
		*status = foreign_main();
	else
		return false;
	return true;
}

int tracer_open(const struct tracer_config *config, struct tracer **out, struct tr_err *err)
{
	struct tracer *t;
	int ret, found = 0;

	if (strlen(config->state_dir) > 90)     /* a Unix socket's path has 108 bytes */
		return tr_fail(err, -ENAMETOOLONG,
			       "the state directory's path is longer than 90 bytes");
	t = tracer_new(config);
	if (!t)
		return tr_fail(err, -ENOMEM, "out of memory");
	raise_file_limit();
	slice_shorten();        /* before any thread is created */
	ret = open_state(t, err);
	if (ret)
		goto fail;
	ret = clock_open(&t->clock, t->state_dir);
	if (ret) {
		tr_fail(err, ret, "no clock: %s", strerror(-ret));
		goto fail;
	}
	ret = keeper_open(t->state_dir, "/proc/self/exe", &t->keeper, &found);
	/* not fatal: without a keeper, sessions do not survive a kill of the daemon */
	if (ret)
		tracer_report(t, "no keeper: %s", strerror(-ret));
	kernel_open(t);
	kept_take(t);
	sessions_restore(t);
	kernel_adopt(t);
	kernel_leftovers_gc(t);
	kernel_scan(t);
	ret = server_start(t);
	if (ret) {
		tr_fail(err, ret, "applications cannot be served at %s/socket: %s%s", t->state_dir,
			strerror(-ret),
			ret == -EMFILE ? ", or inotify instances (fs.inotify.max_user_instances)"
				       : "");
		goto fail_keeper;
	}
	start_sessions(t);
	kernel_probes_gc(t);
	kernel_pending_update(t);
	last_boot_open(t);
	keeper_guard_begin(t);
	ret = triggers_open(t);
	if (ret)        /* not fatal */
		tracer_report(t, "no triggers: %s", strerror(-ret));
	*out = t;
	return 0;

fail_keeper:
	kernel_close(t);
	keeper_close(t->keeper, 0);
fail:
	apps_close(t, false);
	tracer_free(t);
	return ret;
}

/* What a part writes down, for a reboot after this daemon, is all that was recorded so far. */
static void suspend_session(struct session *s)
{
	domains_drain(s);
	for_each_part_with(suspend, p, s->tracer)
		UNLOCKED(s->tracer, (*p)->suspend(s));
}

void tracer_freeze(struct tracer *t)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	for (int tries = 0; ; tries++) {
		buffers_keep(t);
		pthread_mutex_lock(&t->lock);
		if (tries == 100 || (!t->keeper_pending && !t->keeper_passing))
			return;
		pthread_mutex_unlock(&t->lock);
		nanosleep(&pause, NULL);
	}
}

void tracer_thaw(struct tracer *t)
{
	pthread_mutex_unlock(&t->lock);
}

/* The session leaves the list. */
static void end_session(struct session *s, bool keep)
{
	session_lock(s);
	if (keep) {
		session_drop_parts(s, true);
		session_forget(s);
	} else {
		session_drop(s);
	}
	session_unlock(s);
	session_put(s);
}

void tracer_close(struct tracer *t, bool keep)
{
	struct cds_list_head *at, *before;
	struct session *s;

	server_stop(t);
	agents_close(t);
	triggers_stop(t);
	maps_stop(t, keep);
	reclaimer_stop(t);
	kernel_statedumps_end(t);
	kernel_pending_end(t);
	kernel_prompt_end(t);
	ksampling_end(t);
	/*
	 * No other thread runs any more, and the triggers' hidden sessions are closed. The newest
	 * session first: with the oldest first, the kernel waits for a grace period for each event
	 * that two of them record.
	 */
	cds_list_for_each_entry_reverse(s, &t->sessions, node) {
		if (keep)
			suspend_session(s);
		else
			session_finish(s);
	}
	syncer_finish(SYNC_SECONDS);
	pthread_mutex_lock(&t->lock);
	t->reading = keep;
	pthread_mutex_unlock(&t->lock);
	cds_list_for_each_prev_safe(at, before, &t->sessions)
		end_session(cds_list_entry(at, struct session, node), keep);
	pthread_mutex_lock(&t->lock);
	apps_drop(t, !keep);
	pthread_mutex_unlock(&t->lock);
	triggers_close(t, keep);
	region_retire_finish();
	parts_gc(t);
	if (!keep) {
		kernel_channels_gc(t);
		kernel_probes_gc(t);
	}
	kernel_close(t);
	keeper_close(t->keeper, !keep);
	if (!keep)
		unlinkat(t->state_fd, "socket", 0);
	apps_close(t, keep);
	/*
	 * The thread of an output that waits for a slow disk still has its session, which refers to
	 * the tracer: both stay until the process ends.
	 */
	if (!__atomic_load_n(&t->objects, __ATOMIC_ACQUIRE))
		tracer_free(t);
}
