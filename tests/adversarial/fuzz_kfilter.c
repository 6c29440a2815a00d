/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Filters as trail.ko runs them, on records, against the same filters on the payloads that the
 * daemon makes of those records. Random expressions, on records with random bytes: what the daemon
 * would take, the record's program must take; and where all that the expression names can be had
 * from the record, it must take nothing else. So with BPF programs, as far
 * as these decide. Programs that are spoilt, or random, are harmless.
 * fuzz_kfilter SECONDS [ROUND]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kmod/quick.h"
#include "tests/lib/bpf_interp.h"
#include "tests/lib/plain_filter.h"
#include "tests/lib/kformats.h"
#include "tracer/kernel/kevent/bpf_filter.h"
#include "tracer/kernel/kevent/kernel_filter.h"
#include "tracer/kernel/kevent/transcode.h"

static uint64_t seed, round_now;
static size_t compared, held, exact, weaker, quick, by_bpf, by_bpf_whole;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void fail(const char *what, const char *text)
{
	printf("not ok - round %llu: %s\n%s\n", (unsigned long long)round_now, what, text);
	exit(1);
}

/* ---- records ---- */

/*
 * A name that begins with x is of something that only the daemon has; so are single bytes of texts.
 */
static const char format_all[] =
	"name: sched_all\nID: 77\n" COMMON
	"\tfield:s8 s8;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u8 u8;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:__be16 be;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int s32;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long u64;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char prev_comm[16];\toffset:24;\tsize:16;\tsigned:1;\n"
	"\tfield:char text[12];\toffset:40;\tsize:12;\tsigned:1;\n"
	"\tfield:__data_loc char[] name;\toffset:52;\tsize:4;\tsigned:1;\n"
	"\tfield:__rel_loc char[] other;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc u16[] many;\toffset:60;\tsize:4;\tsigned:0;\n"
	"\tfield:s64 big;\toffset:64;\tsize:8;\tsigned:1;\n"
	"\tfield:int four[4];\toffset:72;\tsize:16;\tsigned:1;\n"
	"\tfield:void * pointer;\toffset:88;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc u64[] wide;\toffset:96;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] comm;\toffset:100;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

/* Arguments that are narrower in the trace, and an address that becomes text. */
static const char format_call[] =
	"name: sys_enter_made\nID: 78\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int narrow;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * xpath;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:off_t offset;\toffset:48;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

static const struct {
	const char *system, *text;
	uint32_t size, locs[6];
} formats[] = {
	{ "sched", format_all, 104, { 52, 56, 60, 96, 100 } },
	{ "syscalls", format_call, 56, { 32 } },
	{ "sched", format_switch, 64, { 0 } },
};

static uint32_t random_record(size_t which, uint8_t *r, uint32_t room)
{
	uint32_t size = formats[which].size, len = size + below(room - size), at, n;
	const uint32_t *loc;

	for (uint32_t i = 0; i < len; i++)
		r[i] = below(3) ? (uint8_t)"aab\0\1\2\377x"[below(8)] : (uint8_t)below(256);
	for (loc = formats[which].locs; *loc; loc++) {
		at = below(8) ? size + below(len - size + 1) : below(len + 20);
		n = at <= len ? below(len - at + (below(8) ? 1 : 3)) : below(9);
		n = below(2) && n > 9 ? n % 9 : n;
		if (*loc == 56)
			at = at > 60 ? at - 60 : 0;
		at |= n << 16;
		memcpy(r + *loc, &at, sizeof(at));
	}
	return len;
}

static bool known_context(void *arg, uint32_t kind, const char *name, struct filter_value *out)
{
	(void)arg, (void)name;
	*out = (struct filter_value){ .type = FILTER_SIGNED, .i = (int64_t)kind - 2 };
	if (kind == TRAIL_CONTEXT_PROCNAME)
		*out = (struct filter_value){ .type = FILTER_STRING, .s = "aab", .len = 3 };
	return kind != TRAIL_CONTEXT_CPU_ID;
}

/* ---- expressions ---- */

