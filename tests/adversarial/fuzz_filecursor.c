/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * The files of an output belong to a user, who may do anything with them while text and trace/ read
 * them: bytes that change, files that are cut, grow, go, or are something else. All readers come to
 * an end, with no more than there can be, and touch no memory of others. fuzz_filecursor [SECONDS
 * [SEED]]
 */
#include "tests/lib/fuzz.h"
#include "tests/lib/fake_files.h"

#define ROUND_MAX 300            /* seconds: a round that takes longer hangs */

static struct session *s;
static struct fake_files files;
static atomic_bool stop;

/* What may be put in the place of a file. */
static void replace(struct fake_writer *f, int dir, const char *name)
{
	int fd;

	unlinkat(dir, name, 0);
	switch (fake_random(f) % 4) {
	case 0:
		mkfifoat(dir, name, 0600);
		break;
	case 1:
		expect(!symlinkat("/dev/zero", dir, name), "symlink");
		break;
	case 2:
		fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		expect(fd >= 0 && !ftruncate(fd, 100000), "another file");
		close(fd);
		break;
	default:
		break;
	}
}

static void spoil(struct fake_writer *f)
{
	struct fake_file *file = &files.file[fake_random(f) % files.count];
	bool index = fake_random(f) % 4 == 0;
	int dir = index ? file->place->index_fd : file->place->fd, fd;
	uint64_t word = (uint64_t)fake_random(f) << fake_random(f) % 32;
	char name[200];
	off_t size;

	snprintf(name, sizeof(name), index ? "%s_%u.idx" : "%s_%u", file->st->file,
		 1 + fake_random(f) % 4);
	fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	size = lseek(fd, 0, SEEK_END);
	size = size < 0 ? 0 : size;
	/* (It may be a FIFO; then nothing of it works.) */
	switch (fake_random(f) % 16) {
	case 0:
		size = ftruncate(fd, (off_t)(fake_random(f) % (2 * (uint64_t)size + 1)));
		break;
	case 1:
		if (fake_random(f) % 4 == 0)
			replace(f, dir, name);
		break;
	case 2: case 3: case 4:         /* in the headers: they stand where sub-buffers end */
		size = pwrite(fd, &word, 1 + fake_random(f) % 8,
			      (off_t)(fake_random(f) % 8 * 4096 + fake_random(f) % 200));
		break;
	default:
		size = pwrite(fd, &word, 1 + fake_random(f) % 8,
			      (off_t)(fake_random(f) % ((uint64_t)size + 1)));
		break;
	}
	close(fd);
}

static void *disturb(void *arg)
{
	struct fake_writer f = { .state = (uintptr_t)arg };

	while (!stop) {
		spoil(&f);
		if (fake_random(&f) % 16 == 0)
			usleep(fake_random(&f) % 200);
	}
	return NULL;
}

/*
 * Bytes of text there can be: each event has 4 bytes or more in a file or a ring, which read no
 * more than they were told.
 */
static uint64_t bound(void)
{
	const struct region_geometry *g = &s->regions[0]->geo;

	return (uint64_t)FAKE_TRACES * FAKE_RINGS * g->subbuf_size * (g->subbuf_count + 2) / 4 * 2 *
	       400;
}

static void read_text(struct fake_writer *f)
{
	static char buf[70000];
	struct text_view *v;
	uint64_t at = 0;
	ssize_t n;

	expect(!text_open(s, TEXT_PLAIN, &v), "text_open");
	while ((n = text_read(v, at, buf, 1 + fake_random(f) % sizeof(buf))) > 0 && at < bound()) {
		at += (uint64_t)n;
		if (fake_random(f) % 4 == 0)
			fake_file_write(&files.file[fake_random(f) % files.count]);
	}
	expect(n >= 0, "text_read");
	expect(at < bound(), "too much text");
	for (int i = 0; i < 10; i++) {
		n = text_read(v, fake_random(f) % (at + 1000), buf,
			      1 + fake_random(f) % sizeof(buf));
		expect(n >= 0, "text_read at");
	}
	text_size(s, TEXT_PLAIN);
	text_close(v);
}

static void read_pipe(void)
{
	static char buf[70000];
	struct pipe_view *v;
	uint64_t at = 0;
	ssize_t n;

	expect(!pipe_open(s, TEXT_PLAIN, &v), "pipe_open");
	while ((n = pipe_read(v, buf, sizeof(buf))) > 0 && at < bound())
		at += (uint64_t)n;
	expect(n >= 0 || n == -EAGAIN, "pipe_read");
	expect(at < bound(), "too much in the pipe");
	pipe_close(v);
}

static void read_moment(void)
{
	static char buf[70000];
	const struct image_file *list;
	struct trace_image *image;
	uint64_t at;
	ssize_t n;

	expect(!image_take(s, &image), "image_take");
	for (size_t i = image_files(image, &list); i-- > 0;) {
		for (at = 0; (n = image_read(image, i, at, buf, sizeof(buf))) > 0;)
			at += (uint64_t)n;
		/* (Files may be shorter than they were.) */
		expect(n == 0 && at <= list[i].size, "image_read");
	}
	image_put(image);
}

static void round_of(uint64_t seed)
{
	struct fake_writer f = { .state = seed * 31 + 7 };
	bool live = seed % 2;
	struct fake_threads t;
	pthread_t id;

	alarm(ROUND_MAX);
	s = fake_session(TRAIL_MODE_DISCARD, 4096u << seed % 2, 4u << seed % 3);
	fake_start(s, true);
	fake_threads_run(&t, s, 8, 200 + fake_random(&f) % 1000);
	if (seed % 3)
		fake_start(s, false);
	fake_files_init(&files, s, seed % 5);
	s->unflushed = seed % 4 != 0;
	for (uint32_t i = fake_random(&f) % 60; i-- > 0;)
		fake_file_write(&files.file[fake_random(&f) % files.count]);
	for (uint32_t i = fake_random(&f) % 40; i-- > 0;)
		spoil(&f);
	stop = false;
	if (live && pthread_create(&id, NULL, disturb, (void *)(uintptr_t)seed))
		exit(1);
	for (int i = 0; i < 3; i++) {
		read_text(&f);
		read_pipe();
		read_moment();
		if (i == 1)
			text_engine_reset(&s->engine[TEXT_PLAIN]);
	}
	stop = true;
	if (live)
		pthread_join(id, NULL);
	text_engine_destroy(s->engine[TEXT_PLAIN]);
	s->engine[TEXT_PLAIN] = NULL;
	fake_files_deinit(&files);
	fake_session_destroy(s);
}

int main(int argc, char **argv)
{
	setenv("TZ", "UTC", 1);
	fuzz_rounds(argc, argv, round_of);
	return 0;
}
