/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of kernel events, what becomes of them in a trace, and payloads from records. */
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

/* The class as metadata, one line for each field. */
static void check_fields(const struct kformat *f, const char *want)
{
	struct md_event *e = kformat_event(f);
	struct md_buf out = MD_BUF_INIT;
	const char *begin, *end;

	md_ctf_print_event(e, 0, &out);
	begin = strstr(md_buf_str(&out), "struct {\n");
	end = begin ? strstr(begin, "\t};\n") : NULL;
	CHECK(begin && end);
	if (end) {
		out.data[end - out.data] = '\0';
		CHECK_STR(begin + strlen("struct {\n"), want);
	}
	md_buf_deinit(&out);
	md_event_destroy(e);
}

#define INT(size, sign, base) \
	"\t\tinteger { size = " #size "; align = 8; signed = " #sign \
	"; encoding = none; base = " #base "; } "
#define FIELD(size, sign, base, name) INT(size, sign, base) "_" name ";\n"
#define CHAR "\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } "

static void names_and_types(void)
{
	struct kformat *f = parse("sched", format_switch);

	CHECK_STR(kformat_name(f), "sched_switch");
	CHECK(f->id == 316 && f->size == 64);
	check_fields(
		f,
		CHAR "_prev_comm[16];\n" INT(32, 1, 10) "_prev_tid;\n" INT(
			32, 1,
			10) "_prev_prio;\n" INT(64, 1,
						10) "_prev_state;\n" CHAR
						    "_next_comm[16];\n" INT(
							    32, 1,
							    10) "_next_tid;\n" INT(32, 1,
										   10) "_next_prio;"
										       "\n");
	CHECK_STR(f->fields[1].kernel_name, "prev_pid");
	kformat_free(f);
	f = parse("syscalls", format_open);
	CHECK_STR(kformat_name(f), "syscall_entry_open");
	check_fields(
		f, "\t\tstring _filename;\n" INT(32, 1, 10) "_flags;\n" INT(16, 0, 10) "_mode;\n");
	kformat_free(f);
	f = parse("syscalls", format_openat);
	CHECK(f->field_count == 4 && f->size == 52);
	check_fields(f, INT(32, 1, 10) "_dfd;\n\t\tstring _filename;\n" INT(
				32, 1, 10) "_flags;\n" INT(16, 0, 10) "_mode;\n");
	kformat_free(f);
}

#define SEQUENCE(type, name) \
	INT(32, 0, 10) "__" name "_length;\n" type "_" name "[ __" name "_length ];\n"

static void all_kinds(void)
{
	struct kformat *f = parse("mine", format_odd);

	CHECK_STR(kformat_name(f), "odd");
	check_fields(f,
		     FIELD(8, 0, 10, "small") FIELD(8, 0, 10, "yes")
		     "\t\tinteger { size = 16; align = 8; signed = 0; encoding = none; base = 10; "
		     "byte_order = be; } _port;\n"
		     FIELD(32, 0, 10, "zone") FIELD(64, 0, 16, "page")
		     "\t\tstring _bdi;\n" CHAR "_symbolic_comm[16];\n"
		     FIELD(16, 1, 10, "pair[2]") FIELD(8, 0, 16, "mac[6]")
		     FIELD(8, 0, 16, "what[3]")
		     "\t\tstring _text;\n\t\tstring _near;\n"
		     SEQUENCE(INT(16, 0, 10), "words") SEQUENCE(INT(64, 0, 16), "mask")
		     SEQUENCE(INT(8, 0, 16), "bytes") SEQUENCE(INT(32, 0, 10), "rest"));
	kformat_free(f);
	f = parse("skb", format_kfree_skb);
	CHECK_STR(kformat_name(f), "skb_kfree");
	CHECK(f->fields[1].label_count == 3 && f->fields[1].labels[1].begin == 4 &&
	      f->fields[1].labels[2].end == 16);
	CHECK_STR(f->fields[1].labels[0].name, "NOT_SPECIFIED");
	kformat_free(f);
	/* Of system calls the kernel tells no labels: those are in the table. */
	f = parse("syscalls", format_epoll_ctl);
	CHECK(f->field_count == 4 && f->fields[1].label_count == 3);
	check_fields(f, INT(32, 1, 10) "_epfd;\n\t\tenum : integer { size = 32; align = 8; signed "
				       "= 1; encoding = none; base = 10; } {\n"
				       "\t\t\t\"EPOLL_CTL_ADD\" = 1,\n\t\t\t\"EPOLL_CTL_DEL\" = "
				       "2,\n\t\t\t\"EPOLL_CTL_MOD\" = 3,\n\t\t} _op_enum;\n" INT(
					       32, 1, 10) "_fd;\n" INT(64, 0, 16) "_event;\n");
	kformat_free(f);
}

