/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of the running kernel's events: all are read, and none takes long. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "metadata/ctf.h"
#include "metadata/text.h"
#include "tests/lib/kformats.h"
#include "tests/unit/kevent/kpayload.h"
#include "tests/lib/test.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/kernel/kevent/transcode.h"

static struct kformat *parse(const char *system, const char *text)
{
	struct kformat *f = NULL;

	CHECK(kformat_parse(system, text, strlen(text), &f) == 0);
	return f;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each event class of this kernel once, and one event of each, from a record of noise. */
static void write_trace(const char *dir, struct md_stream *s, struct md_trace *t,
			const struct md_buf *events)
{
	struct md_packet p = { .magic = MD_CTF_MAGIC, .stream_id = s->id };
	struct md_buf metadata = MD_BUF_INIT;
	char path[128];
	FILE *file;

	memcpy(p.uuid, t->uuid, 16);
	p.content_size = p.packet_size = 8 * (MD_PACKET_HEADER + events->len);
	CHECK(md_ctf_print(t, false, &metadata) == 0);
	snprintf(path, sizeof(path), "%s/metadata", dir);
	file = fopen(path, "w");
	CHECK(file && fwrite(metadata.data, 1, metadata.len, file) == metadata.len &&
	      fclose(file) == 0);
	snprintf(path, sizeof(path), "%s/stream", dir);
	file = fopen(path, "w");
	CHECK(file && fwrite(&p, sizeof(p), 1, file) == 1 &&
	      fwrite(events->data, 1, events->len, file) == events->len);
	CHECK(file && fclose(file) == 0);
	md_buf_deinit(&metadata);
}

static void read_trace(const char *dir, size_t count)
{
	char command[200], line[1 << 16];
	size_t n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "babeltrace2 %s 2>&1", dir);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] == '[' && line[strlen(line) - 1] == '\n')
			n++;
		else if (line[strlen(line) - 1] == '\n')
			printf("# %.200s", line);
	}
	CHECK(f && pclose(f) == 0);
	CHECK(n == count);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(system(command) == 0);
}

static void put_event(struct md_stream *s, const struct kformat *f, uint32_t id, struct md_buf *out)
{
	static uint64_t x = 88172645463325252;
	static uint8_t record[KFORMAT_RECORD_MAX + 64];
	uint8_t header[6] = { 0 };
	const uint16_t short_id = (uint16_t)id;
	struct kcode *c = kcode_make(f);
	struct md_decoder d = { .stream = s };
	struct md_occurrence o;
	size_t i, n = f->size + 64, room = kcode_bound(c, n);
	uint8_t *to = (uint8_t *)md_buf_room(out, 6 + room);
	ssize_t got;

	for (i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		record[i] = (uint8_t)x;
	}
	memcpy(header, &short_id, sizeof(short_id));
	memcpy(to, header, 6);
	got = kcode_run(c, record, n, to + 6, room);
	CHECK(n <= sizeof(record) && got >= 0 && (size_t)got <= room);
	out->len += 6 + (size_t)(got > 0 ? got : 0);
	d.p = to;
	d.end = to + 6 + got;
	CHECK(md_decoder_next(&d, &o) == 1 && d.p == d.end);
	kcode_free(c);
}

static void this_kernel(void)
{
	struct md_trace *t = md_trace_create((const uint8_t[16]){ 7 });
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct md_buf events = MD_BUF_INIT;
	char dir[] = "/tmp/test_kformat.XXXXXX", **names;
	struct filter_event e;
	glob_t g = { 0 };
	size_t i;

	if (glob(TRACEFS "/events/*/*/format", 0, NULL, &g)) {
		md_trace_destroy(t);
		md_stream_destroy(s);
		SKIP("no tracefs that may be read");
	}
	names = calloc(g.gl_pathc, sizeof(*names));
	md_trace_add(t, s);
	md_trace_env(t, "domain", "kernel", 0);
	for (i = 0; i < g.gl_pathc; i++) {
		char *event, *system;
		struct kformat *f;
		struct md_event *class;

		*strrchr(g.gl_pathv[i], '/') = '\0';
		event = strrchr(g.gl_pathv[i], '/');
		*event++ = '\0';
		system = strrchr(g.gl_pathv[i], '/') + 1;
		f = load_format(system, event);
		if (!f) {
			printf("# %s:%s cannot be parsed\n", system, event);
			test_case_failed = 1;
			names[i] = strdup("");
			continue;
		}
		kformat_filter_event(f, &e);
		CHECK(e.field_count == f->field_count);
		names[i] = strdup(kformat_name(f));
		class = kformat_event(f);
		class->id = (uint32_t)i;
		CHECK(md_stream_add(s, class) == 0);
		put_event(s, f, (uint32_t)i, &events);
		kformat_free(f);
	}
	qsort(names, g.gl_pathc, sizeof(*names), by_name);
	for (i = 1; i < g.gl_pathc; i++)
		CHECK(strcmp(names[i - 1], names[i]));
	printf("# %zu events\n", g.gl_pathc);
	if (mkdtemp(dir) && system("babeltrace2 --version >/dev/null 2>&1") == 0) {
		write_trace(dir, s, t, &events);
		read_trace(dir, g.gl_pathc);
	}
	for (i = 0; i < g.gl_pathc; i++)
		free(names[i]);
	free(names);
	globfree(&g);
	md_buf_deinit(&events);
	md_trace_destroy(t);
}

/* Not a check: a figure. */
static void speed(void)
{
	static const struct {
		const char *system, *text, *name;
	} what[] = { { "sched", format_switch, "sched_switch" },
		     { "syscalls", format_open, "sys_enter_open" },
		     { "syscalls", format_openat, "sys_enter_openat with a name" } };
	const int times = 1000000;
	uint8_t r[64] = { 0 }, out[128];
	size_t i;

	memcpy(r + 8, "kworker/0:1", 12);
	for (i = 0; i < 3; i++) {
		struct kformat *f = parse(what[i].system, what[i].text);
		struct kcode *c = kcode_make(f);
		struct timespec begin, end;
		int n;

		put32(r + 48, 12 << 16 | 52);
		memcpy(r + 52, "/etc/passwd", 12);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (n = 0; n < times; n++) {
			CHECK(kcode_run(c, r, sizeof(r), out, sizeof(out)) > 0);
			__asm__ volatile("" ::: "memory");
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("# %s: %.1f ns\n", what[i].name, ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		       (double)(end.tv_nsec - begin.tv_nsec)) / times);
		kcode_free(c);
		kformat_free(f);
	}
}

int main(void)
{
	CASE(this_kernel);
	CASE(speed);
	return test_summary();
}
