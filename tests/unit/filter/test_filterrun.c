/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are run as they should not be, and how long it takes. What filters mean:
 * test_filter.c.
 */
#include <time.h>

#include "tests/lib/plain_filter.h"
#include "tests/lib/test.h"

/*
 * No prefix of a payload makes it read past the end (ASan and valgrind see), and none makes what
 * is far away hold.
 */
static void payloads_cut_short(void)
{
	static const char *const all[] = {
		"id < 0",
		"s8 == -3",
		"u16 > 5",
		"most != 3",
		"be64 == -5",
		"f64 < 0",
		"fbe",
		"mac[3] == 4",
		"comm == \"bash\"",
		"full == \"abcd\"",
		"path == \"/usr/bin/app\\*\"",
		"path == \"/usr*\"",
		"path == \"*app*\"",
		"path == \"*\\*\"",
		"code > 3",
		"vals[2] == 30",
		"vals[0] < 0",
		"msg == \"h*o\"",
		"after < 0",
		"ports[1] > 5",
		"!none[0]",
		"none[0] || 1",
		"empty == \"\"",
		"hidden == 42",
		"secret == \"/usr*\"",
		"secret == \"*p\\*\"",
		"secret == path",
		"path != secret",
	};
	struct sample s;
	size_t i, len;

	sample_everything(&s);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct filter *f = sample_parse(all[i]);
		const struct filter *const list[] = { f };
		struct filter_event e = sample_event(&s);
		struct md_buf out = MD_BUF_INIT;

		if (!filter_compile(list, 1, &e, &out))
			for (len = 0; len <= s.payload.len; len++) {
				uint8_t *exact = len ? malloc(len) : NULL;
				struct filter_input in = { .payload = exact,
							   .len = len,
							   .context = sample_context };

				if (len)
					memcpy(exact, s.payload.data, len);
				if (filter_run(out.data, out.len, &in) && strstr(all[i], "secret"))
					CHECK(len + strlen("/usr/bin/app*") >= s.payload.len);
				free(exact);
			}
		md_buf_deinit(&out);
		filter_put(f);
	}
	sample_deinit(&s);
}

static struct filter_word word(unsigned int op, unsigned int flag, unsigned int jump, uint32_t at,
			       uint32_t a, uint32_t b)
{
	return (struct filter_word){ (uint8_t)op, (uint8_t)flag, (uint16_t)jump, at, a, b };
}

/* A program of one word before `return true`. */
static bool verified(struct filter_word w)
{
	uint8_t program[4 * FILTER_WORD] = { 0 };

	filter_put_word(program, word(FILTER_HEADER, 0, 0, 3, FILTER_VERSION, 0));
	filter_put_word(program + 16, w);
	filter_put_word(program + 32, word(FILTER_RETURN, 0, 0, 1, 0, 0));
	return filter_verify(program, sizeof(program));
}

