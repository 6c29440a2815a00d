/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Extra data of rules: which fetch arguments expressions become, by types of the test's own, and
 * what happens with expressions and types that are damaged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/probe/btf.h"
#include "tracer/probe/probe.h"

/* ---- the types ---- */

static uint8_t types[4096], strings[1024];
static uint32_t types_len, strings_len = 1;
static char path[] = "/tmp/test_extra.XXXXXX";

static void word(uint32_t v)
{
	memcpy(types + types_len, &v, 4);
	types_len += 4;
}

static uint32_t name(const char *text)
{
	uint32_t at = strings_len;

	if (!*text)
		return 0;
	memcpy(strings + at, text, strlen(text) + 1);
	strings_len += (uint32_t)strlen(text) + 1;
	return at;
}

static void type(const char *text, uint32_t kind, uint32_t vlen, uint32_t size)
{
	word(name(text));
	word(kind << 24 | vlen);
	word(size);
}

/* A member of a structure; bits: of a bit field. */
static void member(const char *text, uint32_t of, uint32_t offset, uint32_t bits)
{
	word(name(text));
	word(of);
	word(bits << 24 | offset);
}

enum { FLAG = 128, INT = 1, PTR, ARRAY, STRUCT, TYPEDEF = 8, CONST = 10, FUNC = 12, PROTO };

static size_t make_types(uint8_t *out)
{
	uint32_t header[6] = { 0x0001eb9f, 24 };

	type("u32", INT, 0, 4), word(32);                               /* 1 */
	type("char", INT, 0, 1), word(1u << 24 | 8);                    /* 2 */
	type("", PTR, 0, 4);                                            /* 3: to dev */
	type("dev", STRUCT, 3, 32);                                     /* 4 */
	member("name", 5, 0, 0), member("index", 1, 128, 0), member("parent", 3, 192, 0);
	type("", ARRAY, 0, 0), word(2), word(1), word(16);              /* 5: char[16] */
	type("skb", STRUCT | FLAG, 5, 40);                              /* 6 */
	member("next", 7, 0, 0), member("dev", 3, 64, 0), member("", 8, 128, 0);
	member("pkt", 1, 197, 3), member("self", 6, 256, 0);
	type("", PTR, 0, 17);                                           /* 7: to const skb */
	type("", STRUCT, 2, 8);                                         /* 8: unnamed */
	member("mac", 9, 0, 0), member("err", 10, 32, 0);
	type("u16", INT, 0, 2), word(16);                               /* 9 */
	type("int", INT, 0, 4), word(1u << 24 | 32);                    /* 10 */
	type("", PROTO, 3, 10), word(name("skb")), word(7);             /* 11 */
	word(name("n")), word(1), word(name("label")), word(13);
	type("xmit", FUNC, 0, 11);                                      /* 12 */
	type("", PTR, 0, 2);                                            /* 13: to char */
	type("loop", TYPEDEF, 0, 14);                                   /* 14: of itself */
	type("", PROTO, 2, 7), word(name("s")), word(4), word(name("n")), word(1);      /* 15 */
	type("byval", FUNC, 0, 15);                                     /* 16 */
	type("skb_t", CONST, 0, 6);                                     /* 17 */
	type("", PROTO, 4, 0), word(name("__data")), word(3), word(name("skb")), word(7);
	word(name("n")), word(1), word(name("label")), word(3);         /* 18 */
	type("__traceiter_xmit", FUNC, 0, 18);                          /* 19 */
	header[3] = types_len;
	header[4] = types_len;
	header[5] = strings_len;
	memcpy(out, header, sizeof(header));
	memcpy(out + 24, types, types_len);
	memcpy(out + 24 + types_len, strings, strings_len);
	return 24 + types_len + strings_len;
}

static uint8_t blob[8192];
static size_t blob_len;

/* ---- expressions ---- */

static int resolve(const char *rule, const char *clause, struct dynamic_event *d,
		   struct tr_err *err)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%c%s", rule, EXTRA_MARK, clause);
	if (dynamic_event_parse(text, d, err))
		return -1;
	return extra_resolve(d, path, err);
}

static void accept(const char *rule, const char *clause, const char *want)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;
	struct md_buf b = MD_BUF_INIT;
	const char *args;

	if (resolve(rule, clause, &d, &err)) {
		CHECK_STR(err.sentence, clause);
		dynamic_event_deinit(&d);
		return;
	}
	CHECK(!dynamic_event_define(&d, 0, "g", "e", &b, &err));
	args = strchr(md_buf_str(&b) + 6, ' ');
	b.data[b.len - 1] = '\0';
	if (!strstr(want, EXTRA_POINTER) && strstr(b.data, " " EXTRA_POINTER))
		*strstr(b.data, " " EXTRA_POINTER) = '\0';
	CHECK_STR(args ? args + 1 : "", want);
	md_buf_deinit(&b);
	dynamic_event_deinit(&d);
}

