/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trailfs: the daemon. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/config/config.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/waiter.h"
#include "fs/tree/errors.h"
#include "fs/tree/node.h"
#include "fs/tree/rows.h"
#include "fs/tree/tracedir.h"
#include "fs/tree/trigger_config.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/rule/hook.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

static void announce_change(void *unused, const char *session)
{
	(void)unused;
	if (!session) {
		root_changed();
		prune_later();
	}
	/*
	 * Applications come and go all the time: only a file that waits for a change needs to hear
	 * of it at once.
	 */
	if (session || wait_any(false))
		chores_kick();
}

/* A trigger may have thousands of hits a second: only a poll of its `status` needs a look. */
static void announce_counts(void)
{
	if (wait_any(true))
		chores_kick();
}

/* The work of chores_do(); returns when it wants to be called again. */
static int64_t housekeep(int64_t now)
{
	int64_t when[] = { tracer_guard_keeper(fs.tracer, now), wait_look(), tracedir_expire(now),
			   export_expire(now), prune(now), trim(now) };
	int64_t next = -1;

	for (size_t i = 0; i < sizeof(when) / sizeof(when[0]); i++)
		if (when[i] >= 0 && (next < 0 || when[i] < next))
			next = when[i];
	return next;
}

static void log_report(void *unused, const char *session, const char *line)
{
	(void)unused;
	say_about(SAY_INFO, session, "%s", line);
}

static void record_failure(void *unused, const char *session, int64_t created, uid_t owner,
		   const char *sentence)
{
	(void)unused;
	errors_happened(session, created, owner, sentence);
}

/* Little memory for a daemon that is idle most of the time; descriptors for rings: one each. */
static void set_up_process(void)
{
	struct rlimit files;

	mallopt(M_ARENA_MAX, 2);
	/* Tables that stay are mapped: calloc() writes each page of memory that was used before. */
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
	/* A limit on the size of files (RLIMIT_FSIZE) is an error of the one write or buffer. */
	signal(SIGXFSZ, SIG_IGN);
}

/* From here on, memory is for requests. */
static void expect_requests(void)
{
	/*
	 * Above the buffer of a read (128 KiB): mapping it again for each costs more than filling
	 * it.
	 */
	mallopt(M_MMAP_THRESHOLD, 512 * 1024);
	mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
	malloc_trim(0);
}

/* Blocked in all threads that are started from here on; read by mount_wait. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

#define APPS_SIZE (128ull << 20) /* half of it is what the daemon accepts of one user */

static uint64_t apps_size(const struct options *o)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (o->apps_size != APPS_SIZE_DEFAULT)
		return o->apps_size;
	if (strcmp(o->state, "/run/trailfs"))
		return 0;
	return memory / 8 < APPS_SIZE ? memory / 8 : APPS_SIZE;
}

static int open_tracer(const struct options *o)
{
	struct tracer_config config = {
		.state_dir = o->state,
		.max_frozen = o->max_frozen,
		.apps_size = apps_size(o),
		.max_sessions = o->max_sessions,
		.wait_ms = o->wait_ms,
		.relay_timeout_ms = o->relay_timeout_ms,
		.rings = o->rings,
		.ctf2 = o->ctf2,
		.limit = o->limit,
		.user_limits = o->user_limits,
		.user_limit_count = o->user_limit_count,
		.failed = record_failure,
		.changed = announce_change,
		.counted = announce_counts,
		.report = log_report,
	};
	struct tr_err err = TR_ERR_INIT;
	int rc = tracer_open(&config, &fs.tracer, &err);

	if (rc == -EBUSY)
		holder_say(o->state);
	else if (rc)
		say(SAY_ERROR, "%s: %s", o->state, err.sentence[0] ? err.sentence : strerror(-rc));
	return rc;
}

/* The mount of a daemon that was killed, if the keeper has it. */
static struct mount *take_mount(const char *options, bool allow_other)
{
	int connection = tracer_held(fs.tracer, HELD_CONNECTION);
	int table = tracer_held(fs.tracer, HELD_TABLE);

	if (connection >= 0 && table >= 0)
		return mount_take(connection, table, options, allow_other);
	if (connection >= 0)
		close(connection);
	if (table >= 0)
		close(table);
	return NULL;
}

/* fuse.conf may forbid ordinary users to let others in; then the mount is theirs alone. */
static struct mount *new_mount(const char *path, const char *options, bool allow_other)
{
	struct mount *m = mount_open(path, options, allow_other);