static void probes(void)
{
	struct kformat *f = parse("kprobes", format_return);

	CHECK_STR(kformat_name(f), "opened");
	check_fields(f,
		     INT(64, 0, 16) "_ip;\n" INT(64, 0, 16) "_parent_ip;\n\t\tstring _path;\n" INT(
			     32, 1, 10) "_fd;\n");
	CHECK(kformat_rename(f, "mine") == 0);
	CHECK_STR(kformat_name(f), "mine");
	kformat_free(f);
}

static void check_name(const char *system, const char *event, const char *want)
{
	char name[KFORMAT_NAME_MAX + 1];

	CHECK(kformat_event_name(system, event, false, name) == 0);
	CHECK_STR(name, want);
}

static void event_names(void)
{
	char name[KFORMAT_NAME_MAX + 1], text[300];

	check_name("irq", "softirq_entry", "irq_softirq_entry");
	check_name("irq", "irq_handler_entry", "irq_handler_entry");
	check_name("timer", "hrtimer_start", "timer_hrtimer_start");
	check_name("timer", "timer_init", "timer_init");
	check_name("kmem", "mm_page_alloc", "kmem_mm_page_alloc");
	check_name("kmem", "kmalloc", "kmem_kmalloc");
	check_name("power", "cpu_idle", "power_cpu_idle");
	check_name("exceptions", "page_fault_user", "x86_exceptions_page_fault_user");
	check_name("net", "netif_rx", "net_if_rx");
	check_name("ext4", "ext4_da_write_begin", "ext4_da_write_begin");
	check_name("syscalls", "sys_exit_read", "syscall_exit_read");
	CHECK(kformat_event_name("irq", "irq_handler_entry", true, name) == 0);
	CHECK_STR(name, "irq_irq_handler_entry");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK(kformat_event_name("irq", text, false, name) == -ENAMETOOLONG);
}

static void not_formats(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"name: x\n",
		"name: x\nID: 1\n",
		"name: x\nID: y\n" COMMON,
		"name:\nID: 1\n" COMMON,
		"name: x\nID: 65536\n" COMMON,
		"name: x\nID: 1\n" COMMON "\tfield:int a;\toffset:65536;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n" COMMON "\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n" COMMON "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n",
		("name: x\nID: 1\n" COMMON
		"\tfield:int a;\toffset:99999999999999999999;\tsize:4;\tsigned:1;\n"),
		("name: x\nID: 1\nformat:\n\tfield:unsigned short "
		"common_type;\toffset:4;\tsize:2;\tsigned:0;\n"),
	};
	struct kformat *f;
	size_t i, n;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(kformat_parse("s", bad[i], strlen(bad[i]), &f) == -EINVAL);
	}
	/* Cut off anywhere, it is no format or one with less fields. */
	for (i = 0; i < STORED_FORMATS; i++) {
		for (n = 0; n < strlen(stored_formats[i].text); n++) {
			char *copy = malloc(n + 1);

			memcpy(copy, stored_formats[i].text, n);
			if (!kformat_parse(stored_formats[i].system, copy, n, &f))
				kformat_free(f);
			free(copy);
		}
	}
}

/* Which bits of the integer at the offset a bit-field has is not in the file: it is left out. */
static void bit_fields(void)
{
	struct kformat *f = parse("mine", format_bits);
	uint8_t r[20] = { [12] = 255 };

	put32(r + 8, 1);
	put32(r + 16, 2);
	check_payload(f, r, sizeof(r), "{ before = 1, after = 2 }\n");
	kformat_free(f);
}

