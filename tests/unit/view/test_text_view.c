/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opens of `text` and `pipe`: offsets, sizes, followers, and what they do when the rings outrun
 * them.
 */
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/view/text_index.h"

#define NO_DELTA "(+?.???" "???" "???" ")"    /* in pieces, or it would hold a trigraph */

/* A read, and what the daemon does while the reader uses the bytes. */
static ssize_t read_on(struct text_view *v, uint64_t offset, void *buf, size_t size)
{
	ssize_t n = text_read(v, offset, buf, size);

	text_ahead(v);
	return n;
}

static uint64_t held(const struct session *s)
{
	uint64_t sum = 0;
	struct ring_counts c;

	for (size_t i = 0; i < s->set.count; i++) {
		ring_counts(&s->set.streams[i], &c);
		sum += c.recorded - c.overwritten;
	}
	return sum;
}

/* Any offset, in any order, by several opens: always the same bytes. */
static void offsets(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 32);
	struct md_buf all = MD_BUF_INIT;
	struct text_view *v[3];
	struct fake_threads t;
	char *buf = malloc(300000);
	uint64_t state = 1, wrong = 0;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 10000);
	CHECK(text_size(s, TEXT_PLAIN) == 0);
	fake_text(s, &all);
	CHECK(fake_lines(all.data, all.len) == (int64_t)held(s));
	CHECK(all.len > 8 * TEXT_TAIL_HALF);
	CHECK(text_size(s, TEXT_PLAIN) == all.len);
	for (int i = 0; i < 3; i++)
		CHECK(text_open(s, TEXT_PLAIN, &v[i]) == 0);
	for (int i = 0; i < 300; i++) {
		uint64_t at = (state = state * 6364136223846793005u + 1442695040888963407u) >> 20;
		size_t size = 1 + at % (i % 10 ? 10000 : 300000);
		ssize_t n;

		at = (at >> 10) % (all.len + 100);
		if (i % 7 == 6)
			at = all.len - at % 100000;
		n = read_on(v[i % 3], at, buf, size);
		if (at >= all.len)
			size = 0;
		else if (size > all.len - at)
			size = all.len - at;
		wrong += n != (ssize_t)size || (size && memcmp(buf, all.data + at, size));
	}
	CHECK(wrong == 0);
	for (int i = 0; i < 3; i++)
		text_close(v[i]);
	md_buf_deinit(&all);
	free(buf);
	fake_session_destroy(s);
}

/* A reader that reads on has the bytes after its last ones, also if they are overwritten since. */
static void ahead(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 65536, 32);
	struct md_buf all = MD_BUF_INIT;
	struct text_view *v;
	struct fake_threads t;
	const size_t size = 100000;
	char *buf = malloc(size);

	fake_start(s, true);
	fake_threads_run(&t, s, 1, 30000);
	fake_text(s, &all);
	CHECK(all.len > 2 * TEXT_TAIL_HALF + 4 * size);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(read_on(v, (uint64_t)i * size, buf, size) == (ssize_t)size);
		CHECK(!memcmp(buf, all.data + (size_t)i * size, size));
	}
	fake_threads_run(&t, s, 1, 300000);
	CHECK(text_read(v, 3 * size, buf, size) == (ssize_t)size);
	CHECK(!memcmp(buf, all.data + 3 * size, size));
	text_close(v);
	md_buf_deinit(&all);
	free(buf);
	fake_session_destroy(s);
}

/* Backwards through a text of many checkpoints, as tail does. */
static void backwards(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 32);
	struct md_buf all = MD_BUF_INIT;
	struct text_view *v;
	struct fake_threads t;
	char buf[8192];
	uint64_t wrong = 0;

	fake_start(s, true);
	fake_threads_run(&t, s, 3, 30000);
	fake_text(s, &all);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	for (uint64_t at = all.len / 8192 * 8192; at; at -= 8192) {
		size_t n = all.len - at < 8192 ? all.len - at : 8192;

		if (n)
			wrong += read_on(v, at, buf, 8192) != (ssize_t)n ||
				 memcmp(buf, all.data + at, n);
	}
	CHECK(wrong == 0);
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

/*
 * One open that follows writers in discard mode sees what an open afterwards sees; so does a pipe.
 */
