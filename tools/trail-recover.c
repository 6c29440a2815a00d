/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * trail-recover [-a] [-o OUTPUT] STATE_DIR [FILE…]: makes CTF traces of what a dead daemon has
 * left, without one. trail-recover -c TRACE…: cuts the packets that a killed writer left
 * unfinished. See trail-recover(1).
 */
#include <byteswap.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "metadata/ctf.h"
#include "tracer/face/recover.h"
#include "tracer/face/tracer.h"

#define CUT_DEPTH 32                    /* directories within each other below a TRACE */

static int failures;

static void complain(const char *what, int err)
{
	fprintf(stderr, "trail-recover: %s: %s\n", what, strerror(err < 0 ? -err : err));
	failures++;
}

static void report(void *unused, const char *session, const char *line)
{
	(void)unused, (void)session;
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
	struct trace_image *image;
	int ret = image_take(s, &image);

	if (ret)
		return ret;
	ret = image_save(image, &to);
	image_put(image);
	return ret;
}

/* Its snapshots, each into a directory of its name. */
static int save_snapshots(struct session *s, int dir)
{
	struct md_buf names = MD_BUF_INIT;
	struct trace_image *image;
	int64_t created;
	int ret = 0;

	snapshots_list(s, &names);
	for (size_t at = 0; !ret && at < names.len; at += strlen(names.data + at) + 1) {
		struct image_sink to = { .mode = 0755 };

		ret = snapshot_get(s, names.data + at, &image, &created);
		if (ret)
			break;
		to.dir = ret = enter(dir, names.data + at);
		if (ret >= 0) {
			ret = image_save(image, &to);
			close(to.dir);
		}
		image_put(image);
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

	session_status(s, false, &status);
	text = md_buf_str(&status);
	printf("%s:", name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		at = strstr(text, keys[i]);
		if (at)
			printf(" %.*s", (int)strcspn(at, "\n"), at);
	}
	md_buf_reset(&status);
	session_show(s, "output", false, &status);
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

/* ---- -c ---- */

static void complain_in(const char *path, const char *name, int err)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	complain(whole, err);
}

/*
 * Truncates an open file, if it is longer, and says so, with what is left (packets -1: in bytes
 * alone). Returns false if that fails.
 */
static bool cut_file(int fd, const char *path, const char *name, int64_t size, int64_t packets)
{
	struct stat st;
	int err = fstat(fd, &st);

	if (!err && st.st_size <= size)
		return true;
	if (err || ftruncate(fd, size)) {
		complain_in(path, name, errno);
		return false;
	}
	printf("%s/%s: %lld bytes cut", path, name, (long long)(st.st_size - size));
	if (packets >= 0)
		printf(", %lld whole packets left", (long long)packets);
	printf(", %lld bytes left\n", (long long)size);
	return true;
}

/*
 * The end of the last packet that a stream's file and its index both have, or -EINVAL: that is no
 * index. *entries: how many packets that are.
 */
static int64_t whole_packets(int index, int64_t file_size, int64_t *entries)
{
	struct md_index_header header, wanted;
	struct md_index_entry e;
	int64_t end = 0;

	*entries = 0;
	md_index_header_set(&wanted);
	if (pread(index, &header, sizeof(header), 0) != sizeof(header))
		return 0;
	if (header.magic != wanted.magic || header.packet_index_len != wanted.packet_index_len)
		return -EINVAL;
	while (pread(index, &e, sizeof(e),
		     (off_t)(sizeof(header) + (size_t)*entries * sizeof(e))) == sizeof(e)) {
		uint64_t size = be64toh(e.packet_size) / 8;

		if (be64toh(e.offset) != (uint64_t)end || !size)
			return -EINVAL;
		if (size > (uint64_t)(file_size - end))
			break;
		end += (int64_t)size;
		++*entries;
	}
	return end;
}

/* The header of the packet at this place, in the byte order of this machine. */
static bool read_packet(int fd, int64_t at, struct md_packet *p)
{
	if (pread(fd, p, sizeof(*p), (off_t)at) != sizeof(*p))
		return false;
	if (p->magic != bswap_32(MD_CTF_MAGIC))
		return p->magic == MD_CTF_MAGIC;
	p->timestamp_begin = bswap_64(p->timestamp_begin);
	p->timestamp_end = bswap_64(p->timestamp_end);
	p->content_size = bswap_64(p->content_size);
	p->packet_size = bswap_64(p->packet_size);
	return true;
}

/*
 * The end of the last packet that the file has completely, as their headers say it, or -EINVAL:
 * these are no packets as LTTng and trailfs write them. *packets: how many that are.
 */
static int64_t headed_packets(int fd, int64_t file_size, int64_t *packets)
{
	struct md_packet p, first = { 0 };
	int64_t end = 0;

	*packets = 0;
	while (file_size - end >= (int64_t)sizeof(p)) {
		if (!read_packet(fd, end, &p) || p.timestamp_begin > p.timestamp_end ||
		    p.content_size < 8 * sizeof(p) || p.packet_size < 8 * sizeof(p) ||
		    p.packet_size % 8)
			return -EINVAL;
		if (!end)
			first = p;
		if (memcmp(p.uuid, first.uuid, sizeof(p.uuid)))
			return -EINVAL;
		if (p.packet_size / 8 > (uint64_t)(file_size - end))
			break;
		end += (int64_t)(p.packet_size / 8);
		++*packets;
	}
	return end;
}

static bool is_stream(int fd)
{
	uint32_t magic;

	return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	       (magic == MD_CTF_MAGIC || magic == bswap_32(MD_CTF_MAGIC));
}

/* A stream without an index: its packets say how long they are. */
static void cut_unindexed(int fd, int64_t size, const char *path, const char *name)
{
	int64_t packets, end = headed_packets(fd, size, &packets);

	if (end >= 0)
		cut_file(fd, path, name, end, packets);
	else
		printf("%s/%s: left as it is: no index, packets of another form\n", path, name);
}

/* A stream's file. What has no entry in the directory `indexes` is cut; -1: there is none. */
static void cut_stream(int dir, int indexes, const char *path, const char *name)
{
	char index_name[NAME_MAX + 8];
	int64_t entries = 0, end = 0;
	int index, fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_stream(fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (indexes < 0) {
		cut_unindexed(fd, st.st_size, path, name);
		close(fd);
		return;
	}
	snprintf(index_name, sizeof(index_name), "%s.idx", name);
	index = openat(indexes, index_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (index >= 0)
		end = whole_packets(index, st.st_size, &entries);
	else if (errno != ENOENT)
		end = -errno;
	if (end < 0)
		complain_in(path, index_name, (int)end);
	else if (cut_file(fd, path, name, end, entries) && index >= 0)
		cut_file(index, path, index_name, (int64_t)sizeof(struct md_index_header) +
			 entries * (int64_t)sizeof(struct md_index_entry), -1);
	if (index >= 0)
		close(index);
	close(fd);
}

/* The size of the packets that metadata has completely. */
static uint64_t whole_metadata(int fd, uint64_t file_size)
{
	struct md_metadata_header h;
	uint64_t end = 0, size;

	while (pread(fd, &h, sizeof(h), (off_t)end) == sizeof(h)) {
		size = h.packet_size / 8;
		if (h.magic == bswap_32(MD_METADATA_MAGIC))
			size = bswap_32(h.packet_size) / 8;
		else if (h.magic != MD_METADATA_MAGIC)
			break;
		if (size < sizeof(h) || size > file_size - end)
			break;
		end += size;
	}
	return end;
}

/* Metadata in packets is cut like a stream; text is left as it is. Readers refuse an empty file. */
static void cut_metadata(int dir, const char *path)
{
	int fd = openat(dir, "metadata", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint32_t magic = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		complain_in(path, "metadata", fd < 0 ? errno : EINVAL);
	} else if (pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
		   magic == MD_METADATA_MAGIC || magic == bswap_32(MD_METADATA_MAGIC)) {
		int64_t end = (int64_t)whole_metadata(fd, (uint64_t)st.st_size);

		if (cut_file(fd, path, "metadata", end, -1) && !end &&
		    !unlinkat(dir, "metadata", 0))
			printf("%s/metadata: removed, because it is empty\n", path);
	}
	if (fd >= 0)
		close(fd);
}

/* All traces in a directory, and in those below it. Takes dir. */
static void cut_traces(int dir, const char *path, unsigned int depth)
{
	int indexes = openat(dir, "index", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fdopendir(dir);
	struct dirent *e;

	if (!d)
		close(dir);
	while (d && (e = readdir(d))) {
		char below[PATH_MAX];
		int fd;

		if (e->d_name[0] == '.' || strcmp(e->d_name, "index") == 0)
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && depth < CUT_DEPTH &&
		    snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < PATH_MAX)
			cut_traces(fd, below, depth + 1);
		else if (fd >= 0)
			close(fd);
		else if (strcmp(e->d_name, "metadata") == 0)
			cut_metadata(dirfd(d), path);
		else
			cut_stream(dirfd(d), indexes, path, e->d_name);
	}
	if (d)
		closedir(d);
	if (indexes >= 0)
		close(indexes);
}

static int cut_all(char **traces)
{
	for (; *traces; traces++) {
		int fd = open(*traces, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			complain(*traces, errno);
		else
			cut_traces(fd, *traces, 0);
	}
	return failures != 0;
}

/* ---- command line ---- */

static int usage(FILE *out)
{
	fprintf(out,
		"usage: trail-recover [-a] [-o OUTPUT] STATE_DIR [FILE...]\n"
		"       trail-recover -c TRACE...\n"
		"\n"
		"Makes CTF traces of the sessions in a state directory (/run/trailfs), without\n"
		"a daemon: of the buffers that its keeper holds, and of those that are found in\n"
		"the FILEs: copies of buffers, core dumps, directories of `-o rings=`. OUTPUT is\n"
		"made (trail-recovered-DATE-TIME). Of a session with an output, what was not\n"
		"written there; with -a all that the buffers hold. Snapshots: SESSION~snapshots.\n"
		"With -c, cuts the packets that a killed relay left unfinished in TRACEs.\n");
	return out == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	struct tr_err err = TR_ERR_INIT;
	char name[64];
	const char *output = name;
	time_t now = time(NULL);
	struct tracer *t;
	bool only_unwritten = true, cut = false;
	struct tm tm;
	int dir, opt, ret;

	if (tracer_helper(argc, argv, &ret))
		return ret;
	strftime(name, sizeof(name), "trail-recovered-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	while ((opt = getopt_long(argc, argv, "acho:", options, NULL)) != -1) {
		if (opt == 'o')
			output = optarg;
		else if (opt == 'a')
			only_unwritten = false;
		else if (opt == 'c')
			cut = true;
		else
			return usage(opt == 'h' ? stdout : stderr);
	}
	if (optind == argc)
		return usage(stderr);
	if (cut)
		return cut_all(argv + optind);
	ret = recovery_open(argv[optind], report, NULL, &t, &err);
	if (ret) {
		report(NULL, NULL, err.sentence);
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
