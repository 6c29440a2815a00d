/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moments of trace/ against babeltrace2: it must read them without a complaint, its text must be
 * ours byte for byte, and the events that it says were discarded must be as many as the rings
 * count.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"

static char dir[64];

struct printed {
	struct md_buf out, err;
	int status;
	uint64_t discarded, packets;    /* as the warnings say */
	uint64_t warnings;              /* of any kind */
};

static void read_file(const char *path, struct md_buf *b)
{
	FILE *f = fopen(path, "r");
	size_t n;

	md_buf_reset(b);
	while (f && (n = fread(md_buf_room(b, 65536), 1, 65536, f)) > 0)
		b->len += n;
	if (f)
		fclose(f);
	md_buf_str(b);
}

static void write_file(struct trace_image *image, size_t i, const struct image_file *f)
{
	char path[512], *buf = malloc(100000);
	uint64_t at = 0;
	ssize_t n;
	FILE *out;

	snprintf(path, sizeof(path), "%s/trace/%s", dir, f->path);
	for (char *slash = path + strlen(dir) + 7; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = 0;
		mkdir(path, 0700);
	}
	out = fopen(path, "w");
	if (!out)
		abort();
	while ((n = image_read(image, i, at, buf, 99999)) > 0) {
		fwrite(buf, 1, (size_t)n, out);
		at += (uint64_t)n;
	}
	CHECK(n == 0);
	CHECK(at == f->size);
	fclose(out);
	free(buf);
}

static void count_warnings(struct printed *p)
{
	char *at = p->err.data;

	while ((at = strstr(at, "WARNING: "))) {
		unsigned long n = 0;
		char what[32] = "";

		p->warnings++;
		at += 9;
		if (sscanf(at, "Tracer discarded %lu %31s", &n, what) != 2)
			continue;
		if (!strncmp(what, "event", 5))
			p->discarded += n;
		else
			p->packets += n;
	}
}

/* Lets babeltrace2 print what is in the directory. */
static void print_directory(struct printed *p)
{
	char command[512], path[128];

	snprintf(command, sizeof(command), "babeltrace2 %s/trace >%s/out 2>%s/err", dir, dir, dir);
	*p = (struct printed){ 0 };
	p->status = system(command);
	snprintf(path, sizeof(path), "%s/out", dir);
	read_file(path, &p->out);
	snprintf(path, sizeof(path), "%s/err", dir);
	read_file(path, &p->err);
	count_warnings(p);
	if (p->status)
		printf("# babeltrace2: status %d, %.1500s\n", p->status, p->err.data);
	CHECK(!p->status);
}

/* Writes all files, in the order given or backwards, and lets babeltrace2 print them. */
static void print_moment(struct trace_image *image, struct printed *p, bool backwards)
{
	const struct image_file *files;
	size_t n = image_files(image, &files);
	char command[512];

	snprintf(command, sizeof(command), "rm -rf %s/trace && mkdir %s/trace", dir, dir);
	if (system(command))
		abort();
	for (size_t i = 0; i < n; i++) {
		size_t k = backwards ? n - 1 - i : i;

		write_file(image, k, &files[k]);
		CHECK(i == 0 || strcmp(files[i - 1].path, files[i].path) < 0);
	}
	print_directory(p);
}

static void printed_deinit(struct printed *p)
{
	md_buf_deinit(&p->out);
	md_buf_deinit(&p->err);
}

static uint64_t discarded(const struct session *s)
{
	uint64_t sum = 0;
	struct ring_counts c;

	for (size_t i = 0; i < s->set.count; i++) {
		ring_counts(&s->set.streams[i], &c);
		sum += c.discarded;
	}
	return sum;
}

/* Removes the lines about losses, which babeltrace2 prints as errors; how many events they say. */
static uint64_t remove_losses(struct md_buf *text)
{
	static const char begin[] = "WARNING: Tracer discarded ";
	uint64_t sum = 0;
	size_t kept = 0;

	for (size_t at = 0, end; at < text->len; at = end) {
		char *line = text->data + at, *next = memchr(line, '\n', text->len - at);

		end = next ? (size_t)(next + 1 - text->data) : text->len;
		if (!strncmp(line, begin, sizeof(begin) - 1)) {
			sum += strtoull(line + sizeof(begin) - 1, NULL, 10);
			continue;
		}
		memmove(text->data + kept, line, end - at);
		kept += end - at;
	}
	text->len = kept;
	text->data[kept] = '\0';
	return sum;
}

