// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/abi/context_kind.h"
#include "tracer/base/context/kernel_context.h"

/* Places on the stack. */
enum {
	TASK = BPF_PLACE_STACKS - 8, POINTER = TASK - 8, WORD = POINTER - 8,
	OWN = WORD - 8,                 /* the thread's struct pid */
	LEVEL = OWN - 8,                /* of its PID namespace, times the size of an id */
	OTHER = LEVEL - 8,              /* another struct pid */
	COUNTER = OTHER - 24,           /* struct bpf_perf_event_value */
};

/* How a program gets a context. */
enum how {
	BY_HELPER = 1, BY_PATH, BY_STACK, BY_NAME,
	BY_OWN_ID,                      /* the number of a struct pid in the thread's namespace */
	BY_NAMESPACE,                   /* of the thread's ids */
	BY_COUNTER,                     /* a performance counter of the CPU */
};

static const struct source {
	uint32_t kind;
	enum how how;
	const char *path;               /* from struct task_struct */
	int32_t add;
} sources[] = {
	{ TRAIL_CONTEXT_PID, BY_HELPER, NULL, 0 },
	{ TRAIL_CONTEXT_TID, BY_HELPER, NULL, 0 },
	{ TRAIL_CONTEXT_CPU_ID, BY_HELPER, NULL, 0 },
	{ TRAIL_CONTEXT_CGROUP_ID, BY_HELPER, NULL, 0 },
	{ TRAIL_CONTEXT_PROCNAME, BY_NAME, NULL, 0 },
	{ TRAIL_CONTEXT_HOSTNAME, BY_NAME, "nsproxy->uts_ns->name.nodename", 0 },
	{ TRAIL_CONTEXT_PPID, BY_PATH, "real_parent->tgid", 0 },
	{ TRAIL_CONTEXT_PRIO, BY_PATH, "prio", -100 },
	{ TRAIL_CONTEXT_NICE, BY_PATH, "static_prio", -120 },
	{ TRAIL_CONTEXT_UID, BY_PATH, "cred->uid", 0 },
	{ TRAIL_CONTEXT_EUID, BY_PATH, "cred->euid", 0 },
	{ TRAIL_CONTEXT_SUID, BY_PATH, "cred->suid", 0 },
	{ TRAIL_CONTEXT_GID, BY_PATH, "cred->gid", 0 },
	{ TRAIL_CONTEXT_EGID, BY_PATH, "cred->egid", 0 },
	{ TRAIL_CONTEXT_SGID, BY_PATH, "cred->sgid", 0 },
	{ TRAIL_CONTEXT_CGROUP_NS, BY_PATH, "nsproxy->cgroup_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_IPC_NS, BY_PATH, "nsproxy->ipc_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_MNT_NS, BY_PATH, "nsproxy->mnt_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_NET_NS, BY_PATH, "nsproxy->net_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_TIME_NS, BY_PATH, "nsproxy->time_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_UTS_NS, BY_PATH, "nsproxy->uts_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_USER_NS, BY_PATH, "cred->user_ns->ns.inum", 0 },
	{ TRAIL_CONTEXT_PID_NS, BY_NAMESPACE, NULL, 0 },
	{ TRAIL_CONTEXT_VTID, BY_OWN_ID, "thread_pid", 0 },
	/* The second pointer is to the struct pid of the process (PIDTYPE_TGID). */
	{ TRAIL_CONTEXT_VPID, BY_OWN_ID, "signal->pids", sizeof(uint64_t) },
	{ TRAIL_CONTEXT_VPPID, BY_OWN_ID, "real_parent->signal->pids", sizeof(uint64_t) },
	{ TRAIL_CONTEXT_CALLSTACK_KERNEL, BY_STACK, NULL, 0 },
	{ TRAIL_CONTEXT_CALLSTACK_USER, BY_STACK, NULL, BPF_F_USER_STACK },
	{ TRAIL_CONTEXT_PERF, BY_COUNTER, NULL, 0 },
};

static const struct source *find_source(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (sources[i].kind == kind)
			return &sources[i];
	return NULL;
}

uint64_t bpf_context_kinds(void)
{
	bool types = access(BTF_FILE, R_OK) == 0;
	uint64_t kinds = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (types || (!sources[i].path && sources[i].how != BY_NAMESPACE))
			kinds |= UINT64_C(1) << sources[i].kind;
	return kinds;
}

