/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many small inputs of each format that an import reads: metadata and packets of CTF 1.8 and 2,
 * definitions and blocks of LTT. The inputs are kept ones with a few bytes changed, in memory, so
 * that an input takes some microseconds; whole traces, files that change and all views are for
 * fuzz_import and fuzz_ltt. What is read must decode as events in the order of their times, and
 * each mistake has a sentence.
 *
 * fuzz_formats [SECONDS [SEED]]: of each format a million inputs, or 10^8 if SECONDS is 60 or more;
 * fewer if all need more than SECONDS of CPU time, of which each format has the same part. Prints
 * how many there were.
 * TIMEOUT: 240
 */
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/lib/ltt_writer.h"

#include "tests/adversarial/ctf2_trace.h"
#include "tests/adversarial/ctf_trace.h"
#include "tracer/format/ctf2/ctf2.h"
#include "tracer/format/import/ctf.h"
#include "tracer/format/import/ltt_private.h"

#define FILE_SIZE 1024u         /* of each file of packets or blocks */
#define KEPT 16u                /* files of each format */
#define SAME 4096u              /* rounds in which definitions and metadata stay as they are */

#define ANY(list) (list)[rnd(sizeof(list) / sizeof(*(list)))]

static unsigned long long right;        /* inputs without a mistake */

/* ---- changes ---- */

/* Changes up to 4 places of text, where a word replaces as many bytes as it has. */
static size_t spoil_text(char *text, size_t n, const char *const *words, size_t count)
{
	for (uint64_t i = rnd(5); i-- && n;) {
		const char *w = words[rnd(count)];
		size_t at = rnd(n), len = strlen(w);

		switch (rnd(8)) {
		case 0:
			text[at] = (char)rnd(256);
			break;
		case 1:
			n = rnd(8) ? n : at;
			break;
		case 2: {
			size_t from = rnd(n), most = n - (from > at ? from : at);

			memmove(text + at, text + from, rnd(most < 60 ? most : 60));
			break;
		}
		default:
			memcpy(text + at, w, len < n - at ? len : n - at);
		}
	}
	return n;
}

static void spoil_bytes(uint8_t *data, size_t n)
{
	static const uint64_t values[] = { 0, 1, 7, 8, 0x7f, 0xff, 0xffff, 0x7fffffff, UINT32_MAX,
					   INT64_MAX, UINT64_MAX, UINT64_C(1) << 61 };

	for (uint64_t i = rnd(5); i--;) {
		size_t at = rnd(rnd(2) ? n - 8 : 120);
		uint64_t v = ANY(values) + rnd(2);

		if (rnd(3))
			data[at] = (uint8_t)rnd(256);
		else
			memcpy(data + at, &v, rnd(9));
	}
}

/* ---- files in memory ---- */

struct file { int fd; uint8_t *data; };

static void make_file(struct file *f, size_t size)
{
	f->fd = memfd_create("fuzz", MFD_CLOEXEC);
	expect(f->fd >= 0 && !ftruncate(f->fd, (off_t)size), "memfd_create");
	f->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	expect(f->data != MAP_FAILED, "mmap");
}

static void keep(uint8_t *to, const struct md_buf *b)
{
	expect(b->len <= FILE_SIZE && !b->failed, "a kept file is too large");
	memset(to, 0, FILE_SIZE);
	memcpy(to, b->data, b->len);
}

/* ---- metadata of CTF ---- */

#define TRACE "trace { byte_order = le; };"
#define U8 TRACE "typealias integer { size = 8; } := u8;"

