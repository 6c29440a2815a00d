/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/classes.h"
#include "tests/lib/test.h"
#include "tracer/base/os/state_file.h"
#include "tracer/session/event_log.h"

static char path[300];
static int dir;

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/store.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(path) != NULL);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end(void)
{
	close(dir);
	CHECK(!state_file_remove(AT_FDCWD, path));
	CHECK(access(path, F_OK) && errno == ENOENT);
}

static void files(void)
{
	struct md_buf b = MD_BUF_INIT;
	struct stat st;
	char *big = calloc(1, 300000);

	begin();
	CHECK(state_file_read(dir, "none", 10, &b) == -ENOENT);
	CHECK(!state_file_write(dir, "a", "one\n", 4));
	CHECK(!fstatat(dir, "a", &st, 0) && (st.st_mode & 07777) == 0600);
	md_buf_puts(&b, "before ");
	CHECK(!state_file_read(dir, "a", 4, &b));
	CHECK_STR(md_buf_str(&b), "before one\n");
	CHECK(state_file_read(dir, "a", 3, &b) == -EFBIG && b.len == 11);
	CHECK(!state_file_write(dir, "a", "", 0) && !state_file_read(dir, "a", 0, &b) &&
	      b.len == 11);
	CHECK(!state_file_write(dir, "a", big, 300000));
	md_buf_reset(&b);
	CHECK(!state_file_read(dir, "a", 300000, &b) && b.len == 300000 &&
	      !memcmp(b.data, big, b.len));
	CHECK(!mkdirat(dir, "d", 0700) && !state_file_write(dir, "d/x", "y", 1));
	CHECK(state_file_write(dir, "d", "y", 1) == -EISDIR &&
	      state_file_write(dir, "none/x", "y", 1) == -ENOENT);
	CHECK(!symlinkat("a", dir, "l") && state_file_read(dir, "l", 1000000, &b) == -ELOOP);
	CHECK(!mkfifoat(dir, "f", 0600) && state_file_read(dir, "f", 10, &b) == -EINVAL);
	CHECK(state_file_read(dir, "d", 10, &b) < 0);
	CHECK(faccessat(dir, ".a.new", F_OK, 0) && faccessat(dir, ".d.new", F_OK, 0));
	/* A link that lies in wait under the temporary name is not followed. */
	CHECK(!symlinkat("a", dir, ".z.new") && state_file_write(dir, "z", "y", 1) == -ELOOP);
	unlinkat(dir, ".z.new", 0);
	free(big);
	md_buf_deinit(&b);
	end();
}

static void directories(void)
{
	char p[400];
	struct stat st;

	begin();
	umask(077);
	snprintf(p, sizeof(p), "%s/x//y/z/", path);
	CHECK(!state_file_mkdir(p, 01777) && !stat(p, &st) && (st.st_mode & 07777) == 01777);
	CHECK(!state_file_mkdir(p, 0700) && !stat(p, &st) && (st.st_mode & 07777) == 01777);
	CHECK(!state_file_write(dir, "file", "", 0));
	snprintf(p, sizeof(p), "%s/file/y", path);
	CHECK(state_file_mkdir(p, 0700) == -ENOTDIR);
	snprintf(p, sizeof(p), "%s/file", path);
	CHECK(state_file_mkdir(p, 0700) == -ENOTDIR);
	CHECK(!state_file_mkdir("/", 0700));
	umask(022);
	/* Two levels: the session and what is in it. */
	CHECK(state_file_remove(dir, "x") == -ENOTEMPTY);
	CHECK(!unlinkat(dir, "x/y/z", AT_REMOVEDIR) && !state_file_remove(dir, "x"));
	CHECK(state_file_remove(dir, "x") == -ENOENT && !state_file_remove(dir, "file"));
	end();
}

static void removing_many(void)
{
	char name[32];
	int i;

	begin();
	CHECK(!mkdirat(dir, "s", 0700) && !mkdirat(dir, "s/t", 0700) &&
	      !symlinkat("/", dir, "s/l"));
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), i % 2 ? "s/%d" : "s/t/%d", i);
		close(openat(dir, name, O_CREAT | O_WRONLY, 0400));
	}
	CHECK(!state_file_remove(dir, "s") && faccessat(dir, "s", F_OK, 0));
	end();
}

/* ---- event logs ---- */

struct got {
	int count, stop_at;
	uint32_t ids[100], streams[100];
	uint64_t digests[100];
};

static int take(void *arg, uint32_t stream_id, struct md_event *e)
{
	struct got *g = arg;

	if (g->count < 100) {
		g->ids[g->count] = e->id;
		g->streams[g->count] = stream_id;
		g->digests[g->count] = md_event_digest(e);
	}
	md_event_destroy(e);
	return ++g->count == g->stop_at ? -ECANCELED : 0;
}