static void follow(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 8);
	struct md_buf seen = MD_BUF_INIT, all = MD_BUF_INIT, piped = MD_BUF_INIT;
	struct pipe_view *pipe;
	struct text_view *v;
	struct fake_threads t;
	char buf[5000];
	uint64_t size = 0, before;
	ssize_t n;

	CHECK(pipe_open(s, TEXT_PLAIN, &pipe) == 0);
	CHECK(pipe_read(pipe, buf, sizeof(buf)) == -EAGAIN);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(read_on(v, 0, buf, sizeof(buf)) == 0);
	s->visible = 1;
	fake_start(s, true);
	fake_threads_start(&t, s, 1, UINT64_MAX);
	for (int i = 0; i < 400; i++) {
		before = size;
		/* Streams come when they get their first event. */
		if (i == 30 || i == 70) {
			s->visible = i == 30 ? 5 : 8;
			fake_threads_more(&t, s->visible);
		}
		size = text_size(s, TEXT_PLAIN);
		CHECK(size >= before);
		n = read_on(v, seen.len, buf, sizeof(buf));
		CHECK(n >= 0);
		md_buf_put(&seen, buf, (size_t)n);
		n = pipe_read(pipe, buf, sizeof(buf));
		CHECK(n > 0 || n == -EAGAIN);
		if (n > 0)
			md_buf_put(&piped, buf, (size_t)n);
		else
			usleep(1000);
	}
	fake_threads_wait(&t, 2000);
	fake_start(s, false);
	fake_threads_join(&t);
	/* The first 0 may be of an end that was set while the threads wrote. */
	for (int ends = 0; ends < 2; ends += n <= 0)
		if ((n = read_on(v, seen.len, buf, sizeof(buf))) > 0)
			md_buf_put(&seen, buf, (size_t)n);
	while ((n = pipe_read(pipe, buf, sizeof(buf))) > 0)
		md_buf_put(&piped, buf, (size_t)n);
	CHECK(n == 0);
	fake_text(s, &all);
	CHECK(all.len == text_size(s, TEXT_PLAIN));
	CHECK_STR(md_buf_str(&seen), all.data);
	CHECK(all.len > 100000);
	CHECK_STR(md_buf_str(&piped), all.data);
	CHECK(fake_lines(all.data, all.len) == (int64_t)held(s));
	pipe_close(pipe);
	text_close(v);
	md_buf_deinit(&seen);
	md_buf_deinit(&all);
	md_buf_deinit(&piped);
	fake_session_destroy(s);
}

/*
 * Readers that the rings outrun: whole lines in order, sizes that only grow, and an end at the
 * size.
 */
static void overtaken(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 16);
	struct md_buf seen[2] = { MD_BUF_INIT, MD_BUF_INIT };
	struct text_view *v[2];
	struct fake_threads t;
	char buf[3000];
	uint64_t size = 0;
	ssize_t n;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 2000);
	CHECK(text_open(s, TEXT_PLAIN, &v[0]) == 0);
	CHECK(text_open(s, TEXT_PLAIN, &v[1]) == 0);
	fake_threads_start(&t, s, 8, UINT64_MAX);
	for (int i = 0; i < 1000; i++) {
		uint64_t before = size;

		size = text_size(s, TEXT_PLAIN);
		CHECK(size >= before);
		n = read_on(v[i % 2], seen[i % 2].len, buf, i % 3 ? 100 : sizeof(buf));
		CHECK(n >= 0);
		md_buf_put(&seen[i % 2], buf, (size_t)n);
		CHECK(seen[i % 2].len <= text_size(s, TEXT_PLAIN));
		if (i % 50 == 0)
			usleep(2000);
	}
	fake_threads_wait(&t, 20000);
	fake_start(s, false);
	fake_threads_join(&t);
	for (int i = 0; i < 2; i++) {
		while ((n = read_on(v[i], seen[i].len, buf, sizeof(buf))) > 0)
			md_buf_put(&seen[i], buf, (size_t)n);
		CHECK(n == 0);
		CHECK(seen[i].len <= text_size(s, TEXT_PLAIN));
		CHECK(fake_lines(md_buf_str(&seen[i]), seen[i].len) > 1000);
		/* What is near the end stands at its place in the whole. */
		n = read_on(v[i], text_size(s, TEXT_PLAIN) - 1000, buf, 1000);
		CHECK(n >= 0);
		text_close(v[i]);
		md_buf_deinit(&seen[i]);
	}
	fake_session_destroy(s);
}

/*
 * A reader at the start of a text whose start is gone gets what is held, as if nothing had been
 * before.
 */
static void late(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 8);
	struct md_buf text = MD_BUF_INIT, tail = MD_BUF_INIT;
	struct fake_threads t;
	struct text_view *v;
	char buf[4096];
	uint64_t before;
	ssize_t n;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 1000);
	fake_text(s, &text);
	CHECK(fake_lines(text.data, text.len) == (int64_t)held(s));
	CHECK(strstr(text.data, NO_DELTA) != NULL);
	before = text.len;
	fake_threads_run(&t, s, 8, 1000);
	fake_text(s, &text);
	CHECK(fake_lines(text.data, text.len) == (int64_t)held(s));
	CHECK(!strncmp(text.data + 21, NO_DELTA, 14));
	CHECK(text_size(s, TEXT_PLAIN) >= text.len + before);
	/* The last lines, from the end. */
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	n = read_on(v, text_size(s, TEXT_PLAIN) - 4096, buf, 4096);
	CHECK(n == 4096);
	CHECK(!memcmp(buf, text.data + text.len - 4096, 4096));
	/* From before what is held: on at the oldest, to the end of it. */
	while ((n = read_on(v, 10 + tail.len, buf, sizeof(buf))) > 0)
		md_buf_put(&tail, buf, (size_t)n);
	CHECK(n == 0);
	CHECK_STR(md_buf_str(&tail), text.data);
	/* And what comes then follows. */
	fake_threads_run(&t, s, 1, 1);
	n = read_on(v, 10 + tail.len, buf, sizeof(buf));
	CHECK(n > 50 && buf[0] == '[' && buf[n - 1] == '\n');
	text_close(v);
	md_buf_deinit(&text);
	md_buf_deinit(&tail);
	fake_session_destroy(s);
}

