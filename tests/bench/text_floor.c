/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call of openat(2) costs while it is recorded with its text, by the least that BPF
 * programs can do for that: text_floor none | function [END] | entry [END] | module [PREEMPT].
 * Prints the ticks of the TSC for a call. none: no program of this process, but whatever records
 * meanwhile; function: a program before the call's function; entry: one at sys_enter. END: any
 * word; another program at the end of the call, which only looks at a number in memory, as it must
 * if it is to read text that the first could not. module: module:module_get instead, with the
 * module's name, which vm/loop.c calls. PREEMPT: any word; the program forbids preemption, as
 * it must from Linux 7.0 on.
 *
 * The first finds its CPU's memory, takes a place in it, so that what interrupts the program finds
 * the place taken, and stores time, thread and arguments there with the text. It has no filter, no
 * set of threads and no switch, and nothing reads what it writes.
 */
#include "tests/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "tracer/base/probe/btf.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/bpf/tracepoint.h"

enum { RUN = 500, RING = 1 << 18, CONTROL_BYTES = 64, TEXT_MAX = 4095 };
enum { AT_CPU = -4, AT_THREAD = -8, AT_TIME = -16 };

/* The kernel's struct pt_regs begins as this one. */
#define REGISTER(name) offsetof(struct user_regs_struct, name)
static const size_t arguments[4] = {
	REGISTER(rdi), REGISTER(rsi), REGISTER(rdx), REGISTER(r10),
};

static void fail(const char *what)
{
	fprintf(stderr, "text_floor: %s\n", what);
	exit(1);
}

/* Register 7: the CPU's memory: the number of programs that run, the head; then the ring. */
static void find_memory(struct bpf_code *c, int map, int end)
{
	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_W, BPF_REG_10, AT_CPU, BPF_REG_0);
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, AT_CPU);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, end);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
}

/* Register 8: the place of the record. */
static void claim(struct bpf_code *c, int end)
{
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, 0);
	bpf_jump_if(c, BPF_JNE, BPF_REG_1, 0, end);
	bpf_store_number(c, BPF_W, BPF_REG_7, 0, 1);
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_W, BPF_REG_10, AT_THREAD, BPF_REG_0);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_store(c, BPF_DW, BPF_REG_10, AT_TIME, BPF_REG_0);
	bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_7, 8);
	bpf_move(c, BPF_REG_8, BPF_REG_9);
	bpf_alu(c, BPF_AND, BPF_REG_8, RING - 8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_8, BPF_REG_7);
}

static void put_begin(struct bpf_code *c)
{
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, AT_TIME);
	bpf_store(c, BPF_DW, BPF_REG_8, CONTROL_BYTES, BPF_REG_1);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, AT_THREAD);
	bpf_store(c, BPF_W, BPF_REG_8, CONTROL_BYTES + 12, BPF_REG_1);
}

/* The text at the address in register 3, by a function of the kernel; publishes the record. */
static void put_text(struct bpf_code *c, int read)
{
	int some = bpf_label(c);

	bpf_set(c, BPF_REG_2, TEXT_MAX);
	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_1, CONTROL_BYTES + 48);
	bpf_call(c, read);
	bpf_jump_if(c, BPF_JSGT, BPF_REG_0, 0, some);
	bpf_set(c, BPF_REG_0, 0);
	bpf_here(c, some);
	bpf_store(c, BPF_W, BPF_REG_8, CONTROL_BYTES + 8, BPF_REG_0);
	bpf_alu(c, BPF_ADD, BPF_REG_0, 48 + 7);
	bpf_alu(c, BPF_AND, BPF_REG_0, -8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_9, BPF_REG_0);
	bpf_publish(c, BPF_REG_7, 8, BPF_REG_9);
	bpf_store_number(c, BPF_W, BPF_REG_7, 0, 0);
}

/* Time, length, thread, arguments, text. The pointer to the registers is in register 6. */
static void put_record(struct bpf_code *c)
{
	put_begin(c);
	for (int i = 0; i < 4; i++) {
		bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_6, (int)arguments[i]);
		bpf_store(c, BPF_DW, BPF_REG_8, CONTROL_BYTES + 16 + 8 * i, BPF_REG_3);
	}
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_6, (int)arguments[1]);
	put_text(c, BPF_FUNC_probe_read_user_str);
}

static int make_map(uint32_t bytes, uint32_t entries)
{
	int map = bpf_map_create(&(struct bpf_map_spec){
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = bytes,
		.entries = entries, .name = "text_floor" });

	if (map < 0)
		fail(strerror(-map));
	return map;
}

static void run_at(const struct bpf_hook *hook, struct bpf_code *c)
{
	struct tr_err err = TR_ERR_INIT;
	int program = bpf_load_typed(hook, c, &err);

	if (program < 0)
		fail(err.sentence);
	if (bpf_attach_typed(program) < 0)
		fail("the program cannot be attached");
}