static void odd_values(void)
{
	static const char bdi[] = "8:0", near[] = "near by";
	struct kformat *f = parse("mine", format_odd);
	uint8_t r[188] = { 7 };
	struct kcode *c = kcode_make(f);
	size_t i;

	r[8] = 200;
	r[9] = 1;
	r[11] = 80;
	put32(r + 12, 5);
	put64(r + 16, 0xabc);
	strcpy((char *)r + 24, bdi);
	memcpy(r + 56, "0123456\0garbage!", 16);
	memcpy(r + 72, ((int16_t[]){ -2, 1 }), 4);
	for (i = 0; i < 9; i++)
		r[76 + i] = (uint8_t)(i * 17);
	put32(r + 88, 4 << 16 | 120);
	memcpy(r + 120, "text", 4);
	put32(r + 92, 8 << 16 | (128 - 96));
	strcpy((char *)r + 128, near);
	put32(r + 96, 5 << 16 | 136);           /* half a word is left over */
	memcpy(r + 136, ((uint16_t[]){ 1, 2 }), 4);
	r[140] = 3;
	put32(r + 100, 16 << 16 | 144);
	put64(r + 144, 255);
	put32(r + 104, 3 << 16 | 186);          /* continues after the end */
	CHECK(kcode_run(c, r, 107, r, 0) == -EBADMSG);
	kcode_free(c);
	check_payload(
		f, r, 112,
		"{ small = 200, yes = 1, port = 80, zone = 5, page = 0xABC, bdi = \"8:0\", "
		"symbolic_comm = \"0123456\", pair = [ [0] = -2, [1] = 1 ], "
		"mac = [ [0] = 0x0, [1] = 0x11, [2] = 0x22, [3] = 0x33, [4] = 0x44, [5] = 0x55 ], "
		"what = [ [0] = 0x66, [1] = 0x77, [2] = 0x88 ], text = \"\", near = \"\", "
		"_words_length = 0, words = [ ], "
		"_mask_length = 0, mask = [ ], _bytes_length = 0, bytes = [ ], _rest_length = 1, "
		"rest = [ [0] = 0 ] }\n");
	put32(r + 108, 77);
	put64(r + 152, 1);
	f->field_count--;       /* without the rest */
	check_payload(
		f, r, sizeof(r),
		"{ small = 200, yes = 1, port = 80, zone = 5, page = 0xABC, bdi = \"8:0\", "
		"symbolic_comm = \"0123456\", pair = [ [0] = -2, [1] = 1 ], "
		"mac = [ [0] = 0x0, [1] = 0x11, [2] = 0x22, [3] = 0x33, [4] = 0x44, [5] = 0x55 ], "
		"what = [ [0] = 0x66, [1] = 0x77, [2] = 0x88 ], text = \"text\", near = \"near "
		"by\", "
		"_words_length = 2, words = [ [0] = 1, [1] = 2 ], "
		"_mask_length = 2, mask = [ [0] = 0xFF, [1] = 0x1 ], _bytes_length = 0, bytes = [ "
		"] }\n");
	f->field_count++;
	kformat_free(f);
}

static void lttng_values(void)
{
	struct kformat *f = parse("block", format_issue);
	uint8_t r[64] = { [MD_HOST_IS_BIG] = 9 };
	struct kcode *c;

	put32(r + 4, 4711);
	put32(r + 8, 3);
	memcpy(r + 12, "FWFSM", 6);
	memcpy(r + 20, "dd", 3);
	check_payload(f, r, 36, "{ dev = 3, rwbs = 1633, comm = \"dd\", tid = 4711 }\n");
	memcpy(r + 12, "RA", 3);
	check_payload(f, r, 36, "{ dev = 3, rwbs = 12, comm = \"dd\", tid = 4711 }\n");
	CHECK(krecord_id(r) == 9 && krecord_pid(r) == 4711);
	kformat_free(f);
	f = parse("sched", format_fork);
	put32(r + 8, 5 << 16 | 24);
	memcpy(r + 24, "init", 5);
	put32(r + 12, 1);
	put32(r + 16, 20 << 16 | 32);
	memcpy(r + 32, "a name that is too long", 20);
	put32(r + 20, 2);
	check_payload(f, r, 52,
		      "{ parent_comm = \"init\", parent_tid = 1, child_comm = \"a name that is \", "
		      "child_tid = 2, "
		      "parent_pid = 1, child_pid = 2 }\n");
	c = kcode_make(f);
	CHECK(kcode_process(c, 0) == 40 && kcode_process(c, 1) == 44 &&
	      kcode_process(c, 2) == SIZE_MAX);
	kcode_free(c);
	kformat_free(f);
}

