/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * Traces of users, who may write anything: metadata of CTF 1.8 and 2 whose text is changed, packets
 * whose bytes and sizes are changed, files that are something else, or change while they are read.
 * A session opens each as its `input` and reads all of it as text: it ends, with no more events
 * than there are bits, and the text from any place is the text of the first reading. fuzz_import
 * [SECONDS [SEED]]: the seed of a round is its number. FUZZ_SHOW=1 prints why inputs are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/adversarial/ctf2_trace.h"
#include "tests/adversarial/ctf_trace.h"
#include "tracer/face/tracer.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/view/views.h"

#define ROUND_MAX 300           /* seconds: a round that takes longer hangs */
#define ROUNDS 500u             /* at most, for each second that it may take */
#define TEXT_MOST (1u << 16)
#define PACKETS 4
#define EVENTS 12               /* of a packet */
#define SMALL_EVENTS 240        /* of the other stream's packet, which may be compressed */

static char dir[256], trace_dir[300], lket_dir[310];
static struct tracer *t;
static struct session *s;

/* ---- what may be wrong with it ---- */

static const char *const words[] = {
	"struct {", "}", "};", "enum", "enum : ", "variant <", "variant <id> {", "align(1048576)",
	"[", "]", "[16777216]", "[_n]", "typealias", "typedef", ":=", "=", "<", ">", "...",
	"integer", "integer { size = 1; }", "string", "floating_point", "struct { } ", "uint8_t",
	"trace {", "event {", "stream {", "env {", "clock {", "/*", "*/", "//", "\"", "\\", "id",
	"map = clock.slow.value;", "byte_order = be;", "stream.packet.context.cpu_id",
	"trace.packet.header.magic", "signed = 1;", ";", ",", "_n",
	"enum <uint8_t> {", ":3", ":13;", "[uint8_t]", "[int]", "exp_dig = 64;", "mant_dig = 64;",
	"floating_point { exp_dig = 5; mant_dig = 11; }", "*", "uint27_t", "short",
	"[NR_FIELDS]", "minor = 6;", "word_size = 32;", "header_type = event_header_1;",
	"event { context_type = struct", "packet { context_type = struct", "event_header_2_ext",
};

static const char *const numbers[] = {
	"0", "1", "-1", "64", "4294967295", "4294967296", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "0x8000000000000000",
};

#define ANY(list) (list)[rnd(sizeof(list) / sizeof(*(list)))]

static void edit(struct md_buf *b, size_t at, size_t gone, const char *in, size_t n)
{
	struct md_buf all = MD_BUF_INIT;

	md_buf_put(&all, b->data, at);
	md_buf_put(&all, in, n);
	md_buf_put(&all, b->data + at + gone, b->len - at - gone);
	md_buf_deinit(b);
	*b = all;
}

/* The next number or word in place of which another comes. */
static void swap_word(struct md_buf *b, size_t at, bool number, const char *word)
{
	const char *w = number ? ANY(numbers) : word;
	const char *set = number ? "0123456789" : "abcdefghijklmnopqrstuvwxyz_-";
	size_t n = 0;

	while (at < b->len && !strchr(set, b->data[at]))
		at++;
	while (at + n < b->len && b->data[at + n] && strchr(set, b->data[at + n]))
		n++;
	edit(b, at, n, w, strlen(w));
}

/* A piece of the text comes again, at another place, once or often. */
static void repeat(struct md_buf *b)
{
	size_t from = rnd(b->len), n = rnd(b->len - from < 400 ? b->len - from : 400) + 1;
	size_t times = rnd(8) ? 1 : rnd(200), at = rnd(2) ? from : rnd(b->len);
	struct md_buf piece = MD_BUF_INIT;

	while (times-- && b->len + piece.len < TEXT_MOST)
		md_buf_put(&piece, b->data + from, n);
	edit(b, at, 0, piece.data ? piece.data : "", piece.len);
	md_buf_deinit(&piece);
}