/* With their media types: digests are of these, too. */
static void logs_give_blobs_back(void)
{
	struct md_event *e = md_event_create("p:n", 3, 2);
	struct got g = { .stop_at = 0 };
	uint64_t digest;
	int fd;

	begin();
	set_field(&e->fields[0], "a", t_array(t_int(1, false, 16, false), 3));
	set_field(&e->fields[1], "b", t_sequence(t_int(1, false, 16, false), 2));
	e->fields[0].type.show = e->fields[1].type.show = MD_SHOW_BLOB;
	digest = md_event_digest(e);
	e->fields[0].type.media_type = strdup("image/png");
	CHECK(md_event_digest(e) != digest);
	digest = md_event_digest(e);
	CHECK(!eventlog_open(dir, "log", &fd) && !eventlog_append(fd, 1, e));
	md_event_destroy(e);
	close(fd);
	CHECK(!eventlog_open(dir, "log", &fd) && !eventlog_read(fd, take, &g));
	CHECK(g.count == 1 && g.digests[0] == digest);
	close(fd);
	end();
}

static int append_some(int fd, uint64_t *seed, int n, uint64_t *digests)
{
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		struct md_event *e = random_event(seed, (uint32_t)i * 3);

		if (i % 2)
			e->emf_uri = strdup("http://x");
		digests[i] = md_event_digest(e);
		ret = eventlog_append(fd, (uint32_t)i % 5, e);
		md_event_destroy(e);
	}
	return ret;
}

static void logs_give_back(void)
{
	uint64_t seed = 7, digests[100];
	struct got g = { 0 };
	int fd = -1, i;

	begin();
	CHECK(!eventlog_open(dir, "log", &fd));
	CHECK(!eventlog_read(fd, take, &g) && g.count == 0);
	CHECK(!append_some(fd, &seed, 100, digests));
	close(fd);
	CHECK(!eventlog_open(dir, "log", &fd));
	CHECK(!eventlog_read(fd, take, &g) && g.count == 100);
	for (i = 0; i < 100; i++)
		CHECK(g.ids[i] == (uint32_t)i * 3 && g.streams[i] == (uint32_t)i % 5 &&
		      g.digests[i] == digests[i]);
	g = (struct got){ .stop_at = 5 };
	CHECK(eventlog_read(fd, take, &g) == -ECANCELED && g.count == 5);
	close(fd);
	end();
}

/*
 * Many by one write: as if they had come one by one; where there is room for a part of them only,
 * none.
 */
static void many_are_appended_or_none(void)
{
	uint64_t seed = 11, digests[40];
	struct md_event *events[40];
	struct rlimit before, limit;
	struct got g = { 0 };
	struct stat st;
	int fd = -1, i;

	begin();
	for (i = 0; i < 40; i++) {
		events[i] = random_event(&seed, (uint32_t)i);
		digests[i] = md_event_digest(events[i]);
	}
	CHECK(!eventlog_open(dir, "log", &fd));
	CHECK(!eventlog_append_all(fd, 3, events, 20));
	CHECK(!fstat(fd, &st));
	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	signal(SIGXFSZ, SIG_IGN);
	limit = before;
	limit.rlim_cur = (rlim_t)st.st_size + 100;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(eventlog_append_all(fd, 3, events + 20, 20) < 0);
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	signal(SIGXFSZ, SIG_DFL);
	CHECK(!eventlog_read(fd, take, &g) && g.count == 20);
	CHECK(!eventlog_append_all(fd, 3, events + 20, 20));
	close(fd);
	CHECK(!eventlog_open(dir, "log", &fd));
	g = (struct got){ 0 };
	CHECK(!eventlog_read(fd, take, &g) && g.count == 40);
	for (i = 0; i < 40; i++) {
		CHECK(g.ids[i] == (uint32_t)i && g.streams[i] == 3 && g.digests[i] == digests[i]);
		md_event_destroy(events[i]);
	}
	close(fd);
	end();
}

/*
 * Cut at every length: what was whole is there, the rest is gone, and appending continues after it.
 */
static void torn_tails_are_cut(void)
{
	uint64_t seed = 3, digests[100];
	struct md_buf b = MD_BUF_INIT;
	struct stat st;
	size_t ends[6] = { 8 }, cut, n;
	int fd, i;

	begin();
	CHECK(!eventlog_open(dir, "log", &fd));
	for (i = 0; i < 5; i++) {
		CHECK(!append_some(fd, &seed, 1, digests));
		CHECK(!fstat(fd, &st));
		ends[i + 1] = (size_t)st.st_size;
	}
	close(fd);
	CHECK(!state_file_read(dir, "log", 1 << 20, &b));
	for (cut = 0; cut <= b.len; cut++) {
		struct got g = { 0 };

		for (n = 0; n < 5 && ends[n + 1] <= cut; n++)
			;
		CHECK(!state_file_write(dir, "log", b.data, cut));
		if (eventlog_open(dir, "log", &fd)) {
			CHECK(false);
			break;
		}
		CHECK(!fstat(fd, &st) && (size_t)st.st_size == ends[n]);
		CHECK(!append_some(fd, &seed, 1, digests));
		CHECK(!eventlog_read(fd, take, &g) && g.count == (int)n + 1);
		close(fd);
	}
	/* The last record's bytes did not all arrive, though its length is there. */
	b.data[b.len - 1] ^= 1;
	CHECK(!state_file_write(dir, "log", b.data, b.len) && !eventlog_open(dir, "log", &fd));
	CHECK(!fstat(fd, &st) && (size_t)st.st_size == ends[4]);
	close(fd);
	md_buf_deinit(&b);
	end();
}

