/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * trail-recover [-a] [-o OUTPUT] STATE_DIR [FILE…]: makes CTF traces of what a dead daemon has
 * left, without one. See trail-recover(1).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/recover.h"

static int failures;

static void complain(const char *what, int err)
{
	fprintf(stderr, "trail-recover: %s: %s\n", what, strerror(err < 0 ? -err : err));
	failures++;
}

static void report(void *unused, const char *line)
{
	(void)unused;
	fprintf(stderr, "trail-recover: %s\n", line);
}

/* mkdir and open, never through a link. The directory, or -errno. */
static int enter(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, 0755) && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All files of the session as they are now, into a directory of its name. */
static int save_moment(struct session *s, int dir)
{
	struct image_sink to = { .dir = dir, .mode = 0755 };
	struct trace_image *m;
	int ret = image_take(s, &m);

	if (ret)
		return ret;
	ret = image_save(m, &to);
	image_put(m);
	return ret;
}

/* Its snapshots, each into a directory of its name. */
static int save_snapshots(struct session *s, int dir)
{
	struct md_buf names = MD_BUF_INIT;
	struct trace_image *m;
	int64_t created;
	int ret = 0;

	snapshots_list(s, &names);
	for (size_t at = 0; !ret && at < names.len; at += strlen(names.data + at) + 1) {
		struct image_sink to = { .mode = 0755 };

		ret = snapshot_get(s, names.data + at, &m, &created);
		if (ret)
			break;
		to.dir = ret = enter(dir, names.data + at);
		if (ret >= 0) {
			ret = image_save(m, &to);
			close(to.dir);
		}
		image_put(m);
	}
	ret = names.failed ? -ENOMEM : ret;
	md_buf_deinit(&names);
	return ret;
}

/*
 * Into SESSION~snapshots, a name that no session can have. It is beside the session's directory,
 * not in it: a reader of that directory would find the events of snapshots twice.
 */
static int snapshots_dir(struct session *s, const char *name, int output)
{
	struct md_buf names = MD_BUF_INIT;
	char path[300];
	int dir, ret = 0;

	snapshots_list(s, &names);
	if (names.len) {
		snprintf(path, sizeof(path), "%s~snapshots", name);
		dir = ret = enter(output, path);
		if (dir >= 0) {
			ret = save_snapshots(s, dir);
			close(dir);
		}
	}
	md_buf_deinit(&names);
	return ret;
}

/* Those counters of its status that matter now, on one line. */
static void print_status(const char *name, struct session *s)
{
	static const char *const keys[] = { "events_recorded", "events_discarded",
					    "events_overwritten", "buffers_lost" };
	struct md_buf status = MD_BUF_INIT;
	const char *text, *at;

	session_status(s, &status);
	text = md_buf_str(&status);
	printf("%s:", name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		at = strstr(text, keys[i]);
		if (at)
			printf(" %.*s", (int)strcspn(at, "\n"), at);
	}
	md_buf_reset(&status);
	session_show(s, SESSION_OUTPUT, &status);
	text = md_buf_str(&status);
	if (*text && *text != '\n')
		printf("; what is not in %.*s", (int)strcspn(text, "\n"), text);
	printf("\n");
	md_buf_deinit(&status);
}

static void save_session(struct tracer *t, const char *name, int output)
{
	struct session *s = session_get(t, name);
	int dir, ret;

	if (!s)
		return;
	dir = enter(output, name);
	ret = dir < 0 ? dir : save_moment(s, dir);
	if (!ret)
		ret = snapshots_dir(s, name, output);
	if (ret)
		complain(name, ret);
	else
		print_status(name, s);
	if (dir >= 0)
		close(dir);
	session_put(s);
}

static void scan(struct tracer *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = fd < 0 ? -errno : recovery_scan(t, fd);

	if (n < 0)
		complain(path, n);
	else
		printf("%s: %d buffers\n", path, n);
	if (fd >= 0)
		close(fd);
}

static int recover(struct tracer *t, int output, bool only_unwritten, char **files, int count)
{
	struct md_buf names = MD_BUF_INIT;
	size_t unclaimed;
	int n = recovery_keeper(t);

	if (n >= 0)
		printf("keeper: %d buffers\n", n);
	else if (!count)
		complain("there is no keeper to have buffers from", n);
	for (int i = 0; i < count; i++)
		scan(t, files[i]);
	unclaimed = recovery_sessions(t, only_unwritten);
	if (unclaimed)
		printf("%zu buffers are of no session here\n", unclaimed);
	sessions_list(t, &names);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		save_session(t, names.data + at, output);
	n = names.failed ? -ENOMEM : 0;
	md_buf_deinit(&names);
	return n;
}

static int usage(FILE *out)
{
	fprintf(out,
		"usage: trail-recover [-a] [-o OUTPUT] STATE_DIR [FILE...]\n"
		"\n"
		"Makes CTF traces of the sessions in a state directory (/run/trailfs), without a "
		"daemon:\n"
		"of the buffers that its keeper holds, and of those that are found in the FILEs: "
		"copies\n"
		"of buffers, core dumps. OUTPUT is made; without -o it is "
		"trail-recovered-DATE-TIME.\n"
		"Of a session with an output, what was not written there; with -a all that the\n"
		"buffers hold. Snapshots are in OUTPUT/SESSION~snapshots.\n");
	return out == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	struct tr_err err = TR_ERR_INIT;
	char name[64];
	const char *output = name;
	time_t now = time(NULL);
	struct tracer *t;
	bool only_unwritten = true;
	struct tm tm;
	int dir, opt, ret;

	strftime(name, sizeof(name), "trail-recovered-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	while ((opt = getopt(argc, argv, "aho:")) != -1) {
		if (opt == 'o')
			output = optarg;
		else if (opt == 'a')
			only_unwritten = false;
		else
			return usage(opt == 'h' ? stdout : stderr);
	}
	if (optind == argc)
		return usage(stderr);
	ret = recovery_open(argv[optind], report, NULL, &t, &err);
	if (ret) {
		report(NULL, err.sentence);
		return 1;
	}
	/* A new directory: no older trace and no file of another process is in it. */
	dir = mkdir(output, 0700) ? -1
				  : open(output, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		complain(output, errno);
	else if ((ret = recover(t, dir, only_unwritten, argv + optind + 1, argc - optind - 1)))
		complain(argv[optind], ret);
	else
		printf("%s\n", output);
	recovery_close(t);
	return failures != 0;
}
