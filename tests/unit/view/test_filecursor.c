/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a session with an output: whatever of the rings is in files already, and while more of
 * it comes into them, text is the same as without them, from any place on, and each event is there
 * once.
 */
#include "tests/lib/fake_files.h"
#include "tests/lib/test.h"

static struct session *s;
static struct fake_files files;
static struct md_buf want = MD_BUF_INIT;
static struct fake_writer dice = { .state = 1 };

static void begin(size_t each)
{
	struct fake_threads t;

	s = fake_session(TRAIL_MODE_DISCARD, 4096, 32);
	fake_start(s, true);
	fake_threads_run(&t, s, 8, 3000);
	fake_start(s, false);
	fake_text(s, &want);
	text_engine_destroy(s->engine[TEXT_PLAIN]);
	s->engine[TEXT_PLAIN] = NULL;
	fake_files_init(&files, s, each);
	s->unflushed = true;
}

static void end(void)
{
	text_engine_destroy(s->engine[TEXT_PLAIN]);
	s->engine[TEXT_PLAIN] = NULL;
	fake_files_deinit(&files);
	fake_session_destroy(s);
}

static void more(size_t packets)
{
	for (size_t i = 0; i < packets; i++)
		fake_file_write(&files.file[fake_random(&dice) % files.count]);
}

/* All of it in pieces, while packets are written between them. */
static void read_through(size_t at_once, size_t packets)
{
	struct md_buf got = MD_BUF_INIT;
	char *buf = malloc(at_once);
	struct text_view *v;
	ssize_t n;

	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	while ((n = text_read(v, got.len, buf, at_once)) > 0) {
		md_buf_put(&got, buf, (size_t)n);
		more(packets);
	}
	CHECK(n == 0);
	text_close(v);
	CHECK_STR(md_buf_str(&got), want.data);
	md_buf_deinit(&got);
	free(buf);
}

static void pieces(int count)
{
	static char buf[50000];
	struct text_view *v;
	int wrong = 0;

	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	for (int i = 0; i < count; i++) {
		size_t at = fake_random(&dice) % want.len,
		       size = 1 + fake_random(&dice) % sizeof(buf);
		ssize_t n = text_read(v, at, buf, size);

		if (size > want.len - at)
			size = want.len - at;
		wrong += n != (ssize_t)size || memcmp(buf, want.data + at, size);
		more(fake_random(&dice) % 4);
	}
	CHECK(wrong == 0);
	text_close(v);
}

static void nothing_written(void)
{
	begin(0);
	read_through(10000, 0);
	pieces(20);
	end();
}

static void all_written(void)
{
	for (size_t each = 0; each < 8; each += 7) {
		begin(each);
		for (size_t i = 0; i < files.count; i++)
			while (fake_file_write(&files.file[i]))
				;
		read_through(10000, 0);
		pieces(20);
		s->unflushed = false;
		pieces(20);
		end();
	}
}

static void written_meanwhile(void)
{
	for (int round = 0; round < 12; round++) {
		begin(round % 3 ? (size_t)round : 0);
		more((size_t)round * 10);
		read_through(500 + fake_random(&dice) % 20000, (size_t)round % 4);
		pieces(60);
		for (size_t i = 0; i < files.count; i++)
			while (fake_file_write(&files.file[i]))
				;
		pieces(20);
		s->unflushed = false;
		read_through(30000, 0);
		end();
	}
}

/* What the pipe tells, told once, while the engine's checkpoints stand in rings and files. */
static void pipe_meanwhile(void)
{
	struct md_buf got = MD_BUF_INIT;
	struct pipe_view *v;
	char buf[3000];
	ssize_t n;

	begin(5);
	more(20);
	CHECK(pipe_open(s, TEXT_PLAIN, &v) == 0);
	while ((n = pipe_read(v, buf, sizeof(buf))) > 0) {
		md_buf_put(&got, buf, (size_t)n);
		more(1);
	}
	pipe_close(v);
	CHECK_STR(md_buf_str(&got), want.data);
	md_buf_deinit(&got);
	end();
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	CASE(nothing_written);
	CASE(all_written);
	CASE(written_meanwhile);
	CASE(pipe_meanwhile);
	md_buf_deinit(&want);
	return test_summary();
}