static void refuse(const char *rule, const char *clause, int column, const char *why)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;

	CHECK(resolve(rule, clause, &d, &err));
	if (!strstr(err.sentence, why) || err.column != column)
		printf("# %s: column %d: %s\n", clause, err.column, err.sentence);
	CHECK(strstr(err.sentence, why) && err.column == column);
	dynamic_event_deinit(&d);
}

static void members(void)
{
	const char *k = "kprobe:xmit";

	accept(k, "skb", "skb=$arg1:u64");
	accept(k, "n,skb->err", "n=$arg2:u32 err=+20($arg1):s32");
	accept(k, "skb->mac as m", "m=+16($arg1):u16");
	accept(k, "$arg1->mac:u8", "mac=+16($arg1):u8");
	accept(k, "skb->pkt", "pkt=+24($arg1):b3@5/8");
	accept(k, "skb->pkt:u32", "pkt=+24($arg1):b3@5/32");
	accept(k, "skb->mac:u64, skb->err:s64", "mac=+16($arg1):b16@0/64 err=+20($arg1):s32");
	accept(k, "skb->dev->name", "name=+0(+8($arg1)):string");
	accept(k, "skb->dev->name:u32", "name=+0(+8($arg1)):u32");
	accept(k, "skb->next->next->dev->parent->index",
	       "index=+16(+24(+8(+0(+0($arg1))))):u32");
	accept(k, "skb->self.mac", "mac=+48($arg1):u16");
	accept(k, "label:string", "label=+0($arg3):string");
	accept(k, "+4(skb):u16 as x", "x=+4($arg1):u16");
	accept("kretprobe:byval", "$retval->dev->index", "index=+16(+8($retval)):u32");
	refuse(k, "skb->mac_", 5, "did you mean 'mac'");
	refuse(k, "skb->zzzz", 5, "no member");
	refuse(k, "skb.mac", 3, "its members follow '->'");
	refuse(k, "skb->self->mac", 9, "its members follow '.'");
	refuse(k, "n->x", 1, "no structure");
	refuse(k, "skb->self", 0, "name one of its members");
	refuse(k, "skc->mac", 0, "did you mean 'skb'");
	refuse(k, "elephant->mac", 0, "of this name; it has skb, ");
	refuse(k, "$arg4->mac", 0, "no argument");
	refuse(k, "skb->pkt:string", 0, "no string");
	refuse(k, "skb->next->next->next->next->next->next->next->next->next->next->next->next"
	       "->next->next->next->next->next->mac", 99, "more than 16 members");
	refuse(k, "skb->mac:string", 0, "neither text");
	refuse(k, "%di->mac", 0, "the type of this place is not known");
	refuse("kprobe:nothing", "skb->mac", 0, "have no function");
	refuse("kprobe:byval", "n", 0, "by value");
	refuse("kprobe:xmit+8", "$arg1", 0, "function's entry");
}

static void fields(void)
{
	static const char format[] =
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:int len;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n"
		"\tfield:u8 mac[6];\toffset:24;\tsize:6;\tsigned:0;\n"
		"\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;\n";
	static const struct {
		const char *clause, *want;
	} good[] = {
		{ "skb->mac as m", "m=+16($skbaddr):u16" },
		{ "skb->dev->name as dev", "dev=+0(+8($skbaddr)):string" },
		{ "len as l,name as n", "l=$len:s32 n=$name:string" },
		{ "+8(skbaddr):u32 as x,$comm as c", "x=+8($skbaddr):u32 c=$comm:string" },
	};
	static const char *const bad[] = { "skb->none", "label->x", "mac", "%di", "name:u32",
					   "n->x" };
	struct dynamic_event d;
	struct tr_err err;
	char text[200];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct md_buf b = MD_BUF_INIT;

		snprintf(text, sizeof(text), "net:xmit%c%s", EXTRA_MARK, good[i].clause);
		CHECK(!dynamic_event_parse(text, &d, NULL) && d.kind == DYN_EVENT &&
		      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
		      !extra_resolve(&d, path, NULL) &&
		      !dynamic_event_define(&d, 0, "g", "e", &b, NULL));
		snprintf(text, sizeof(text),
			 "e:g/e net.xmit skbaddr=$skbaddr:u64 len=$len:s32 name=$name:string "
			 "comm=$comm:string %s", good[i].want);
		b.data[strlen(text)] = '\0';
		CHECK_STR(md_buf_str(&b), text);
		md_buf_deinit(&b);
		dynamic_event_deinit(&d);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct tr_err)TR_ERR_INIT;
		snprintf(text, sizeof(text), "net:xmit%c%s", EXTRA_MARK, bad[i]);
		CHECK(!dynamic_event_parse(text, &d, NULL) &&
		      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
		      extra_resolve(&d, path, &err) == -EINVAL && err.column >= 0);
		dynamic_event_deinit(&d);
	}
}