static void attach(const struct btf *types, bool function, bool at_end)
{
	static const char name[] = "__x64_sys_openat";
	struct bpf_code *c = calloc(1, sizeof(*c));
	struct bpf_hook hook = { .at = function ? BPF_TRACE_FENTRY : BPF_TRACE_RAW_TP };
	uint32_t proto;
	int map, end;

	hook.type = function ? btf_function_type(types, name, strlen(name))
			     : bpf_tracepoint_type(types, "sys_enter", &proto);
	map = make_map(2 * RING, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	if (!hook.type)
		fail("no such hook");
	bpf_code_begin(c);
	end = bpf_label(c);
	if (!function) {
		bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_1, 8);
		bpf_jump_if(c, BPF_JNE, BPF_REG_2, SYS_openat, end);
	}
	bpf_load_from(c, BPF_DW, BPF_REG_6, BPF_REG_1, 0);
	find_memory(c, map, end);
	claim(c, end);
	put_record(c);
	bpf_here(c, end);
	bpf_finish(c);
	run_at(&hook, c);
	if (!at_end)
		return;
	if (function)
		hook.at = BPF_TRACE_FEXIT;
	else
		hook.type = bpf_tracepoint_type(types, "sys_exit", &proto);
	bpf_code_begin(c);
	end = bpf_label(c);
	bpf_set_map_value(c, BPF_REG_2, make_map(8, 1), 0);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_2, 0);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, end);
	bpf_here(c, end);
	bpf_finish(c);
	run_at(&hook, c);
}

static int member(const struct btf *types, const char *name)
{
	uint32_t module = btf_structure(types, "module", 6);
	struct btf_member m;

	if (!module || !btf_find_member(types, module, name, strlen(name), &m))
		fail("no such member of struct module");
	return (int)(m.offset / 8);
}

/* Time, length, thread, address of the caller, count of references, name. */
static void attach_module(const struct btf *types, bool preempted)
{
	static const char *const names[2] = { "bpf_preempt_disable", "bpf_preempt_enable" };
	struct bpf_code *c = calloc(1, sizeof(*c));
	uint32_t proto, preempt[2] = { 0 };
	struct bpf_hook hook = { .at = BPF_TRACE_RAW_TP,
				 .type = bpf_tracepoint_type(types, "module_get", &proto) };
	int end, refs = member(types, "refcnt"), name = member(types, "name");

	for (int i = 0; i < 2 && preempted; i++) {
		preempt[i] = btf_function_type(types, names[i], strlen(names[i]));
		if (!preempt[i])
			fail("programs cannot forbid that they are preempted");
	}
	if (!hook.type)
		fail("no such hook");
	bpf_code_begin(c);
	end = bpf_label(c);
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	if (preempted)
		bpf_call_kernel(c, preempt[0]);
	find_memory(c, make_map(2 * RING, (uint32_t)sysconf(_SC_NPROCESSORS_CONF)), end);
	claim(c, end);
	put_begin(c);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_6, 8);
	bpf_store(c, BPF_DW, BPF_REG_8, CONTROL_BYTES + 16, BPF_REG_1);
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_6, 0);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_3, refs);
	bpf_store(c, BPF_W, BPF_REG_8, CONTROL_BYTES + 24, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_3, name);
	put_text(c, BPF_FUNC_probe_read_kernel_str);
	bpf_here(c, end);
	if (preempted)
		bpf_call_kernel(c, preempt[1]);
	bpf_finish(c);
	run_at(&hook, c);
}

/* vm/loop.c measures its own calls. */
static void call_module(void)
{
	static const char path[] = "/sys/module/loop/parameters/run";
	char line[64] = "";
	int fd = open(path, O_RDWR);

	if (fd < 0 || write(fd, "module_get", 10) != 10 || pread(fd, line, sizeof(line) - 1, 0) < 0)
		fail(strerror(errno));
	close(fd);
	printf("%s", line);
}

static void calls(long n)
{
	while (n-- > 0)
		syscall(SYS_openat, AT_FDCWD, "/none/such-file", O_RDONLY, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	struct btf *types;
	double begin;

	bench_pin();
	if (!strcmp(what, "module")) {
		if (btf_load("/sys/kernel/btf/vmlinux", NULL, &types))
			fail("no types");
		attach_module(types, argc > 2);
		call_module();
		return 0;
	}
	if (strcmp(what, "none")) {
		if (btf_load("/sys/kernel/btf/vmlinux", NULL, &types))
			fail("no types");
		attach(types, !strcmp(what, "function"), argc > 2);
	}
	calls(RUN);
	for (int b = 0; b < BATCHES; b++) {
		begin = (double)__builtin_ia32_rdtsc();
		calls(RUN);
		batch_ns[b] = ((double)__builtin_ia32_rdtsc() - begin) / RUN;
		usleep(2000);
	}
	qsort(batch_ns, BATCHES, sizeof(batch_ns[0]), compare);
	printf("%s %.2f %.2f\n", what, batch_ns[0], batch_ns[BATCHES / 2]);
	return 0;
}
