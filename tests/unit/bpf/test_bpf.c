/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * BPF programs: what the instructions become, mistakes, and programs that the kernel runs, where it
 * permits that.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/bpf/bpf.h"

static struct bpf_code code;

static bool is_insn(uint32_t i, uint8_t op, int to, int from, int offset, int32_t value)
{
	const struct bpf_insn *n = &code.at[i];

	return n->code == op && n->dst_reg == to && n->src_reg == from && n->off == offset &&
	       n->imm == value;
}

static void jumps(void)
{
	int back, out;

	bpf_code_begin(&code);
	back = bpf_label(&code);
	out = bpf_label(&code);
	bpf_set(&code, BPF_REG_1, 3);
	bpf_here(&code, back);
	bpf_jump_if(&code, BPF_JEQ, BPF_REG_1, 0, out);
	bpf_alu(&code, BPF_SUB, BPF_REG_1, 1);
	bpf_set_wide(&code, BPF_REG_2, 0x123456789abcdef0u);
	bpf_jump(&code, back);
	bpf_here(&code, out);
	bpf_exit(&code);
	CHECK(!bpf_code_end(&code) && code.count == 7);
	CHECK(is_insn(1, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 4, 0));
	CHECK(is_insn(3, BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, (int32_t)0x9abcdef0u));
	CHECK(is_insn(4, 0, 0, 0, 0, 0x12345678));
	CHECK(is_insn(5, BPF_JMP | BPF_JA, 0, 0, -5, 0));
}

static void memory(void)
{
	bpf_code_begin(&code);
	bpf_load_from(&code, BPF_H, BPF_REG_3, BPF_REG_6, 40);
	bpf_store(&code, BPF_W, BPF_REG_10, -8, BPF_REG_3);
	bpf_store_number(&code, BPF_B, BPF_REG_10, -9, 7);
	bpf_set_stack(&code, BPF_REG_2, -16);
	bpf_set_map(&code, BPF_REG_1, 5);
	bpf_add_atomic(&code, BPF_REG_7, 24, BPF_REG_1);
	bpf_low_half(&code, BPF_REG_4, BPF_REG_4);
	CHECK(!bpf_code_end(&code) && code.count == 9);
	CHECK(is_insn(0, BPF_LDX | BPF_MEM | BPF_H, 3, 6, 40, 0));
	CHECK(is_insn(1, BPF_STX | BPF_MEM | BPF_W, 10, 3, -8, 0));
	CHECK(is_insn(2, BPF_ST | BPF_MEM | BPF_B, 10, 0, -9, 7));
	CHECK(is_insn(3, BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0));
	CHECK(is_insn(4, BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -16));
	CHECK(is_insn(5, BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, 5));
	CHECK(is_insn(7, BPF_STX | BPF_ATOMIC | BPF_DW, 7, 1, 24, BPF_ADD));
	CHECK(is_insn(8, BPF_ALU | BPF_MOV | BPF_X, 4, 4, 0, 0));
}

static void mistakes(void)
{
	int label;

	bpf_code_begin(&code);
	bpf_jump(&code, bpf_label(&code));
	CHECK(bpf_code_end(&code) == -EINVAL);
	bpf_code_begin(&code);
	label = bpf_label(&code);
	bpf_here(&code, label);
	bpf_here(&code, label);
	CHECK(bpf_code_end(&code) == -E2BIG);
	bpf_code_begin(&code);
	for (int i = 0; i < BPF_CODE_MAX; i++)
		bpf_set(&code, 0, i);
	CHECK(!bpf_code_end(&code));
	bpf_jump(&code, 0);
	CHECK(bpf_code_end(&code) == -E2BIG && code.count == BPF_CODE_MAX);
	bpf_code_begin(&code);
	bpf_load_from(&code, BPF_W, 1, 2, 40000);
	CHECK(bpf_code_end(&code) == -E2BIG);
	bpf_code_begin(&code);
	for (int i = 0; i <= BPF_LABELS_MAX; i++)
		label = bpf_label(&code);
	CHECK(code.bad && label == 0);
}