/* ---- where the kernel has them ---- */

/*
 * Follows a path of members: `->` through a pointer, `.` into a structure. Each pointer is a step.
 * The number of steps, or 0: the types have no such path.
 */
static uint32_t find_path(const struct btf *b, const char *structure, const char *path,
			  uint32_t *steps)
{
	uint32_t at = btf_structure(b, structure, strlen(structure)), count = 1;
	struct btf_member m;
	struct btf_type t;
	size_t len;

	for (steps[0] = 0; at; path += len) {
		len = strcspn(path, ".-");
		if (!btf_find_member(b, at, path, len, &m) || m.bits || m.offset % 8 ||
		    m.offset / 8 > INT16_MAX)
			return 0;
		steps[count - 1] += (uint32_t)(m.offset / 8);
		t = btf_classify(b, m.type);
		at = t.id;
		if (!path[len])
			return count;
		if (path[len] == '-') {
			if (t.class != BTF_POINTER || count == BPF_CONTEXT_STEPS)
				return 0;
			t = btf_classify(b, t.id);
			at = t.id;
			steps[count++] = 0;
			len++;
		}
		len++;
		if (t.class != BTF_STRUCTURE)
			return 0;
	}
	return 0;
}

/* Where threads have their ids in PID namespaces. */
static bool find_ids(const struct btf *b, struct bpf_contexts *x)
{
	uint32_t upid = btf_structure(b, "upid", 4), steps[BPF_CONTEXT_STEPS];

	x->ids.step = upid ? btf_structure_size(b, upid) : 0;
	return x->ids.step && x->ids.step < 4096 &&
	       find_path(b, "task_struct", "thread_pid", x->ids.own) == 1 &&
	       find_path(b, "pid", "level", &x->ids.level) == 1 &&
	       find_path(b, "pid", "numbers", &x->ids.first) == 1 &&
	       find_path(b, "upid", "nr", &x->ids.number) == 1 &&
	       find_path(b, "upid", "ns", &x->ids.space) == 1 &&
	       find_path(b, "pid_namespace", "ns.inum", steps) == 1 && (x->ids.inum = steps[0], 1);
}

static bool find_item(struct bpf_context *item, const struct source *s, const struct btf *b)
{
	item->kind = s->kind;
	item->size = (uint32_t)kcontext_size(s->kind);
	item->add = s->add;
	if (!s->path)
		return true;
	item->step_count = b ? find_path(b, "task_struct", s->path, item->steps) : 0;
	if (item->step_count && s->how == BY_OWN_ID)
		item->steps[item->step_count - 1] += (uint32_t)s->add;
	return item->step_count;
}

static int fill(struct bpf_contexts *x, const struct context *items, size_t count,
		const struct btf *b, struct tr_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct source *s = find_source(items[i].kind);
		struct bpf_context *item = &x->items[x->count];

		if (!s || !find_item(item, s, b))
			return tr_fail(err, -EOPNOTSUPP, "BPF programs cannot record '%.80s' here",
				       items[i].text);
		x->count++;
		x->fixed += item->size;
		x->most += item->size + (s->how == BY_STACK ? 8 * BPF_STACK_DEPTH : 0);
		x->stacks |= s->how == BY_STACK;
		x->numbers |= s->how == BY_OWN_ID || s->how == BY_NAMESPACE;
		x->task |= s->path || s->how == BY_NAMESPACE;
	}
	if (x->numbers && !(b && find_ids(b, x)))
		return tr_fail(err, -EOPNOTSUPP, "the kernel's types lack the ids of threads");
	return 0;
}

/* The first one whose place the kernel's types have; NULL: none */
static const struct context *needs_types(const struct context *items, size_t count)
{
	const struct source *s;

	for (size_t i = 0; i < count; i++)
		if ((s = find_source(items[i].kind)) && (s->path || s->how == BY_NAMESPACE))
			return &items[i];
	return NULL;
}

int bpf_contexts_make(const struct context *items, size_t count, const struct btf *types,
		      struct bpf_contexts **out, struct tr_err *err)
{
	struct bpf_contexts *x = calloc(1, sizeof(*x) + count * sizeof(x->items[0]));
	const struct context *typed = types ? NULL : needs_types(items, count);
	struct btf *own = NULL;
	int ret = x ? 0 : tr_fail(err, -ENOMEM, "out of memory");