static void spoil_text(struct md_buf *b, bool ctf2)
{
	for (uint64_t i = 1 + rnd(4); i-- && b->len;) {
		size_t at = rnd(b->len);
		const char *w = ctf2 ? ANY(words2) : ANY(words);
		uint64_t times = rnd(16) ? 1 : rnd(2000);

		switch (rnd(8)) {
		case 0:
			b->data[at] = (char)rnd(256);
			break;
		case 1:
			while (times-- && b->len < TEXT_MOST)
				edit(b, at, 0, w, strlen(w));
			break;
		case 2: case 3:
			swap_word(b, at, true, w);
			break;
		case 4:
			swap_word(b, at, false, w);
			break;
		case 5:
			edit(b, at, rnd(b->len - at < 200 ? b->len - at : 200), "", 0);
			break;
		case 6:
			b->len = rnd(16) ? b->len : at;
			break;
		default:
			repeat(b);
		}
	}
}

static void spoil_bytes(struct md_buf *b)
{
	static const uint64_t values[] = { 0, 1, 7, 8, 0x7f, 0xff, 0x7fffffff, UINT32_MAX,
					   INT64_MAX, UINT64_MAX, UINT64_C(1) << 61 };

	for (uint64_t i = 1 + rnd(4); i-- && b->len;) {
		size_t at = rnd(4) ? rnd(b->len) : rnd(b->len < 100 ? b->len : 100);
		uint64_t v = ANY(values) + rnd(2);

		switch (rnd(8)) {
		case 0:
			b->len = at;
			break;
		case 1:
			edit(b, at, 0, b->data, rnd(b->len));
			break;
		case 2:
			edit(b, at, rnd(b->len - at), "", 0);
			break;
		case 3: case 4:
			memcpy(b->data + at, &v, b->len - at < 8 ? b->len - at : 8);
			break;
		default:
			b->data[at] = (char)rnd(256);
		}
	}
}

/* As the metadata of LTTng: packets of text, with headers of 37 bytes. */
static void pack_text(struct md_buf *b)
{
	struct md_buf all = MD_BUF_INIT;

	for (size_t at = 0; at < b->len;) {
		size_t n = 1 + rnd(b->len - at < 3000 ? b->len - at : 3000), rest = rnd(30);

		put_number(&all, 0x75d11d57, 4);
		md_buf_put(&all, "uuuuuuuuuuuuuuuu", 16);
		put_number(&all, 0, 4);
		put_number(&all, 8 * (37 + n), 4);
		put_number(&all, 8 * (37 + n + rest), 4);
		md_buf_put(&all, "\0\0\0\1\10", 5);
		md_buf_put(&all, b->data + at, n);
		for (at += n; rest; rest--)
			md_buf_putc(&all, 0);
	}
	md_buf_deinit(b);
	*b = all;
}

static void write_file(const char *name, const struct md_buf *b)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	unlink(path);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	expect(fd >= 0 && write(fd, b->data, b->len) == (ssize_t)b->len, "write a file");
	close(fd);
}

/* Something else with the name of a file. */
static void replace_file(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	unlink(path);
	switch (rnd(3)) {
	case 0:
		expect(!mkfifo(path, 0600), "mkfifo");
		break;
	case 1:
		expect(!symlink("/dev/zero", path), "symlink");
		break;
	default:
		expect(!symlink(".", path), "symlink");
	}
}

static void change_file(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	/* (Something else may have its name, beside LKET's file.) */
	if (truncate(path, (off_t)rnd(2000)))
		expect(errno != EACCES, "truncate");
}

/* ---- reading it ---- */

static struct md_buf all;

static void read_again(struct text_view *v)
{
	static char buf[5000];

	for (int i = 0; i < 4 && all.len; i++) {
		uint64_t at = rnd(all.len);
		ssize_t n = text_read(v, at, buf, 1 + rnd(sizeof(buf)));

		expect(n > 0 && at + (uint64_t)n <= all.len, "the text ends earlier than before");
		expect(!memcmp(buf, all.data + at, (size_t)n), "the text is not as before");
	}
}

