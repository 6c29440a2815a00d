/* SPDX-License-Identifier: MIT */
/*
 * Traces with one stream for test_babeltrace.c: written to files, printed by babeltrace2, and
 * compared with our text. The texts of all traces are kept for json_values().
 */
#ifndef TESTS_UNIT_METADATA_TRACE_WRITER_H
#define TESTS_UNIT_METADATA_TRACE_WRITER_H

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metadata/ctf.h"
#include "metadata/json.h"
#include "metadata/number.h"
#include "metadata/program.h"
#include "metadata/text.h"
#include "tests/lib/classes.h"
#include "tests/lib/labels.h"
#include "tests/lib/test.h"

#define OFFSET UINT64_C(1795172223238349640)

static char dir[64];
static struct md_buf all_text, all_json;        /* of all traces */

struct writer {
	struct md_trace *trace;
	struct md_stream *stream;
	struct md_buf file;             /* the stream file */
	struct md_buf text;             /* what babeltrace2 should print */
	struct md_buf json;             /* the same events */
	struct md_text printer;
	size_t packet;                  /* where it begins in file */
	uint64_t begin, last, seq;
	uint32_t cpu;
};

static void writer_init(struct writer *w, enum md_header header)
{
	static const uint8_t uuid[16] = { 1, 2, 3, 4 };

	*w = (struct writer){ .cpu = 3 };
	w->trace = md_trace_create(uuid);
	w->trace->clock_offset = OFFSET;
	md_trace_env(w->trace, "domain", "ust", 0);
	md_trace_env(w->trace, "tracer_name", "lttng-ust", 0);
	md_trace_env(w->trace, "tracer_major", NULL, 2);
	md_trace_env(w->trace, "trace_name", "q\"uo\\te\n\001" "f\xff", 0);
	md_trace_env(w->trace, "hostname", "vm", 0);
	md_trace_env(w->trace, "low", NULL, INT64_MIN + 1);
	w->stream = md_stream_create(7, header);
	w->stream->ctf1 = true;
	CHECK(md_trace_add(w->trace, w->stream) == 0);
	md_text_init(&w->printer, OFFSET, "vm");
}

static void begin_packet(struct writer *w, uint64_t ts)
{
	static const struct md_packet zero;

	w->packet = w->file.len;
	w->begin = w->last = ts;
	md_buf_put(&w->file, &zero, MD_PACKET_HEADER);
}

/* Fills the header, and decodes and formats what is in the packet. */
static void end_packet(struct writer *w)
{
	struct md_packet p = { .magic = MD_CTF_MAGIC,
			       .stream_id = w->stream->id,
			       .cpu_id = w->cpu };
	struct md_decoder d = { .stream = w->stream, .ts = w->begin };
	struct md_occurrence o;
	int ret;

	memcpy(p.uuid, w->trace->uuid, 16);
	p.timestamp_begin = w->begin;
	p.timestamp_end = w->last;
	p.content_size = (w->file.len - w->packet) * 8;
	while ((w->file.len - w->packet) % 4096)
		md_buf_putc(&w->file, 0);
	p.packet_size = (w->file.len - w->packet) * 8;
	p.packet_seq_num = w->seq++;
	memcpy(w->file.data + w->packet, &p, sizeof(p));
	d.p = (uint8_t *)w->file.data + w->packet + MD_PACKET_HEADER;
	d.end = (uint8_t *)w->file.data + w->packet + p.content_size / 8;
	while ((ret = md_decoder_next(&d, &o)) > 0) {
		md_text_event(&w->printer, &o, w->stream, w->cpu, &w->text);
		md_json_event(OFFSET, "vm", &o, w->stream, w->cpu, &w->json);
	}
	CHECK(ret == 0);
}

static void write_file(const char *name, const struct md_buf *b)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f && fwrite(b->data, 1, b->len, f) == b->len);
	if (f)
		fclose(f);
}

static void run_babeltrace(struct md_buf *out)
{
	char command[160], block[65536];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "babeltrace2 %s 2>%s.err", dir, dir);
	f = popen(command, "r");
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		md_buf_put(out, block, n);
	CHECK(pclose(f) == 0);
}

static bool babeltrace_sorts_labels(void)
{
	static int sorts = -1;

	if (sorts < 0)
		sorts = system("babeltrace2 --version 2>&1 | grep -q ' 2\\.0\\.'") != 0;
	return sorts;
}

static void writer_finish(struct writer *w)
{
	struct md_buf metadata = MD_BUF_INIT, out = MD_BUF_INIT;

	CHECK(md_ctf_print(w->trace, false, &metadata) == 0);
	write_file("metadata", &metadata);
	write_file("stream_0", &w->file);
	run_babeltrace(&out);
	md_buf_put(&all_text, out.data, out.len);
	if (babeltrace_sorts_labels()) {
		sort_all_labels(&out);
		sort_all_labels(&w->text);
	}
	CHECK(out.len == w->text.len);
	CHECK_STR(md_buf_str(&w->text), md_buf_str(&out));
	md_buf_put(&all_json, w->json.data, w->json.len);
	md_buf_deinit(&w->json);
	md_buf_deinit(&metadata);
	md_buf_deinit(&out);
	md_buf_deinit(&w->file);
	md_buf_deinit(&w->text);
	md_trace_destroy(w->trace);
}

static void add_event(struct writer *w, uint32_t id, uint64_t ts, bool extended)
{
	put_header(w->stream, id, w->last, ts, extended, &w->file);
	w->last = ts;
}

#endif
