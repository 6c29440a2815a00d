/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "metadata/ctf.h"
#include "tests/lib/test.h"
#include "tracer/base/rows.h"
#include "tracer/base/context/context.h"
#include "tracer/abi/context_kind.h"
#include "tracer/base/context/kernel_context.h"

static int apply(const char *text, bool probe, struct context_list *l, struct tr_err *err)
{
	struct context_list none = { 0 };

	return context_list_apply(&none, DOMAIN_KERNEL, text, true, probe, l, err);
}

/* What there is depends on the backend; what was recorded is read whatever there is now. */
static void backends(void)
{
	struct context_list l = { 0 };
	struct tr_err err = TR_ERR_INIT;
	struct md_buf out = MD_BUF_INIT;

	kcontext_available(&(struct rows){ .out = &out });
	CHECK(!strncmp(md_buf_str(&out), "pid\ntid\nppid\n", 13) &&
	      strstr(md_buf_str(&out), "\nvpid\nvtid\nprocname\ncpu_id\n") &&
	      !strstr(md_buf_str(&out), "vuid") && !strstr(md_buf_str(&out), "callstack"));
	CHECK(apply("pid\ntid vuid", true, &l, &err) == -EOPNOTSUPP && err.line == 2 &&
	      err.column == 4);
	CHECK(strstr(err.sentence, "tracefs does not record 'vuid'"));
	CHECK(apply("perf:cpu:cs", true, &l, NULL) == -EOPNOTSUPP);
	CHECK(apply("vuid perf:cpu:cs", false, &l, NULL) == 0 && l.count == 2);
	CHECK(l.items[1].kind == TRAIL_CONTEXT_PERF && l.items[1].perf_type == 1 &&
	      l.items[1].perf_config == 3);
	context_list_deinit(&l);
	kcontext_have(KCONTEXT_ALL, KCONTEXT_ALL);
	md_buf_reset(&out);
	kcontext_available(&(struct rows){ .out = &out });
	CHECK(!strncmp(md_buf_str(&out), "pid\ntid\nppid\n", 13) &&
	      strstr(md_buf_str(&out), "\nvpid\nvtid\nprocname\ncpu_id\n") &&
	      strstr(md_buf_str(&out), "\ncallstack-user\n"));
	CHECK(apply("vuid mnt_ns", true, &l, NULL) == 0);
	context_list_deinit(&l);
	CHECK(apply("ip", true, &l, NULL) == -ENOENT &&
	      apply("perf:thread:cs", true, &l, NULL) == -ENOENT);
	CHECK(apply("perf:cpu:css", true, &l, &err) == -ENOENT);
	CHECK_STR(err.sentence, "no such context 'perf:cpu:css'; did you mean 'perf:cpu:cs'?");
	CHECK(apply("perf:cpu:raw:x", true, &l, NULL) == -EINVAL);
	kcontext_have(1ull << TRAIL_CONTEXT_CALLSTACK_USER, 0);
	CHECK(apply("callstack-user vpid", true, &l, NULL) == 0);
	context_list_deinit(&l);
	CHECK(apply("callstack-kernel", true, &l, NULL) == -EOPNOTSUPP &&
	      apply("perf:cpu:cs", true, &l, NULL) == -EOPNOTSUPP);
	md_buf_reset(&out);
	kcontext_available(&(struct rows){ .out = &out });
	CHECK(strstr(md_buf_str(&out), "\ncallstack-user\n") &&
	      !strstr(md_buf_str(&out), "callstack-kernel") &&
	      !strstr(md_buf_str(&out), "perf:"));
	kcontext_have(0, 0);
	md_buf_deinit(&out);
}

/* As lttng-modules writes them. */
static void types(void)
{
	static const char want[] =
		"\tevent.context := struct {\n"
		"\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } "
		"_procname[16];\n"
		"\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; base = 10; } "
		"_vpid;\n"
		"\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } "
		"_hostname[65];\n"
		"\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 10; } "
		"_vuid;\n"
		"\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 10; } "
		"_net_ns;\n"
		"\t\tinteger { size = 8; align = 8; signed = 1; encoding = none; base = 10; } "
		"_interruptible;\n"
		"\t\tinteger { size = 8; align = 8; signed = 0; encoding = none; base = 10; } "
		"_preemptible;\n"
		"\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 10; } "
		"__callstack_kernel_length;\n"
		"\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 16; } "
		"_callstack_kernel[ __callstack_kernel_length ];\n"
		"\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 10; } "
		"_perf_cpu_cpu_cycles;\n"
		"\t};\n";
	static const uint8_t uuid[16] = { 1 };
	struct context_list l = { 0 };
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_buf out = MD_BUF_INIT;
	struct md_field *fields;

	CHECK(!apply("procname vpid hostname vuid net_ns interruptible preemptible "
		     "callstack-kernel perf:cpu:cpu-cycles",
		     false, &l, NULL));
	CHECK(context_list_fields(&l, &fields) == 0);
	CHECK(md_stream_set_context(s, fields, (uint32_t)l.count) == 0);
	CHECK(md_trace_add(t, s) == 0 && md_ctf_print(t, false, &out) == 0);
	CHECK(strstr(md_buf_str(&out), want) != NULL);
	md_buf_deinit(&out);
	md_trace_destroy(t);
	context_list_deinit(&l);
}

static void bytes(void)
{
	static const uint32_t kinds[] = { TRAIL_CONTEXT_NICE, TRAIL_CONTEXT_CALLSTACK_USER,
					  TRAIL_CONTEXT_PROCNAME, TRAIL_CONTEXT_MIGRATABLE };
	static const int32_t nice = -5;
	static const uint32_t addresses = 2;
	uint8_t b[4 + 4 + 16 + 16 + 1] = { 0 };
	struct filter_value v;
	const uint8_t *at;

	memcpy(b, &nice, sizeof(nice));
	memcpy(b + 4, &addresses, sizeof(addresses));
	memcpy(b + 24, "sh", 2);
	b[40] = 1;
	CHECK(kcontext_fits(kinds, 4, b, sizeof(b)) && !kcontext_fits(kinds, 4, b, sizeof(b) - 1) &&
	      !kcontext_fits(kinds, 3, b, sizeof(b)));
	at = kcontext_find(kinds, 4, TRAIL_CONTEXT_NICE, b, sizeof(b));
	CHECK(at == b);
	kcontext_value(TRAIL_CONTEXT_NICE, at, &v);
	CHECK(v.type == FILTER_SIGNED && v.i == -5);
	at = kcontext_find(kinds, 4, TRAIL_CONTEXT_PROCNAME, b, sizeof(b));
	CHECK(at == b + 24);
	kcontext_value(TRAIL_CONTEXT_PROCNAME, at, &v);
	CHECK(v.type == FILTER_STRING && v.len == 2 && v.s[0] == 's');
	CHECK(kcontext_find(kinds, 4, TRAIL_CONTEXT_MIGRATABLE, b, sizeof(b)) == b + 40);
	CHECK(!kcontext_find(kinds, 4, TRAIL_CONTEXT_UID, b, sizeof(b)));
	/* A length that leads out of it, however large. */
	for (int i = 0; i < 4; i++) {
		uint32_t wrong = i ? 0xffu << 8 * i : 5;

		memcpy(b + 4, &wrong, sizeof(wrong));
		CHECK(!kcontext_fits(kinds, 4, b, sizeof(b)) &&
		      !kcontext_find(kinds, 4, TRAIL_CONTEXT_MIGRATABLE, b, sizeof(b)));
	}
}

int main(void)
{
	CASE(backends);
	CASE(types);
	CASE(bytes);
	return test_summary();
}