static void number(struct md_buf *b, const struct filter_event *e, uint32_t depth)
{
	static const char *const ops[] = { "&", "|", "^", ">>", "<<" };
	uint32_t i = below(e->field_count);
	const struct trail_reg_field *f = &e->fields[i];
	bool many = f->kind == TRAIL_KIND_ARRAY || f->kind == TRAIL_KIND_SEQUENCE;

	if (depth && !below(3)) {
		md_buf_puts(b, below(2) ? "(" : "~(");
		number(b, e, depth - 1);
		md_buf_printf(b, " %s ", ops[below(5)]);
		number(b, e, depth - 1);
		md_buf_putc(b, ')');
	} else if (!below(3)) {
		md_buf_printf(b, "%lld",
			      (long long)below(5) - 2 +
				      (below(3) ? 0 : (long long)below(1u << 31) << below(33)));
	} else if (!below(9)) {
		md_buf_puts(b, below(2) ? "$ctx.tid" : "$ctx.cpu_id");
	} else if (!below(40)) {
		md_buf_puts(b, "missing");
	} else if (f->kind == TRAIL_KIND_STRING) {
		number(b, e, 0);
	} else if (many) {
		md_buf_printf(b, "%s[%u]", e->strings + f->name, below(5));
	} else {
		md_buf_puts(b, e->strings + f->name);
	}
}

static void text(struct md_buf *b, const struct filter_event *e)
{
	uint32_t i = below(e->field_count), n = below(4);

	while (n && e->fields[i].kind != TRAIL_KIND_STRING &&
	       !(e->fields[i].flags & TRAIL_FIELD_TEXT)) {
		i = (i + 1) % e->field_count;
		n -= !i;
	}
	md_buf_puts(b, below(10) ? e->strings + e->fields[i].name : "$ctx.procname");
	md_buf_puts(b, below(2) ? " == \"" : " != \"");
	for (n = below(5); n; n--)
		md_buf_putc(b, "aab**x"[below(6)]);
	md_buf_puts(b, "\"");
}

static void expression(struct md_buf *b, const struct filter_event *e, uint32_t depth)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	uint32_t n;

	if (depth && below(4)) {
		md_buf_puts(b, below(6) ? "(" : "!(");
		for (n = 1 + below(3); n; n--) {
			expression(b, e, depth - 1);
			md_buf_puts(b, depth & 1 ? " && " : " || ");
		}
		expression(b, e, depth - 1);
		md_buf_putc(b, ')');
	} else if (below(3)) {
		number(b, e, 2);
		md_buf_printf(b, " %s ", ops[below(6)]);
		number(b, e, 2);
	} else {
		text(b, e);
	}
}

/* What trail.ko tests without the interpreter. */
static void simple(struct md_buf *b, const struct filter_event *e)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	const struct trail_reg_field *f = &e->fields[below(e->field_count)];

	if (f->kind == TRAIL_KIND_INT)
		md_buf_printf(b, "%s %s %d", below(8) ? e->strings + f->name : "$ctx.tid",
			      ops[below(6)], (int)below(5) - 2);
	else if (!below(8))
		md_buf_printf(b, "$ctx.tid %s %d", ops[below(6)],
			      TRAIL_CONTEXT_TID - 4 + (int)below(5));
	else
		text(b, e);
	if (below(2))
		return;
	md_buf_puts(b, " && ");
	expression(b, e, 1);
}

/* ---- comparing ---- */

/* 1, 0, or what the compiler said it was without running */
static bool decide(int made, const struct md_buf *program, const void *payload, size_t len,
		   bool all)
{
	struct filter_input in = { .payload = payload, .len = len, .context = known_context };

	if (made || !program->len)
		return made == 1 || (!made && all);
	if (!filter_verify(program->data, program->len))
		fail("the verifier refuses what the compiler made", "");
	return filter_run(program->data, program->len, &in);
}

/*
 * What the program begins with, as trail.ko tests it: what it rejects the program rejects, and what
 * is `whole` passes otherwise.
 */
