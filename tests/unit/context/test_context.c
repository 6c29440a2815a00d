/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "metadata/ctf.h"
#include "tests/lib/test.h"
#include "tracer/abi/app.h"
#include "tracer/base/context/context.h"
#include "tracer/base/context/perfcounter.h"

/* What a list reads like after one write to it; an error as `errno line column`. */
static const char *apply(const char *before, const char *text, bool replace)
{
	static char out[2000];
	struct context_list old = { 0 }, new = { 0 };
	struct md_buf b = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	int ret = context_list_apply(&old, DOMAIN_USER, before, true, false, &old, NULL);

	CHECK(!ret);
	ret = context_list_apply(&old, DOMAIN_USER, text, replace, false, &new, &err);
	context_list_print(&new, &b);
	if (ret)
		snprintf(out, sizeof(out), "%d %d %d %s", ret, err.line, err.column, err.sentence);
	else
		snprintf(out, sizeof(out), "%s", md_buf_str(&b));
	for (char *p = ret ? NULL : out; p && *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	md_buf_deinit(&b);
	context_list_deinit(&old);
	context_list_deinit(&new);
	return out;
}

static void lists(void)
{
	CHECK_STR(apply("", "vpid vtid\nprocname", true), "vpid vtid procname ");
	CHECK_STR(apply("vpid", "vtid vpid", false), "vpid vtid ");
	CHECK_STR(apply("", "vpid,vtid , \"procname\",ip,", true), "vpid vtid procname ip ");
	CHECK_STR(apply("vpid ip", "", true), "");
	CHECK_STR(apply("vpid ip", "\n", false), "vpid ip ");
	CHECK_STR(apply("vpid ip vtid", "!ip", false), "vpid vtid ");
	CHECK_STR(apply("vpid", "!vpid vpid vuid", false), "vpid vuid ");
	CHECK_STR(
		apply("",
		      "$app.my_app:user perf:thread:page-faults\n# vpid\nperf:thread:raw:r1aB:mine",
		      true),
		"$app.my_app:user perf:thread:page-faults perf:thread:raw:r1aB:mine ");
}

static void mistakes(void)
{
	CHECK_STR(apply("", "vpid\nvtidd", true),
		  "-2 2 0 no such context 'vtidd'; did you mean 'vtid'?");
	CHECK_STR(apply("", "zebra", true),
		  "-2 1 0 no such context 'zebra'; available/user/contexts lists them");
	CHECK_STR(apply("", "callstack-user", true),
		  "-2 1 0 'callstack-user' is a context of kernel events: see kernel/contexts");
	CHECK_STR(apply("ip", "  !vpid", false), "-2 1 2 the channel does not have this context");
	CHECK_STR(apply("", "perf:thread:cpu-cicles", true),
		  "-2 1 12 no such context 'perf:thread:cpu-cicles'; did you mean "
		  "'perf:thread:cpu-cycles'?");
	CHECK_STR(apply("", "perf:thread:raw:zz:x", true),
		  "-22 1 12 a raw counter is perf:thread:raw:rN:NAME, with N in hexadecimal");
	CHECK_STR(apply("", "perf:cpu:cycles", true),
		  "-22 1 0 perf:cpu: counters are for kernel events; use perf:thread:cycles");
	CHECK_STR(apply("", "$app.provider", true),
		  "-22 1 5 a context of applications is called $app.provider:name");
	CHECK_STR(apply("", "$app.:x", true),
		  "-22 1 5 a context of applications is called $app.provider:name");
	CHECK_STR(apply("$app.a:b_c", "$app.a_b:c", false),
		  "-22 1 -1 two contexts would have the same name in the trace");
}

static void at_most(void)
{
	struct md_buf text = MD_BUF_INIT;
	struct context_list none = { 0 }, l = { 0 };

	for (unsigned int i = 0; i < TRAIL_CONTEXT_MAX; i++)
		md_buf_printf(&text, "$app.p:n%u ", i);
	CHECK(context_list_apply(&none, DOMAIN_USER, md_buf_str(&text), true, false, &l, NULL) ==
		      0 &&
	      l.count == TRAIL_CONTEXT_MAX);
	context_list_deinit(&l);
	md_buf_puts(&text, "vpid");
	CHECK(context_list_apply(&none, DOMAIN_USER, md_buf_str(&text), true, false, &l, NULL) ==
	      -ENOSPC);
	md_buf_deinit(&text);
}

/* The lines that lttng writes for the same contexts. */
static void as_lttng_writes_it(void)
{
	static const char want[] = "\tevent.context := struct {\n"
				   "\t\tinteger { size = 32; align = 8; signed = 1; encoding = "
				   "none; base = 10; } _vpid;\n"
				   "\t\tinteger { size = 32; align = 8; signed = 1; encoding = "
				   "none; base = 10; } _vtid;\n"
				   "\t\tinteger { size = 8; align = 8; signed = 1; encoding = "
				   "UTF8; base = 10; } _procname[17];\n"
				   "\t\tinteger { size = 64; align = 8; signed = 0; encoding = "
				   "none; base = 10; } _pthread_id;\n"
				   "\t\tinteger { size = 64; align = 8; signed = 0; encoding = "
				   "none; base = 10; } _ip;\n"
				   "\t\tinteger { size = 32; align = 8; signed = 0; encoding = "
				   "none; base = 10; } _vegid;\n"
				   "\t\tinteger { size = 64; align = 8; signed = 0; encoding = "
				   "none; base = 10; } _uts_ns;\n"
				   "\t\tinteger { size = 64; align = 8; signed = 0; encoding = "
				   "none; base = 10; } _perf_thread_cpu_cycles;\n"
				   "\t};\n";
	static const uint8_t uuid[16] = { 1 };
	struct context_list none = { 0 }, l = { 0 };
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_buf out = MD_BUF_INIT;
	struct md_field *fields;

	CHECK(context_list_apply(
		      &none, DOMAIN_USER,
		      "vpid vtid procname pthread_id ip vegid uts_ns perf:thread:cpu-cycles", true,
		      false, &l, NULL) == 0);
	CHECK(context_list_fields(&l, &fields) == 0);
	CHECK(md_stream_set_context(s, fields, (uint32_t)l.count) == 0);
	CHECK(md_trace_add(t, s) == 0 && md_ctf_print(t, false, &out) == 0);
	CHECK(strstr(md_buf_str(&out), want) != NULL);
	md_buf_deinit(&out);
	md_trace_destroy(t);
	context_list_deinit(&l);
}

static void own_events(void)
{
	struct context_values v = { .pid = 7, .tid = 8, .uid = 1000, .gid = 100, .comm = "sh" };
	struct context_list none = { 0 }, l = { 0 };
	struct md_buf out = MD_BUF_INIT;
	uint32_t n;

	CHECK(context_list_apply(&none, DOMAIN_USER,
				 "vtid procname $app.a:b ip vgid perf:thread:cs", true, false, &l,
				 NULL) == 0);
	context_list_put(&l, &v, &out);
	CHECK(out.len == 4 + 17 + 1 + 8 + 4 + 8);
	memcpy(&n, out.data, 4);
	CHECK(n == 8 && !strcmp(out.data + 4, "sh") && out.data[21] == TRAIL_DYNAMIC_NONE);
	memcpy(&n, out.data + 30, 4);
	CHECK(n == 100);
	md_buf_deinit(&out);
	context_list_deinit(&l);
}

static void counters(void)
{
	struct perf_counter c;

	CHECK(perf_counter_find("cpu-cycles", 10, &c) == 0 && c.type == 0 && c.config == 0);
	CHECK(perf_counter_find("faults", 6, &c) == 0 && c.type == 1 && c.config == 2);
	CHECK(perf_counter_find("LLC-store-misses", 16, &c) == 0 && c.type == 3 &&
	      c.config == (2 | 1 << 8 | 1 << 16));
	CHECK(perf_counter_find("dTLB-prefetches", 15, &c) == 0 && c.config == (3 | 2 << 8));
	CHECK(perf_counter_find("raw:r01C2:x", 11, &c) == 0 && c.type == 4 && c.config == 0x1c2);
	CHECK(perf_counter_find("raw:r01C2", 9, &c) == -EINVAL);
	CHECK(perf_counter_find("raw:r:x", 7, &c) == -EINVAL);
	CHECK(perf_counter_find("raw:r1:x:y", 10, &c) == -EINVAL);
	CHECK(perf_counter_find("raw:r12345678123456781:x", 24, &c) == -EINVAL);
	CHECK(perf_counter_find("cpu-cycle", 9, &c) == -ENOENT);
	for (size_t i = 0; perf_counter_name(i); i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(perf_counter_name(i), perf_counter_name(j)) != 0);
}

int main(void)
{
	CASE(lists);
	CASE(mistakes);
	CASE(at_most);
	CASE(as_lttng_writes_it);
	CASE(own_events);
	CASE(counters);
	return test_summary();
}