static void other_sizes(void)
{
	struct kformat *f = parse("ftrace", format_stack);
	uint8_t r[64] = { 0 };

	put32(r + 8, 2);
	put64(r + 16, 0xaaa);
	put64(r + 24, 0xbbb);
	CHECK(f->size == 16 || f->size == 12);
	check_payload(f, r, 32,
		      "{ size = 2, _caller_length = 2, caller = [ [0] = 0xAAA, [1] = 0xBBB ] }\n");
	check_payload(f, r, 16, "{ size = 2, _caller_length = 0, caller = [ ] }\n");
	kformat_free(f);
	f = parse("kmem", format_alloc);
	put32(r + 8, 0xfffffff0);
	put16(r + 12, 0xfffe);
	check_payload(f, r, 14, "{ call_site = 0xFFFFFFF0, gfp_flags = 4294967294 }\n");
	kformat_free(f);
}

static bool passes(const struct kformat *f, const char *expression, const uint8_t *payload,
		   size_t len)
{
	struct filter_input in = { .payload = payload, .len = len };
	struct md_buf program = MD_BUF_INIT;
	struct filter *filter = NULL;
	struct filter_event e;
	struct tr_err err = { 0 };
	bool result = false;

	kformat_filter_event(f, &e);
	CHECK(filter_parse(SCAN(expression, 0, &err), DOMAIN_USER, &filter) == 0 &&
	      filter_check(filter, &e, &err) == 0);
	CHECK(filter_compile((const struct filter *const *)&filter, 1, &e, &program) == 0);
	result = filter_run(program.data, program.len, &in);
	filter_put(filter);
	md_buf_deinit(&program);
	return result;
}

/* A string that was not read is shown as its address. */
static void addresses(void)
{
	struct kformat *f = parse("syscalls", format_open);
	struct kcode *c = kcode_make(f);
	uint8_t r[40] = { 0 }, out[64];
	ssize_t n;

	put64(r + 24, 2);
	put64(r + 32, 0644);
	check_payload(f, r, f->size, "{ filename = \"0x0\", flags = 2, mode = 420 }\n");
	put64(r + 16, 0x7f1deadbeef);
	check_payload(f, r, f->size, "{ filename = \"0x7f1deadbeef\", flags = 2, mode = 420 }\n");
	memset(r + 16, 0xff, 8);
	check_payload(f, r, f->size,
		      "{ filename = \"0xffffffffffffffff\", flags = 2, mode = 420 }\n");
	n = kcode_run(c, r, f->size, out, sizeof(out));
	CHECK(n == 19 + 4 + 2);
	CHECK(passes(f, "filename == \"0xfff*\" && flags == 2", out, (size_t)n));
	CHECK(!passes(f, "filename == \"/etc/*\"", out, (size_t)n));
	kcode_free(c);
	kformat_free(f);
}

/* Names of functions from the addresses. */
static void functions(void)
{
	struct kformat *f = parse("ftrace", format_function);
	struct kcode *c = kcode_make(f);
	uint8_t r[24] = { 1 }, out[2048];
	struct ksyms *s;
	char path[64];
	ssize_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/kformat.%d", (int)getpid());
	file = fopen(path, "w");
	CHECK(file && fputs("0000000000001000 T first\n0000000000002000 t second\n", file) >= 0 &&
	      fclose(file) == 0);
	s = ksyms_load(path);
	CHECK(s && kcode_has_symbols(c));
	unlink(path);
	check_fields(
		f, INT(64, 0, 16) "_ip;\n" INT(
			   64, 0, 16) "_parent_ip;\n\t\tstring _func;\n\t\tstring _parent_func;\n");
	put64(r + 8, 0x2000);
	put64(r + 16, 0x1004);
	CHECK(kcode_run(c, r, sizeof(r), out, kcode_bound(c, sizeof(r))) == 16 + 1 + 1);
	kcode_symbols(c, s);
	n = kcode_run(c, r, sizeof(r), out, kcode_bound(c, sizeof(r)));
	CHECK(n == 16 + 7 + 6 && !memcmp(out + 16, "second\0first", 13));
	CHECK(passes(f,
		     "func == \"sec*\" && func != \"secondary\" && (parent_func == \"first\" && "
		     "parent_ip > 1)",
		     out, (size_t)n));
	CHECK(!passes(f, "func == \"first\"", out, (size_t)n));
	CHECK(kcode_run(c, r, sizeof(r), out, 20) == -ENOSPC &&
	      kcode_run(c, r, 20, out, sizeof(out)) == -EBADMSG);
	kcode_free(c);
	kformat_free(kformat_get(f));
	kformat_free(f);
	ksyms_free(s);
}

