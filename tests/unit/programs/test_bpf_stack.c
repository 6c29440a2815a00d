/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A body may need a whole stack, and a kernel that interprets programs runs it on the stack of the
 * program that is attached: this one reaches as far, behind its tail call.
 */
#include "tests/lib/test.h"
#include "tracer/kernel/programs/bpf.h"

/* The lowest byte of the stack that the code stores to, below its end. */
static int deepest(const struct bpf_code *c)
{
	int deep = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if ((BPF_CLASS(c->at[i].code) == BPF_ST || BPF_CLASS(c->at[i].code) == BPF_STX) &&
		    c->at[i].dst_reg == BPF_REG_10 && -c->at[i].off > deep)
			deep = -c->at[i].off;
	return deep;
}

static bool calls(const struct bpf_insn *i, int32_t function)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->imm == function;
}

static void stub_has_a_whole_stack(void)
{
	static struct bpf_code code;

	for (int typed = 0; typed < 2; typed++) {
		bpf_program_stub(&code, 3, 1, typed);
		CHECK(!bpf_code_end(&code) && deepest(&code) == BPF_STACK_MAX);
		/* An event that has a body does not pay for it. */
		for (uint32_t i = 0; !calls(&code.at[i], BPF_FUNC_tail_call); i++)
			CHECK(i < code.count && BPF_CLASS(code.at[i].code) != BPF_ST);
	}
}

int main(void)
{
	CASE(stub_has_a_whole_stack);
	return test_summary();
}