	if (!ret && typed && (ret = btf_load(BTF_FILE, NULL, &own)))
		ret = tr_fail(err, ret == -ENOENT ? -EOPNOTSUPP : ret,
			      "BPF programs cannot record '%.80s' without the kernel's types: "
			      BTF_FILE ": %s", typed->text, strerror(-ret));
	if (!ret)
		ret = fill(x, items, count, types ? types : own, err);
	btf_free(own);
	if (ret)
		free(x);
	else
		*out = x;
	return ret;
}

/* ---- instructions ---- */

/* Copies memory of the kernel, at the address in register 3, to a place; zeros if it cannot. */
static void fetch(struct bpf_code *c, int place, int32_t size)
{
	bpf_set_stack(c, BPF_REG_1, place);
	bpf_set(c, BPF_REG_2, size);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

/* Register 3 becomes the address of the last member. */
static void follow(struct bpf_code *c, const uint32_t *steps, uint32_t count)
{
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, TASK);
	for (uint32_t i = 0; i < count; i++) {
		if (i) {
			fetch(c, POINTER, 8);
			bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, POINTER);
		}
		bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)steps[i]);
	}
}

/* Stores the number at WORD. */
static void put_word(struct bpf_code *c, int at, int32_t add)
{
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, WORD);
	bpf_alu(c, BPF_ADD, BPF_REG_1, add);
	bpf_store_apart(c, BPF_W, BPF_REG_8, at, BPF_REG_1);
}

static void put_path(struct bpf_code *c, const struct bpf_context *item, int at)
{
	follow(c, item->steps, item->step_count);
	fetch(c, WORD, 4);
	put_word(c, at, item->add);
}

static void put_by_helper(struct bpf_code *c, const struct bpf_context *item, int at)
{
	bpf_call(c, item->kind == TRAIL_CONTEXT_CPU_ID	    ? BPF_FUNC_get_smp_processor_id
		    : item->kind == TRAIL_CONTEXT_CGROUP_ID ? BPF_FUNC_get_current_cgroup_id
							    : BPF_FUNC_get_current_pid_tgid);
	if (item->kind == TRAIL_CONTEXT_PID)
		bpf_alu(c, BPF_RSH, BPF_REG_0, 32);
	bpf_store_apart(c, item->size == 8 ? BPF_DW : BPF_W, BPF_REG_8, at, BPF_REG_0);
}

static void put_name(struct bpf_code *c, const struct bpf_context *item, int at)
{
	if (item->step_count)
		follow(c, item->steps, item->step_count);
	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_1, at);
	bpf_set(c, BPF_REG_2, (int32_t)item->size);
	bpf_call(c, item->step_count ? BPF_FUNC_probe_read_kernel : BPF_FUNC_get_current_comm);
}

/* A stack that the kernel cannot find has no addresses. */
static void put_stack(struct bpf_code *c, const struct bpf_context *item, int at)
{
	int32_t most = 8 * BPF_STACK_DEPTH;

	bpf_move(c, BPF_REG_1, BPF_REG_6);
	bpf_move(c, BPF_REG_2, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_2, at + (int)item->size);
	bpf_set(c, BPF_REG_3, most);
	bpf_set(c, BPF_REG_4, item->add);
	bpf_call(c, BPF_FUNC_get_stack);
	bpf_bound(c, most);
	/* (It is one already; the kernel checks that what follows lies at multiples of 8.) */
	bpf_alu(c, BPF_AND, BPF_REG_0, -8);
	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_alu(c, BPF_RSH, BPF_REG_1, 3);
	bpf_store_apart(c, BPF_W, BPF_REG_8, at, BPF_REG_1);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_PLACE_STACKS);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_0);
	bpf_store(c, BPF_DW, BPF_REG_10, BPF_PLACE_STACKS, BPF_REG_1);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_8, BPF_REG_0);
}

/* R1: the offset of the ids that a struct pid has in its innermost namespace. Overwrites `word`. */
static void offset_of_ids(struct bpf_code *c, const struct bpf_contexts *x, int pid, int word)
{
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, pid);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)x->ids.level);
	bpf_store_number(c, BPF_DW, BPF_REG_10, word, 0);
	fetch(c, word, 4);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, word);
	bpf_alu(c, BPF_MUL, BPF_REG_1, (int32_t)x->ids.step);
	bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)x->ids.first);
}