/* The record lacks the pointer `label`: the tracepoint's arguments are recorded in its place. */
static void arguments(void)
{
	static const char format[] = "\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
				     "\tfield:int len;\toffset:16;\tsize:4;\tsigned:1;\n";
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;
	char text[200];

	snprintf(text, sizeof(text), "net:xmit%cskb->mac, label->index, n, $comm", EXTRA_MARK);
	CHECK(!dynamic_event_parse(text, &d, NULL) &&
	      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
	      !extra_resolve(&d, path, NULL) && d.kind == DYN_ARGUMENTS && d.lacking == 1 &&
	      !dynamic_event_define(&d, 0, "g", "e", &b, NULL));
	CHECK_STR(md_buf_str(&b), "t:g/e xmit mac=+16($arg1):u16 index=+16($arg3):u32 n=$arg2:u32 "
				  "comm=$comm:string __trailfs_k0_8=$arg1:u64 "
				  "__trailfs_k1_4=$arg3:u64\n");
	md_buf_deinit(&b);
	dynamic_event_deinit(&d);
	/* A field of the record is no argument. */
	snprintf(text, sizeof(text), "net:xmit%clabel->index, len", EXTRA_MARK);
	CHECK(!dynamic_event_parse(text, &d, NULL) &&
	      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
	      extra_resolve(&d, path, NULL) == -EINVAL);
	dynamic_event_deinit(&d);
}

/* The pointers on the way, each once; the items that need them, counted from the end. */
static void pointers(void)
{
	accept("kprobe:xmit",
	       "skb->mac, n, skb->dev->name, skb->dev->parent->index, +u8($arg3) as u",
	       "mac=+16($arg1):u16 n=$arg2:u32 name=+0(+8($arg1)):string "
	       "index=+16(+24(+8($arg1))):u32 u=+u8($arg3):u64 __trailfs_k0_16=$arg1:u64 "
	       "__trailfs_k1_6=+8($arg1):u64 __trailfs_k2_2=+24(+8($arg1)):u64 "
	       "__trailfs_u3_1=$arg3:u64");
	accept("kprobe:f", "+8(+u4($stack1)):string as s",
	       "s=+8(+u4($stack1)):string __trailfs_k0_1=+u4($stack1):u64 "
	       "__trailfs_u1_1=$stack1:u64");
	refuse("kprobe:xmit", "n as unavailable", 0, "says which extra data is not available");
}

static void plain(void)
{
	accept("kprobe:f", "$arg2,$comm,$stack,$stack3:u8 as s",
	       "arg2=$arg2:u64 comm=$comm:string stack=$stack:u64 s=$stack3:u8");
	accept("kprobe:f", "$arg1:string,+u0x10(+8(%di)):ustring as u",
	       "arg1=+0($arg1):string u=+u0x10(+8(%di)):ustring");
	accept("kretprobe:f", "$retval:s32 as result", "result=$retval:s32");
	refuse("kprobe:f", "$retval", 0, "only return probes");
	refuse("kprobe:f", "$comm:u8", 0, "is a string");
}

static void no_types(void)
{
	struct dynamic_event d;
	struct tr_err err = TR_ERR_INIT;

	CHECK(!dynamic_event_parse("kprobe:xmit\tskb->mac", &d, &err) &&
	      extra_resolve(&d, "/no/such/file", &err) == -EOPNOTSUPP && err.column == 0);
	CHECK(strstr(err.sentence, "types are not known"));
	dynamic_event_deinit(&d);
	CHECK(!dynamic_event_parse("kprobe:xmit\t$arg1,+8(%di) as b", &d, &err) &&
	      !extra_resolve(&d, "/no/such/file", &err));
	dynamic_event_deinit(&d);
}

/* ---- damage ---- */

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* True if the expression is in the rule's definition; else it has a place and a reason. */
static bool is_defined(const char *rule, const char *clause)
{
	struct tr_err err = TR_ERR_INIT;
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;
	bool good = !resolve(rule, clause, &d, &err);

	if (good)
		CHECK(!dynamic_event_define(&d, 0, "g", "e", &b, &err) && b.len > 8);
	else
		/* A column counts the rule, and the blanks that are put after commas. */
		CHECK(err.sentence[0] && err.column >= 0 &&
		      err.column <= (int)(strlen(rule) + 1 + 2 * strlen(clause)));
	md_buf_deinit(&b);
	dynamic_event_deinit(&d);
	return good;
}