static void try_quick(const struct md_buf *program, const uint8_t *record, uint32_t len, bool got,
		      const char *shown)
{
	struct filter_value v = { 0 };
	struct quick_filter q;
	bool outcome;

	if (!program->len)
		return;
	q = quick_make(program->data);
	if (!q.op)
		return;
	if (q.op == FILTER_CONTEXT)
		known_context(NULL, q.at, NULL, &v);
	outcome = q.op == FILTER_CONTEXT
			  ? (q.at == TRAIL_CONTEXT_PROCNAME ? quick_text(&q, v.s, (uint32_t)v.len)
							    : quick_number(&q, v.u))
		  : quick_is_in(&q, len) ? quick_holds(&q, record, len)
					 : q.rejects;
	quick++;
	if (got && (outcome == q.rejects || quick_rejects(&q, record, len)))
		fail("the quick test rejects what the program does not", shown);
	if (!got && outcome != q.rejects && q.whole)
		fail("the quick test passes what the program does not", shown);
}

static void spoil(const struct md_buf *program, const uint8_t *record, uint32_t len)
{
	uint8_t *p = malloc(program->len), *exactly = malloc(len);
	struct filter_input in = { .payload = exactly, .len = len, .context = known_context };

	memcpy(p, program->data, program->len);
	memcpy(exactly, record, len);
	for (uint32_t i = 1 + below(5); i; i--) {
		size_t at = below(2) ? below((uint32_t)program->len)
				     : 16 * below((uint32_t)program->len / 16);

		p[at] = (uint8_t)(below(2) ? p[at] ^ 1u << below(8) : below(FILTER_OPS + 2));
	}
	filter_verify(p, program->len);
	held += filter_run(p, program->len, &in);
	free(exactly);
	free(p);
}

/* ---- BPF ---- */

#define TEXT_BASE 64

/* A record whose only text is as programs write it: it ends with its only NUL, or has no bytes. */
static uint32_t written_record(uint8_t *r)
{
	uint32_t size = formats[1].size, n = below(7), place = size | n << 16;

	random_record(1, r, size + 1);
	for (uint32_t i = 0; i + 1 < n; i++)
		r[size + i] = (uint8_t)"aab*x"[below(5)];
	if (n)
		r[size + n - 1] = '\0';
	memcpy(r + formats[1].locs[0], &place, sizeof(place));
	return size + n;
}

/* What a program takes that has this filter alone. */
static bool taken_by_bpf(const struct bpf_code *c, const uint8_t *record, uint32_t len)
{
	static uint8_t memory[32768];
	struct filter_value tid, pid;
	struct bpf_interp m = { .cpu = 0 };

	known_context(NULL, TRAIL_CONTEXT_TID, NULL, &tid);
	known_context(NULL, TRAIL_CONTEXT_PID, NULL, &pid);
	m.pid_tgid = (uint64_t)(uint32_t)pid.i << 32 | (uint32_t)tid.i;
	memcpy(memory, record, len);
	m.r[6] = (uintptr_t)memory;
	m.r[8] = (uintptr_t)memory - TEXT_BASE;
	return bpf_interp_run(c, &m);
}

static void compare_bpf(const struct kformat *f, const struct kcode *code, size_t which,
			const struct filter *filter, const struct md_buf *program, int made,
			const char *shown)
{
	static struct bpf_code c;
	/* (The CPU is unknown to the reference, but a program always has it.) */
	bool whole = bpf_filter_possible(filter, f, false) && !strstr(shown, "cpu_id"), want, got;
	uint8_t record[400], payload[4096];
	uint32_t len;
	ssize_t n;
	int no;

	bpf_code_begin(&c);
	no = bpf_label(&c);
	if (bpf_filter(&c, &filter, 1, f, NULL, which == 1 ? TEXT_BASE : 0, no) < 0)
		fail("no memory", shown);
	bpf_set(&c, BPF_REG_0, 1);
	bpf_exit(&c);
	bpf_here(&c, no);
	bpf_set(&c, BPF_REG_0, 0);
	bpf_exit(&c);
	if (bpf_code_end(&c))
		return;         /* it is too long */
	for (int i = 0; i < 20; i++) {
		len = which == 1 ? written_record(record)
				 : random_record(which, record, sizeof(record));
		n = kcode_run(code, record, len, payload, sizeof(payload));
		if (n < 0)
			fail("no payload", shown);
		want = decide(made, program, payload, (size_t)n, false);
		got = taken_by_bpf(&c, record, len);
		by_bpf += !got;
		by_bpf_whole += whole;
		if (want && !got)
			fail("the BPF program is narrower", shown);
		if (whole && got != want)
			fail("the BPF program is wider", shown);
	}
}