static const char *const texts[] = {
	U8 "event { name = \"e\"; id = 1; fields := struct { u8 n; u8 s[n]; string t; }"
	" align(8); };",
	"trace { major = 1; byte_order = le; packet.header := struct { integer { size = 32; }"
	" magic; }; }; env { a = \"x\"; b = -5; };",
	TRACE "clock { name = c; freq = 1000; offset_s = 17; offset = 2; };\n"
	"typealias integer { size = 27; align = 1; map = clock.c.value; } := uint27_t;",
	TRACE "stream { id = 0; event.header := struct { enum : integer { size = 5; align = 1; } "
	"{ a = 0 ... 30, b = 31 } id; variant <id> { struct { } a; string b; } v; }; };",
	U8 "enum k : u8 { none, \"one\" = 1, some = 2 ... 9 }; event { name = x; fields := struct {"
	"enum k t; variant <t> { u8 none; string one; } v; }; };",
	TRACE "typedef integer { size = 3; align = 1; signed = 1; base = hex; } bits[4][2];"
	"/* x */ "
	"struct s { bits a; floating_point { exp_dig = 8; mant_dig = 24; } f; } align(32);",
	"trace { major = 1; minor = 6; word_size = 32; }; stream { id = 1; event {"
	" header_type = event_header_1; header_type_ext = struct event_header_1_ext;"
	" context_type = struct { long a; }; } packet { context_type = struct { int b; }; } };"
	"event { name = e; stream = 1; fields = struct { int c; }; };",
	TRACE "event { name = \"\\x41\\\"\"; loglevel = 13; // x\nfields := struct { string {"
	" encoding = ASCII; } s; struct { string a; } t[3]; }; };",
};

static const char *const words[] = {
	"struct {", "}", "};", "enum", "enum : ", "variant <", "align(1048576)", "[", "]", "[n]",
	"[16777216]", "typealias", "typedef", ":=", "=", "<", ">", "...", "integer", "string", "u8",
	"trace {", "event {", "stream {", "env {", "clock {", "/*", "*/", "//", "\"", "\\", "id",
	"size = 64", "signed = 1;", ";", ",", "0", "-1", "18446744073709551615", "0x80000000",
	"stream.packet.context.n", "byte_order = be;", "{ } ", "event {", "packet {", "minor = 6;",
	"header_type = event_header_1;", "header_type_ext", "[NR_FIELDS]", "word_size = 32;",
};

static void metadata_round(void)
{
	const char *from = ANY(texts);
	size_t n = strlen(from);
	struct tr_err err = TR_ERR_INIT;
	struct tsdl t = { 0 };
	char text[512];
	int ret;

	memcpy(text, from, n);
	n = spoil_text(text, n, words, sizeof(words) / sizeof(*words));
	ret = tsdl_parse(&t, text, n, "metadata", &err);
	expect(!ret || (ret == -EINVAL && *err.sentence), "metadata: each mistake has a sentence");
	right += !ret;
	tsdl_deinit(&t);
}

/* A text with a trace and an event: a mistake in a fragment is found in microseconds. */
static void json_round(void)
{
	static struct md_buf text;
	struct tr_err err = TR_ERR_INIT;
	struct tsdl t = { 0 };
	int ret;

	make_text2(&text);
	text.len = spoil_text(text.data, text.len, words2, sizeof(words2) / sizeof(*words2));
	ret = ctf2_parse(&t, text.data, text.len, "metadata", &err);
	expect(!ret || (ret == -EINVAL && *err.sentence), "CTF 2: each mistake has a sentence");
	right += !ret;
	tsdl_deinit(&t);
}

/* ---- packets of CTF ---- */

static uint8_t packets[KEPT][FILE_SIZE];        /* odd ones are of the second stream */
static struct file packet_files[3];
static struct import_file import_files[3];
static struct import *im;
static bool ctf2;               /* the packets are of CTF 2 */

static void make_packets(void)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct md_buf b = MD_BUF_INIT;
		uint64_t time = 1000, class = i % 2 ? 7 : 0;

		if (ctf2) {
			make_packet2(&b, &time, 1 + (unsigned int)rnd(9));
			b.data[21] = 0;         /* the total length */
			b.data[22] = 8 * FILE_SIZE >> 8;
			keep(packets[i], &b);
			md_buf_deinit(&b);
			continue;
		}
		make_packet(&b, (uint32_t)class, &time, class ? 20 : 1 + (unsigned int)rnd(6));
		/* The packet is the whole file. The class decides where its size is. */
		set_number(&b, class ? 32 : 56, 8 * FILE_SIZE);
		keep(packets[i], &b);
		md_buf_deinit(&b);
	}
}