	if (!m && allow_other && getuid()) {
		say(SAY_WARNING, "mounting without allow_other: only you can use the mount");
		m = mount_open(path, options, false);
	}
	return m;
}

/* alive: a killed daemon's mount is there, and may be taken over. */
static struct mount *open_mount(const char *path, const struct options *o, bool alive)
{
	char *all = options_mount(o);
	struct mount *m = NULL;

	if (!all)
		return NULL;
	if (alive)
		m = take_mount(all, o->allow_other);
	if (!m) {
		mount_forget(fs.tracer);
		stale_unmount(path);
		m = new_mount(path, all, o->allow_other);
	}
	free(all);
	return m;
}

/*
 * Frees what requests have left, holders first. Nothing is parked any more.
 */
static void close_all(void)
{
	file_close_all();
	tracedir_deinit();
	export_expire(INT64_MAX);
	node_deinit();
	errors_deinit();
}

/* Why the daemon ends and what goes with it. Before it goes: ending may take seconds. */
static void say_end(int signal_number, pid_t sender, bool keep)
{
	struct md_buf what = MD_BUF_INIT;

	tracer_contents(fs.tracer, &what);
	if (signal_number)
		say(SAY_INFO, "ends by SIG%s of process %d: %s %s", sigabbrev_np(signal_number),
		    (int)sender, keep ? "leaves to the next daemon" : "destroys",
		    md_buf_str(&what));
	else
		say(SAY_INFO, "ends, it was unmounted: destroys %s", md_buf_str(&what));
	md_buf_deinit(&what);
}

/*
 * Serves until the end. -EIO: could not be mounted, the reason was said. *keep, which the caller
 * initializes: whether a signal ended the daemon that leaves the sessions to the next one.
 */
static int serve(const char *path, const struct options *o, char **argv, bool alive, int signals,
		 bool *keep)
{
	struct mount *m = NULL;
	int rc = node_init(&root_row);
	bool unmounted = false;
	pid_t sender = 0;

	/* A daemon that continues a mount finds the sessions as users left them. */
	if (!rc && !alive)
		presets_make();
	if (!rc)
		trigger_presets_make();
	if (!rc)
		m = open_mount(path, o, alive);
	expect_requests();
	if (!rc && m)
		rc = mount_start(m);
	if (rc)
		say(SAY_ERROR, "%s", strerror(-rc));
	if (m && !rc) {
		holder_announce(fs.tracer, path, mount_device(m));
		restart_offer(path, o, argv);
		if (o->foreground)
			daemon_notify();
		else
			daemon_ready();
		say(SAY_DEBUG, "mounted on %s, state in %s", path, o->state);
		while ((rc = mount_wait(m, signals, &sender)) == SIGUSR2)
			upgrade(path, o, argv, sender);
		unmounted = !rc;
		*keep = rc && o->keep;
		say_end(rc, sender, *keep);
		rc = 0;
	} else {
		rc = -EIO;
	}
	wait_stop(*keep);
	/* The connection ends before the process does, and another mount may get its number. */
	if (m) {
		holder_announce(fs.tracer, path, "");
		mount_close(m, unmounted);
	}
	/* After an aborted connection the mount is still there. */
	stale_unmount(path);
	close_all();
	return rc;
}

/* What an earlier daemon left: sessions or triggers. */
static bool has_contents(void)
{
	struct md_buf names = MD_BUF_INIT;
	bool some;

	sessions_list(fs.tracer, &names);
	triggers_list(fs.tracer, 0, &names);
	some = names.len != 0;
	md_buf_deinit(&names);
	return some;
}

/*
 * What mount(8) refuses, and libfuse does not: it mounts on a file a file system whose root would
 * have to be a file.
 */
static int check_mountpoint(const char *path)
{
	struct stat st;
	int rc = stat(path, &st) ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;

	if (rc)
		say(SAY_ERROR, "%s: %s", path, strerror(-rc));
	return rc;
}

/* Where the path is, or where it will be made: the nearest directory above it that exists. */
static char *find_existing(const char *path)
{
	char *above = strdup(path), *found = above ? realpath(above, NULL) : NULL, *slash;

	while (above && !found && errno == ENOENT && *above) {
		slash = strrchr(above, '/');
		above[!slash ? 0 : slash > above ? slash - above : 1] = 0;
		found = realpath(*above ? above : ".", NULL);
	}
	free(above);
	return found;
}

