/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs instructions as the kernel does, as far as conditions need them. Memory is the test's own;
 * registers 6 and 8 lead to it.
 */
#ifndef TESTS_LIB_BPF_INTERP_H
#define TESTS_LIB_BPF_INTERP_H

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/bpf/code.h"

struct bpf_interp {
	uint64_t r[11];
	uint64_t pid_tgid;              /* bpf_get_current_pid_tgid */
	uint32_t cpu;                   /* bpf_get_smp_processor_id */
};

static uint64_t bpf_interp_alu(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_MOV: return b;
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_AND: return a & b;
	case BPF_OR: return a | b;
	case BPF_LSH: return a << (b & 63);
	case BPF_NEG: return 0 - a;
	case BPF_RSH: return a >> (b & 63);
	case BPF_ARSH: return (uint64_t)((int64_t)a >> (b & 63));
	default: abort();
	}
}

static bool bpf_interp_jumps(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA: return true;
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSGT: return (int64_t)a > (int64_t)b;
	case BPF_JSGE: return (int64_t)a >= (int64_t)b;
	case BPF_JSLT: return (int64_t)a < (int64_t)b;
	case BPF_JSLE: return (int64_t)a <= (int64_t)b;
	default: abort();
	}
}

static uint64_t bpf_interp_load(uint8_t size, uint64_t from)
{
	const void *p = (const void *)(uintptr_t)from;
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (size) {
	case BPF_DW: memcpy(&v64, p, 8); return v64;
	case BPF_W: memcpy(&v32, p, 4); return v32;
	case BPF_H: memcpy(&v16, p, 2); return v16;
	default: return *(const uint8_t *)p;
	}
}

static void bpf_interp_store(uint8_t size, uint64_t at, uint64_t v)
{
	void *p = (void *)(uintptr_t)at;
	uint32_t v32 = (uint32_t)v;
	uint16_t v16 = (uint16_t)v;
	uint8_t v8 = (uint8_t)v;

	switch (size) {
	case BPF_DW: memcpy(p, &v, 8); break;
	case BPF_W: memcpy(p, &v32, 4); break;
	case BPF_H: memcpy(p, &v16, 2); break;
	default: memcpy(p, &v8, 1); break;
	}
}

/* The result of the program. */
static uint64_t bpf_interp_run(const struct bpf_code *c, struct bpf_interp *m)
{
	for (uint32_t at = 0; at < c->count; at++) {
		const struct bpf_insn *n = &c->at[at];
		uint64_t other = n->code & BPF_X ? m->r[n->src_reg] : (uint64_t)(int64_t)n->imm;
		uint64_t *to = &m->r[n->dst_reg];

		switch (BPF_CLASS(n->code)) {
		case BPF_ST:
		case BPF_STX:
			bpf_interp_store(BPF_SIZE(n->code), *to + (uint64_t)(int64_t)n->off,
					 BPF_CLASS(n->code) == BPF_STX ? m->r[n->src_reg]
								       : (uint64_t)(int64_t)n->imm);
			break;
		case BPF_ALU64:
			*to = bpf_interp_alu(BPF_OP(n->code), *to, other);
			break;
		case BPF_ALU:
			*to = BPF_OP(n->code) == BPF_END
				      ? be16toh((uint16_t)*to)
				      : (uint32_t)bpf_interp_alu(BPF_OP(n->code), *to, other);
			break;
		case BPF_LDX:
			*to = bpf_interp_load(BPF_SIZE(n->code),
					      m->r[n->src_reg] + (uint64_t)(int64_t)n->off);
			break;
		case BPF_LD:
			*to = (uint32_t)n->imm | (uint64_t)(uint32_t)n[1].imm << 32;
			at++;
			break;
		default:
			if (BPF_OP(n->code) == BPF_EXIT)
				return m->r[0];
			if (BPF_OP(n->code) == BPF_CALL)
				m->r[0] = n->imm == BPF_FUNC_get_current_pid_tgid ? m->pid_tgid
										   : m->cpu;
			else if (bpf_interp_jumps(BPF_OP(n->code), *to, other))
				at += (uint32_t)(int32_t)n->off;
		}
	}
	abort();
}

#endif
