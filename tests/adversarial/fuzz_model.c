/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process that was taken over by a trace may send to the daemon as its model: bytes of a
 * valid one with some changed, cut or repeated. Each is refused, or makes types whose events the
 * decoder and the printers can read without leaving the bytes. A model that is not changed is the
 * same when it is packed again. fuzz_model [SECONDS [SEED]]
 * TIMEOUT: 240
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"

#include "metadata/decode.h"
#include "metadata/json.h"
#include "metadata/text.h"
#include "tests/adversarial/ctf2_trace.h"
#include "tests/adversarial/ctf_trace.h"
#include "tracer/format/foreign/model.h"

#define FILES 3u

static struct md_buf kept[2];   /* models of CTF 1.8 and 2 */

static struct import_file make_file(const char *name, const struct md_buf *b)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	struct stat st;

	expect(fd >= 0 && write(fd, b->data, b->len) == (ssize_t)b->len && !fstat(fd, &st), "file");
	return (struct import_file){ (char *)name, fd, b->len, st.st_mtim, 0 };
}

static void pack_trace(struct md_buf *out, bool ctf2)
{
	struct md_buf text = MD_BUF_INIT, data = MD_BUF_INIT;
	struct import_file files[FILES];
	struct import im = { .path = "/", .files = files, .file_count = FILES };
	struct tr_err err = TR_ERR_INIT;
	uint64_t time = 1000;

	if (ctf2) {
		make_text2(&text);
		make_packet2(&data, &time, 5);
	} else {
		make_text(&text);
		make_packet(&data, 0, &time, 5);
	}
	files[0] = make_file("a_0", &data);
	files[1] = make_file("b_1", &data);
	files[2] = make_file("metadata", &text);
	expect(!import_open(&im, &err), err.sentence);
	model_pack(&im, out);
	expect(!out->failed && im.stream_count, "model_pack");
	import_deinit(&im);
	for (unsigned int i = 0; i < FILES; i++)
		close(files[i].fd);
	md_buf_deinit(&text);
	md_buf_deinit(&data);
}

/* A model as it is read: the same bytes again. */
static void check_same(const struct md_buf *bytes)
{
	struct import_trace traces[4], *list[4];
	struct import_stream streams[8];
	struct input in = { .packets = NULL };
	struct input with = { .packets = (void *)bytes, .losses = (void *)bytes };
	struct import_file files[FILES] = { { 0 } };
	struct import im = { .traces = list, .streams = streams, .files = files };
	struct md_buf again = MD_BUF_INIT;
	struct model m;

	expect(!model_unpack(&m, bytes->data, bytes->len, FILES), "a valid model is refused");
	im.format = m.format;
	md_buf_puts(&im.notes, m.notes);
	im.used = m.used;
	for (; im.trace_count < m.trace_count; im.trace_count++) {
		traces[im.trace_count] = (struct import_trace){
			m.traces[im.trace_count].md, (uint32_t)im.trace_count,
			m.traces[im.trace_count].kernel, ""
		};
		strcpy(traces[im.trace_count].path, m.traces[im.trace_count].path);
		list[im.trace_count] = &traces[im.trace_count];
	}
	for (; im.stream_count < m.stream_count; im.stream_count++) {
		const struct model_stream *s = &m.streams[im.stream_count];

		streams[im.stream_count] = (struct import_stream){
			list[s->trace], list[s->trace]->md->streams[s->class], s->instance, s->cpu,
			&files[s->file], s->packets ? &with : &in
		};
	}
	model_pack(&im, &again);
	expect(again.len == bytes->len && !memcmp(again.data, bytes->data, again.len),
	       "a model is not the same after it was read");
	md_buf_deinit(&again);
	md_buf_deinit(&im.notes);
	model_deinit(&m);
}

static void spoil(struct md_buf *b)
{
	static const uint64_t values[] = { 0, 1, 2, 16, 127, 255, 65535, UINT32_MAX, INT64_MAX,
					   UINT64_MAX };

	for (uint64_t i = 1 + rnd(4); i-- && b->len > 16;) {
		size_t at = rnd(b->len - 8), n = rnd(9);
		uint64_t v = values[rnd(10)];

		switch (rnd(8)) {
		case 0:
			b->len = at;
			break;
		case 1: {
			size_t from = rnd(b->len), most = b->len - (from > at ? from : at);

			memmove(b->data + at, b->data + from, rnd(most < 80 ? most : 80));
			break;
		}
		case 2:
			b->data[at] = (char)(b->data[at] ^ 1 << rnd(8));
			break;
		case 3:
			memcpy(b->data + at, &v, n);
			break;
		default:
			b->data[at] = (char)rnd(256);
		}
	}
}

/* Random bytes after a valid long header of one of the class's events. */
static void read_random(const struct md_stream *class)
{
	struct md_buf bytes = MD_BUF_INIT, text = MD_BUF_INIT;
	struct md_decoder d = { .stream = class };
	struct md_occurrence o;
	struct md_text t;

	md_text_init(&t, 0, "");
	for (uint32_t id = 0; id < 16; id++) {
		if (!md_stream_event(class, id))
			continue;
		import_put_header(&bytes, id, 5);
		for (int i = 0; i < 300; i++)
			md_buf_putc(&bytes, (char)(rnd(3) ? rnd(4) : rnd(256)));
		d.p = (const uint8_t *)bytes.data;
		d.end = d.p + bytes.len;
		if (md_decoder_next(&d, &o) == 1) {
			md_text_event(&t, &o, class, 0, &text);
			md_json_event(0, "", &o, class, 0, &text);
		}
		md_buf_reset(&bytes);
		md_buf_reset(&text);
	}
	md_buf_deinit(&bytes);
	md_buf_deinit(&text);
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 5;
	time_t end = time(NULL) + seconds;
	unsigned long long rounds = 0, valid = 0;

	fuzz_seed(argc > 2 ? argv[2] : NULL);
	for (int i = 0; i < 2; i++) {
		pack_trace(&kept[i], i);
		check_same(&kept[i]);
	}
	for (; rounds % 64 || time(NULL) < end; rounds++) {
		const struct md_buf *from = &kept[rnd(2)];
		struct md_buf b = MD_BUF_INIT;
		struct model m;
		int ret;

		md_buf_put(&b, from->data, from->len);
		spoil(&b);
		ret = model_unpack(&m, b.data, b.len, FILES);
		expect(!ret || ret == -EBADMSG || ret == -ENOMEM, "another error");
		for (uint32_t i = 0; i < m.stream_count && !ret; i++)
			read_random(m.traces[m.streams[i].trace].md->streams[m.streams[i].class]);
		valid += !ret;
		model_deinit(&m);
		md_buf_deinit(&b);
	}
	printf("ok - %llu models, %llu valid\n", rounds, valid);
	return 0;
}
