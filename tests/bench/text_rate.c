/* SPDX-License-Identifier: MIT */
/*
 * How fast events are decoded and made text.
 *
 *   text_rate                        prints `text_rate CASE events_per_second` and ns per event of
 *                                    both parts
 *   text_rate --write DIR COUNT      writes COUNT events of each case as a CTF trace to DIR/CASE,
 *                                    for `time babeltrace2 DIR/CASE`
 */
#include <sys/stat.h>
#include <time.h>

#include "metadata/ctf.h"
#include "metadata/text.h"
#include "tests/lib/classes.h"

enum {
	EVENTS = 20000, ROUNDS = 100, STEP_NS = 545,
	/* text is taken away in pieces as a read(2) through FUSE has them */
	BLOCK = 128 << 10,
};

struct load {
	const char *name;
	int ints;
	bool string;
};

static const struct load loads[] = { { "int", 1, false },
				     { "int4", 4, false },
				     { "int_string16", 1, true } };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct md_trace *make_trace(const struct load *load)
{
	static const uint8_t uuid[16] = { 42 };
	struct md_event *e =
		md_event_create("my_app:request", 6, (uint32_t)load->ints + load->string);
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	char name[2] = "a";
	int i;

	for (i = 0; i < load->ints; i++, name[0]++)
		set_field(&e->fields[i], name, t_s32());
	if (load->string)
		set_field(&e->fields[i], "s", t_string());
	t->clock_offset = UINT64_C(1795172223238349640);
	md_trace_env(t, "hostname", "vm", 0);
	md_trace_add(t, s);
	md_stream_add(s, e);
	return t;
}

static void put_events(const struct load *load, const struct md_stream *s, uint64_t begin, int n,
		       struct md_buf *b)
{
	uint64_t ts = begin, last = begin;
	int i, j;

	for (i = 0; i < n; i++, ts += STEP_NS) {
		put_header(s, 0, last, ts, false, b);
		for (j = 0; j < load->ints; j++)
			put_int((uint64_t)(i * 7 + j), 4, false, b);
		if (load->string)
			md_buf_put(b, "0123456789abcde", 16);
		last = ts;
	}
}

static void measure(const struct load *load)
{
	struct md_trace *t = make_trace(load);
	const struct md_stream *s = t->streams[0];
	struct md_buf events = MD_BUF_INIT, out = MD_BUF_INIT;
	double best[3] = { 1e30, 1e30, 1e30 }, start;
	uint64_t bytes = 0, lines = 0, length = 0;
	struct md_occurrence o;
	struct md_text text;
	int round;

	put_events(load, s, 0, EVENTS, &events);
	md_text_init(&text, t->clock_offset, "vm");
	for (round = 0; round < 3 * ROUNDS; round++) {
		struct md_decoder d = { .stream = s, .p = (uint8_t *)events.data };
		uint64_t taken = 0;
		double ns;

		d.end = d.p + events.len;
		md_buf_reset(&out);
		start = now();
		if (round % 3 == 2)
			while (md_decoder_next(&d, &o) > 0) {
				struct md_row row = { .d = &d, .until = UINT64_MAX };

				length += md_text_length(&text, &o, s, 0);
				length += md_text_lengths(&text, &row, SIZE_MAX);
			}
		else if (round % 3 == 1)
			while (md_decoder_next(&d, &o) > 0) {
				struct md_row row = { .d = &d, .until = UINT64_MAX };

				if (out.len > BLOCK) {
					taken += out.len;
					md_buf_reset(&out);
				}
				md_text_event(&text, &o, s, 0, &out);
				md_text_events(&text, &row, &out, BLOCK);
			}
		else
			while (md_decoder_next(&d, &o) > 0)
				lines += o.end > o.payload;
		ns = (now() - start) / EVENTS;
		if (round % 3 == 1)
			bytes = (out.len + taken) / EVENTS;
		if (ns < best[round % 3])
			best[round % 3] = ns;
	}
	printf("text_rate %s %.0f\n", load->name, 1e9 / best[1]);
	printf("  decode %.1f ns, decode and text %.1f ns, decode and length %.1f ns, "
	       "%llu bytes a line%s\n",
	       best[0], best[1], best[2], (unsigned long long)bytes, lines && length ? "" : " ?");
	md_buf_deinit(&events);
	md_buf_deinit(&out);
	md_trace_destroy(t);
}

static FILE *create(const char *dir, const char *name, const char *file)
{
	char path[512];
	FILE *f;

	mkdir(dir, 0777);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void write_trace(const struct load *load, const char *dir, long count)
{
	struct md_trace *t = make_trace(load);
	struct md_buf b = MD_BUF_INIT;
	FILE *f = create(dir, load->name, "stream_0");
	struct md_packet p = { .magic = MD_CTF_MAGIC };
	uint64_t ts = 0;
	long done;
	int n;

	memcpy(p.uuid, t->uuid, 16);
	for (done = 0; done < count; done += n, ts += (uint64_t)n * STEP_NS, p.packet_seq_num++) {
		n = count - done < EVENTS ? (int)(count - done) : EVENTS;
		md_buf_reset(&b);
		md_buf_put(&b, &p, sizeof(p));
		put_events(load, t->streams[0], ts, n, &b);
		p.timestamp_begin = ts;
		p.timestamp_end = ts + (uint64_t)n * STEP_NS;
		p.content_size = p.packet_size = b.len * 8;
		memcpy(b.data, &p, sizeof(p));
		fwrite(b.data, 1, b.len, f);
	}
	fclose(f);
	md_buf_reset(&b);
	md_ctf_print(t, false, &b);
	f = create(dir, load->name, "metadata");
	fwrite(b.data, 1, b.len, f);
	fclose(f);
	md_buf_deinit(&b);
	md_trace_destroy(t);
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		if (argc == 4 && !strcmp(argv[1], "--write"))
			write_trace(&loads[i], argv[2], atol(argv[3]));
		else
			measure(&loads[i]);
	return 0;
}