/* OWN and LEVEL: the thread's struct pid, and the offset of its ids in its own namespace. */
static void find_own(struct bpf_code *c, const struct bpf_contexts *x)
{
	follow(c, x->ids.own, 1);
	fetch(c, OWN, 8);
	offset_of_ids(c, x, OWN, LEVEL);
	bpf_store(c, BPF_DW, BPF_REG_10, LEVEL, BPF_REG_1);
}

/* Copies a member of the struct pid at a place, of the ids in the thread's own namespace. */
static void fetch_id(struct bpf_code *c, int pid, uint32_t member, int to, int32_t size)
{
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, pid);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, LEVEL);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_3, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)member);
	fetch(c, to, size);
}

/* The number that a struct pid has in the thread's namespace; 0: it is outside. */
static void put_own_id(struct bpf_code *c, const struct bpf_contexts *x,
		       const struct bpf_context *item, int at)
{
	int outside = bpf_label(c), end = bpf_label(c);

	follow(c, item->steps, item->step_count);
	fetch(c, OTHER, 8);
	offset_of_ids(c, x, OTHER, WORD);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_10, LEVEL);
	bpf_jump_if_reg(c, BPF_JLT, BPF_REG_1, BPF_REG_2, outside);
	fetch_id(c, OWN, x->ids.space, POINTER, 8);
	fetch_id(c, OTHER, x->ids.space, WORD, 8);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, POINTER);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_10, WORD);
	bpf_jump_if_reg(c, BPF_JNE, BPF_REG_1, BPF_REG_2, outside);
	fetch_id(c, OTHER, x->ids.number, WORD, 4);
	put_word(c, at, 0);
	bpf_jump(c, end);
	bpf_here(c, outside);
	bpf_set(c, BPF_REG_1, 0);
	bpf_store_apart(c, BPF_W, BPF_REG_8, at, BPF_REG_1);
	bpf_here(c, end);
}

static void put_namespace(struct bpf_code *c, const struct bpf_contexts *x, int at)
{
	fetch_id(c, OWN, x->ids.space, POINTER, 8);
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_10, POINTER);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)x->ids.inum);
	fetch(c, WORD, 4);
	put_word(c, at, 0);
}

/* 0 where the CPU has no counter: the kernel clears the memory then. */
static void put_counter(struct bpf_code *c, const struct bpf_context *item, int at)
{
	bpf_set_map(c, BPF_REG_1, item->counter);
	bpf_set_wide(c, BPF_REG_2, BPF_F_CURRENT_CPU);
	bpf_set_stack(c, BPF_REG_3, COUNTER);
	bpf_set(c, BPF_REG_4, (int32_t)sizeof(struct bpf_perf_event_value));
	bpf_call(c, BPF_FUNC_perf_event_read_value);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, COUNTER);
	bpf_store_apart(c, BPF_DW, BPF_REG_8, at, BPF_REG_1);
}

static void put_item(struct bpf_code *c, const struct bpf_contexts *x,
		     const struct bpf_context *item, int at)
{
	switch (find_source(item->kind)->how) {
	case BY_HELPER:
		put_by_helper(c, item, at);
		break;
	case BY_PATH:
		put_path(c, item, at);
		break;
	case BY_NAME:
		put_name(c, item, at);
		break;
	case BY_STACK:
		put_stack(c, item, at);
		break;
	case BY_OWN_ID:
		put_own_id(c, x, item, at);
		break;
	case BY_NAMESPACE:
		put_namespace(c, x, at);
		break;
	case BY_COUNTER:
		put_counter(c, item, at);
		break;
	}
}

void bpf_contexts_put(struct bpf_code *c, const struct bpf_contexts *x, int at)
{
	bpf_store_number(c, BPF_DW, BPF_REG_10, BPF_PLACE_STACKS, 0);
	if (x->task) {
		bpf_call(c, BPF_FUNC_get_current_task);
		bpf_store(c, BPF_DW, BPF_REG_10, TASK, BPF_REG_0);
	}
	if (x->numbers)
		find_own(c, x);
	for (uint32_t i = 0; i < x->count; i++) {
		put_item(c, x, &x->items[i], at);
		at += (int)x->items[i].size;
	}
}