static void clear(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 8);
	struct md_buf text = MD_BUF_INIT;
	struct fake_threads t;
	struct text_view *v;
	char buf[4096];

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 100);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(read_on(v, 0, buf, 200) == 200);
	CHECK(text_size(s, TEXT_PLAIN) > 200);
	fake_clear(s);
	CHECK(text_size(s, TEXT_PLAIN) == 0);
	CHECK(read_on(v, 0, buf, 200) == 0);
	CHECK(read_on(v, 200, buf, 200) == 0);
	fake_threads_run(&t, s, 8, 2);
	CHECK(read_on(v, 0, buf, 200) == 200);
	CHECK(strstr(buf, "{ n = 100, ring") && strstr(buf, NO_DELTA));
	fake_text(s, &text);
	CHECK(text.len == text_size(s, TEXT_PLAIN));
	CHECK(fake_lines(text.data, text.len) == 16);
	text_close(v);
	md_buf_deinit(&text);
	fake_session_destroy(s);
}

/*
 * Reads as cat does while `more` events are recorded between any two reads; how many reads until
 * one returns 0.
 */
static int read_to_end(struct session *s, struct text_view *v, struct md_buf *seen, size_t size,
		       uint64_t more)
{
	struct fake_threads t;
	char buf[3000];
	ssize_t n = 1;
	int reads;

	for (reads = 0; n > 0 && reads < 3000; reads++) {
		n = read_on(v, seen->len, buf, size);
		CHECK(n >= 0);
		md_buf_put(seen, buf, n > 0 ? (size_t)n : 0);
		fake_threads_run(&t, s, 8, more);
		/* Others bring the session's text up to the present. */
		text_size(s, TEXT_PLAIN);
	}
	return reads;
}

/*
 * An open ends at what was recorded when it was made, however much comes meanwhile; the read after
 * the end continues.
 */
static void ends(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 32);
	struct md_buf all = MD_BUF_INIT, seen = MD_BUF_INIT;
	struct fake_threads t;
	struct text_view *v;
	char buf[3000];

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 100);
	fake_text(s, &all);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(read_to_end(s, v, &seen, sizeof(buf), 50) < 3000);
	CHECK(seen.len == all.len);
	CHECK_STR(md_buf_str(&seen), md_buf_str(&all));
	CHECK(read_on(v, seen.len, buf, sizeof(buf)) == sizeof(buf));
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);

	/* A reader that is outrun all the time comes to its end too. */
	s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 8);
	fake_start(s, true);
	fake_threads_run(&t, s, 8, 1000);
	md_buf_reset(&seen);
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(read_to_end(s, v, &seen, 1000, 10) < 3000);
	CHECK(read_on(v, seen.len, buf, sizeof(buf)) > 0);
	text_close(v);
	md_buf_deinit(&seen);
	fake_session_destroy(s);
}

struct reader {
	struct session *s;
	int number;
};

static void *read_along(void *arg)
{
	struct reader *r = arg;
	struct md_buf seen = MD_BUF_INIT;
	struct text_view *v;
	char buf[4000];
	ssize_t n;

	for (int round = 0; round < 6; round++) {
		md_buf_reset(&seen);
		if (text_open(r->s, TEXT_PLAIN, &v))
			abort();
		for (int i = 0; i < 100; i++) {
			n = read_on(v, seen.len, buf, sizeof(buf));
			if (n < 0)
				abort();
			md_buf_put(&seen, buf, (size_t)n);
			text_size(r->s, TEXT_PLAIN);
			if (r->number == 0 && i % 40 == 39)
				text_engine_reset(&r->s->engine[TEXT_PLAIN]);
		}
		text_close(v);
	}
	md_buf_deinit(&seen);
	return NULL;
}

/* For the sanitizers: many opens at once, with writers and resets. */
static void together(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 16);
	struct reader readers[3];
	struct fake_threads t;
	pthread_t ids[3];

	fake_start(s, true);
	fake_threads_start(&t, s, 8, UINT64_MAX);
	for (int i = 0; i < 3; i++) {
		readers[i] = (struct reader){ s, i };
		pthread_create(&ids[i], NULL, read_along, &readers[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
	fake_start(s, false);
	fake_threads_join(&t);
	fake_session_destroy(s);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	CASE(offsets);
	CASE(ahead);
	CASE(backwards);
	CASE(follow);
	CASE(overtaken);
	CASE(late);
	CASE(clear);
	CASE(ends);
	CASE(together);
	return test_summary();
}