static void open_packets(void)
{
	static const char *const names[] = { "a_0", "b_1", "metadata" };
	struct md_buf text = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	struct stat st;

	big = !big;
	ctf2 = rnd(2);
	make_packets();
	if (ctf2)
		make_text2(&text);
	else
		make_text(&text);
	im = calloc(1, sizeof(*im));
	im->files = import_files;
	im->file_count = 3;
	for (size_t i = 0; i < 3; i++) {
		make_file(&packet_files[i], i < 2 ? FILE_SIZE : text.len);
		memcpy(packet_files[i].data, i < 2 ? (const void *)packets[i] : text.data,
		       i < 2 ? FILE_SIZE : text.len);
		/* (Bytes that are written through a mapping do not change the time of a memfd.) */
		expect(!fstat(packet_files[i].fd, &st), "fstat");
		import_files[i] = (struct import_file){ (char *)names[i], packet_files[i].fd,
							(uint64_t)st.st_size, st.st_mtim, 0 };
	}
	expect(!ctf_format.open(im, &err) && im->stream_count == 2, err.sentence);
	md_buf_deinit(&text);
}

static void close_packets(void)
{
	import_deinit(im);
	for (size_t i = 0; i < 3; i++) {
		munmap(packet_files[i].data, import_files[i].size);
		close(packet_files[i].fd);
	}
	free(im);
	im = NULL;
}

/* Decodes what was read. */
static void check_events(const struct md_stream *class, const struct md_buf *out, uint64_t *last)
{
	struct md_decoder d = { .stream = class, .p = (const uint8_t *)out->data };
	struct md_occurrence o;
	int ret;

	d.end = d.p + out->len;
	while ((ret = md_decoder_next(&d, &o)) == 1) {
		expect(o.ts >= *last, "packets: times decrease");
		*last = o.ts;
	}
	expect(!ret, "packets: what is returned decodes");
}

static void packet_round(void)
{
	static struct md_buf out;
	static unsigned int rounds;
	size_t kept = rnd(KEPT), file = kept % 2;
	const struct import_stream *s;
	struct input_place at = { 0 };
	uint64_t last = 0;
	uint32_t cpu;
	int ret;

	if (rounds++ % SAME == 0) {
		if (im)
			close_packets();
		open_packets();
	}
	s = &im->streams[!strcmp(im->streams[0].file->path, "a_0") ? file : !file];
	memcpy(packet_files[file].data, packets[kept], FILE_SIZE);
	spoil_bytes(packet_files[file].data, FILE_SIZE);
	do {
		md_buf_reset(&out);
		ret = s->in->read(s->in, &at, 2000, &out, &cpu);
		check_events(s->class, &out, &last);
	} while (ret == 1);
	right += !ret;
}

/* ---- LTT ---- */

static const char *const definitions[] = {
	"<facility name=fac><event name=e><field name=a><description>d</description><int/></field>"
	"<field name=b><ulong></ulong></field></event></facility>",
	"<facility name=fac><type name=mode><enum size=1><label name=LOW value=3/>"
	"<label name=HIGH></label></enum></type><event name=e><field name=m>"
	"<typeref name=mode/></field></event>"
	"</facility>",
	"<!-- x --><facility name=\"fac\" arch='i386'><event name='e' per_trace><field name=p>"
	"<array size=2><uint size=2 network/></array></field></event></facility>",
	"<facility name=fac><event name=e><field name=q><sequence><uint size=2/><struct><field "
	"name=x><string/></field></struct></sequence></field></event></facility>",
	"<facility name=fac><event name=e><field name=u><union><field name=w><float size=4/>"
	"</field>"
	"<field name=c><pointer/></field></union></field></event></facility>",
};

static const char *const tags[] = {
	"<struct>", "</struct>", "<field name=x>", "</field>", "<union>", "<typeref name=pair/>",
	"<sequence>", "size=", "\"", "<!--", "-->", "<", ">", "/>", "<enum>", "<label name=a/>",
	"<array size=4000000000>", "&#300;", "trail_context=1", "trail_prefix=", "<event name=e>",
};