static void bad_programs(void)
{
	uint8_t program[2 * FILTER_WORD] = { 0 };
	uint32_t sized = FILTER_PLACE(4, 0, 0, 0), many = FILTER_PLACE(4, 0, 1, 2);

	CHECK(verified(word(FILTER_RANGE_32, 0, FILTER_JUMP_FALSE, 0, 0, 5)));
	CHECK(verified(word(FILTER_RANGE_32, 0x80 | 64, 0, 0, 0, 5)));
	CHECK(!verified(word(FILTER_RANGE_32, 65, 0, 0, 0, 5)));
	CHECK(!verified(word(FILTER_RANGE_32, 0, 1, 0, 0, 5)));
	CHECK(!verified(word(0, 0, 0, 0, 0, 0)));
	CHECK(!verified(word(FILTER_OPS, 0, 0, 0, 0, 0)));
	CHECK(!verified(word(FILTER_HEADER, 0, 0, 3, FILTER_VERSION, 0)));
	CHECK(!verified(word(FILTER_RETURN, 0, 0, 2, 0, 0)));
	CHECK(verified(word(FILTER_JUMP, 0, FILTER_JUMP_TRUE, 0, 0, 0)));
	CHECK(!verified(word(FILTER_JUMP, 0x80, 0, 0, 0, 0)));
	CHECK(!verified(word(FILTER_BEGIN, 0, FILTER_JUMP_TRUE, 0, 0, 0)));
	CHECK(verified(word(FILTER_RANGE_64, 0, 0, 0, 48, 0)));
	CHECK(!verified(word(FILTER_RANGE_64, 0, 0, 0, 49, 0)));
	CHECK(!verified(word(FILTER_RANGE_64, 0, 0, 0, 47, 0)));
	CHECK(verified(word(FILTER_TEST_STRING, 0, 0, 0, 48, 15)));
	CHECK(!verified(word(FILTER_TEST_STRING, 0, 0, 0, 48, 16)));
	CHECK(!verified(word(FILTER_TEST_STRING, 0, 0, 0, 48, FILTER_MATCH_FIND << 16 | 2)));
	CHECK(verified(word(FILTER_MATCH, 15, 0, 0, 48, FILTER_MATCH_FIND << 16 | 5)));
	CHECK(!verified(word(FILTER_MATCH, 15, 0, 0, 48, FILTER_MATCH_FIND << 16 | 6)));
	CHECK(!verified(word(FILTER_MATCH, 16, 0, 0, 48, 1)));
	CHECK(!verified(word(FILTER_MATCH, 0, 0, 0, 48, FILTER_MATCH_FIND << 16)));
	CHECK(!verified(word(FILTER_MATCH, 0, 0, 0, 48, 4 << 16 | 1)));
	CHECK(verified(word(FILTER_LOAD_INT, 15, 0, 0, sized, 0)));
	CHECK(!verified(word(FILTER_LOAD_INT, 16, 0, 0, sized, 0)));
	CHECK(!verified(word(FILTER_LOAD_INT, 0, 0, 0, sized - 1, 0)));
	CHECK(!verified(word(FILTER_LOAD_INT, 0, 0, 0, sized, 1)));
	CHECK(verified(word(FILTER_LOAD_ELEMENT, 0, 0, 0, many, 1)));
	CHECK(!verified(word(FILTER_LOAD_ELEMENT, 0, 0, 0, sized, 1)));
	CHECK(!verified(word(FILTER_LOAD_SEQUENCE, 0, 0, 0, many, 0)));
	CHECK(verified(word(FILTER_WALK, 0, 0, 0, many, 0)));
	CHECK(!verified(word(FILTER_WALK, 0, 0, 0, FILTER_PLACE(0, 0, 64, 0), 0)));
	CHECK(verified(word(FILTER_CONTEXT, 0, 0, TRAIL_CONTEXT_VPID, 0, 0)));
	CHECK(!verified(word(FILTER_CONTEXT, 0, 0, TRAIL_CONTEXT_ALL, 0, 0)));
	CHECK(!verified(word(FILTER_CONTEXT, 0, 0, TRAIL_CONTEXT_APP, 48, 0)));
	CHECK(verified(word(FILTER_CONTEXT, 0, 0, TRAIL_CONTEXT_APP, 48, 16)));
	CHECK(!verified(word(FILTER_CONTEXT, 0, 0, TRAIL_CONTEXT_APP, 48, 17)));
	CHECK(!verified(word(FILTER_COMPARE, 0, 0, 2, 0, 16)));
	CHECK(!verified(word(FILTER_COMPARE_WITH, 0, 0, 2 | FILTER_STRING << 8, 0, 16)));
	CHECK(!verified(word(FILTER_CONSTANT, 0, 0, FILTER_STRING, 0, 0)));
	CHECK(!filter_verify(program, sizeof(program)));
	filter_put_word(program, word(FILTER_HEADER, 0, 0, 2, FILTER_VERSION, 0));
	filter_put_word(program + 16, word(FILTER_RETURN, 0, 0, 1, 0, 0));
	CHECK(filter_verify(program, sizeof(program)));
	CHECK(!filter_verify(program, 24) && !filter_verify(program, 0) &&
	      !filter_verify(program, 31));
	/* The last word must end. */
	filter_put_word(program + 16, word(FILTER_TRUTH, 0, FILTER_JUMP_TRUE, 0, 0, 0));
	CHECK(!filter_verify(program, sizeof(program)));
}

/* Registers and anchors that were not set are none, also for a program that was not verified. */
static void unset_is_false(void)
{
	static const uint8_t payload[64];
	const struct filter_word words[] = {
		word(FILTER_TRUTH, 0x80, FILTER_JUMP_TRUE, 0, 0, 0),
		word(FILTER_TRUTH, 0, FILTER_JUMP_TRUE, 0, 0, 0),
		word(FILTER_COMPARE, 0, FILTER_JUMP_TRUE, 2, 0, 0),
		word(FILTER_MATCH, 0, FILTER_JUMP_TRUE, 0, 0, 0),
		word(FILTER_LOAD_INT, 1, 0, 0, FILTER_PLACE(4, 0, 0, 0), 0),
		word(FILTER_AND, 0, 0, 0, 0, 0),
		word(FILTER_LOAD_INT, 0, 0, 0, FILTER_PLACE(4, 0, 1, 0), 0),
		word(FILTER_RANGE_32, 1, FILTER_JUMP_TRUE, 0, 1, 0),
		word(FILTER_RANGE_32, 0x81, FILTER_JUMP_TRUE, 0, 0, 0),
		word(FILTER_WALK, 0, 0, 0, FILTER_PLACE(0, 0, 1, 0), 0),
		word(FILTER_WALK, 0, 0, 0, FILTER_PLACE(0, 0, 255, 0), 0),
		word(FILTER_TEST_STRING, 1, FILTER_JUMP_TRUE, 0, 0, 0),
		word(FILTER_CONSTANT, 200, 0, FILTER_SIGNED, 0, 0),
		word(FILTER_RANGE_64, 0, FILTER_JUMP_TRUE, 0, 1000, 0),
		word(FILTER_RANGE_32, 0, FILTER_JUMP_TRUE, 61, 1, 0),
		word(FILTER_RANGE_U8, 0, FILTER_JUMP_TRUE, 64, 1, 0),
	};
	struct filter_input in = { .payload = payload, .len = sizeof(payload) };
	uint8_t program[3 * FILTER_WORD];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		filter_put_word(program, word(FILTER_HEADER, 0, 0, 3, FILTER_VERSION, 0));
		filter_put_word(program + 16, words[i]);
		filter_put_word(program + 32, word(FILTER_RETURN, 0, 0, 1, 0, 0));
		if (filter_run(program, sizeof(program), &in)) {
			printf("# word %zu\n", i);
			CHECK(false);
		}
	}
}

