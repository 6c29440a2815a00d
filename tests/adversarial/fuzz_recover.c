/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * fuzz_recover [SECONDS [SEED]]: a state directory, its event log and a file with a buffer, of
 * which bytes, lines or all are not what they should be. What trail-recover does with them must
 * come to an end, within the memory that they warrant; and untouched they give all events.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "tracer/session/session.h"
#include "tracer/output/checkpoint.h"
#include "tracer/face/recover.h"
#include "tracer/face/tracer.h"

#define EVENTS 300
#define ROUND_MAX 300            /* seconds */

static char dir[256];

struct part {                   /* one of the files */
	const char *name;
	char *data;
	size_t len;
};

static struct part parts[] = { { .name = "sessions/a/session" },
			       { .name = "sessions/a/events-0" },
			       { .name = "clock" },
			       { .name = "buffer" },
			       { .name = "sessions/a/output" } };

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void save(const char *name, const void *data, size_t len)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	expect(fd >= 0 && write(fd, data, len) == (ssize_t)len, path);
	close(fd);
}

static void load(struct part *p)
{
	char path[300];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, p->name);
	fd = open(path, O_RDONLY);
	expect(fd >= 0 && !fstat(fd, &st), path);
	p->len = (size_t)st.st_size;
	p->data = malloc(p->len + 1);
	expect(p->data && read(fd, p->data, p->len) == (ssize_t)p->len, path);
	close(fd);
}

/* A session with messages of the log, left as by a daemon that was killed. */
static void make(void)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tracer_config config = { .state_dir = dir };
	char output[300];
	struct log_writer who = { .pid = (uint32_t)getpid(), .uid = getuid(), .gid = getgid() };
	struct tr_err err = TR_ERR_INIT;
	struct tracer *t;
	struct session *s;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	snprintf(output, sizeof(output), "%s/out", dir);
	expect(tracer_open(&config, &t, &err) == 0, err.sentence);
	expect(session_create(t, "a", &me, &err) == 0, err.sentence);
	s = session_get(t, "a");
	expect(channel_create(s, DOMAIN_USER, "c", &err) == 0 &&
		       channel_store(s, DOMAIN_USER, "c", "subbuf_size", "4096", &err) == 0 &&
		       channel_store(s, DOMAIN_USER, "c", "subbuf_count", "8", &err) == 0 &&
		       contexts_store(s, DOMAIN_USER, "c", "vpid procname\n", true, &err) == 0 &&
		       session_store(s, "output", output, false, &err) == 0 &&
		       events_store(s, DOMAIN_USER, "c", "trail:*\n", true, &err) == 0 &&
		       session_control(s, "start\n", 0, &err) == 0,
	       err.sentence);
	for (int i = 0; i < EVENTS; i++)
		expect(tracer_log(t, &who, "a message of the log", 20, &err) == 0, err.sentence);
	expect(session_control(s, "stop\n", 0, &err) == 0, err.sentence);
	c = channel_find(s, DOMAIN_USER, "c");
	group = cds_list_first_entry(&c->groups, struct stream_group, node);
	b = cds_list_first_entry(&group->buffers, struct buffer, node);
	save("buffer", b->region->map, b->region->size);
	session_put(s);
	tracer_close(t, true);
}

/* Reads everything. The number of bytes in stream files, or -1: it is not to be had. */
static int64_t look(const char *buffer, bool only_unwritten)
{
	static char buf[1 << 16];
	struct md_buf names = MD_BUF_INIT, status = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	struct tracer *t;
	int64_t sum = -1;
	int fd;

	if (recovery_open(dir, NULL, NULL, &t, &err))
		return -1;
	fd = open(buffer, O_RDONLY);
	expect(fd >= 0, buffer);
	recovery_scan(t, fd);
	close(fd);
	recovery_sessions(t, only_unwritten);
	sessions_list(t, &names);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
		struct session *s = session_get(t, names.data + at);
		const struct image_file *files;
		struct trace_image *image;

		session_status(s, false, &status);
		if (image_take(s, &image) == 0) {
			sum = 0;
			for (size_t i = 0, n = image_files(image, &files); i < n; i++) {
				uint64_t off = 0;
				ssize_t got;

				expect(!strstr(files[i].path, "..") && files[i].path[0] != '/',
				       "a path that leads out");
				while ((got = image_read(image, i, off, buf, sizeof(buf))) > 0)
					off += (uint64_t)got;
				expect(got < 0 || off == files[i].size,
				       "a file is not as long as it says");
				sum += strstr(files[i].path, "metadata") ? 0 : (int64_t)off;
			}
			image_put(image);
		}
		session_put(s);
	}
	md_buf_deinit(&names);
	md_buf_deinit(&status);
	recovery_close(t);
	return sum;
}