static void definition_round(void)
{
	static struct ltt_facility f;
	const char *from = ANY(definitions);
	size_t n = strlen(from);
	struct tr_err err = TR_ERR_INIT;
	char text[512];
	int ret;

	strcpy(f.name, "fac");
	f.sizes = (struct ltt_sizes){ 4, 8, 8, 8, (uint8_t)(rnd(3) * 4), rnd(2), rnd(2) };
	memcpy(text, from, n);
	n = spoil_text(text, n, tags, sizeof(tags) / sizeof(*tags));
	ret = ltt_parse(&f, "fac.xml", text, n, &err);
	expect(ret >= 0 || *err.sentence, "definitions: each mistake has a sentence");
	right += ret == 1;
	for (uint32_t i = 0; i < f.count; i++) {
		md_event_destroy(f.events[i].e);
		f.events[i] = (struct ltt_event){ 0 };
	}
	f.count = f.types = 0;
}

static struct ltt_files ltt_files;
static struct ltt_trace *ltt;
static struct file ltt_cpu;
static uint8_t blocks[KEPT][FILE_SIZE];

static void make_blocks(struct ltt_form form)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct ltt_writer w = { .form = form };

		for (uint64_t block = 0; block < 2; block++) {
			w.freq = 1 + rnd(4000000000);
			ltt_filled_block(&w, block, rnd(2), rnd(2), FILE_SIZE / 2);
		}
		keep(blocks[i], &w.file);
		md_buf_deinit(&w.file);
	}
}

static void open_blocks(void)
{
	static const uint8_t aligns[] = { 0, 1, 2, 4, 8 };
	struct ltt_form form = { .big_endian = rnd(2), .heartbeat = rnd(2), .align = ANY(aligns),
				 .minor = rnd(2) ? 3 : 7 };
	struct ltt_writer w = { .form = form };
	struct tr_err err = TR_ERR_INIT;

	make_blocks(form);
	ltt_begin_block(&w);
	ltt_load(&w, 1000, "fac", 5);
	ltt_end_block(&w, 512);
	ltt_add_bytes(&ltt_files, "eventdefs/fac.xml", ltt_definition, strlen(ltt_definition));
	ltt_add_bytes(&ltt_files, "control/facilities_0", w.file.data, w.file.len);
	make_file(&ltt_cpu, FILE_SIZE);
	memcpy(ltt_cpu.data, blocks[0], FILE_SIZE);
	ltt_add_file(&ltt_files, "cpu_0", ltt_cpu.fd);
	expect(!ltt_open(ltt_files.list, ltt_files.count, &ltt, &err), err.sentence);
	md_buf_deinit(&w.file);
}

static void close_blocks(void)
{
	ltt_close(ltt);
	ltt_close_files(&ltt_files);
	munmap(ltt_cpu.data, FILE_SIZE);
	ltt = NULL;
}

static void block_round(void)
{
	static struct md_buf text;
	static unsigned int rounds;
	struct tr_err err = TR_ERR_INIT;
	int ret;

	if (rounds++ % SAME == 0) {
		if (ltt)
			close_blocks();
		open_blocks();
	}
	memcpy(ltt_cpu.data, blocks[rnd(KEPT)], FILE_SIZE);
	spoil_bytes(ltt_cpu.data, FILE_SIZE);
	md_buf_reset(&text);
	ret = ltt_print(ltt, &text, &err);
	expect(ret <= 0 && (!ret || *err.sentence), "blocks: each mistake has a sentence");
	expect(ret != -EBADMSG && ret != -EAGAIN, "blocks: what is returned decodes");
	right += !ret;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(void);
	} formats[] = {
		{ "CTF metadata", metadata_round }, { "CTF 2 metadata", json_round },
		{ "CTF packets", packet_round },
		{ "LTT definitions", definition_round }, { "LTT blocks", block_round },
	};
	enum { FORMATS = sizeof(formats) / sizeof(*formats) };
	long seconds = argc > 1 ? atol(argv[1]) : 5;
	unsigned long long most = seconds < 60 ? 1000000 : 100000000;

	fuzz_seed(argc > 2 ? argv[2] : NULL);
	for (size_t i = 0; i < FORMATS; i++) {
		/* CPU time: on a busy machine it takes longer, and has as many inputs. */
		clock_t end = clock() + seconds * CLOCKS_PER_SEC / (long)FORMATS;
		unsigned long long n = 0;

		right = 0;
		for (; n < most && (n % 256 || clock() < end); n++)
			formats[i].round();
		printf("ok - %s: %llu inputs, %llu without a mistake\n", formats[i].name, n, right);
	}
	close_packets();
	close_blocks();
	return 0;
}
