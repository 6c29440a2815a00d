/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks and definitions of LTT: right ones of all forms with bytes changed, put in and cut off.
 * What the reader returns must decode as events in the order of their times, and each mistake has
 * a sentence. Deterministic: fuzz_ltt SECONDS SEED begins with another seed.
 */
#include "tests/lib/fuzz.h"
#include "tests/lib/ltt_writer.h"

static struct ltt_files files;

static void spoil(struct md_buf *b)
{
	static const uint32_t values[] = { 0, 1, 7, 255, 256, 65535, 65536, 0x7fffffff,
					   0xffffffff };
	static const char *const words[] = {
		"<struct>", "</struct>", "<field name=x>", "</field>", "<union>",
		"<typeref name=pair/>",
		"<sequence>", "size=", "\"", "<!--", "-->", "<", ">", "/>", "<enum>",
		"<label name=a/>",
		"<array size=4000000000>", "&#300;", "trail_context=1", "trail_prefix=",
		"<event name=e>",
	};

	for (uint64_t n = rnd(5); n && b->len > 8; n--) {
		size_t at = rnd(rnd(2) ? b->len : b->len < 120 ? b->len : 120);
		const char *word = words[rnd(sizeof(words) / sizeof(words[0]))];

		switch (rnd(6)) {
		case 0:
			b->data[at] = (char)rnd(256);
			break;
		case 1:
			b->data[at] ^= (char)(1 << rnd(8));
			break;
		case 2:
			if (at + 4 <= b->len)
				memcpy(b->data + at, &values[rnd(9)], 4);
			break;
		case 3:
			b->len = at + 1;
			break;
		default:
			if (at + strlen(word) <= b->len)
				memcpy(b->data + at, word, strlen(word));
		}
	}
}

static void add(const char *path, struct md_buf *b, bool right)
{
	if (!right)
		spoil(b);
	ltt_add_bytes(&files, path, b->data, b->len);
	md_buf_deinit(b);
}

static void make_files(struct ltt_form form)
{
	struct ltt_writer w = { .form = form };
	struct md_buf text = MD_BUF_INIT;
	unsigned int wrong = (unsigned int)rnd(4);

	md_buf_puts(&text, ltt_definition);
	add("eventdefs/fac.xml", &text, wrong != 1);
	ltt_begin_block(&w);
	ltt_load(&w, 1000, "fac", 5);
	if (rnd(2))
		ltt_load(&w, 5000, "fac", 6);
	ltt_end_block(&w, 512);
	add("control/facilities_0", &w.file, wrong != 2);
	w = (struct ltt_writer){ .form = form };
	for (uint64_t block = 0; block < 1 + rnd(3); block++) {
		w.freq = 1 + rnd(4000000000);
		ltt_filled_block(&w, block, rnd(2), rnd(2),
			  400 + rnd(200) + 32 * (size_t)form.align);
	}
	add("cpu_0", &w.file, wrong != 3 && wrong);
}

/* Returns whether all events were read. */
static bool one_round(void)
{
	static const uint8_t aligns[] = { 0, 1, 2, 4, 8 };
	struct ltt_form form = { .big_endian = rnd(2), .heartbeat = rnd(2), .align = aligns[rnd(5)],
				 .minor = rnd(2) ? 3 : 7 };
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text = MD_BUF_INIT;
	struct ltt_trace *t = NULL;
	int ret;

	make_files(form);
	ret = ltt_open(files.list, files.count, &t, &err);
	expect(ret <= 0, "ltt_open returns 0 or an error");
	if (!ret)
		ret = ltt_print(t, &text, &err);
	expect(ret <= 0 && (!ret || *err.sentence), "each mistake has a sentence");
	expect(ret != -EBADMSG && ret != -EAGAIN, "what is returned decodes");
	ltt_close(t);
	ltt_close_files(&files);
	md_buf_deinit(&text);
	return !ret;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	unsigned long long rounds = 0, right = 0;

	fuzz_seed(argc > 2 ? argv[2] : NULL);
	do {
		right += one_round();
		rounds++;
	} while (rounds % 64 || time(NULL) < end);
	printf("ok - %llu rounds, %llu traces without a mistake\n", rounds, right);
	return 0;
}