/*
 * Expressions of random pieces: each is taken, read back and resolved by the types, or has a place
 * and a reason.
 */
static void random_expressions(void)
{
	static const char *const pieces[] = {
		"skb", "->", ".", "next", "dev", "mac", "$arg1", "$retval", "$comm", "%di", "+8(",
		"+u0x1(", ")", ":u32", ":string", " as ", ",", " ", "x", "$", "1", "-", "->next",
	};
	const char *san = getenv("SAN");
	/* A sanitizer makes each some 30 times slower. */
	bool slow = san && *san && *san != '0' && !getenv("SOAK");
	unsigned int taken = 0, defined = 0;
	const int count = slow ? 100000 : 1000000;

	for (int i = 0; i < count; i++) {
		char text[256] = "";
		struct extra x, again;
		struct tr_err err = TR_ERR_INIT;
		struct md_buf a = MD_BUF_INIT;
		size_t at = 0, n = 0;

		for (uint32_t k = 1 + random_below(7); k; k--)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      pieces[random_below(23)]);
		if (extra_parse(text, &at, &x, &err)) {
			CHECK(err.sentence[0] && err.column >= 0 && err.column <= (int)n);
			continue;
		}
		taken++;
		defined += is_defined(taken % 2 ? "kprobe:xmit" : "kretprobe:xmit", text);
		if (i % 16 == 0) {
			extra_print(&x, &a);
			at = 0;
			CHECK(!extra_parse(md_buf_str(&a), &at, &again, NULL) && at == a.len &&
			      again.count == x.count);
			extra_deinit(&again);
			md_buf_deinit(&a);
		}
		extra_deinit(&x);
	}
	printf("# %d expressions: %u parsed, %u of them defined\n", count, taken, defined);
	CHECK(taken > 10000 && defined > 1000);
}

static void search(const struct btf *b)
{
	const char *names[64];
	uint32_t type, proto = btf_function(b, "xmit", 4);
	struct btf_member m;

	btf_structure(b, "skb", 3);
	for (uint32_t i = 0; i < btf_param_count(b, proto) && i < 8; i++) {
		struct btf_type t;

		CHECK(btf_param(b, proto, i, &type));
		t = btf_classify(b, type);
		if (t.class == BTF_POINTER)
			t = btf_classify(b, t.id);
		btf_find_member(b, t.id, "err", 3, &m);
		btf_find_member(b, t.id, "none", 4, &m);
		btf_member_names(b, t.id, names, 64);
	}
	for (uint32_t i = 0; i < 20; i++)
		btf_classify(b, i);
}

static void damaged_types(void)
{
	unsigned int good = 0;

	for (int i = 0; i < 100000; i++) {
		size_t len = random_below(8) ? blob_len : random_below((uint32_t)blob_len + 1);
		uint8_t *copy = malloc(len + 1);
		struct btf *b;

		memcpy(copy, blob, len);
		for (uint32_t k = random_below(4); k && len; k--)
			copy[random_below((uint32_t)len)] = (uint8_t)random_below(256);
		if (btf_parse(copy, len, &b))
			continue;
		good++;
		search(b);
		btf_free(b);
	}
	CHECK(good > 10000);
}

/* The kernel's own: its structures lead to each other. */
static void own_kernel(void)
{
	struct btf_member m;
	struct btf *b;

	if (btf_load(BTF_FILE, &b))
		SKIP("no " BTF_FILE);
	CHECK(btf_function(b, "vfs_read", 8));
	CHECK(btf_find_member(b, btf_structure(b, "task_struct", 11), "comm", 4, &m) &&
	      btf_classify(b, m.type).class == BTF_TEXT);
	CHECK(btf_find_member(b, btf_structure(b, "sk_buff", 7), "mac_len", 7, &m) &&
	      btf_classify(b, m.type).size == 2);
	CHECK(!btf_find_member(b, btf_structure(b, "sk_buff", 7), "none", 4, &m));
	btf_free(b);
}

int main(void)
{
	int fd = mkstemp(path);

	blob_len = make_types(blob);
	if (fd < 0 || write(fd, blob, blob_len) != (ssize_t)blob_len)
		return 1;
	close(fd);
	CASE(members);
	CASE(fields);
	CASE(arguments);
	CASE(pointers);
	CASE(plain);
	CASE(no_types);
	CASE(random_expressions);
	CASE(damaged_types);
	CASE(own_kernel);
	unlink(path);
	return test_summary();
}
