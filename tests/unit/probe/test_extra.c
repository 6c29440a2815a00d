/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Extra data of rules: which fetch arguments expressions become, by types of the test's own, and
 * what happens with expressions that are damaged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/btf_types.h"
#include "tests/lib/event_key.h"
#include "tests/lib/test.h"
#include "tracer/base/probe/btf_files.h"
#include "tracer/base/probe/probe.h"

static char path[] = "/tmp/test_extra.XXXXXX";
static uint8_t blob[8192];
static size_t blob_len;

/* ---- expressions ---- */

static int resolve_by(struct dynamic_event *d, const char *file, struct tr_err *err)
{
	struct btf_files files = BTF_FILES_INIT(file);
	int ret = extra_resolve(d, &files, err);

	btf_files_deinit(&files);
	return ret;
}

static int resolve(const char *rule, const char *clause, struct dynamic_event *d,
		   struct tr_err *err)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%c%s", rule, '\t', clause);
	if (event_of(text, d, err))
		return -1;
	return resolve_by(d, path, err);
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
	/* tracefs counts bits from the lowest one on, the types from the first one in memory. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	accept(k, "skb->pkt", "pkt=+24($arg1):b3@0/8");
	accept(k, "skb->pkt:u32", "pkt=+24($arg1):b3@24/32");
	accept(k, "skb->mac:u64, skb->err:s64", "mac=+16($arg1):b16@48/64 err=+20($arg1):s32");
#else
	accept(k, "skb->pkt", "pkt=+24($arg1):b3@5/8");
	accept(k, "skb->pkt:u32", "pkt=+24($arg1):b3@5/32");
	accept(k, "skb->mac:u64, skb->err:s64", "mac=+16($arg1):b16@0/64 err=+20($arg1):s32");
#endif
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

		snprintf(text, sizeof(text), "net:xmit%c%s", '\t', good[i].clause);
		CHECK(!event_of(text, &d, NULL) && d.kind == DYN_EVENT &&
		      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
		      !resolve_by(&d, path, NULL) &&
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
		snprintf(text, sizeof(text), "net:xmit%c%s", '\t', bad[i]);
		CHECK(!event_of(text, &d, NULL) &&
		      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
		      resolve_by(&d, path, &err) == -EINVAL && err.column >= 0);
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

	snprintf(text, sizeof(text), "net:xmit%cskb->mac, label->index, n, $comm", '\t');
	CHECK(!event_of(text, &d, NULL) &&
	      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
	      !resolve_by(&d, path, NULL) && d.kind == DYN_ARGUMENTS && d.lacking == 1 &&
	      !dynamic_event_define(&d, 0, "g", "e", &b, NULL));
	CHECK_STR(md_buf_str(&b), "t:g/e xmit mac=+16($arg1):u16 index=+16($arg3):u32 n=$arg2:u32 "
				  "comm=$comm:string __trailfs_k0_8=$arg1:u64 "
				  "__trailfs_k1_4=$arg3:u64\n");
	md_buf_deinit(&b);
	dynamic_event_deinit(&d);
	/* A field of the record is no argument. */
	snprintf(text, sizeof(text), "net:xmit%clabel->index, len", '\t');
	CHECK(!event_of(text, &d, NULL) &&
	      !dynamic_event_set_tracepoint(&d, "net", "xmit", format) &&
	      resolve_by(&d, path, NULL) == -EINVAL);
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

	CHECK(!event_of("kprobe:xmit\tskb->mac", &d, &err) &&
	      resolve_by(&d, "/no/such/file", &err) == -EOPNOTSUPP && err.column == 0);
	CHECK(strstr(err.sentence, "types are not known"));
	dynamic_event_deinit(&d);
	CHECK(!event_of("kprobe:xmit\t$arg1,+8(%di) as b", &d, &err) &&
	      !resolve_by(&d, "/no/such/file", &err));
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
		size_t n = 0;

		for (uint32_t k = 1 + random_below(7); k; k--)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      pieces[random_below(23)]);
		if (extra_parse(SCAN(text, 0, &err), &x)) {
			CHECK(err.sentence[0] && err.column >= 0 && err.column <= (int)n);
			continue;
		}
		taken++;
		defined += is_defined(taken % 2 ? "kprobe:xmit" : "kretprobe:xmit", text);
		if (i % 16 == 0) {
			struct scan *s;

			extra_print(&x, &a);
			s = SCAN(md_buf_str(&a), 0, NULL);
			CHECK(!extra_parse(s, &again) && s->at == a.len &&
			      !extra_compare(&again, &x));
			extra_deinit(&again);
			md_buf_deinit(&a);
		}
		extra_deinit(&x);
	}
	printf("# %d expressions: %u parsed, %u of them defined\n", count, taken, defined);
	CHECK(taken > 10000 && defined > 1000);
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
	unlink(path);
	return test_summary();
}
