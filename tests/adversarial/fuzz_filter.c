/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * Filters, in turns:
 *   - expressions made from a grammar, on random events: a program must say what a plain evaluation
 *     of the tree says, and the text must print and parse to the same;
 *   - the same with words and bytes changed: what is refused must be explained;
 *   - programs with words and bytes changed, and random ones: through filter_verify and filter_run;
 *   - a program that another thread writes over while it runs.
 * Payloads and programs end where a page ends that nothing may follow. Deterministic but for the
 * last: fuzz_filter SECONDS ROUND begins at a round.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/adversarial/random_filter.h"
#include "tests/lib/plain_filter.h"

static uint64_t round_now;
static size_t compared, held, ran, refused;

static void fail(const char *what, const char *text)
{
	printf("not ok - round %llu: %s\n%s\n", (unsigned long long)round_now, what, text);
	exit(1);
}

/* ---- memory whose end is the end ---- */

enum { AREA = 1 << 18 };

struct area {
	uint8_t *end;
};

static struct area area_make(void)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, (size_t)(AREA + page), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + AREA, (size_t)page, PROT_NONE)) {
		perror("mmap");
		exit(1);
	}
	return (struct area){ p + AREA };
}

static uint8_t *area_put(struct area a, const void *data, size_t n)
{
	if (n)
		memcpy(a.end - n, data, n);
	return a.end - n;
}

static struct filter *parse(const char *text)
{
	struct tr_err err = TR_ERR_INIT;
	struct filter *f = NULL;
	int ret = filter_parse(SCAN(text, 0, &err), DOMAIN_USER, &f);

	if (!ret)
		return f;
	refused++;
	if (f || (ret != -EINVAL && ret != -E2BIG))
		fail("a strange error", text);
	if (!err.sentence[0] || strchr(err.sentence, '\n') || err.column < 0 ||
	    err.column > (int)strlen(err.text))
		fail("no explanation", text);
	return NULL;
}

static void check_print(const struct filter *f, const char *text)
{
	struct md_buf once = MD_BUF_INIT, twice = MD_BUF_INIT;
	struct filter *again;

	filter_print(f, &once);
	again = parse(md_buf_str(&once));
	if (!again)
		fail("what was printed is refused", text);
	filter_print(again, &twice);
	if (strcmp(md_buf_str(&once), md_buf_str(&twice)))
		fail("printed differently the second time", text);
	filter_put(again);
	md_buf_deinit(&once);
	md_buf_deinit(&twice);
}

/* ---- programs ---- */

static struct area payload_area, program_area;

static bool run(const uint8_t *program, size_t size, const struct sample *s, size_t len)
{
	struct filter_input in = { .len = len, .context = below(8) ? sample_context : NULL };

	in.payload = len ? area_put(payload_area, s->payload.data, len) : NULL;
	return filter_run(program, size, &in);
}

/*
 * Spoiled words, spoiled literals; whether they still verify or not, to run them must be harmless.
 */
static void spoil(const struct md_buf *program, const struct sample *s)
{
	uint8_t *p = area_put(program_area, program->data, program->len);
	uint32_t words = (uint32_t)program->len / 16, i, n = 1 + below(6);

	for (i = 0; i < n; i++) {
		size_t at = below(2) ? below((uint32_t)program->len) : 16u * below(words);

		switch (below(4)) {
		case 0: p[at] = (uint8_t)below(256); break;
		case 1: p[at] ^= (uint8_t)(1u << below(8)); break;
		case 2: p[at] = (uint8_t)below(FILTER_OPS + 2); break;
		default: memmove(p + below(words) * 16, p + below(words) * 16, 16);
		}
	}
	filter_verify(p, program->len);
	run(p, program->len, s, s->payload.len);
	run(p, program->len, s, below((uint32_t)s->payload.len + 1));
}

/* Words that look like some, or do not. */
static void random_program(const struct sample *s)
{
	struct md_buf program = MD_BUF_INIT;
	uint32_t i, n = 2 + below(30);

	for (i = 0; i < n; i++) {
		struct filter_word w = {
			.op = (uint8_t)(1 + below(FILTER_OPS)),
			.flag = (uint8_t)(below(2) ? below(4) : below(256)),
			.jump = (uint16_t)(below(3) ? below(5) : bits()),
			.at = (uint32_t)(below(3) ? below(24) : bits()),
			.a = (uint32_t)(below(2) ? FILTER_PLACE(1u << below(4), below(8), below(3),
								1u << below(4))
						 : below(600)),
			.b = (uint32_t)(below(3) ? below(9) : bits()),
		};
		uint8_t bytes[16];

		if (below(4) == 0)
			w.b |= below(4) << 16;
		if (!i)
			w = (struct filter_word){ .op = FILTER_HEADER,
						  .at = n,
						  .a = FILTER_VERSION };
		filter_put_word(bytes, w);
		md_buf_put(&program, bytes, 16);
	}
	for (i = below(40) * 8; i; i--)
		md_buf_putc(&program, (char)(below(2) ? 'a' : below(256)));
	run(area_put(program_area, program.data, program.len), program.len, s, s->payload.len);
	md_buf_deinit(&program);
}