/* Values that the kernel could not read are 0 and "", whatever the record has. */
static void unread(void)
{
	static const char text[] =
		"name: mine\nID: 1901\n" COMMON
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:u32 mtu;\toffset:16;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc char[] dev;\toffset:20;\tsize:4;\tsigned:1;\n"
		"\tfield:u32 n;\toffset:24;\tsize:4;\tsigned:0;\n"
		"\tfield:u64 __trailfs_k0_6;\toffset:28;\tsize:8;\tsigned:0;\n"
		"\tfield:u64 __trailfs_u1_2;\toffset:36;\tsize:8;\tsigned:0;\n"
		"print fmt: \"\", 0\n";
	static const struct {
		uint64_t kernel, user;
		const char *want;
	} cases[] = {
		{ 0xffff888000001000, 0x7fff00001000,
		  "7, dev = \"lo\", n = 9, unavailable = \"\"" },
		{ 0xffff888000001000, 8, "7, dev = \"\", n = 9, unavailable = \"dev\"" },
		{ 0, 0x7fff00001000, "0, dev = \"\", n = 9, unavailable = \"mtu dev\"" },
#ifdef __x86_64__
		{ 0x7fff00001000, 4096, "0, dev = \"\", n = 9, unavailable = \"mtu dev\"" },
		{ 0xdead000000000100, 4096, "0, dev = \"\", n = 9, unavailable = \"mtu dev\"" },
		{ UINT64_MAX, 4096, "0, dev = \"\", n = 9, unavailable = \"mtu dev\"" },
#endif
	};
	struct kformat *f = parse("kprobes", text), *none;
	char damaged[sizeof(text)], *at;

	CHECK(f->field_count == 5 && f->size == 44);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t r[48] = { 0 };
		char want[200];

		put32(r + 16, 7);
		put32(r + 20, 3 << 16 | 44);
		put32(r + 24, 9);
		memcpy(r + 28, &cases[i].kernel, 8);
		memcpy(r + 36, &cases[i].user, 8);
		memcpy(r + 44, "lo", 3);
		snprintf(want, sizeof(want), "{ ip = 0x0, mtu = %s }\n", cases[i].want);
		check_payload(f, r, 47, want);
	}
	kformat_free(f);
	/* A field after the pointers that is none */
	strcpy(damaged, text);
	at = strstr(damaged, "__trailfs_u1_2");
	memcpy(at, "__trailfs_u1-2", 14);
	CHECK(kformat_parse("kprobes", damaged, strlen(damaged), &none) == -EINVAL);
}

static void filters(void)
{
	struct kformat *f = parse("syscalls", format_openat);
	struct kcode *c = kcode_make(f);
	uint8_t r[64] = { 0 }, out[64];
	ssize_t n;

	put64(r + 16, (uint32_t)-100);
	put64(r + 32, 0x80000);
	put64(r + 40, 0644);
	put32(r + 48, 9 << 16 | 52);
	memcpy(r + 52, "/etc/xyz", 9);
	n = kcode_run(c, r, 61, out, sizeof(out));
	CHECK(n == 4 + 9 + 4 + 2);
	CHECK(passes(f, "filename == \"/etc/*\" && dfd == -100", out, (size_t)n));
	CHECK(passes(f, "mode == 0644 && flags & 0x80000", out, (size_t)n));
	CHECK(!passes(f, "filename == \"/usr/*\" || dfd > 0", out, (size_t)n));
	kcode_free(c);
	kformat_free(f);
	f = parse("sched", format_switch);
	c = kcode_make(f);
	memset(r, 0, sizeof(r));
	memcpy(r + 40, "bash\0xxxxxxxxxxx", 16);
	put32(r + 56, 12);
	n = kcode_run(c, r, 64, out, sizeof(out));
	CHECK(n == 56);
	CHECK(passes(f, "next_comm == \"bash\" && next_tid == 12", out, (size_t)n));
	CHECK(!passes(f, "next_comm == \"bas\"", out, (size_t)n));
	kcode_free(c);
	kformat_free(f);
}

int main(void)
{
	CASE(names_and_types);
	CASE_OF_64_BITS(all_kinds);
	CASE(probes);
	CASE(event_names);
	CASE(not_formats);
	CASE(bit_fields);
	CASE_OF_64_BITS(odd_values);
	CASE(lttng_values);
	CASE(other_sizes);
	CASE(addresses);
	CASE(unread);
	CASE(filters);
	CASE(functions);
	return test_summary();
}