static void bad_records_end_the_reading(void)
{
	uint64_t seed = 5, digests[100];
	struct md_buf b = MD_BUF_INIT;
	size_t i;
	int fd, opened = 0;

	begin();
	CHECK(!eventlog_open(dir, "log", &fd));
	CHECK(!append_some(fd, &seed, 6, digests));
	close(fd);
	CHECK(!state_file_read(dir, "log", 1 << 20, &b));
	for (i = 0; i < b.len; i++) {
		struct got g = { 0 };
		int ret;

		b.data[i] ^= (char)(1 << i % 8);
		CHECK(!state_file_write(dir, "log", b.data, b.len));
		ret = eventlog_open(dir, "log", &fd);
		CHECK(i < 8 ? ret == -EBADMSG : !ret);
		if (!ret) {
			ret = eventlog_read(fd, take, &g);
			CHECK(ret == 0 || ret == -EBADMSG);
			CHECK(g.count < 6);
			close(fd);
			opened++;
		}
		b.data[i] ^= (char)(1 << i % 8);
	}
	CHECK(opened > 100);
	md_buf_deinit(&b);
	end();
}

/* The checksum is right, the contents are not: as another program could write it. */
static void seal(struct md_buf *b)
{
	uint64_t h = 0xcbf29ce484222325;
	uint32_t len = (uint32_t)b->len - 16, sum;
	size_t i;

	for (i = 16; i < b->len; i++)
		h = (h ^ (uint8_t)b->data[i]) * 0x100000001b3;
	sum = (uint32_t)(h ^ (h >> 32));
	len = htole32(len);
	sum = htole32(sum);
	memcpy(b->data + 8, &len, 4);
	memcpy(b->data + 12, &sum, 4);
}

static void lying_records_do_no_harm(void)
{
	uint64_t seed = 11, digests[100];
	struct md_buf b = MD_BUF_INIT;
	int fd, round, taken = 0;

	begin();
	for (round = 0; round < 3000; round++) {
		struct got g = { 0 };
		uint64_t changes = 1 + below(&seed, 4);

		if (round % 30 == 0) {
			unlinkat(dir, "log", 0);
			CHECK(!eventlog_open(dir, "log", &fd) &&
			      !append_some(fd, &seed, 1, digests));
			close(fd);
		}
		md_buf_reset(&b);
		CHECK(!state_file_read(dir, "log", 1 << 20, &b));
		while (changes-- && b.len > 16)
			b.data[16 + below(&seed, b.len - 16)] =
				(char)(below(&seed, 2) ? 255 : below(&seed, 256));
		if (below(&seed, 4) == 0)
			b.len = 16 + below(&seed, b.len - 15);
		seal(&b);
		CHECK(!state_file_write(dir, "bad", b.data, b.len));
		CHECK(!eventlog_open(dir, "bad", &fd));
		{
			int ret = eventlog_read(fd, take, &g);

			CHECK(ret == 0 || ret == -EBADMSG);
			taken += g.count;
		}
		close(fd);
	}
	/* Most changes hit a name. */
	CHECK(taken > 100);
	md_buf_deinit(&b);
	end();
}

/* Killed at any moment, a writer leaves the old or the new contents, and a log without holes. */
static void killed_writers(void)
{
	int round, before = 0;

	begin();
	/* (On a slow machine until one has written: it gets more time in each round.) */
	for (round = 0; round < 60 || (!before && round < 1000); round++) {
		struct md_buf b = MD_BUF_INIT;
		struct got g = { 0 };
		int fd, status;
		pid_t pid = fork();

		if (!pid) {
			uint64_t seed = (uint64_t)round, digests[100];
			char text[5000];

			if (eventlog_open(dir, "log", &fd))
				_exit(1);
			for (;;) {
				memset(text, 'a' + (int)(seed % 26), sizeof(text));
				if (state_file_write(dir, "file", text, sizeof(text)) ||
				    append_some(fd, &seed, 1, digests))
					_exit(1);
			}
		}
		usleep(2000 + 100 * (useconds_t)round);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status));
		if (!state_file_read(dir, "file", 5000, &b)) {
			CHECK(b.len == 5000 && b.data[0] == b.data[4999]);
			/* (It may have been killed before its first record.) */
			CHECK(!eventlog_open(dir, "log", &fd) && !eventlog_read(fd, take, &g) &&
			      g.count >= before);
			before = g.count;
			close(fd);
		}
		md_buf_deinit(&b);
	}
	CHECK(before > 0);
	end();
}

int main(void)
{
	CASE(files);
	CASE(directories);
	CASE(removing_many);
	CASE(logs_give_back);
	CASE(logs_give_blobs_back);
	CASE(many_are_appended_or_none);
	CASE(torn_tails_are_cut);
	CASE(bad_records_end_the_reading);
	CASE(lying_records_do_no_harm);
	CASE(killed_writers);
	return test_summary();
}
