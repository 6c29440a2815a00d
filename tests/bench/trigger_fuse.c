/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: pthread fuse3 */
/*
 * See trigger_hits.h. No tracer: what any file system in user space takes for a notification. A hit
 * wakes a process that sleeps on a futex; it answers the read of a file that the listener waits in,
 * always with the same line. Only `notify`.
 */
#define FUSE_USE_VERSION 314
#define _FILE_OFFSET_BITS 64
#include "trigger_hits.h"

#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FILE_ID 2
#define LINE "[12:12:12.123456789] bench { }\n"

static _Atomic uint32_t *hits;          /* a futex, shared: of the file system */
static char dir[] = "/tmp/trigger_fuse.XXXXXX";
static int fd = -1;                     /* of the file, in the program */
static _Atomic(fuse_req_t) waiting;     /* the read that is to be answered */

/* ---- the file system ---- */

static void set_attr(fuse_ino_t id, struct stat *st)
{
	*st = (struct stat){ .st_ino = id, .st_nlink = 1 };
	st->st_mode = id == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0444;
}

static void get_attr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	set_attr(id, &st);
	fuse_reply_attr(req, &st, 1);
}

static void look_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = { .ino = FILE_ID, .attr_timeout = 1, .entry_timeout = 1 };

	(void)parent, (void)name;
	set_attr(FILE_ID, &e.attr);
	fuse_reply_entry(req, &e);
}

static void open_file(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	fi->direct_io = 1;
	fi->nonseekable = 1;
	fuse_reply_open(req, fi);
}

static void read_file(fuse_req_t req, fuse_ino_t id, size_t size, off_t at,
		      struct fuse_file_info *fi)
{
	(void)id, (void)size, (void)at, (void)fi;
	atomic_store(&waiting, req);
}

static void *answer_hits(void *unused)
{
	for (uint32_t seen = 0;; seen++) {
		fuse_req_t req;

		while (atomic_load(hits) == seen)
			syscall(SYS_futex, hits, FUTEX_WAIT, seen, NULL, NULL, 0);
		req = atomic_exchange(&waiting, NULL);
		if (req)
			fuse_reply_buf(req, LINE, sizeof(LINE) - 1);
	}
	return unused;
}

static void serve(void)
{
	static const struct fuse_lowlevel_ops ops = {
		.getattr = get_attr, .lookup = look_up, .open = open_file, .read = read_file,
	};
	char *argv[] = { (char[]){ "trigger_fuse" }, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_session *s = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t thread;

	if (!s || fuse_session_mount(s, dir) || pthread_create(&thread, NULL, answer_hits, NULL))
		_exit(1);
	fuse_session_loop_mt(s, config);
	_exit(0);
}

/* ---- the program ---- */

static void hit(uint64_t number)
{
	(void)number;
	atomic_fetch_add(hits, 1);
	syscall(SYS_futex, hits, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool is_recorded(void)
{
	return false;
}

static void start_session(void)
{
}

static void open_listener(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", dir);
	for (int i = 0; i < 1000 && fd < 0; i++) {
		fd = open(path, O_RDONLY);
		if (fd < 0)
			pause_us(10000);        /* not mounted yet */
	}
}

static bool next_notification(void)
{
	char line[65536];

	return read(fd, line, sizeof(line)) > 0;
}

int main(int argc, char **argv)
{
	pid_t server;
	int ret;

	hits = mmap(NULL, sizeof(*hits), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (hits == MAP_FAILED || !mkdtemp(dir))
		return 1;
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve();
	}
	ret = hits_main(argc, argv);
	umount2(dir, MNT_DETACH);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	rmdir(dir);
	return ret;
}