static void compare(const struct kformat *f, const struct kcode *code, size_t which,
		    const struct filter *filter, const char *shown)
{
	struct md_buf payload_program = MD_BUF_INIT, record_program = MD_BUF_INIT;
	uint8_t record[400], payload[4096];
	const struct filter *list[] = { filter };
	struct filter_event e;
	bool opaque = strstr(shown, "xpath") || strstr(shown, "comm["), want, got;
	uint32_t len;
	ssize_t n;
	int made;

	kformat_filter_event(f, &e);
	made = filter_compile(list, 1, &e, &payload_program);
	kfilter_compile(list, 1, f, &record_program);
	for (int i = 0; i < 20; i++) {
		uint8_t *exactly;

		len = random_record(which, record, sizeof(record));
		n = kcode_run(code, record, len, payload, sizeof(payload));
		if (n < 0)
			fail("no payload", shown);
		want = decide(made, &payload_program, payload, (size_t)n, false);
		exactly = malloc(len);
		memcpy(exactly, record, len);
		got = decide(0, &record_program, exactly, len, true);
		try_quick(&record_program, exactly, len, got, shown);
		free(exactly);
		compared++;
		held += want;
		exact += got == want;
		if (want && !got)
			fail("the record's program is narrower", shown);
		/* Nothing to run: it is always true, or never. */
		if (!opaque && record_program.len && got != want)
			fail("the record's program is wider", shown);
		weaker += got != want && record_program.len;
	}
	if (record_program.len)
		spoil(&record_program, record, len);
	compare_bpf(f, code, which, filter, &payload_program, made, shown);
	md_buf_deinit(&payload_program);
	md_buf_deinit(&record_program);
}

static void one(const struct kformat *f, const struct kcode *code, size_t which)
{
	struct md_buf b = MD_BUF_INIT;
	struct filter *filter = NULL;
	struct filter_event e;

	kformat_filter_event(f, &e);
	if (below(3))
		expression(&b, &e, 1 + below(3));
	else
		simple(&b, &e);
	if (!filter_parse(SCAN(md_buf_str(&b), 0, NULL), DOMAIN_KERNEL, &filter))
		compare(f, code, which, filter, md_buf_str(&b));
	filter_put(filter);
	md_buf_deinit(&b);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	enum { FORMATS = sizeof(formats) / sizeof(*formats) };
	struct kformat *parsed[FORMATS];
	struct kcode *code[FORMATS];

	for (size_t i = 0; i < FORMATS; i++) {
		if (kformat_parse(formats[i].system, formats[i].text, strlen(formats[i].text),
				  &parsed[i]))
			fail("no format", formats[i].text);
		code[i] = kcode_make(parsed[i]);
	}
	for (round_now = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	     time(NULL) < end || round_now < 1000; round_now++) {
		seed = round_now * 0x9e3779b97f4a7c15u + 1;
		one(parsed[round_now % FORMATS], code[round_now % FORMATS], round_now % FORMATS);
	}
	for (size_t i = 0; i < FORMATS; i++) {
		kcode_free(code[i]);
		kformat_free(parsed[i]);
	}
	printf("%llu rounds: %zu compared, %zu held, %zu the same, %zu weaker, %zu quick; BPF: %zu "
	       "rejected, %zu whole\n",
	       (unsigned long long)round_now, compared, held, exact, weaker, quick, by_bpf,
	       by_bpf_whole);
	return compared > 1000 && held > compared / 20 && weaker && quick > 1000 && by_bpf > 1000 &&
			       by_bpf_whole > 1000
		       ? 0
		       : 1;
}