static uint64_t lines(const char *text)
{
	uint64_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static uint64_t held(const struct session *s)
{
	uint64_t sum = 0;
	struct ring_counts c;

	for (size_t i = 0; i < s->visible; i++) {
		ring_counts(&s->set.streams[i], &c);
		sum += c.recorded - c.overwritten;
	}
	return sum;
}

/* text, trace/ and the counters say the same. No process writes meanwhile. */
static void agree(struct session *s)
{
	struct md_buf text = MD_BUF_INIT;
	struct trace_image *image;
	struct printed p;

	fake_text(s, &text);
	/* (Those after the last event are told when an event follows, or at stop.) */
	CHECK(remove_losses(&text) <= discarded(s));
	CHECK(image_take(s, &image) == 0);
	print_moment(image, &p, true);
	image_put(image);
	CHECK_STR(md_buf_str(&text), md_buf_str(&p.out));
	CHECK(lines(text.data) == held(s));
	CHECK(p.discarded == discarded(s));
	CHECK(p.packets == 0);
	printed_deinit(&p);
	md_buf_deinit(&text);
}

static void run_both(enum trail_mode mode)
{
	struct session *s = fake_session(mode, 8192, 4);
	struct fake_threads t;

	agree(s);
	fake_start(s, true);
	fake_threads_run(&t, s, 3, 50);
	agree(s);
	fake_threads_run(&t, s, 8, 3000);
	agree(s);
	fake_threads_run(&t, s, 8, 100);
	agree(s);
	fake_clear(s);
	agree(s);
	fake_threads_run(&t, s, 5, 120);
	agree(s);
	fake_threads_run(&t, s, 5, 1000);
	fake_clear(s);
	fake_threads_run(&t, s, 1, 1);
	agree(s);
	fake_session_destroy(s);
}

static void discard(void)
{
	run_both(TRAIL_MODE_DISCARD);
}

static void overwrite(void)
{
	run_both(TRAIL_MODE_OVERWRITE);
}

/* Moments while writers run, all ways of reading them at once. */
static void live(enum trail_mode mode)
{
	struct session *s = fake_session(mode, 4096, 16);
	struct fake_threads t;
	uint64_t packets = 0;

	fake_start(s, true);
	fake_threads_start(&t, s, 8, UINT64_MAX);
	for (int i = 0; i < 8; i++) {
		struct trace_image *image;
		struct printed p;

		CHECK(image_take(s, &image) == 0);
		if (i == 1)     /* at least one stream has been overwritten */
			fake_threads_wait(&t, 24000);
		if (i % 2)
			usleep(300);
		print_moment(image, &p, i % 4 < 2);
		CHECK(i < 1 || p.warnings == 0 || p.discarded + p.packets > 0);
		CHECK(fake_lines(p.out.data, p.out.len) >= 0);
		packets += p.packets;
		printed_deinit(&p);
		image_put(image);
		if (i % 3 == 2)
			fake_clear(s);
	}
	fake_start(s, false);
	fake_threads_join(&t);
	CHECK(mode == TRAIL_MODE_DISCARD || packets > 0);
	agree(s);
	fake_session_destroy(s);
}

static void live_discard(void)
{
	live(TRAIL_MODE_DISCARD);
}

static void live_overwrite(void)
{
	live(TRAIL_MODE_OVERWRITE);
}

/* What vanished between taking and copying is reported, the size stays. */
static void vanished(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 8);
	struct fake_threads t;
	struct trace_image *image;
	struct printed p;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 3000);
	CHECK(image_take(s, &image) == 0);
	fake_threads_run(&t, s, 8, 150);
	print_moment(image, &p, false);
	CHECK(p.packets > 8);
	CHECK(p.discarded == 0);
	CHECK(fake_lines(p.out.data, p.out.len) > 0);
	printed_deinit(&p);
	image_put(image);
	fake_session_destroy(s);
}

static void quota(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 8);
	const struct image_file *files;
	struct fake_threads t;
	struct trace_image *image;
	char c[4];
	size_t n, refused = 0;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 3000);
	CHECK(image_take(s, &image) == 0);
	s->frozen_max = s->frozen + 60000;
	n = image_files(image, &files);
	CHECK(n == 8 * 2 + 2);
	for (size_t i = 0; i < n; i++) {
		ssize_t r = image_read(image, i, 0, c, 4);

		CHECK(r == 4 || r == -EDQUOT);
		refused += r < 0;
	}
	CHECK(refused > 0 && refused < 16);
	CHECK(image_read(image, n, 0, c, 4) == -EINVAL);
	CHECK(image_read(image, 0, files[0].size, c, 4) == 0);
	CHECK(image_read(image, 0, files[0].size - 1, c, 4) == 1 ||
	      image_read(image, 0, 0, c, 4) == -EDQUOT);
	image_put(image_get(image));
	image_put(image);
	s->frozen_max = 10;
	CHECK(image_take(s, &image) == -EDQUOT);
	fake_session_destroy(s);
}

/* Lines of the honest trace's rings; a hostile line may look like one. */
static uint64_t honest_lines(const struct md_buf *b)
{
	const char *out = b->data;
	uint64_t n = 0;

	while (out && (out = memmem(out, (size_t)(b->data + b->len - out), ", ring = ", 9))) {
		out += 9;
		n += *out >= '0' && *out < '0' + FAKE_RINGS && out[1] == ',';
	}
	return n;
}