/* Returns the number of events. steady: the files do not change. */
static uint64_t read_text(enum text_form form, bool steady, uint64_t most)
{
	static char buf[70000];
	struct text_view *v;
	uint64_t lines = 0;
	ssize_t n;

	md_buf_reset(&all);
	if (text_open(s, form, &v))
		return 0;       /* it is not valid from the beginning on, or has changed */
	while ((n = text_read(v, all.len, buf, 1 + rnd(sizeof(buf)))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			lines += buf[i] == '\n';
		md_buf_put(&all, buf, (size_t)n);
		expect(lines <= most, "there are more events than bits");
	}
	if (steady)
		read_again(v);
	text_close(v);
	return lines;
}

static void read_moment(void)
{
	static char buf[70000];
	const struct image_file *list;
	struct trace_image *image;

	if (image_take(s, &image))
		return;
	for (size_t i = image_files(image, &list); i-- > 0;) {
		uint64_t at = 0;
		ssize_t n;

		while ((n = image_read(image, i, at, buf, sizeof(buf))) > 0)
			at += (uint64_t)n;
		expect(at <= list[i].size, "image_read");
	}
	image_put(image);
}

static int set_input(const char *path)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = input_store(s, path, false, &err);

	expect(!ret || err.sentence[0], "an error without a sentence");
	if (ret && getenv("FUZZ_SHOW"))
		printf("# %s\n", err.sentence);
	return ret;
}

/* A valid trace of two streams. */
static void make_trace(struct md_buf *text, struct md_buf *data, struct md_buf *two, bool ctf2)
{
	uint64_t time = 1000, slow = 1000;

	if (ctf2)
		make_text2(text);
	else
		make_text(text);
	for (int i = 0; i < PACKETS; i++)
		if (ctf2)
			make_packet2(data, &time, EVENTS);
		else
			make_packet(data, 0, &time, EVENTS);
	if (ctf2)
		make_packet2(two, &slow, SMALL_EVENTS);
	else
		make_packet(two, 7, &slow, SMALL_EVENTS);
}

static void round_of(uint64_t seed)
{
	static struct md_buf text, data, two, lket;
	uint64_t most, lines;
	bool bad_text = seed % 4 == 1 || seed % 4 == 2, bad_data = seed % 4 >= 2, steady = true;
	bool ctf2 = seed / 4 % 2;

	alarm(ROUND_MAX);
	fuzz_state = 88172645463325252u ^ seed * 0x9e3779b97f4a7c15u;
	big = rnd(2);
	md_buf_reset(&data);
	md_buf_reset(&two);
	make_trace(&text, &data, &two, ctf2);
	md_buf_reset(&lket);
	if (seed % 8 == 6) {
		make_lket(&lket);
		spoil_bytes(&lket);
	}
	if (bad_text)
		spoil_text(&text, ctf2);
	if (rnd(4) == 0)
		pack_text(&text);
	if (bad_text && rnd(8) == 0)
		spoil_bytes(&text);
	if (bad_data)
		spoil_bytes(rnd(4) ? &data : &two);
	write_file("metadata", &text);
	write_file("a_0", &data);
	write_file("b_1", &two);
	write_file("lket/stpd_cpu0", &lket);
	if (bad_data && rnd(16) == 0)
		replace_file(rnd(4) ? "b_1" : "metadata");
	/* (Two may be compressed, to less than a bit for each event.) */
	most = bad_data ? UINT64_MAX : 8 * (data.len + 4 * SMALL_EVENTS);
	if (!set_input(trace_dir)) {
		if (bad_data && rnd(8) == 0) {
			change_file(rnd(2) ? "a_0" : "metadata");
			steady = false;
		}
		lines = read_text(TEXT_PLAIN, steady, most);
		expect(bad_text || bad_data || lines == PACKETS * EVENTS + SMALL_EVENTS,
		       "a valid trace does not have all its events");
		if (rnd(4) == 0)
			read_text(TEXT_JSON, steady, most);
		if (rnd(4) == 0)
			read_moment();
	} else {
		expect(bad_text || bad_data, "a valid trace is refused");
	}
	set_input("");
}

