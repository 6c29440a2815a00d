/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program writes as a record, without the kernel: its common fields, and the copy of a
 * tracepoint's record, are found where readers of records look.
 */
#include "tests/lib/bpf_interp.h"
#include "tests/lib/test.h"
#include "tracer/kernel/programs/bpf_writer.h"

#define ID 0x1234u
#define TID 4711u
#define FIXED 26u               /* bytes, with the common ones: copies of each size */

static void puts_a_record(void)
{
	const struct bpf_source source = { .id = ID, .fixed = FIXED };
	const struct bpf_recording recording = { .source = &source };
	static struct bpf_code code;
	static uint64_t stack[64];
	struct bpf_writer w = { .code = &code, .r = &recording };
	uint8_t from[FIXED], to[FIXED + 8];
	struct bpf_interp m = { .cpu = 0 };
	uint32_t tid = TID;

	for (uint8_t i = 0; i < FIXED; i++)
		from[i] = (uint8_t)(100 + i);
	memset(to, 0xee, sizeof(to));
	m.r[6] = (uintptr_t)from;
	m.r[8] = (uintptr_t)to;
	m.r[10] = (uintptr_t)(stack + 64);
	memcpy((uint8_t *)(stack + 64) + BPF_AT_THREAD, &tid, sizeof(tid));
	bpf_code_begin(&code);
	bpf_record_put(&w);
	bpf_finish(&code);
	CHECK(!bpf_code_end(&code) && bpf_interp_run(&code, &m) == 0);
	CHECK(krecord_id(to) == ID && krecord_pid(to) == (int32_t)TID);
	CHECK(to[2] == 0 && krecord_preempt_count(to) == 0);
	CHECK(!memcmp(to + KRECORD_HEADER, from + KRECORD_HEADER, FIXED - KRECORD_HEADER));
	CHECK(to[FIXED] == 0xee && m.r[9] == FIXED);
}

int main(void)
{
	CASE(puts_a_record);
	return test_summary();
}