/* Reads a packet stream to where it has no more for now. */
static void drain(struct packet_stream *p, FILE *out, ssize_t *last)
{
	char buf[30000];

	while ((*last = packet_stream_read(p, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)*last, out);
}

/*
 * What streams/OWNER/cpuN give, put together to a trace: every event that was not lost, and how
 * many were.
 */
static void streams(enum trail_mode mode)
{
	struct session *s = fake_session(mode, 4096, 8);
	struct packet_stream *p[FAKE_TRACES * FAKE_RINGS];
	FILE *out[FAKE_TRACES * FAKE_RINGS];
	struct fake_threads t;
	struct trace_image *image;
	struct printed printed;
	char path[640];
	ssize_t n = 0;

	CHECK(packet_stream_open(s, "channel0", "0", "cpu9", &p[0]) == -ENOENT);
	CHECK(packet_stream_open(s, "channel0", "7", "cpu0", &p[0]) == -ENOENT);
	CHECK(image_take(s, &image) == 0);
	print_moment(image, &printed, false);   /* for the directory and the metadata */
	printed_deinit(&printed);
	image_put(image);
	for (size_t i = 0; i < s->set.count; i++) {
		const struct stream *st = &s->set.streams[i];

		snprintf(path, sizeof(path), "%s/trace/%s/%s", dir, st->trace->path, st->file);
		out[i] = fopen(path, "w");
		CHECK(packet_stream_open(s, "channel0", st->trace->owner, st->name, &p[i]) == 0);
		CHECK(packet_stream_read(p[i], path, sizeof(path)) == -EAGAIN);
	}
	fake_start(s, true);
	fake_threads_start(&t, s, 6, UINT64_MAX);
	for (int round = 0; round < 30; round++) {
		for (size_t i = 0; i < s->set.count; i++) {
			drain(p[i], out[i], &n);
			CHECK(n == -EAGAIN);
		}
		usleep(3000);
	}
	fake_threads_wait(&t, 100);
	fake_start(s, false);
	fake_threads_join(&t);
	for (size_t i = 0; i < s->set.count; i++) {
		drain(p[i], out[i], &n);
		CHECK(n == 0);
		fclose(out[i]);
		packet_stream_close(p[i]);
	}
	snprintf(path, sizeof(path),
		 "rm -r %s/trace/ust/uid/*/64-bit/index; find %s/trace -size 0 -delete", dir, dir);
	if (system(path))
		abort();
	print_directory(&printed);
	n = fake_lines(printed.out.data, printed.out.len);
	CHECK(n > 0);
	CHECK(printed.discarded == discarded(s));
	if (mode == TRAIL_MODE_DISCARD)
		CHECK(n == (int64_t)held(s) && printed.packets == 0);
	printed_deinit(&printed);
	fake_session_destroy(s);
}

static void streams_discard(void)
{
	streams(TRAIL_MODE_DISCARD);
}

static void streams_overwrite(void)
{
	streams(TRAIL_MODE_OVERWRITE);
}

/*
 * Random bytes over one trace's rings: babeltrace2 can still read all, and the other trace is
 * whole.
 */
static void hostile(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct session *s =
			fake_session(seed % 2 ? TRAIL_MODE_DISCARD : TRAIL_MODE_OVERWRITE, 4096, 8);
		struct md_buf text = MD_BUF_INIT;
		struct fake_threads t;
		struct trace_image *image;
		struct printed p;
		uint64_t n;

		fake_start(s, true);
		fake_threads_run(&t, s, 8, 400);
		s->visible = FAKE_RINGS;
		n = held(s);
		s->visible = s->set.count;
		fake_spoil(s, 1, seed);
		fake_text(s, &text);
		CHECK(honest_lines(&text) >= n);
		CHECK(image_take(s, &image) == 0);
		print_moment(image, &p, true);
		CHECK(honest_lines(&p.out) >= n);
		image_put(image);
		printed_deinit(&p);
		md_buf_deinit(&text);
		fake_session_destroy(s);
	}
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_moment.XXXXXX");
	if (system("babeltrace2 --version >/dev/null 2>&1")) {
		printf("babeltrace2 is not installed\n");
		return 77;
	}
	if (!mkdtemp(dir))
		return 1;
	setenv("TZ", "UTC", 1);
	CASE(discard);
	CASE(overwrite);
	CASE(live_discard);
	CASE(live_overwrite);
	CASE(vanished);
	CASE(streams_discard);
	CASE(streams_overwrite);
	CASE(quota);
	CASE(hostile);
	if (!test_failed) {
		char command[128];

		snprintf(command, sizeof(command), "rm -rf %s", dir);
		if (system(command))
			return 1;
	} else {
		printf("# files are in %s\n", dir);
	}
	return test_summary();
}