/* ---- patterns ---- */

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void patterns_like_the_definition(void)
{
	uint64_t seed = 1;
	int i, k, held = 0;

	for (i = 0; i < 100000; i++) {
		struct sample s = { 0 };
		struct filter *f;
		const struct filter *list[1];
		char text[40], pattern[20];
		int n = (int)next_random(&seed) & 15;

		for (k = 0; k < n; k++)
			text[k] = "aab*"[next_random(&seed) & 3];
		text[k] = '\0';
		n = (int)next_random(&seed) & 7;
		for (k = 0; k < n; k++)
			pattern[k] = "ab**aab*"[next_random(&seed) & 7];
		pattern[k] = '\0';
		if (i & 1)
			sample_text(&s, "t", 2, text, (uint32_t)strlen(text));
		else
			sample_string(&s, "t", 0, text);
		snprintf(text, sizeof(text), "t %s \"%s\"", i & 2 ? "==" : "!=", pattern);
		list[0] = f = sample_parse(text);
		k = sample_run(list, 1, &s);
		if (k != reference_run(f, &s)) {
			printf("# %s: %s\n", text, s.payload.data + 2 * (i & 1));
			CHECK(false);
			i = 100000;
		}
		held += k;
		filter_put(f);
		sample_deinit(&s);
	}
	CHECK(held > 10000 && held < 90000);
}

/* As long as texts can be, and all of it nearly fits everywhere. Quadratic would be hours. */
static void patterns_are_linear(void)
{
	enum { LONG = 8 << 20 };
	struct sample s = { 0 };
	struct md_buf text = MD_BUF_INIT;
	struct filter *f;
	const struct filter *list[1];
	char *body = malloc(LONG + 1);
	int i;

	memset(body, 'a', LONG);
	body[LONG] = '\0';
	sample_string(&s, "t", 0, body);
	md_buf_puts(&text, "t == \"*");
	for (i = 0; i < 2000; i++)
		md_buf_putc(&text, 'a');
	md_buf_puts(&text, "b*a*a*a*a*a*a*a*a*b*a*b*\"");
	list[0] = f = sample_parse(md_buf_str(&text));
	CHECK(f && sample_run(list, 1, &s) == 0);
	filter_put(f);
	free(body);
	md_buf_deinit(&text);
	sample_deinit(&s);
}

/* ---- how long it takes: told, not tested ---- */

static void tell(const struct sample *s, const char *text)
{
	struct filter *f = sample_parse(text);
	const struct filter *const list[] = { f };
	struct filter_event e = sample_event(s);
	struct filter_input in = {
		.payload = (const uint8_t *)s->payload.data,
		.len = s->payload.len,
		.context = sample_context,
	};
	struct md_buf out = MD_BUF_INIT;
	struct timespec a, b;
	double best = 1e9;
	int i, k, held = 0;

	if (!filter_compile(list, 1, &e, &out))
		for (k = 0; k < 20; k++) {
			double ns;

			clock_gettime(CLOCK_MONOTONIC, &a);
			for (i = 0; i < 10000; i++) {
				__asm__ volatile("" ::: "memory");
				held += filter_run(out.data, out.len, &in);
			}
			clock_gettime(CLOCK_MONOTONIC, &b);
			ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
			best = ns / 10000 < best ? ns / 10000 : best;
		}
	printf("# %5.2f ns, %3zu bytes, %s: %s\n", best, out.len, held ? "true" : "false", text);
	md_buf_deinit(&out);
	filter_put(f);
}

static void how_long(void)
{
	struct sample s;

	sample_everything(&s);
	tell(&s, "id > 0");
	tell(&s, "id < 0");
	tell(&s, "s8 == 1");
	tell(&s, "most == 1");
	tell(&s, "id < 0 && u8 > 300 >> 1 && u16 > 5");
	tell(&s, "path == \"/usr/lib\"");
	tell(&s, "path == \"/usr/bin/app\\*\"");
	tell(&s, "path == \"/usr/*\"");
	tell(&s, "path == \"*.log\"");
	tell(&s, "path == \"*bin*\"");
	tell(&s, "after > 0");
	tell(&s, "u8 & 1");
	tell(&s, "f64 > 0.5");
	tell(&s, "vals[1] == 20");
	tell(&s, "$ctx.vpid == 1");
	sample_deinit(&s);
}

int main(void)
{
	CASE(payloads_cut_short);
	CASE(bad_programs);
	CASE(unset_is_false);
	CASE(patterns_like_the_definition);
	CASE(patterns_are_linear);
	CASE(how_long);
	return test_summary();
}