/* The program of the code, whose result is register 0, on a packet of 64 zeros. */
static int64_t result_of(int program)
{
	static const uint8_t packet[64];
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)program;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	return bpf_command(BPF_PROG_TEST_RUN, &a) ? -1 : (int64_t)a.test.retval;
}

/* Adds the numbers from 1 to 10 in a loop, and adds the sum to a map. */
static void runs(void)
{
	const struct bpf_map_spec spec = { .type = BPF_MAP_TYPE_HASH, .key_size = 4,
					   .value_size = 8, .entries = 4, .name = "test" };
	struct tr_err err = TR_ERR_INIT;
	uint32_t key = 7, next;
	uint64_t value = 100;
	int map, program, again, end;

	if (bpf_supported(&err)) {
		printf("# %s\n", err.sentence);
		CHECK(*err.sentence);
		SKIP("BPF is not permitted here");
	}
	map = bpf_map_create(&spec);
	CHECK(map >= 0 && !bpf_map_set(map, &key, &value));
	bpf_code_begin(&code);
	again = bpf_label(&code);
	end = bpf_label(&code);
	bpf_set(&code, BPF_REG_6, 0);
	bpf_set(&code, BPF_REG_7, 10);
	bpf_here(&code, again);
	bpf_alu_reg(&code, BPF_ADD, BPF_REG_6, BPF_REG_7);
	bpf_alu(&code, BPF_SUB, BPF_REG_7, 1);
	bpf_jump_if(&code, BPF_JNE, BPF_REG_7, 0, again);
	bpf_store_number(&code, BPF_W, BPF_REG_10, -4, 7);
	bpf_set_map(&code, BPF_REG_1, map);
	bpf_set_stack(&code, BPF_REG_2, -4);
	bpf_call(&code, BPF_FUNC_map_lookup_elem);
	bpf_jump_if(&code, BPF_JEQ, BPF_REG_0, 0, end);
	bpf_add_atomic(&code, BPF_REG_0, 0, BPF_REG_6);
	bpf_here(&code, end);
	bpf_move(&code, BPF_REG_0, BPF_REG_6);
	bpf_exit(&code);
	program = bpf_load(BPF_PROG_TYPE_SOCKET_FILTER, &code, &err);
	if (program < 0)
		printf("# %s\n", err.sentence);
	CHECK(program >= 0);
	CHECK(result_of(program) == 55 && result_of(program) == 55);
	CHECK(!bpf_map_get(map, &key, &value) && value == 210);
	CHECK(!bpf_map_next(map, NULL, &next) && next == 7 &&
	      bpf_map_next(map, &next, &next) == -ENOENT);
	CHECK(!bpf_map_remove(map, &key) && bpf_map_get(map, &key, &value) == -ENOENT);
	CHECK(!bpf_missed(program, &value) && !value);
	close(program);
	close(map);
}

/* The kernel refuses what reads outside of the stack, and says why. */
static void refused(void)
{
	struct tr_err err = TR_ERR_INIT;
	int ret;

	if (bpf_supported(NULL))
		SKIP("BPF is not permitted here");
	bpf_code_begin(&code);
	bpf_load_from(&code, BPF_DW, BPF_REG_0, BPF_REG_10, 8);
	bpf_exit(&code);
	ret = bpf_load(BPF_PROG_TYPE_SOCKET_FILTER, &code, &err);
	CHECK(ret == -EACCES || ret == -EINVAL);
	CHECK(strstr(err.sentence, "refuses the BPF program") && strstr(err.sentence, "stack"));
}

/* Without the rights, a sentence says which. */
static void rights(void)
{
	struct tr_err err = TR_ERR_INIT;
	int status = 0;
	pid_t child;

	if (geteuid())
		SKIP("root alone can give up rights");
	fflush(stdout);
	child = fork();
	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		_exit(bpf_supported(&err) != -EACCES ||
		      (!strstr(err.sentence, "CAP_BPF") && !strstr(err.sentence, "locked down")));
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

int main(void)
{
	CASE(rights);
	CASE(jumps);
	CASE(memory);
	CASE(mistakes);
	CASE(runs);
	CASE(refused);
	return test_summary();
}