/* ---- what a random change hardly finds ---- */

static void write_trace(const struct md_buf *text, const struct md_buf *data)
{
	struct md_buf none = MD_BUF_INIT;

	write_file("metadata", text);
	write_file("a_0", data);
	write_file("b_1", &none);
}

/* `enum : enum : …` has no end that a stack could reach. */
static void nested_enums(void)
{
	struct md_buf text = MD_BUF_INIT, data = MD_BUF_INIT;

	make_text(&text);
	for (int i = 0; i < 200000; i++)
		md_buf_puts(&text, "enum : ");
	write_trace(&text, &data);
	expect(set_input(trace_dir) == -EINVAL, "nested enumerations are accepted");
	md_buf_deinit(&text);
}

/* The header's time is in an option that the packet's context does not select. */
static void empty_events(void)
{
	struct md_buf text = MD_BUF_INIT, data = MD_BUF_INIT;

	md_buf_puts(&text, "trace { byte_order = le; }; clock { name = c; };"
			   "typealias integer { size = 8; map = clock.c.value; } := u8;"
			   "stream { packet.context := struct { enum : u8 { no, yes } tag; };"
			   "event.header := struct { variant <stream.packet.context.tag> {"
			   "struct { } no; u8 yes; } v; }; };"
			   "event { name = \"e\"; fields := struct { }; };");
	md_buf_put(&data, "\0\0\0", 3);
	write_trace(&text, &data);
	expect(!set_input(trace_dir), "a trace with a strange header is refused");
	expect(!read_text(TEXT_PLAIN, true, 24), "there are events without bits");
	set_input("");
	data.data[0] = 1;
	write_trace(&text, &data);
	expect(!set_input(trace_dir), "a trace with a variant in its header is refused");
	expect(read_text(TEXT_PLAIN, true, 24) == 2, "events of a byte are not read");
	set_input("");
	md_buf_deinit(&text);
	md_buf_deinit(&data);
}

/* Views rely on times that never decrease: a packet that is earlier than the one before ends it. */
static void earlier_packet(void)
{
	struct md_buf text = MD_BUF_INIT, data = MD_BUF_INIT;
	uint64_t time = 5000;

	make_text(&text);
	make_packet(&data, 0, &time, EVENTS);
	time = 3000;
	make_packet(&data, 0, &time, 0);
	time = 4000;
	make_packet(&data, 0, &time, EVENTS);
	write_trace(&text, &data);
	expect(!set_input(trace_dir), "a trace with an earlier packet is refused");
	expect(read_text(TEXT_PLAIN, true, UINT64_MAX) <= EVENTS, "an earlier packet is read");
	set_input("");
	md_buf_deinit(&text);
	md_buf_deinit(&data);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	time_t end = time(NULL) + seconds;
	uint64_t most = ROUNDS * (uint64_t)seconds;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, rounds = 0;
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tracer_config config = { 0 };
	struct tr_err err = TR_ERR_INIT;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	setenv("TZ", "UTC", 1);
	snprintf(dir, sizeof(dir), "%s/import.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	expect(mkdtemp(dir) != NULL, "mkdtemp");
	snprintf(trace_dir, sizeof(trace_dir), "%s/in", dir);
	expect(!mkdir(trace_dir, 0700), "mkdir");
	snprintf(lket_dir, sizeof(lket_dir), "%s/lket", trace_dir);
	expect(!mkdir(lket_dir, 0700), "mkdir");
	setenv("TRAIL_RUNTIME_DIR", dir, 1);
	config.state_dir = dir;
	expect(!tracer_open(&config, &t, &err) &&
		       !session_create(t, "a", &me, &err) &&
		       (s = session_get(t, "a")), err.sentence);
	nested_enums();
	empty_events();
	earlier_packet();
	do {
		round_of(seed++);
		rounds++;
	} while (time(NULL) < end && rounds < most);
	session_put(s);
	tracer_close(t, false);
	printf("fuzz_import: %llu rounds\n", (unsigned long long)rounds);
	return 0;
}