/* Compiled from several filters; compared with what the tree says of each. */
static void check_programs(struct filter *const *filters, uint32_t count, const struct sample *s,
			   const char *text)
{
	struct filter_event e = sample_event(s);
	struct md_buf program = MD_BUF_INIT;
	bool want = false, got;
	uint32_t i;
	int ret;

	for (i = 0; i < count; i++)
		if (!filter_check(filters[i], &e, NULL))
			want |= reference_run(filters[i], s);
	ret = filter_compile((const struct filter *const *)filters, count, &e, &program);
	if (ret < 0 && ret != -E2BIG)
		fail("cannot be compiled", text);
	if (ret == 1 || ret == 2) {
		got = ret == 1;
	} else {
		struct filter_input in = { .len = s->payload.len, .context = sample_context };

		if (program.len % 8 || !filter_verify(program.data, program.len))
			fail("the verifier refuses what the compiler made", text);
		in.payload = in.len ? area_put(payload_area, s->payload.data, in.len) : NULL;
		got = filter_run(area_put(program_area, program.data, program.len), program.len,
				 &in);
	}
	compared += ret == 0;
	held += ret == 0 && got;
	if (ret != -E2BIG && got != want)
		fail(want ? "false, and should be true" : "true, and should be false", text);
	if (!ret) {
		run((const uint8_t *)program.data, program.len, s,
		    below((uint32_t)s->payload.len + 1));
		for (i = 0; i < 10; i++)
			spoil(&program, s);
	}
	md_buf_deinit(&program);
}

static void one_round(void)
{
	struct filter *filters[4];
	struct md_buf all = MD_BUF_INIT, text = MD_BUF_INIT;
	struct sample s;
	uint32_t n = 1 + (below(3) ? 0 : below(4)), have = 0, i;
	bool changed = below(4) == 0;

	random_event(&s);
	for (i = 0; i < n; i++) {
		md_buf_reset(&text);
		if (below(2))
			sensible(&text, &s, below(4));
		else
			random_expression(&text, 1 + below(6));
		if (changed)
			mutate(&text);
		filters[have] = parse(md_buf_str(&text));
		if (filters[have]) {
			check_print(filters[have], md_buf_str(&text));
			md_buf_printf(&all, "%s\n", md_buf_str(&text));
			have++;
		}
	}
	check_programs(filters, have, &s, md_buf_str(&all));
	random_program(&s);
	for (i = 0; i < have; i++)
		filter_put(filters[i]);
	md_buf_deinit(&text);
	md_buf_deinit(&all);
	sample_deinit(&s);
}

/* ---- written over while it runs ---- */

static uint8_t *scribbled;
static size_t scribbled_size;
static bool scribbling;

/* Relaxed byte by byte: it is a race on purpose. */
static void *scribble(void *arg)
{
	uint64_t x = 88172645463325252u;
	const uint8_t *good = arg;

	while (__atomic_load_n(&scribbling, __ATOMIC_RELAXED)) {
		size_t at;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		at = (size_t)(x >> 20) % scribbled_size;
		/* Mostly back to what it was, so that many words stay in order. */
		__atomic_store_n(&scribbled[at], x & 3 ? good[at] : (uint8_t)(x >> 8),
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void while_it_changes(double seconds)
{
	static const char *const texts[] = {
		"id == 1 || path == \"*usr*a*p*\" && msg == \"h*o\" || vals[1] == 20 && comm == "
		"\"*ash\"",
		"(u8 | (u16 & (u32 ^ id))) > most || $app.abcdef:ghijklm == 4 || path == secret || "
		"f64 < fbe",
		"most == 4",
	};
	struct md_buf program = MD_BUF_INIT;
	struct filter *filters[3];
	struct filter_event e;
	struct sample s;
	struct timespec begin, now;
	pthread_t thread;
	size_t i;

	sample_everything(&s);
	e = sample_event(&s);
	for (i = 0; i < 3; i++)
		filters[i] = parse(texts[i]);
	if (filter_compile((const struct filter *const *)filters, 3, &e, &program))
		fail("cannot be compiled", texts[0]);
	scribbled = area_put(program_area, program.data, program.len);
	scribbled_size = program.len;
	scribbling = true;
	if (pthread_create(&thread, NULL, scribble, program.data))
		return;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (i = 0; i < 1000; i++)
			ran += run(scribbled, program.len, &s,
				   i & 1 ? s.payload.len : below((uint32_t)s.payload.len));
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
			 (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 <
		 seconds);
	__atomic_store_n(&scribbling, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (i = 0; i < 3; i++)
		filter_put(filters[i]);
	md_buf_deinit(&program);
	sample_deinit(&s);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	time_t end = time(NULL) + (time_t)(seconds * 3 / 4) + 1;

	round_now = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	payload_area = area_make();
	program_area = area_make();
	do {
		uint64_t stop = round_now + 100;

		for (; round_now < stop; round_now++) {
			seed = round_now * 0x9e3779b97f4a7c15u + 1;
			below(2);
			one_round();
		}
	} while (time(NULL) < end);
	while_it_changes(seconds / 4);
	printf("ok - %llu rounds: %zu of %zu programs true, %zu texts refused, %zu true while "
	       "written over\n",
	       (unsigned long long)round_now, held, compared, refused, ran);
	return 0;
}
