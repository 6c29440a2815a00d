// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/bpf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/base/os/worker.h"

#define LOG_SIZE 65536u         /* bytes of what the kernel says of a program */
#define DETACHING_MAX 4096u     /* programs at a time */

static long try_command(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int tries = 5;
	long ret;

	/* The kernel gives up checking a program if a signal is pending. */
	do
		ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));
	while (ret < 0 && errno == EAGAIN && --tries);
	return ret < 0 ? -errno : ret;
}

/* Before Linux 5.11, maps and programs count as locked memory. False: there is no limit. */
static bool lift_limit(void)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY }, now;

	return !getrlimit(RLIMIT_MEMLOCK, &now) && now.rlim_cur != RLIM_INFINITY &&
	       !setrlimit(RLIMIT_MEMLOCK, &none);
}

long bpf_command(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long ret = try_command(cmd, attr);

	if (ret == -EPERM && (cmd == BPF_MAP_CREATE || cmd == BPF_PROG_LOAD) && lift_limit())
		ret = try_command(cmd, attr);
	return ret;
}

/* ---- maps ---- */

int bpf_map_create(const struct bpf_map_spec *spec)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = spec->type;
	a.key_size = spec->key_size;
	a.value_size = spec->value_size;
	a.max_entries = spec->entries;
	a.map_flags = spec->flags;
	strncpy(a.map_name, spec->name, sizeof(a.map_name) - 1);
	return (int)bpf_command(BPF_MAP_CREATE, &a);
}

static int access_element(enum bpf_cmd cmd, int map, const void *key, const void *value)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)map;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value;
	return (int)bpf_command(cmd, &a);
}

int bpf_map_get(int map, const void *key, void *value)
{
	return access_element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int bpf_map_set(int map, const void *key, const void *value)
{
	return access_element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int bpf_map_remove(int map, const void *key)
{
	return access_element(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

int bpf_map_next(int map, const void *key, void *next)
{
	return access_element(BPF_MAP_GET_NEXT_KEY, map, key, next);
}

/* ---- programs ---- */

/* The last line in which the kernel says why; before it is what it checked. */
static void explain(char *log, int ret, struct tr_err *err)
{
	char *line = NULL, *save = NULL;

	for (char *p = strtok_r(log, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		if (strncmp(p, "processed ", 10))
			line = p;
	tr_fail(err, ret, "the kernel refuses the BPF program: %s%s%.160s", strerror(-ret),
		line ? ": " : "", line ? line : "");
}

/* Fills what all programs have. 0, or -errno: the code is not whole. */
static int describe_program(struct bpf_code *code, enum bpf_prog_type type, union bpf_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->prog_type = type;
	a->insn_cnt = code->count;
	a->insns = (uintptr_t)code->at;
	a->license = (uintptr_t)"GPL";
	strcpy(a->prog_name, "trailfs");
	return bpf_code_end(code);
}

int bpf_load_iterator(struct bpf_code *code, uint32_t type)
{
	union bpf_attr a;
	int ret = describe_program(code, BPF_PROG_TYPE_TRACING, &a);

	a.expected_attach_type = BPF_TRACE_ITER;
	a.attach_btf_id = type;
	return ret ? ret : (int)bpf_command(BPF_PROG_LOAD, &a);
}

static int load(union bpf_attr *a, struct tr_err *err)
{
	int ret = (int)bpf_command(BPF_PROG_LOAD, a);
	char *log;

	if (ret >= 0)
		return ret;
	/* The log costs the kernel time, so it is asked for the second time only. */
	log = calloc(1, LOG_SIZE);
	if (log) {
		a->log_level = 1;
		a->log_buf = (uintptr_t)log;
		a->log_size = LOG_SIZE;
		ret = (int)bpf_command(BPF_PROG_LOAD, a);
		log[LOG_SIZE - 1] = '\0';
		if (ret < 0)
			explain(log, ret, err);
		free(log);
	}
	return ret;
}

int bpf_load(enum bpf_prog_type type, struct bpf_code *code, struct tr_err *err)
{
	union bpf_attr a;
	int ret = describe_program(code, type, &a);

	return ret ? tr_fail(err, ret, "the BPF program is too long") : load(&a, err);
}

int bpf_load_typed(const struct bpf_hook *hook, struct bpf_code *code, struct tr_err *err)
{
	union bpf_attr a;
	int ret = describe_program(code, BPF_PROG_TYPE_TRACING, &a);

	a.expected_attach_type = hook->at;
	a.attach_btf_id = hook->type;
	return ret ? tr_fail(err, ret, "the BPF program is too long") : load(&a, err);
}

int bpf_attach_typed(int program)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	return (int)bpf_command(BPF_RAW_TRACEPOINT_OPEN, &a);
}

int bpf_attach(int program, uint32_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.disabled = 1,
	};
	/* The CPU does not matter: a program runs at the event on all of them. */
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

/* ---- the end of programs ---- */

struct detaching {
	struct work work;
	int link, program;
};

static struct worker closer = WORKER_INIT;

static void close_both(int link, int program)
{
	if (link >= 0)
		close(link);
	if (program >= 0)
		close(program);
}

static void run_detaching(struct work *w)
{
	struct detaching *d = (struct detaching *)w;

	close_both(d->link, d->program);
	free(d);
}

void bpf_detach(int link, int program)
{
	struct detaching *d = calloc(1, sizeof(*d));

	if (d)
		*d = (struct detaching){ { .run = run_detaching }, link, program };
	if (d && worker_add(&closer, &d->work, DETACHING_MAX))
		return;
	free(d);
	close_both(link, program);
}

int bpf_missed(int program, uint64_t *events)
{
	struct bpf_prog_info info;
	union bpf_attr a;
	int ret;

	memset(&info, 0, sizeof(info));
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (uint32_t)program;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	ret = (int)bpf_command(BPF_OBJ_GET_INFO_BY_FD, &a);
	*events = ret ? 0 : info.recursion_misses;
	return ret;
}