/*
 * Is the state directory at or below the path, or will it be? Then the mount would hide it from
 * applications, and from the daemon itself.
 */
static int check_state(const char *path, const struct options *o)
{
	char *state = find_existing(o->state);
	size_t n = strlen(path);
	bool below;

	if (!state)
		return 0;
	if (path[n - 1] == '/')
		n--;
	below = !strncmp(state, path, n) && (!state[n] || state[n] == '/');
	if (below)
		say(SAY_ERROR,
		    "%s: the state directory %s is there: a mount would hide it from applications",
		    path, o->state);
	free(state);
	return below ? -EBUSY : 0;
}

/* The mount was taken away while no daemon ran: the sessions end as if one had. */
static int end_sessions(const struct options *o, const char *path)
{
	say(SAY_INFO, "%s was unmounted without a daemon", path);
	if (open_tracer(o))
		return 1;
	say_end(0, 0, false);
	tracer_close(fs.tracer, false);
	return 0;
}

static int run_daemon(const struct options *o, char **argv)
{
	bool stuck = stale_abort(o->state), upgraded = upgrade_done(), alive;
	bool started = getenv(KEEPER_STARTED), again = upgraded || started;
	enum stale what;
	char *path;
	int rc = 0, signals;

	/* The daemon before this one has resolved it. The directory may have been removed since. */
	path = again ? strdup(o->mountpoint) : stale_path(o->mountpoint);
	if (!path) {
		say(SAY_ERROR, "%s: %s", o->mountpoint, strerror(errno));
		return 1;
	}
	say_mountpoint(path);
	what = stuck ? STALE_NONE : stale_look(o->state, path, again);
	alive = what == STALE_ALIVE;
	if (again && !alive && what != STALE_STRANGE) {
		if (what == STALE_UNMOUNTED)
			rc = end_sessions(o, path);
		else
			say(SAY_WARNING, "%s: the mount is gone that the keeper had", path);
		free(path);
		return what == STALE_UNMOUNTED ? rc : 1;
	}
	unsetenv(KEEPER_STARTED);
	if (!alive)
		rc = stale_unmount(path);
	if (rc)
		say(SAY_ERROR, "%s: a dead mount is there and cannot be taken away: %s", path,
		    strerror(-rc));
	if (!rc && !alive)
		rc = check_mountpoint(path);
	if (!rc && !alive)
		rc = check_state(path, o);
	if (!rc && !o->foreground && upgraded)
		daemon_stay();
	else if (!rc && !o->foreground && !started)
		rc = daemon_begin();
	hooks_fill_with(groups_load);
	signals = open_signals();
	/* Before the tracer, which may announce changes as soon as it is open. */
	if (!rc && (rc = chores_init(housekeep)))
		say(SAY_ERROR, "%s", strerror(-rc));
	if (!rc) {
		daemon_protect();
		rc = open_tracer(o);
	}
	if (!rc) {
		bool left = has_contents(), keep = false;

		rc = serve(path, o, argv, alive, signals, &keep);
		/* A mount that fails leaves what a killed daemon left to the next one. */
		tracer_close(fs.tracer, rc ? left : keep && has_contents());
	}
	hooks_free();
	free(path);
	return rc ? 1 : 0;
}

static void set_up_fs(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	fs.born = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	fs.uid = getuid();
	fs.gid = getgid();
}

int main(int argc, char **argv)
{
	struct options o;
	int rc;

	daemon_fill_streams();
	if (getenv(KEEPER_STARTED))
		daemon_stay();
	if (tracer_helper(argc, argv, &rc))
		return rc;
	if (argc > 2 && !strcmp(argv[1], UPGRADE_TRY))
		return upgrade_try(argc, argv);
	restart_init();
	rc = options_init(&o);
	if (!rc)
		rc = options_read(&o);
	if (!rc)
		rc = options_parse(&o, argc, argv);
	if (!rc && (o.help || o.version)) {
		if (o.help)
			options_help();
		else
			printf("trailfs %s\n", TRAILFS_VERSION);
		options_deinit(&o);
		return 0;
	}
	if (!rc && zone_set(o.zone, fs.zone, sizeof(fs.zone))) {
		say(SAY_ERROR, "option tz: there is no time zone '%s'", o.zone);
		rc = -EINVAL;
	}
	if (rc) {
		options_deinit(&o);
		return 1;
	}
	say_level(o.log_level);
	set_up_process();
	set_up_fs();
	rc = run_daemon(&o, argv);
	options_deinit(&o);
	return rc;
}