static void spoil_bytes(char *data, size_t len)
{
	for (uint64_t n = 1 + rnd(8); n && len; n--) {
		size_t at = rnd(4) ? rnd(len) : rnd(len < 512 ? len : 512);

		switch (rnd(4)) {
		case 0: data[at] ^= (char)(1 << rnd(8)); break;
		case 1: data[at] = (char)rnd(256); break;
		case 2: data[at] = (char)-(int)rnd(2); break;
		default:
			if (at + 8 <= len)
				memcpy(data + at, &(uint64_t){ rnd(UINT64_MAX) >> rnd(64) }, 8);
		}
	}
}

/* Writes a file as it is, or spoilt: bytes, cut, lines doubled. */
static void put(const struct part *p, bool spoil)
{
	char *copy = malloc(2 * p->len + 1);
	size_t len = p->len, at, n;

	expect(copy, "memory");
	memcpy(copy, p->data, len);
	if (spoil)
		switch (rnd(6)) {
		case 0:
			len = rnd(len + 1);
			break;
		case 1:
			at = rnd(len);
			n = rnd(len - at);
			memmove(copy + at + n, copy + at, len - at);
			len += n;
			break;
		default:
			spoil_bytes(copy, len);
		}
	save(p->name, copy, len);
	free(copy);
}

/* The output's state file says that the output is somewhere else. */
static void lie(void)
{
	uint64_t n = 1 + rnd(4);
	struct checkpoint_slot slot;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/sessions/a/output", dir);
	fd = open(path, O_RDWR);
	expect(fd >= 0, path);
	for (uint32_t i = 0; !checkpoint_slot_get(fd, i, &slot); i++) {
		uint64_t *fields[] = { &slot.pos,  &slot.ts,          &slot.seq,
				       &slot.lost, &slot.lost_before, &slot.cleared };

		while (slot.name && n--)
			*fields[rnd(6)] += rnd(3) ? rnd(9000) - 4000 : rnd(UINT64_MAX) >> rnd(64);
		checkpoint_slot_put(fd, i, &slot);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	const char *tmp = getenv("TMPDIR");
	time_t end = time(NULL) + (time_t)seconds;
	char buffer[300], command[300];
	uint64_t rounds = 0, none = 0;
	struct keeper *k;
	int found;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	fuzz_seed(argc > 2 ? argv[2] : NULL);
	snprintf(dir, sizeof(dir), "%s/fuzz_recover.XXXXXX", tmp ? tmp : "/tmp");
	expect(mkdtemp(dir), "mkdtemp");
	make();
	if (keeper_open(dir, NULL, &k, &found) == 0)
		keeper_close(k, 1);
	snprintf(buffer, sizeof(buffer), "%s/buffer", dir);
	for (size_t i = 0; i < PARTS; i++)
		load(&parts[i]);
	expect(look(buffer, false) > EVENTS * 20, "untouched, but events are missing");
	expect(look(buffer, true) < EVENTS * 20 / 2,
	       "untouched, but what was written is there again");
	do {
		uint64_t which = 1 + rnd((1 << PARTS) - 1);
		time_t begin = time(NULL);

		for (size_t i = 0; i < PARTS; i++)
			/* (Without a clock's file one is measured, which takes its time.) */
			put(&parts[i],
			    which >> i & 1 && (strcmp(parts[i].name, "clock") || !rnd(16)));
		if (rnd(2))
			lie();
		none += look(buffer, rnd(4)) < 0;
		expect(time(NULL) - begin < ROUND_MAX, "a round that does not end");
		rounds++;
	} while (time(NULL) < end);
	printf("%llu rounds, %llu with nothing\n", (unsigned long long)rounds,
	       (unsigned long long)none);
	expect(none < rounds, "nothing was ever found");
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0;
}
